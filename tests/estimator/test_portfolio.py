import math
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss, roc_auc_score

from newtonnet.bank import graph_eigenvectors, train_boosting
from newtonnet.datasets import csbm
from newtonnet.estimator.candidates import MOST_FOR_EIGENVECTORS, candidates, group_by_shape
from newtonnet.estimator.ensemble import _greedy, cross_fit, final_temperature, mix, select
from newtonnet.estimator.families import BANK, PopulationFamily, _unbegun, defaults_of, family_of
from newtonnet.estimator.folds import make_folds
from newtonnet.estimator.members import Candidate, TrainingOptions, reads_labels
from newtonnet.estimator.portfolio import ENOUGH, FIRST_EPOCHS, Search, _train_on, deadline_in, tune
from newtonnet.estimator.scoring import best_temperature, calibration_error, influence, likelihood, score, sharpened
from newtonnet.nn import ZOO
from newtonnet.training import Progress, override

FIXED = {"max_epochs": 15, "patience": None, "metric": "accuracy"}
FAMILIES = {"ridge", "boosting", "newtonnet", "newton-stack"}
OPTIONS = TrainingOptions(seed=0, threads=1)
FLAT = 1e-9


@pytest.fixture(scope="module")
def graph():
    return csbm(0.1, nodes=120, features=30, seed=1)


def listed(model="newtonnet", settings=None, *, transductive=True, labels=True, spare=False, **config):
    fixed = {**FIXED, **config}
    return candidates(model, settings or {}, fixed, transductive=transductive, labels=labels, spare=spare)


def spectral(**config):
    """The settings of one filter alone."""
    tried = listed(transductive=False, **config)
    return [candidate for candidate in tried if candidate.model == "newtonnet"]


@pytest.mark.parametrize("model", sorted(ZOO))
def test_there_is_something_to_try_for_every_model_and_all_of_it_is_different(model):
    tried = listed(model)
    assert len(tried) >= 8
    assert len({repr(candidate) for candidate in tried}) == len(tried)
    assert model in {candidate.model for candidate in tried}


def test_the_portfolio_has_all_families_unless_told_otherwise():
    tried = listed()
    assert {candidate.model for candidate in tried} == FAMILIES
    assert tried[0].model == "ridge", "an answer in a second"
    assert any(candidate.setting.config.filter_learning_rate == FLAT for candidate in tried)
    assert any(getattr(candidate.setting.options, "branch", 0) for candidate in tried)
    assert {reads_labels(candidate.setting.options) for candidate in tried} == {True, False}
    free = listed(transductive=False, labels=False)
    assert not any(getattr(candidate.setting.options, "branch", 0) for candidate in free)
    assert not any(reads_labels(candidate.setting.options) for candidate in free)
    assert {candidate.model for candidate in free} == FAMILIES
    for given in ({"points": "chebyshev"}, {"gammas": (1.0, 1.0, 1.0)}, {"gamma1": 1.0}, {"ceiling": 2.0}):
        assert {candidate.model for candidate in listed(settings=given)} == {"newtonnet"}, "others have no such option"


def test_a_flat_filter_is_an_mlp(graph):
    flat = [c for c in spectral() if c.setting.config.filter_learning_rate == FLAT]
    tuned = tune(graph, flat[:1], make_folds(graph, 3), OPTIONS, deadline=deadline_in(None))
    values = np.array(tuned.chosen[0].members[0].record.outcome.values)
    np.testing.assert_allclose(values, 1, atol=1e-6)


def test_only_equal_shapes_train_together():
    tried = listed()
    groups = group_by_shape(dict(enumerate(tried)))
    assert sorted(place for group in groups for place in group) == list(range(len(tried)))
    for group in groups:
        assert len({repr((tried[place].model, tried[place].setting.options)) for place in group}) == 1
    assert len(groups) < len(tried)


def test_the_average_beats_its_members_and_leaves_out_what_harms(graph, rng):
    truth = np.eye(2)[graph.labels]
    odd = np.arange(graph.nodes) % 2 == 0
    noise = rng.random((graph.nodes, 1))
    halves = [np.where(mask[:, None], truth * 0.9 + 0.05, np.abs(noise - [0.0, 1.0])) for mask in (odd, ~odd)]
    held = dict(enumerate([*halves, 1 - truth]))
    weights = select(held, graph.labels, metric="accuracy")
    shares = mix(held, weights)
    assert 2 not in weights
    assert weights[0] + weights[1] == pytest.approx(1)
    np.testing.assert_allclose(shares, weights[0] * held[0] + weights[1] * held[1])
    assert score("accuracy", shares, graph.labels) > max(score("accuracy", rows, graph.labels) for rows in halves)


