"""Prediction sets and intervals cover what they promise, on data whose truth is known."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax

from newtonnet.estimator.conformal import calibrate, prediction_intervals, prediction_sets, set_scores


def drawn(rng, n, classes=5, spread=1.5):
    """Probabilities, and labels drawn from them."""
    shares = softmax(spread * rng.normal(size=(n, classes)), axis=1)
    labels = (shares.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return shares, labels


def label_scores(shares, labels):
    return set_scores(shares)[np.arange(len(labels)), labels]


def test_the_score_is_the_mass_of_more_probable_classes():
    np.testing.assert_allclose(set_scores([[0.1, 0.6, 0.3]]), [[0.9, 0.0, 0.6]])
    np.testing.assert_allclose(set_scores([[0.4, 0.2, 0.4], [0.25, 0.25, 0.5]]), [[0, 0.8, 0], [0.5, 0.5, 0]])


@pytest.mark.parametrize("coverage", [0.7, 0.9, 0.95])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])  # sharpened or flattened: coverage needs no calibration
def test_sets_cover_the_true_class_as_often_as_asked(coverage, temperature, rng):
    covered = []
    for _ in range(20):
        shares, labels = drawn(rng, 1400)
        shares = softmax(np.log(shares) / temperature, axis=1)
        calibration = calibrate(label_scores(shares[:400], labels[:400]), np.zeros(400))
        sets = prediction_sets(shares[400:], calibration, coverage)
        covered.append(sets[np.arange(1000), labels[400:]].mean())
    accuracy = (shares.argmax(axis=1) == labels).mean()
    assert coverage - 0.01 < np.mean(covered) < max(coverage, accuracy) + 0.02


def test_folds_with_models_of_their_own_are_compared_with_their_own_scores(rng):
    """One fold's model is sharp, the other's flat; each node meets both, and the coverage holds."""
    covered, temperatures = [], (0.3, 3.0)
    for _ in range(20):
        shares, labels = drawn(rng, 1400)
        each = np.stack([softmax(np.log(shares) / t, axis=1) for t in temperatures])
        folds = np.arange(400) % 2
        scores = set_scores(each)[folds, np.arange(400), labels[:400]]
        sets = prediction_sets(each[:, 400:], calibrate(scores, folds), 0.9)
        covered.append(sets[np.arange(1000), labels[400:]].mean())
    assert 0.89 < np.mean(covered) < 0.93


def test_no_set_is_empty_and_sets_grow_with_the_coverage(rng):
    shares, labels = drawn(rng, 600, spread=4.0)
    calibration = calibrate(label_scores(shares[:300], labels[:300]), np.zeros(300))
    before = np.zeros((300, 5), dtype=bool)
    for coverage in (0.05, 0.5, 0.8, 0.95, 0.999):
        sets = prediction_sets(shares[300:], calibration, coverage)
        assert sets.any(axis=1).all()
        assert (sets >= before).all()
        before = sets
    assert before.all()  # 300 held-out nodes say nothing about one in a thousand


def test_sets_depend_neither_on_the_order_of_nodes_nor_on_chance(rng):
    shares, labels = drawn(rng, 400)
    folds = rng.integers(0, 3, 200)
    scores = label_scores(shares[:200], labels[:200])
    order, moved = rng.permutation(200), rng.permutation(200)
    first = prediction_sets(shares[200:], calibrate(scores, folds), 0.9)
    other = prediction_sets(shares[200:][moved], calibrate(scores[order], folds[order]), 0.9)
    assert (first[moved] == other).all()


def test_held_out_neighbours_widen_the_sets_where_the_model_errs(rng):
    """Two regions: in one the model is right, in the other it guesses. Weighted sets cover both, plain ones do not."""
    n, classes = 2000, 4
    hard = np.arange(n) % 2 == 1
    labels = rng.integers(0, classes, n)
    guesses = np.where(hard, rng.integers(0, classes, n), labels)
    shares = softmax(2.0 * np.eye(classes)[guesses] + 0.3 * rng.normal(size=(n, classes)), axis=1)
    ends = np.stack([rng.permutation(np.flatnonzero(hard == kind))[:900] for kind in (0, 1) for _ in range(16)])
    pairs = np.concatenate([ends[i : i + 2] for i in range(0, len(ends), 2)], axis=1)
    adjacency = sp.csr_array((np.ones(pairs.shape[1]), pairs), shape=(n, n))
    adjacency = sp.csr_array(adjacency + adjacency.T)
    held, new = np.arange(1000), np.arange(1000, n)
    calibration = calibrate(label_scores(shares[held], labels[held]), np.zeros(1000), held)
    covered = {}
    for locality in (0.0, 500.0):
        sets = prediction_sets(shares[new], calibration, 0.8, adjacency=adjacency[new], locality=locality)
        right = sets[np.arange(1000), labels[new]]
        covered[locality] = right[hard[new]].mean()
    assert covered[0.0] < 0.72
    assert covered[500.0] > 0.76


def test_intervals_cover_the_true_number_as_often_as_asked(rng):
    covered = []
    for _ in range(20):
        truth = rng.normal(size=1400)
        each = truth + rng.normal(size=1400) + 0.3 * rng.normal(size=(2, 1400))
        folds = np.arange(400) % 2
        errors = np.abs(each[folds, np.arange(400)] - truth[:400])
        low, high = prediction_intervals(each[:, 400:], calibrate(errors, folds), 0.9)
        covered.append(((low <= truth[400:]) & (truth[400:] <= high)).mean())
    assert 0.89 < np.mean(covered) < 0.95
    low, high = prediction_intervals(np.zeros(3), calibrate([0.1, 0.2], [0, 0]), 0.9)
    assert np.isneginf(low).all()
    assert np.isposinf(high).all()


def test_one_model_and_one_fold_give_the_quantile_of_the_errors():
    low, high = prediction_intervals([10.0], calibrate(np.arange(1.0, 10.0), np.zeros(9)), 0.9)
    assert (low[0], high[0]) == (1.0, 19.0)  # the ninth of nine errors: 0.9 * (9 + 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: prediction_sets(np.ones((2, 3)) / 3, c, 1.0), "coverage must be between 0 and 1, got 1.0"),
        (lambda c: prediction_sets(np.ones((4, 2, 3)) / 3, c), "each of 2 folds, got shape"),
        (lambda c: prediction_sets(np.ones((2, 3)) / 3, c, locality=1.0), "needs the adjacency"),
        (lambda c: calibrate([1.0], [0, 1]), "one score and one fold for each node"),
        (lambda c: calibrate([np.nan], [0]), "finite"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(calibrate([0.1, 0.2], [0, 1]))
