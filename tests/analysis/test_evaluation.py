from types import SimpleNamespace

import numpy as np
import pytest

from newtonnet import NewtonNetClassifier
from newtonnet.analysis import evaluation
from newtonnet.analysis.evaluation import GIVEN, Nodes, evaluate_kept, evaluate_models
from newtonnet.estimator import CrossValidation
from newtonnet.graphs import from_edges
from newtonnet.training import Progress


class Clock:
    """A clock that training moves."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def evaluated(monkeypatch):
    """Evaluate with fits that take a given share of their time; gives the outcome and every fit's model and limit."""

    def evaluate(
        *, folds=4, rivals=("mlp", "gcn"), uses=1.0, stop_at=None, fails=None, deadline=120.0, overrun=0.0, overhead=0.0
    ):
        clock, fits = Clock(), []
        graph = from_edges([[0], [1]], np.eye(8), labels=[0, 1] * 4)

        def cross_validate(one, graph, pairs, *, stop, on_epoch):
            on_epoch(Progress(1, 2, 1, 0.5, step="training", share=0.5, best=0.5))
            fits.append((one.model, one.time_limit))
            if one.model == fails:
                raise ValueError("both classes are needed")
            clock.now += uses * one.time_limit + overrun
            one.complete_ = not stop()
            share = np.full((len(pairs[0][1]), 2), 0.5)
            return CrossValidation(np.array([0.5]), np.array([1.0]), [one], [pairs[0][1]], [share])

        monkeypatch.setattr(evaluation, "cross_validate", cross_validate)
        monkeypatch.setattr(evaluation, "time", clock)
        pairs = [
            (np.arange(8)[np.arange(8) % folds != i], np.flatnonzero(np.arange(8) % folds == i)) for i in range(folds)
        ]
        outcome = evaluate_models(
            NewtonNetClassifier(),
            graph,
            pairs,
            [NewtonNetClassifier(name) for name in rivals],
            deadline=deadline,
            overhead=overhead,
            stop=lambda: stop_at is not None and len(fits) >= stop_at,
            start_step=lambda name: lambda *state: None,
        )
        return outcome, fits, clock.now

    return evaluate


@pytest.mark.parametrize("uses", [0.1, 0.6, 1.0])
def test_a_rival_gets_the_time_that_the_model_had_and_all_end_in_time(evaluated, uses):
    outcome, fits, took = evaluated(uses=uses)
    budgets = {model: [seconds for name, seconds in fits if name == model] for model in ("newtonnet", "mlp", "gcn")}
    assert budgets["newtonnet"] == budgets["mlp"] == budgets["gcn"]
    assert took == pytest.approx(3 * uses * sum(budgets["newtonnet"]))
    assert took <= 120
    assert list(outcome.others) == ["mlp", "gcn"]
    assert len(outcome.ours.scores) == 4
    assert outcome.warnings == []


def test_fits_that_exceed_their_time_get_less_later(evaluated):
    outcome, fits, took = evaluated(overrun=2.0)
    assert took <= 120 + 2
    assert len(outcome.others) == 2
    assert fits[3][1] < fits[0][1] - 1


def test_models_are_compared_on_the_folds_there_was_time_for(evaluated):
    outcome, fits, took = evaluated(overrun=12.0)
    assert took <= 120
    assert [model for model, _ in fits] == ["newtonnet", "mlp", "gcn"] * 2
    assert len(outcome.ours.scores) == 2
    assert [len(other.scores) for other in outcome.others.values()] == [2, 2]
    assert outcome.warnings == ["The scores are from 2 of 4 folds: the time limit was reached."]


def test_rather_than_train_for_next_to_nothing_there_are_fewer_folds(evaluated):
    _, fits, _ = evaluated(overrun=6.0, overhead=6.0, folds=8)
    assert len(fits) < 3 * 8
    assert min(seconds for _, seconds in fits) > 0.7 * 6


def test_an_overhead_that_was_feared_in_vain_costs_no_folds(evaluated):
    outcome, fits, took = evaluated(overhead=50.0)
    assert len(outcome.ours.scores) == 4
    assert fits[-1][1] > fits[0][1]
    assert took > 0.8 * 120


def test_a_fold_that_not_all_have_counts_for_none(evaluated):
    outcome, fits, _ = evaluated(stop_at=5)
    assert [model for model, _ in fits] == ["newtonnet", "mlp", "gcn", "newtonnet", "mlp"]
    assert [len(one.scores) for one in (outcome.ours, *outcome.others.values())] == [1, 1, 1]
    assert outcome.warnings == ["The scores are from 1 of 4 folds: the run was stopped."]


def test_a_rival_for_whom_no_time_is_left_is_left_out(evaluated):
    outcome, fits, took = evaluated(overrun=70.0)
    assert took <= 2 * 80
    assert [model for model, _ in fits] == ["newtonnet", "mlp"]
    assert len(outcome.ours.scores) == 1
    assert list(outcome.others) == ["mlp"]
    assert outcome.warnings[1:] == ["Comparison with gcn skipped: the time limit was reached."]


