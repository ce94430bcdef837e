"""Leave-one-out scores from the hat matrix equal those of fitting without each node; probabilities are calibrated."""

import numpy as np
import pytest

from newtonnet.bank import RidgeOptions, train_ridge
from newtonnet.bank.ridge import _calibrate, _leave_one_out


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("columns", [6, 60], ids=["fewer columns than rows", "more columns than rows"])
def test_leave_one_out_equals_fitting_without_each_row(rng, columns, weighted):
    counts = rng.uniform(0.2, 5, 30) if weighted else np.ones(30)
    counts /= counts.mean()
    rows = rng.normal(size=(30, columns))
    rows -= np.average(rows, axis=0, weights=counts)
    truth = rng.integers(3, size=30)
    targets = np.eye(3)[truth] + rows[:, :3]
    gram = rows.T @ (counts[:, None] * rows) if columns < 30 else None
    fit = _leave_one_out(rows, gram, targets, counts)
    penalty = fit.strength * 30 * np.eye(columns)
    for i in range(30):
        others = np.delete(np.arange(30), i)
        x, y, w = rows[others], targets[others], counts[others]
        centre, mean = np.average(x, axis=0, weights=w), np.average(y, axis=0, weights=w)
        z = w[:, None] * (x - centre)
        weights = np.linalg.solve(z.T @ (x - centre) + penalty, z.T @ (y - mean))
        np.testing.assert_allclose(fit.left_out[i], mean + (rows[i] - centre) @ weights, atol=1e-8)
    z = counts[:, None] * rows
    direct = np.linalg.solve(z.T @ rows + penalty, z.T @ (targets - np.average(targets, axis=0, weights=counts)))
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
    factor, offsets = _calibrate(scores, truth, np.ones(len(truth)))
    assert factor == pytest.approx(2, rel=0.05)
    np.testing.assert_allclose(offsets, [0.5, 0.0, -0.5], atol=0.06)
