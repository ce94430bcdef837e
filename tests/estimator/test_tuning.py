import time

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from newtonnet.datasets import csbm
from newtonnet.estimator.candidates import FLAT, candidates
from newtonnet.estimator.folds import make_folds
from newtonnet.estimator.members import Loop, shapes
from newtonnet.estimator.tuning import Clock, average, best_temperature, judge, sharpened, tune
from newtonnet.nn import ZOO

FIXED = {"max_epochs": 15, "patience": None, "metric": "accuracy"}
LOOP = Loop(seed=0, threads=1, max_memory=None, device="cpu")


@pytest.fixture(scope="module")
def graph():
    return csbm(0.1, nodes=120, features=30, seed=1)


@pytest.mark.parametrize("model", sorted(ZOO))
def test_there_is_something_to_try_for_every_model_and_all_of_it_is_different(model):
    tried = candidates(model, FIXED, bound=True)
    assert len(tried) >= 8
    assert len({repr(candidate) for candidate in tried}) == len(tried)
    assert tried[0].model == model


def test_newtonnet_tries_an_mlp_a_branch_and_a_stack_unless_told_otherwise():
    tried = candidates("newtonnet", FIXED, bound=True)
    assert any(candidate.setting.config.filter_learning_rate == FLAT for candidate in tried)
    assert any(getattr(candidate.setting.options, "branch", 0) for candidate in tried)
    assert any(candidate.model == "newton-stack" for candidate in tried)
    free = candidates("newtonnet", FIXED, bound=False)
    assert not any(getattr(candidate.setting.options, "branch", 0) for candidate in free)
    filters = candidates("newtonnet", {**FIXED, "points": "chebyshev"}, bound=True)
    assert {candidate.model for candidate in filters} == {"newtonnet"}, "a stack has no such option"


def test_a_flat_filter_is_an_mlp(graph):
    flat = [c for c in candidates("newtonnet", FIXED, bound=False) if c.setting.config.filter_learning_rate == FLAT]
    tuned = tune(graph, flat[:1], make_folds(graph, 3), LOOP, clock=Clock(None, None))
    values = np.array(tuned.chosen[0].members[0].record.outcome.values)
    np.testing.assert_allclose(values, 1, atol=1e-6)


def test_only_equal_shapes_train_together():
    tried = candidates("newtonnet", FIXED, bound=True)
    groups = shapes(tried)
    assert sorted(place for group in groups for place in group) == list(range(len(tried)))
    for group in groups:
        assert len({repr((tried[place].model, tried[place].setting.options)) for place in group}) == 1
    assert len(groups) < len(tried) / 2


class Library:
    """Settings whose held-back predictions are given."""

    def __init__(self, graph, folds, held):
        self.folds, self.candidates = folds, candidates("mlp", FIXED, bound=False)
        self.members = [
            {fold: type("Held", (), {"held": rows[split.validation]}) for fold, split in enumerate(folds)}
            for rows in held
        ]


def test_the_average_beats_its_members_and_leaves_out_what_harms(graph, rng):
    folds, truth = make_folds(graph, 4), np.eye(2)[graph.labels]
    odd = np.arange(graph.nodes) % 2 == 0
    noise = rng.random((graph.nodes, 1))
    halves = [np.where(mask[:, None], truth * 0.9 + 0.05, np.abs(noise - [0.0, 1.0])) for mask in (odd, ~odd)]
    held = [*halves, 1 - truth]
    weights, shares, labels = average(Library(graph, folds, held), [0, 1, 2], graph)
    assert 2 not in weights
    assert weights[0] + weights[1] == pytest.approx(1)
    assert judge("accuracy", shares, labels)[0] > max(judge("accuracy", rows, graph.labels)[0] for rows in halves)


def test_scores_are_those_of_scikit_learn(rng):
    truth = rng.integers(0, 2, 50)
    shares = rng.dirichlet([1, 1], 50)
    assert judge("accuracy", shares, truth) == pytest.approx(
        ((shares.argmax(1) == truth).mean(), -log_loss(truth, shares))
    )
    assert judge("roc_auc", shares, truth)[0] == pytest.approx(roc_auc_score(truth, shares[:, 1]))


@pytest.mark.parametrize("scale", [0.4, 1.0, 2.5])
def test_the_temperature_undoes_too_much_or_too_little_confidence(rng, scale):
    logits = 2 * rng.normal(size=(20_000, 3))
    honest = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    truth = np.array([rng.choice(3, p=row) for row in honest])
    told = np.exp(scale * logits) / np.exp(scale * logits).sum(axis=1, keepdims=True)
    temperature = best_temperature(told, truth)
    assert temperature == pytest.approx(scale, rel=0.05)
    np.testing.assert_allclose(sharpened(told, scale), honest, atol=2e-5)
    np.testing.assert_array_equal(sharpened(told, temperature).argmax(axis=1), told.argmax(axis=1))


def test_few_labels_say_nothing_about_the_temperature(rng):
    assert best_temperature(np.full((20, 2), 0.5), rng.integers(0, 2, 20)) == 1.0


def test_a_clock_is_over_when_its_time_is_or_when_somebody_asks():
    assert not Clock(None, None).over()
    assert not Clock(60, None).part(0.5).over()
    assert Clock(60, lambda: True).over()
    assert Clock(60, lambda: True).part(0.5).over()
    short = Clock(0.01, None)
    time.sleep(0.02)
    assert short.over()


def test_where_time_runs_out_the_first_settings_are_kept(graph):
    tried = candidates("newtonnet", {**FIXED, "max_epochs": 100_000}, bound=False)
    tuned = tune(graph, tried, make_folds(graph, 3), LOOP, clock=Clock(0.2, None))
    assert not tuned.complete
    assert 1 <= tuned.tried <= len(tried)
    assert tuned.chosen[0].members[0].record.outcome.epochs < 100_000