def test_few_validation_nodes_choose_a_broader_average_that_predicts_better(rng):
    """Twenty settings are equally good; which of them is best for 40 nodes is chance."""
    gains = []
    for _ in range(10):
        truth = rng.integers(2, size=4_040)
        held = {i: softmax(1.5 * np.eye(2)[truth] + rng.normal(size=(len(truth), 2)), axis=1) for i in range(20)}
        few = {i: shares[:40] for i, shares in held.items()}
        broad, narrow = select(few, truth[:40], metric="accuracy"), _greedy(few, truth[:40], "accuracy")
        assert sum(broad.values()) == pytest.approx(1)
        assert len(broad) > len(narrow)
        one, other = (mix(held, weights)[40:] for weights in (broad, narrow))
        gains.append(score("accuracy", one, truth[40:]) - score("accuracy", other, truth[40:]))
    assert np.mean(gains) > 0.01
    many = {i: shares[:3_000] for i, shares in held.items()}
    assert select(many, truth[:3_000], metric="accuracy") == _greedy(many, truth[:3_000], "accuracy")


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
    truth = (rng.random((20_000, 1)) > honest[:, :2].cumsum(axis=1)).sum(axis=1)
    told = np.exp(scale * logits) / np.exp(scale * logits).sum(axis=1, keepdims=True)
    temperature = best_temperature(told, truth)
    assert temperature == pytest.approx(scale, rel=0.05)
    np.testing.assert_allclose(sharpened(told, scale), honest, atol=2e-5)
    np.testing.assert_array_equal(sharpened(told, temperature).argmax(axis=1), told.argmax(axis=1))


def test_the_standard_errors_of_scores_are_those_of_resampled_nodes(rng):
    truth = rng.integers(0, 2, 400)
    ours, theirs = (np.clip(0.5 + 0.3 * (truth - 0.5) + 0.3 * rng.normal(size=400), 0, 1) for _ in range(2))
    ours, theirs = (np.stack([1 - one, one], axis=1) for one in (ours, 0.5 * ours + 0.5 * theirs))
    drawn = [rng.integers(0, 400, 400) for _ in range(600)]
    for metric in ("accuracy", "roc_auc"):
        z, other = influence(metric, ours, truth), influence(metric, theirs, truth)
        assert abs(z.mean()) < 1e-12
        scores = np.array([[score(metric, one[i], truth[i]) for one in (ours, theirs)] for i in drawn])
        assert np.sqrt((z**2).sum()) / 400 == pytest.approx(scores[:, 0].std(), rel=0.1)
        assert np.sqrt(((z - other) ** 2).sum()) / 400 == pytest.approx((scores[:, 0] - scores[:, 1]).std(), rel=0.1)


def test_an_average_over_folds_is_as_sure_as_it_is_right(rng):
    # Members of five folds: logits with errors in common and of their own. Their average is right more often than each,
    # but less sure.
    truth = rng.integers(0, 3, 20_000)
    shared = 1.2 * np.eye(3)[truth] + rng.normal(size=(20_000, 3))
    folds = [sharpened(np.exp(2 * (shared + 0.5 * rng.normal(size=shared.shape))), 1.0) for _ in range(5)]
    average = np.mean(folds, axis=0)
    alone = best_temperature(folds[0], truth)
    final = final_temperature(alone, folds, average)
    right = (average.argmax(axis=1) == truth).mean()
    gaps = [right - sharpened(average, one).max(axis=1).mean() for one in (alone, final)]
    assert final < alone
    assert 0 < gaps[1] < 0.5 * gaps[0], "more confident than with one fold's temperature, and never overconfident"


def test_a_node_has_no_part_in_its_own_out_of_fold_prediction(rng):
    labels = rng.integers(0, 2, 120)
    nodes = np.array_split(np.arange(120), 3)
    held = {i: rng.dirichlet([1, 1], 120) for i in range(6)}
    first = cross_fit(held, nodes, labels, metric="accuracy")
    changed = np.where(np.isin(np.arange(120), nodes[1]), 1 - labels, labels)
    again = cross_fit(held, nodes, changed, metric="accuracy")
    np.testing.assert_array_equal(first.probabilities[1], again.probabilities[1])
    assert first.scores[1] == pytest.approx(1 - again.scores[1])
    assert np.abs(first.probabilities[0] - again.probabilities[0]).max() > 1e-3


