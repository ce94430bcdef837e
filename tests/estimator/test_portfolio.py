import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from newtonnet.datasets import csbm
from newtonnet.estimator.members import TrainingOptions, group_by_shape, make_folds, train_members
from newtonnet.estimator.portfolio import average, candidates, deadline_in, tune
from newtonnet.estimator.scoring import best_temperature, likelihood, score, sharpened
from newtonnet.nn import ZOO

FIXED = {"max_epochs": 15, "patience": None, "metric": "accuracy"}
OPTIONS = TrainingOptions(seed=0, threads=1, max_memory=None, device="cpu")
TRAIN = partial(train_members, options=OPTIONS)
FLAT = 1e-9


@pytest.fixture(scope="module")
def graph():
    return csbm(0.1, nodes=120, features=30, seed=1)


@pytest.mark.parametrize("model", sorted(ZOO))
def test_there_is_something_to_try_for_every_model_and_all_of_it_is_different(model):
    tried = candidates(model, FIXED, transductive=True)
    assert len(tried) >= 8
    assert len({repr(candidate) for candidate in tried}) == len(tried)
    assert tried[0].model == model


def test_newtonnet_tries_an_mlp_a_branch_and_a_stack_unless_told_otherwise():
    tried = candidates("newtonnet", FIXED, transductive=True)
    assert any(candidate.setting.config.filter_learning_rate == FLAT for candidate in tried)
    assert any(getattr(candidate.setting.options, "branch", 0) for candidate in tried)
    assert any(candidate.model == "newton-stack" for candidate in tried)
    free = candidates("newtonnet", FIXED, transductive=False)
    assert not any(getattr(candidate.setting.options, "branch", 0) for candidate in free)
    for given in ({"points": "chebyshev"}, {"gammas": (1.0, 1.0, 1.0)}, {"gamma1": 1.0}, {"ceiling": 2.0}):
        filters = candidates("newtonnet", {**FIXED, **given}, transductive=True)
        assert {candidate.model for candidate in filters} == {"newtonnet"}, "a stack has no such option"


def test_a_flat_filter_is_an_mlp(graph):
    flat = [
        c for c in candidates("newtonnet", FIXED, transductive=False) if c.setting.config.filter_learning_rate == FLAT
    ]
    tuned = tune(graph, flat[:1], make_folds(graph, 3), TRAIN, deadline=deadline_in(None))
    values = np.array(tuned.chosen[0].members[0].record.outcome.values)
    np.testing.assert_allclose(values, 1, atol=1e-6)


def test_only_equal_shapes_train_together():
    tried = candidates("newtonnet", FIXED, transductive=True)
    groups = group_by_shape(dict(enumerate(tried)))
    assert sorted(place for group in groups for place in group) == list(range(len(tried)))
    for group in groups:
        assert len({repr((tried[place].model, tried[place].setting.options)) for place in group}) == 1
    assert len(groups) < len(tried) / 2


def test_the_average_beats_its_members_and_leaves_out_what_harms(graph, rng):
    truth = np.eye(2)[graph.labels]
    odd = np.arange(graph.nodes) % 2 == 0
    noise = rng.random((graph.nodes, 1))
    halves = [np.where(mask[:, None], truth * 0.9 + 0.05, np.abs(noise - [0.0, 1.0])) for mask in (odd, ~odd)]
    held = dict(enumerate([*halves, 1 - truth]))
    weights, shares = average(held, graph.labels, metric="accuracy")
    assert 2 not in weights
    assert weights[0] + weights[1] == pytest.approx(1)
    np.testing.assert_allclose(shares, weights[0] * held[0] + weights[1] * held[1])
    assert score("accuracy", shares, graph.labels) > max(score("accuracy", rows, graph.labels) for rows in halves)


def test_scores_are_those_of_scikit_learn(rng):
    truth = rng.integers(0, 2, 50)
    shares = rng.dirichlet([1, 1], 50)
    assert score("accuracy", shares, truth) == (shares.argmax(1) == truth).mean()
    assert score("roc_auc", shares, truth) == pytest.approx(roc_auc_score(truth, shares[:, 1]))
    assert likelihood(shares, truth) == pytest.approx(-log_loss(truth, shares))


def test_one_class_has_no_roc_auc():
    with pytest.raises(ValueError, match="roc_auc needs nodes of both classes"):
        score("roc_auc", np.full((3, 2), 0.5), np.ones(3, dtype=np.int64))


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


def test_a_deadline_is_over_at_its_time_or_on_request():
    assert not deadline_in(None).over()
    assert not deadline_in(60).part(0.5).over()
    assert deadline_in(60, lambda: True).over()
    assert deadline_in(60, lambda: True).part(0.5).over()
    short = deadline_in(0.01)
    time.sleep(0.02)
    assert short.over()


@pytest.mark.parametrize("threads", [1, 2])
def test_where_time_runs_out_the_first_settings_are_kept(graph, threads):
    tried = candidates("newtonnet", {**FIXED, "max_epochs": 100_000}, transductive=False)
    began = time.monotonic()
    tuned = tune(
        graph,
        tried,
        make_folds(graph, 3),
        partial(train_members, options=replace(OPTIONS, threads=threads)),
        deadline=deadline_in(0.5),
    )
    assert time.monotonic() - began < 10, "the time was exceeded by far"
    assert not tuned.complete
    assert all(part.members[0].record.outcome.epochs < 100_000 for part in tuned.chosen)


def test_what_is_asked_to_stop_at_once_has_learned_something(graph):
    tried = candidates("newtonnet", {**FIXED, "max_epochs": 100_000}, transductive=False)
    tuned = tune(
        graph,
        tried,
        make_folds(graph, 3),
        partial(train_members, options=replace(OPTIONS, threads=2)),
        deadline=deadline_in(None, lambda: True),
    )
    assert tuned.chosen[0].members[0].record.outcome.epochs >= 1
    assert 1 <= tuned.tried < len(tried)
    first = {repr(candidate) for candidate in tried[:10]}
    assert {repr(part.candidate) for part in tuned.chosen} <= first, "the list begins with the most useful ones"


def test_an_average_without_a_filter_still_shows_the_best_one_that_was_tried(graph):
    tried = [c for c in candidates("newtonnet", FIXED, transductive=False) if c.model == "newton-stack"]
    spectral = candidates("newtonnet", {**FIXED, "learning_rate": 1e-9}, transductive=False)[0]
    tuned = tune(graph, [*tried, spectral], make_folds(graph, 3), TRAIN, deadline=deadline_in(None))
    assert tuned.shown.members[0].record.outcome.response
    assert (tuned.shown.weight == 0) == all(part.candidate.model == "newton-stack" for part in tuned.chosen)


def test_progress_tells_the_best_settings_mean_and_ends_near_one(graph):
    told = []
    tried = candidates("newtonnet", FIXED, transductive=False)[:10]
    tune(
        graph, tried, make_folds(graph, 3), TRAIN, deadline=deadline_in(None), progress=lambda *what: told.append(what)
    )
    shares = [share for what, share, _ in told if what == "trying settings"]
    assert shares == sorted(shares)
    assert shares[-1] > 0.9
    assert max(best for *_, best in told) <= 1
