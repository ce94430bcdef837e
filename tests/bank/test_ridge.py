"""Leave-one-out scores from the hat matrix equal those of fitting without each node; probabilities are calibrated."""

import numpy as np
import pytest

from newtonnet.bank import RidgeOptions, train_ridge
from newtonnet.bank.ridge import _calibrate, _leave_one_out


@pytest.mark.parametrize("columns", [6, 60], ids=["fewer columns than rows", "more columns than rows"])
def test_leave_one_out_equals_fitting_without_each_row(rng, columns):
    rows = rng.normal(size=(30, columns))
    rows -= rows.mean(axis=0)
    truth = rng.integers(3, size=30)
    targets = np.eye(3)[truth] + rows[:, :3]
    fit = _leave_one_out(rows, rows.T @ rows if columns < 30 else None, targets)
    penalty = fit.strength * 30 * np.eye(columns)
    for i in range(30):
        others = np.delete(np.arange(30), i)
        x, y = rows[others], targets[others]
        centre = x.mean(axis=0)
        z = x - centre
        weights = np.linalg.solve(z.T @ z + penalty, z.T @ (y - y.mean(axis=0)))
        np.testing.assert_allclose(fit.left_out[i], y.mean(axis=0) + (rows[i] - centre) @ weights, atol=1e-8)
    direct = np.linalg.solve(rows.T @ rows + penalty, rows.T @ (targets - targets.mean(axis=0)))
    np.testing.assert_allclose(fit.weights, direct, atol=1e-8)


def test_left_out_scores_agree_with_those_of_unseen_nodes(make_graph, make_split):
    graph = make_graph(nodes=1000, edges=3000)
    split = make_split(graph)
    trained = train_ridge(graph, split, RidgeOptions())
    left_out = (trained.left_out.argmax(axis=1) == graph.labels[split.train]).mean()
    assert abs(left_out - trained.validation["accuracy"]) < 0.06


def test_a_choice_by_some_rows_still_leaves_out_every_row(make_graph, make_split, monkeypatch):
    graph = make_graph(nodes=400, edges=1200)
    split = make_split(graph)
    every = train_ridge(graph, split, RidgeOptions())
    monkeypatch.setattr("newtonnet.bank.ridge.JUDGED", 100)
    some = train_ridge(graph, split, RidgeOptions())
    assert some.left_out.shape == every.left_out.shape == (200, 3)
    assert np.abs(some.left_out - every.left_out).mean() < 0.05


def test_probabilities_of_calibrated_scores_are_recovered(rng):
    scores = rng.normal(size=(20_000, 3))
    odds = np.exp(2 * scores + [0.5, 0.0, -0.5])
    truth = (rng.random((20_000, 1)) > np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
    factor, offsets = _calibrate(scores, truth)
    assert factor == pytest.approx(2, rel=0.05)
    np.testing.assert_allclose(offsets, [0.5, 0.0, -0.5], atol=0.06)