def test_calibration_lowers_the_error_of_overconfident_members(rng):
    logits = rng.normal(size=(3_000, 2))
    labels = (rng.random(3_000) > sharpened(np.exp(logits), 1.0)[:, 0]).astype(np.int64)
    sure = sharpened(np.exp(3 * logits), 1.0)
    found = cross_fit({0: sure}, np.array_split(np.arange(3_000), 3), labels, metric="accuracy")
    before, after = found.calibration
    assert before == pytest.approx(calibration_error(sure, labels))
    assert after < 0.3 * before


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
    tried = spectral(max_epochs=100_000)
    began = time.monotonic()
    tuned = tune(
        graph,
        tried,
        make_folds(graph, 3),
        replace(OPTIONS, threads=threads),
        deadline=deadline_in(0.5),
    )
    assert time.monotonic() - began < 10, "the time was exceeded by far"
    assert not tuned.complete
    assert all(part.members[0].record.outcome.epochs < 100_000 for part in tuned.chosen)


def test_what_is_asked_to_stop_at_once_has_learned_something(graph):
    tried = spectral(max_epochs=100_000)
    tuned = tune(
        graph,
        tried,
        make_folds(graph, 3),
        replace(OPTIONS, threads=2),
        deadline=deadline_in(None, lambda: True),
    )
    assert tuned.chosen[0].members[0].record.outcome.epochs >= 1
    assert 1 <= tuned.tried < len(tried)
    first = {repr(tried[i]) for i in group_by_shape(dict(enumerate(tried)))[0]}
    assert len(first) < len(tried)
    assert {repr(part.candidate) for part in tuned.chosen} <= first, "the list begins with the most useful ones"


def test_an_average_without_a_filter_still_shows_the_best_one_that_was_tried(graph):
    tried = [c for c in listed(labels=False) if c.model == "newton-stack"]
    bad = [c for c in listed(settings={"learning_rate": 1e-9}) if c.model == "newtonnet"][:1]
    tuned = tune(graph, [*tried[-2:], *bad], make_folds(graph, 2), OPTIONS, deadline=deadline_in(None))
    assert tuned.shown.members[0].record.outcome.response
    assert (tuned.shown.weight == 0) == all(part.candidate.model == "newton-stack" for part in tuned.chosen)


def test_progress_tells_the_best_settings_mean_and_ends_near_one(graph):
    told = []
    tried = spectral()[:10]
    tune(
        graph,
        tried,
        make_folds(graph, 3),
        OPTIONS,
        deadline=deadline_in(None),
        on_epoch=told.append,
    )
    shares = [state.share for state in told if state.step == "trying settings"]
    assert shares == sorted(shares)
    assert shares[-1] > 0.9
    assert max(state.best for state in told) <= 1


def test_what_was_stopped_trains_on_from_there(graph, tmp_path):
    # Two calls with a stop in between give what one call gives.
    (one, *_), folds = spectral(max_epochs=30), make_folds(graph, 3)[:1]
    whole = family_of("newtonnet").train(graph, [one], folds, OPTIONS, stop=lambda: False, progress=lambda _: None)
    options, asked = replace(OPTIONS, paused=tmp_path), []
    first = family_of("newtonnet").train(
        graph, [one], folds, options, stop=lambda: asked.append(1) or len(asked) > 10, progress=lambda _: None
    )
    assert first[0][0].record.outcome.epochs == 11
    again = family_of("newtonnet").train(graph, [one], folds, options, stop=lambda: False, progress=lambda _: None)
    assert again[0][0].record.outcome.epochs == 30
    np.testing.assert_array_equal(again[0][0].held, whole[0][0].held)
    assert list(tmp_path.iterdir()) == []


