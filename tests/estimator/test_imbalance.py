"""Rare classes: weights in the loss, a threshold chosen out of fold, and metrics that do not reward the majority."""

import numpy as np
import pytest

from newtonnet.estimator import NewtonNetClassifier
from newtonnet.estimator.scoring import influence
from newtonnet.graphs import from_edges
from newtonnet.metrics import METRICS, decide, score


def rare_graph(seed=0, n=600, share=0.08):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(int)
    ends = rng.integers(0, n, (2, 6 * n))
    ends = ends[:, (truth[ends[0]] == truth[ends[1]]) | (rng.random(6 * n) < 0.5)]
    features = rng.normal(size=(n, 4)) + 0.9 * truth[:, None]
    labels = np.where(rng.random(n) < 0.6, truth, -1)
    return from_edges(ends, features, labels=labels, class_names=("ok", "fraud")), truth


def acquainted_graph(seed, n=4000, share=0.03):
    """Rare nodes know each other; the more of their labels are shown, the more probable they become."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(int)
    rare = np.flatnonzero(truth)
    ends = np.hstack([rng.integers(n, size=(2, 3 * n)), rare[rng.integers(len(rare), size=(2, 2 * len(rare)))]])
    features = rng.normal(size=(n, 8)) + 0.7 * truth[:, None] * (np.arange(8) < 4)
    return from_edges(
        ends, features, labels=np.where(rng.random(n) < 0.7, truth, -1), class_names=("ok", "fraud")
    ), truth


def fitted(graph, **changes):
    return NewtonNetClassifier(tune="off", max_epochs=40, folds=3, threads=1, **changes).fit(graph)


@pytest.fixture(scope="module")
def rare():
    return rare_graph()


def recall(model, graph, truth):
    new = (graph.labels < 0) & (truth == 1)
    return (model.predict(graph)[new] == model.classes_[1]).mean()


def test_balanced_weights_find_more_of_a_rare_class(rare):
    graph, truth = rare
    plain, weighted = fitted(graph), fitted(graph, class_weight="balanced", metric="balanced_accuracy")
    assert recall(weighted, graph, truth) > recall(plain, graph, truth) + 0.1
    named = fitted(graph, class_weight={"fraud": 6.0}, metric="balanced_accuracy")
    assert recall(named, graph, truth) > recall(plain, graph, truth)


@pytest.mark.parametrize(("rule", "least"), [("recall=0.8", 0.6), ("f1", 0.2)])
def test_a_threshold_chosen_out_of_fold_holds_on_new_nodes(rare, rule, least):
    graph, truth = rare
    model = fitted(graph, threshold=rule, metric="average_precision")
    assert model.threshold_.rule == rule
    assert recall(model, graph, truth) >= least
    expected = model.predict_proba(graph)[:, 1] >= model.threshold_.value
    assert (model.predict(graph) == model.classes_[expected.astype(int)]).all()


def test_a_promised_precision_holds_on_new_nodes():
    """The average of all folds calls more nodes rare from the same probability on; the threshold follows it."""
    reached, at_first = [], []
    for seed in range(3):
        graph, truth = acquainted_graph(seed)
        model = NewtonNetClassifier("ridge", tune="off", folds=4, threshold="precision=0.7").fit(graph)
        new, shares = graph.labels < 0, model.predict_proba(graph)
        for place, threshold in ((reached, model.threshold_), (at_first, model.threshold_.where_chosen)):
            called = decide(shares[new], threshold) == 1
            place.append(truth[new][called].mean())
    assert min(reached) >= 0.7
    assert min(at_first) < 0.7
    assert np.mean(at_first) < np.mean(reached) - 0.05, "where the threshold is not moved"


def test_too_few_nodes_to_promise_anything_are_noted():
    graph, _ = rare_graph(n=200, share=0.05)
    model = NewtonNetClassifier("ridge", tune="off", folds=3, threshold="precision=0.95").fit(graph)
    assert not model.threshold_.reached
    known = int((graph.labels == 1).sum())
    assert f"precision=0.95 cannot be promised from {known} held-out nodes of class fraud" in " ".join(model.notes_)


def test_the_threshold_is_saved(rare, tmp_path):
    graph, _ = rare
    model = fitted(graph, threshold="f1", class_weight={"fraud": 2.0})
    model.save(tmp_path / "model")
    loaded = NewtonNetClassifier.load(tmp_path / "model")
    assert loaded.threshold_ == model.threshold_
    assert loaded.class_weight == {"fraud": 2.0}
    assert (loaded.predict(graph) == model.predict(graph)).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"threshold": "f2"}, "threshold must be f1, precision=0.9, recall=0.8"),
        ({"metric": "auc"}, "metric must be one of accuracy, balanced_accuracy"),
        ({"class_weight": {"theft": 2}}, "names 'theft', which is no class"),
    ],
)
def test_what_makes_no_sense_is_refused(rare, changes, message):
    with pytest.raises(ValueError, match=message):
        fitted(rare[0], **changes)
    three = from_edges([[], []], np.eye(30), labels=[0, 1, 2] * 10)
    with pytest.raises(ValueError, match="a threshold is for two classes, got 3"):
        fitted(three, threshold="f1")


@pytest.mark.parametrize("metric", METRICS)
def test_the_error_of_every_metric_is_that_of_samples(metric):
    """The standard error by influences beside the spread over many samples of nodes."""
    rng = np.random.default_rng(0)

    def sample():
        truth = rng.choice(3, 400, p=[0.6, 0.3, 0.1])
        logits = rng.normal(size=(400, 3)) + 1.5 * np.eye(3)[truth]
        shares = np.exp(logits)
        return shares / shares.sum(axis=1, keepdims=True), truth

    spread = np.std([score(metric, *sample()) for _ in range(120)])
    errors = [np.sqrt((influence(metric, *sample()) ** 2).sum()) / 400 for _ in range(10)]
    assert np.mean(errors) == pytest.approx(spread, rel=0.25)