def test_time_that_is_not_used_is_passed_on(evaluated):
    _, idle, _ = evaluated(uses=0.0, rivals=())
    assert [seconds for _, seconds in idle] == pytest.approx([GIVEN * 120 / left for left in (4, 3, 2, 1)])


def test_a_fold_that_ctrl_c_cut_short_does_not_count(evaluated):
    outcome, fits, _ = evaluated(stop_at=3, rivals=())
    assert len(fits) == 3
    assert len(outcome.ours.scores) == 2
    assert "2 of 4 folds: the run was stopped" in outcome.warnings[0]


def test_a_rival_that_was_cut_short_on_the_first_fold_is_left_out(evaluated):
    outcome, _, _ = evaluated(stop_at=3)
    assert list(outcome.others) == ["mlp"]
    assert outcome.warnings[-1] == "Comparison with gcn skipped: the run was stopped."


def test_no_fold_at_all_is_said_with_its_reason(evaluated):
    assert evaluated(stop_at=0)[0].warnings == ["Cross-validation skipped: the run was stopped."]
    assert evaluated(deadline=-1.0)[0].warnings == ["Cross-validation skipped: the time limit was reached."]
    assert evaluated(stop_at=0)[0].ours is None


def test_a_model_that_cannot_be_evaluated_loses_only_its_scores(evaluated):
    outcome, _, _ = evaluated(fails="newtonnet")
    assert (outcome.ours, outcome.others) == (None, {})
    assert outcome.warnings == ["Cross-validation skipped: too few labelled nodes (both classes are needed)."]
    outcome, _, _ = evaluated(fails="mlp")
    assert list(outcome.others) == ["gcn"]
    assert len(outcome.ours.scores) == 4


def predicted_out_of_fold(graph, folds):
    """A fitted classifier that predicted the nodes of some of four folds out of fold: the first so many, or these."""
    one = NewtonNetClassifier()
    nodes = [np.flatnonzero(np.arange(8) % 4 == i) for i in (range(folds) if isinstance(folds, int) else folds)]
    one.out_of_fold_ = SimpleNamespace(nodes=nodes, probabilities=[np.eye(2)[graph.labels[part]] for part in nodes])
    return one


def kept(graph, ours, rivals):
    """The evaluation of a kept model with as much time as it needs."""
    return evaluate_kept(
        ours,
        graph,
        rivals,
        Nodes([], None, None, graph.truth, refit=False),
        seconds=1.0,
        deadline=float("inf"),
        stop=lambda: False,
        start_step=lambda name: lambda *state: None,
    )


@pytest.mark.parametrize(
    ("ours", "rivals", "said"),
    [
        (
            4,
            [4],
            "Each of 8 labelled nodes was predicted by the members of the kept model that were not trained on it;",
        ),
        (4, [2, 4], "Of 8 labelled nodes, 4 were predicted, each by those members of the kept model that were not"),
        (3, [], "Of 8 labelled nodes, 6 were predicted, each by those members"),
    ],
)
def test_the_sentence_about_the_kept_model_counts_the_nodes_that_were_scored(ours, rivals, said):
    graph = from_edges([[0], [1]], np.eye(8), labels=[0, 1] * 4)
    others = [predicted_out_of_fold(graph, folds).set_params(model=f"r{folds}") for folds in rivals]
    for one in others:
        one.complete_, one.fit = True, lambda *_, one=one, **__: one
    found = kept(graph, predicted_out_of_fold(graph, ours), others)
    assert found.method.startswith(said)


def test_models_that_had_time_for_other_folds_are_compared_on_common_ones_or_not_at_all():
    graph = from_edges([[0], [1]], np.eye(8), labels=[0, 1] * 4)
    rivals = [
        predicted_out_of_fold(graph, folds).set_params(model=name) for name, folds in (("a", [3, 1]), ("b", [0, 2]))
    ]
    for one in rivals:
        one.complete_, one.fit = True, lambda *_, one=one, **__: one
    found = kept(graph, predicted_out_of_fold(graph, [0, 1, 3]), rivals)
    assert list(found.others) == ["a"]
    for one in (found.ours, found.others["a"]):
        assert [nodes.tolist() for nodes in one.test] == [[1, 5], [3, 7]]
        assert [shares.argmax(axis=1).tolist() for shares in one.probabilities] == [[1, 1], [1, 1]]
    assert found.warnings == [
        "Comparison with b skipped: it had no time for the folds of the others.",
        "The scores are from 2 of 3 folds: the time limit was reached.",
    ]


@pytest.mark.parametrize(("complete", "tried", "warned"), [(True, 1, False), (False, 2, False), (False, 1, True)])
def test_a_rival_without_time_for_a_second_setting_is_named(complete, tried, warned):
    graph = from_edges([[0], [1]], np.eye(8), labels=[0, 1] * 4)
    rival = predicted_out_of_fold(graph, 4).set_params(model="mlp")
    rival.complete_, rival.tried_, rival.fit = complete, tried, lambda *_, **__: rival
    found = kept(graph, predicted_out_of_fold(graph, 4), [rival])
    assert found.warnings == ["mlp had time for a single setting, so its score may be too low."] * warned