def test_the_best_train_on_while_others_are_left_behind(graph):
    """A worthless setting keeps the epochs of its try; the best ones get the time that is left."""
    epochs = {"max_epochs": 100_000, "patience": None}
    good, bad = (
        next(c for c in listed(settings={"learning_rate": rate}, **epochs) if c.model == "newtonnet")
        for rate in (0.01, 1e-9)
    )
    bad = bad._replace(setting=replace(bad.setting, options=replace(bad.setting.options, hidden=32)))
    other = good._replace(setting=replace(good.setting, options=replace(good.setting.options, hidden=16)))
    tuned = tune(graph, [good, other, bad], make_folds(graph, 2)[:1], OPTIONS, deadline=deadline_in(2))
    kept = [entry.members[0].record.outcome.epochs for entry in tuned.chosen]
    assert max(kept) > 2 * ENOUGH
    assert not tuned.complete


def test_time_that_the_best_leave_goes_to_the_others(graph, monkeypatch):
    """Settings that were paused in the scan train to their end where there is time for all."""
    tried = [c for c in listed(max_epochs=3 * ENOUGH, patience=None) if c.model == "newton-stack"]
    real = Search.train

    def short_scan(self, groups, folds, deadline, what, **options):
        return real(self, groups, folds, deadline_in(0.0) if what == "trying settings" else deadline, what, **options)

    monkeypatch.setattr(Search, "train", short_scan)
    tuned = tune(graph, tried, make_folds(graph, 2)[:1], OPTIONS, deadline=deadline_in(120))
    assert tuned.complete
    assert tuned.tried == len(tried)


def test_a_model_that_is_too_slow_is_tried_once_and_smaller_ones_are_tried_again(graph, monkeypatch):
    tried = [candidate for candidate in listed(max_epochs=100_000) if candidate.model == "newton-stack"]
    sizes = [candidate.setting.options.layers * candidate.setting.options.hidden for candidate in tried]
    begun = []

    class Slow(PopulationFamily):
        def train(self, graph, candidates, folds, options, *, stop, progress):
            begun.append(candidates[0].setting.options)
            time.sleep(0.2)
            progress(Progress(1, 100_000, 1, 0.5))
            assert stop(), "one epoch says enough"
            return [[_unbegun(graph, candidate, fold, options) for fold in folds] for candidate in candidates]

    monkeypatch.setattr("newtonnet.estimator.portfolio.LONG", 0.1)
    monkeypatch.setattr("newtonnet.estimator.portfolio.family_of", lambda _: Slow())
    search = Search(graph, tried, make_folds(graph, 2), OPTIONS)
    groups = group_by_shape(dict(enumerate(tried)))
    search.train(groups, [0], deadline_in(6), "trying")
    expected, smallest = [], {}
    for group in groups:
        kind = tried[group[0]].kind  # stacks that read labels say nothing about others
        if sizes[group[0]] < smallest.get(kind, math.inf):
            expected.append(tried[group[0]].setting.options)
            smallest[kind] = sizes[group[0]]
    assert begun == expected
    assert len(smallest) == 2
    assert len(begun) < len(groups)
    assert search.paused == set(range(len(tried)))
    assert not search.trained


def test_the_first_network_leaves_time_for_another_family(graph, monkeypatch):
    """The scan has its share of what the first network leaves, so that a slow one does not use it up."""
    tried = listed(max_epochs=100_000)
    shares = []
    real = Search.train

    def watched(self, groups, folds, deadline, what, **options):
        if what == "trying settings":
            shares.append((len(groups), deadline.end - time.monotonic()))
        if "persistent" in options and options["persistent"] and what == "trying settings":
            time.sleep(1.0)  # a slow first network
        return real(self, groups, folds, deadline_in(0.0), what, **options)

    monkeypatch.setattr(Search, "train", watched)
    tune(graph, tried, make_folds(graph, 2), OPTIONS, deadline=deadline_in(2.0))
    assert shares[1][0] > 3
    assert shares[1][1] > 0.2, "of the second that is left"


def test_one_of_each_kind_is_tried_before_the_others_and_those_of_the_best_kind_come_next(graph, monkeypatch):
    tried = [*spectral()[:2], *(one for one in listed() if one.model in ("newton-stack", "boosting"))]
    kinds = dict.fromkeys(one.kind for one in tried)
    steps = []
    real = Search.train

    def watched(self, groups, folds, deadline, what, **options):
        before = set(self.trained)
        real(self, groups[:3], folds, deadline, what, **options)
        best = {}
        for i in before:
            best[tried[i].kind] = max(best.get(tried[i].kind, 0.0), self.tried_setting(i).validation)
        steps.append((what, [tried[group[0]].kind for group in groups], best))

    monkeypatch.setattr(Search, "train", watched)
    tune(graph, tried, make_folds(graph, 2), OPTIONS, deadline=deadline_in(None))
    firsts = next(found for what, found, _ in steps if what == "trying one of each kind")
    assert sorted(firsts) == sorted(kinds)
    rest, best = next((found, best) for what, found, best in steps if what == "trying settings" and len(found) > 1)
    assert rest[: len(firsts) - 3] == firsts[3:], "what there was no time for comes first"
    scores = [best.get(kind, -math.inf) for kind in rest[len(firsts) - 3 :]]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) > 1


