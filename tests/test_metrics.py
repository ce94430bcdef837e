"""Scores equal scikit-learn's, thresholds keep their promises, class weights balance."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import binomtest
from sklearn import metrics as reference

from newtonnet.metrics import (
    METRICS,
    Threshold,
    choose_threshold,
    class_weights,
    decide,
    precision_recall,
    rarer,
    score,
)


def choose(rule, scores, positive):
    """The threshold for the second class."""
    return choose_threshold(rule, np.stack([1 - scores, scores], axis=1), positive.astype(int))


def drawn(rng, n, classes):
    truth = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    logits = rng.normal(size=(n, classes)) + np.eye(classes)[truth]
    return softmax(np.round(logits, 1), axis=1), truth  # rounded, so that there are ties


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_scikit_learn(seed, classes):
    shares, truth = drawn(np.random.default_rng(seed), 60, classes)
    predicted = shares.argmax(axis=1)
    place = rarer(truth)
    ranked = shares[:, place] if classes == 2 else shares
    one_hot = np.eye(classes)[truth]
    expected = {
        "accuracy": reference.accuracy_score(truth, predicted),
        "balanced_accuracy": reference.balanced_accuracy_score(truth, predicted),
        "f1_macro": reference.f1_score(truth, predicted, average="macro"),
        "roc_auc": reference.roc_auc_score(truth == place if classes == 2 else truth, ranked, multi_class="ovr"),
        "average_precision": reference.average_precision_score(truth == place if classes == 2 else one_hot, ranked),
    }
    for metric in METRICS:
        assert score(metric, shares, truth) == pytest.approx(expected[metric])


def test_classes_that_do_not_occur_are_left_out_of_the_mean():
    shares = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1]])
    truth = np.array([0, 1, 1])
    assert score("balanced_accuracy", shares, truth) == 0.75
    assert score("roc_auc", shares, truth) == 1.0
    with pytest.raises(ValueError, match="average_precision needs nodes of two classes"):
        score("average_precision", shares, np.zeros(3, dtype=np.int64))


def test_a_threshold_decides_for_its_class():
    shares = np.array([[0.8, 0.2], [0.95, 0.05], [0.3, 0.7]])
    assert decide(shares).tolist() == [0, 0, 1]
    low = Threshold("f1", 0.1, 1.0, 1.0)
    assert decide(shares, low).tolist() == [1, 0, 1]
    assert decide(shares, replace(low, place=0)).tolist() == [0, 0, 0]
    assert score("balanced_accuracy", shares, np.array([1, 0, 1]), threshold=low) == 1.0
    with pytest.raises(ValueError, match="a threshold is for two classes, got 3"):
        decide(np.ones((2, 3)) / 3, low)


def wilson(found, of):
    """A bound that the share of a sample is above in five of six cases."""
    return binomtest(int(found), int(of)).proportion_ci(confidence_level=0.682689492137, method="wilson").low


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_are_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    positive = rng.random(200) < 0.1
    positive[:2] = True, False
    scores = np.round(np.clip(0.3 * positive + 0.25 * rng.random(200), 0, 1), 2)
    every = np.unique(np.concatenate([scores, [0.0, 1.0]]))
    tried = []
    for value in every:
        called = scores >= value
        found = (called & positive).sum()
        if called.any():
            surely = [wilson(found, count) for count in (called.sum(), positive.sum())]
            tried.append((found / called.sum(), found / positive.sum(), *surely))
    best = choose("f1", scores, positive)
    assert 2 * best.precision * best.recall / (best.precision + best.recall) == pytest.approx(
        max(2 * p * r / (p + r) if p + r else 0 for p, r, _, _ in tried)
    )
    for bound in (0.5, 0.9):
        high = choose(f"precision={bound}", scores, positive)
        enough = [r for _, r, surely, _ in tried if surely >= bound]
        assert high.reached == bool(enough)
        assert high.recall == pytest.approx(max(enough or [max(tried, key=lambda one: one[2])[1]]))
        low = choose(f"recall={bound}", scores, positive)
        assert low.precision == pytest.approx(max(p for p, _, _, surely in tried if surely >= bound))
        for one in (high, low):
            called = scores >= one.value
            assert (called & positive).sum() / called.sum() == pytest.approx(one.precision)
            assert (called & positive).sum() / positive.sum() == pytest.approx(one.recall)


def test_a_bound_that_cannot_be_reached_is_said():
    chosen = choose("precision=0.9", np.array([0.9, 0.8, 0.2]), np.array([False, True, False]))
    assert not chosen.reached
    assert chosen.precision == 0.5


def test_one_node_promises_nothing():
    """The most probable node is right by chance; a precision of 1 there says little of other nodes."""
    rng = np.random.default_rng(0)
    positive = rng.random(400) < 0.1
    scores = rng.random(400)
    scores[np.flatnonzero(positive)[0]] = 1.0
    chosen = choose("precision=0.7", scores, positive)
    assert not chosen.reached


def test_a_promised_precision_is_kept_by_most_samples_of_few_positives():
    rng = np.random.default_rng(0)
    kept = []
    for _ in range(60):
        positive = rng.random(3000) < 0.04
        scores = 1 / (1 + np.exp(-(2 * rng.normal(size=3000) + 5 * positive - 5)))
        both, held, new = np.stack([1 - scores, scores], axis=1), np.arange(1000), np.arange(1000, 3000)
        called = decide(both[new], choose("precision=0.7", scores[held], positive[held])) == 1
        kept.append((called & positive[new]).sum() / called.sum())
    assert np.mean(np.array(kept) >= 0.7) >= 0.7


def test_a_threshold_moves_to_predictions_of_another_scale(rng):
    positive = rng.random(1000) < 0.1
    scores = np.clip(0.3 * positive + 0.5 * rng.random(1000), 0, 1)
    before, after = (np.stack([1 - x, x], axis=1) for x in (scores, np.sqrt(scores)))
    chosen = choose("f1", scores, positive)
    moved = chosen.moved(before, after)
    assert decide(after, moved).tolist() == decide(before, chosen).tolist()
    assert moved.where_chosen.value == chosen.value
    assert chosen.moved(before[:10], after[:10]) == chosen, "too few nodes to compare"


def test_a_rare_class_is_found_on_other_nodes_of_the_same_kind(rng):
    """2% positives: the larger probability finds almost none, a threshold by F1 most."""
    positive = rng.random(20_000) < 0.02
    margin = rng.normal(size=20_000) + 2.5 * positive
    shares = 1 / (1 + np.exp(-(margin * 2.5 - 3.125 + np.log(0.02 / 0.98))))
    both = np.stack([1 - shares, shares], axis=1)
    held, new = np.arange(10_000), np.arange(10_000, 20_000)
    chosen = choose("recall=0.8", shares[held], positive[held])
    found = decide(both[new], chosen) == 1
    assert (found & positive[new]).sum() / positive[new].sum() == pytest.approx(0.8, abs=0.07)
    chosen = choose("precision=0.6", shares[held], positive[held])
    found = decide(both[new], chosen) == 1
    assert (found & positive[new]).sum() / found.sum() == pytest.approx(0.6, abs=0.12)


def test_the_threshold_is_for_the_rarer_class_wherever_it_stands(rng):
    positive = rng.random(500) < 0.1
    scores = np.clip(0.3 * positive + 0.5 * rng.random(500), 0, 1)
    both = np.stack([scores, 1 - scores], axis=1)
    chosen = choose_threshold("recall=0.8", both, np.where(positive, 0, 1))
    assert chosen.place == 0
    assert (decide(both, chosen)[positive] == 0).mean() >= 0.8


def test_the_curve_falls_from_the_highest_threshold_and_never_divides_equal_scores():
    curve = precision_recall(np.array([0.5, 0.5, 0.2]), np.array([True, False, True]))
    np.testing.assert_allclose(curve.threshold, [0.35, 0.1])
    np.testing.assert_allclose(curve.precision, [0.5, 2 / 3])
    np.testing.assert_allclose(curve.recall, [0.5, 1.0])


def test_balanced_weights_make_every_class_count_alike(rng):
    labels = rng.choice([-1, 0, 1, 2], 500, p=[0.2, 0.7, 0.08, 0.02])
    weights = class_weights("balanced", labels, ("a", "b", "c"))
    counts = np.bincount(labels[labels >= 0])
    np.testing.assert_allclose(weights * counts, counts.sum() / 3)
    assert class_weights(None, labels, ("a", "b", "c")) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: score("auc", np.ones((2, 2)), np.array([0, 1])), "unknown metric 'auc'; available: accuracy, "),
        (lambda: choose("precision=2", np.ones(2), np.array([True, False])), "got 'precision=2'"),
        (lambda: choose("recall=x", np.ones(2), np.array([True, False])), "got 'recall=x'"),
        (lambda: choose("f1", np.ones(2), np.array([True, True])), "nodes of both classes"),
        (lambda: class_weights("even", np.array([0, 1]), ("a", "b")), "must be 'balanced', weights by class or None"),
        (lambda: class_weights({"c": 1}, np.array([0, 1]), ("a", "b")), "names 'c', which is no class; classes: a, b"),
        (lambda: class_weights({"a": 0}, np.array([0, 1]), ("a", "b")), "must be above 0, got 0.0 for 'a'"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