def calls_of(monkeypatch, scores=None):
    """Every training of a family: its candidates, and the first candidate's score so far in place of a real one."""
    calls = []

    class Counted(PopulationFamily):
        def train(self, graph, candidates, folds, options, *, stop, progress):
            calls.append(tuple(map(repr, candidates)))
            rows = super().train(graph, candidates, folds, options, stop=stop, progress=progress)
            return rows if scores is None else [[scored(member, scores.pop(0)) for member in row] for row in rows]

    monkeypatch.setattr("newtonnet.estimator.portfolio.family_of", lambda _: Counted())
    return calls


def scored(member, validation):
    outcome = replace(member.record.outcome, validation=validation)
    return replace(member, record=replace(member.record, outcome=outcome))


def test_a_single_setting_is_trained_once_in_all_of_the_time(graph, monkeypatch):
    calls, (one, *_) = calls_of(monkeypatch), spectral(max_epochs=100_000)
    tune(graph, [one], make_folds(graph, 3), OPTIONS, deadline=deadline_in(1.0))
    assert calls == [(repr(one),)]


def test_what_trained_together_trains_on_together(graph, monkeypatch):
    """Members that are stopped go on from there only with the same members beside them."""
    real = Search.train

    def short_tries(self, groups, folds, deadline, what, **options):
        return real(self, groups, folds, deadline, what, **options | ({"share": 0.0} if "trying" in what else {}))

    calls = calls_of(monkeypatch)
    monkeypatch.setattr(Search, "train", short_tries)
    tried = spectral(max_epochs=3 * ENOUGH)
    tuned = tune(graph, tried, make_folds(graph, 2)[:1], OPTIONS, deadline=deadline_in(300))
    assert tuned.complete
    groups = dict.fromkeys(calls)
    assert max(map(len, groups)) > 1
    assert len(calls) == 2 * len(groups), "each is tried, and trains on to its end"
    assert sum(len(group) for group in groups) == len(tried), "no two overlap"


def test_a_worse_member_does_not_replace_a_better_one(graph, monkeypatch):
    calls_of(monkeypatch, scores=[0.8, 0.6, 0.9])
    search = Search(graph, spectral()[:1], make_folds(graph, 2), OPTIONS)
    reached = []
    for _ in range(3):
        search.train([[0]], [0], deadline_in(None), "training")
        reached.append(search.trained[0][0].validation)
    assert reached == [0.8, 0.8, 0.9]


def test_the_first_network_stops_after_some_epochs_if_the_time_is_limited(graph, monkeypatch):
    """A usable model, and then the time is for others."""
    epochs = []
    real = Search.train

    def watched(self, groups, folds, deadline, what, **options):
        real(self, groups, folds, deadline, what, **options)
        epochs.extend(member.record.outcome.epochs for member in self.trained.get(0, {}).values())

    monkeypatch.setattr(Search, "train", watched)
    tried = spectral(max_epochs=100_000)
    tune(graph, tried, make_folds(graph, 2)[:1], OPTIONS, deadline=deadline_in(60.0, lambda: bool(epochs)))
    assert epochs[0] == FIRST_EPOCHS


def test_eigenvectors_are_for_graphs_of_moderate_size_and_found_once(graph, monkeypatch):
    found = []
    monkeypatch.setattr(
        "newtonnet.estimator.families.graph_eigenvectors",
        lambda *given: found.append(1) or graph_eigenvectors(*given),
    )
    tried = [one for one in listed() if getattr(one.setting.options, "eigenvectors", 0)]
    large = candidates("newtonnet", {}, FIXED, transductive=True, labels=True, nodes=MOST_FOR_EIGENVECTORS + 1)
    assert tried
    assert not [one for one in large if getattr(one.setting.options, "eigenvectors", 0)]
    tune(graph, tried * 2, make_folds(graph, 3), OPTIONS, deadline=deadline_in(None))
    assert len(found) == 1


def test_spare_time_is_for_more_settings_when_all_others_are_done(graph, monkeypatch):
    calls = calls_of(monkeypatch)
    tried = [one for one in listed(transductive=False, labels=False, spare=True) if one.model == "newtonnet"]
    spare = {repr(one) for one in tried if one.spare}
    folds = make_folds(graph, 2)[:1]
    tuned = tune(graph, tried, folds, OPTIONS, deadline=deadline_in(300))
    assert tuned.tried == len(tried)
    assert tuned.complete
    late = [bool(spare & set(group)) for group in calls]
    assert late == sorted(late)
    assert {one for group in calls for one in group} == {repr(one) for one in tried}

    usual = late.index(True)
    calls.clear()
    tuned = tune(graph, tried, folds, OPTIONS, deadline=deadline_in(300, lambda: len(calls) > usual))
    assert 0 < len(tried) - tuned.tried < len(spare)
    assert tuned.complete, "there was time for all that is not for spare time"


def test_what_is_paused_comes_before_settings_for_spare_time(graph, monkeypatch):
    tried = [one for one in listed(transductive=False, labels=False, spare=True) if one.model == "newtonnet"]
    calls = calls_of(monkeypatch)
    monkeypatch.setattr("newtonnet.estimator.portfolio._train_on", lambda search, *given: search.paused.add(0))
    tuned = tune(graph, tried, make_folds(graph, 2)[:1], OPTIONS, deadline=deadline_in(300))
    assert not {one for group in calls for one in group} & {repr(one) for one in tried if one.spare}
    assert not tuned.complete


def test_a_single_usual_setting_leaves_time_for_the_others(graph):
    tried = [one for one in listed(transductive=False, labels=False, spare=True) if one.model == "newtonnet"]
    some = [next(one for one in tried if not one.spare), *[one for one in tried if one.spare][:2]]
    tuned = tune(graph, some, make_folds(graph, 2), OPTIONS, deadline=deadline_in(300))
    assert tuned.tried == 3


def test_what_was_too_slow_for_a_try_trains_in_time_that_is_left(graph):
    tried = spectral()
    groups = group_by_shape(dict(enumerate(tried)))
    search = Search(graph, tried, make_folds(graph, 2), OPTIONS)
    search.slow, search.paused = {tried[0].kind: 0}, set(range(len(tried)))
    _train_on(search, groups, [0], deadline_in(None))
    assert set(search.trained) == set(range(len(tried)))


def test_boosting_goes_on_where_it_stopped_and_a_fold_that_ended_is_not_trained_again(graph, monkeypatch):
    begun, held = [], {}

    def counted(graph, split, options, *, stop, paused=None, **given):
        begun.append((split.index, paused is not None))
        looks = iter([paused is None and split.index == 1])  # the second fold is stopped once
        found = train_boosting(graph, split, options, stop=lambda: next(looks, False), paused=paused, **given)
        held.setdefault(split.index, []).append(found.held)
        return found

    monkeypatch.setitem(BANK, "boosting", (BANK["boosting"][0], counted))
    one = Candidate("boosting", override(defaults_of("boosting"), {"max_iterations": 60}))
    folds = make_folds(graph, 2)
    search = Search(graph, [one, one], folds, replace(OPTIONS, kept={}))
    for _ in range(2):
        search.train([[0]], [0, 1], deadline_in(300), "training")
    assert begun == [(0, False), (1, False), (1, True)]
    whole = train_boosting(graph, folds[1], one.setting.options, seed=OPTIONS.seed + folds[1].index, threads=1)
    np.testing.assert_array_equal(held[1][-1], whole.held)


def test_a_setting_that_was_cut_short_is_not_complete_because_it_ended_on_other_folds(graph):
    search = Search(graph, spectral(), make_folds(graph, 3), OPTIONS)
    search.train([[0]], [0], deadline_in(None), "training")
    search.paused.add(0)
    search.train([[0]], [1, 2], deadline_in(None), "training")
    assert search.paused == {0}
    search.train([[0]], [0, 1, 2], deadline_in(None), "training")
    assert not search.paused


def test_a_fit_without_a_limit_has_no_spare_time():
    assert [one for one in listed(spare=True) if one.spare]
    assert not [one for one in listed() if one.spare]
