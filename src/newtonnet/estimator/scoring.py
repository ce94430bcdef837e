"""Scores and calibration of probabilities: accuracy, ROC-AUC and their errors, likelihood and temperature."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from newtonnet.metrics import NUMBER_METRICS, Truth
from newtonnet.metrics import Shares as Shares
from newtonnet.metrics import score as score

ENOUGH = 50
"""Number of labels needed to estimate a temperature."""
BINS = 10
"""Bins for calibration, with about the same number of nodes in each."""
RESAMPLES = 400
"""Samples of the nodes, drawn with replacement, for the interval of the calibration error."""
GROUPS = 50
"""Groups of nodes that are left out in turn to find the error of a score that has no formula."""


def influence(metric: str, shares: Shares, truth: Truth) -> NDArray[np.float64]:
    r"""How much each node moves the score, shape ``(v,)``; the mean is 0.

    The standard error of a score is :math:`\sqrt{\sum_i z_i^2} / v`; for the difference of two models' scores on the
    same nodes it is that of :math:`z_i - z'_i`. For accuracy, z is 1 for a correct node and 0 for another, less the
    accuracy; for ROC-AUC, the share of the other class that lies on the right side of the node, less the AUC, divided
    by the share of the node's class. For R² and its like, with a node's error :math:`e_i` and that of the best constant
    :math:`d_i`, z is :math:`((1 - R^2) d_i - e_i) / \bar d`.

    References:
        DeLong, DeLong, Clarke-Pearson, Comparing the Areas under Two or More Correlated ROC Curves, 1988.
    """
    if metric in NUMBER_METRICS:
        error, constant = truth - shares[:, 0], truth - (truth.mean() if metric == "r2" else np.median(truth))
        error, constant = (error**2, constant**2) if metric == "r2" else (np.abs(error), np.abs(constant))
        return np.asarray((constant * error.mean() / (constant.mean() or 1.0) - error) / (constant.mean() or 1.0))
    truth = truth.astype(np.int64)
    if metric == "accuracy":
        right = (shares.argmax(axis=1) == truth).astype(np.float64)
        return np.asarray(right - right.mean())
    if metric != "roc_auc" or shares.shape[1] != 2:
        return _jackknife(metric, shares, truth)
    from scipy.stats import rankdata  # slow to import

    ranks, found = rankdata(shares[:, 1]), np.empty(len(truth))
    for kind in (0, 1):
        own = truth == kind
        beaten = (ranks[own] - rankdata(shares[own, 1])) / (~own).sum()
        found[own] = (beaten if kind else 1 - beaten) / own.mean()
    return np.asarray(found - np.where(truth, 1 / truth.mean(), 1 / (1 - truth.mean())) * score(metric, shares, truth))


def _jackknife(metric: str, shares: Shares, truth: NDArray[np.int64]) -> NDArray[np.float64]:
    """The same for any metric, by leaving out groups of nodes, each with its share of every class."""
    count = min(GROUPS, len(truth) // 2)
    group = np.empty(len(truth), dtype=np.int64)
    group[np.argsort(truth, kind="stable")] = np.arange(len(truth)) % count
    without = np.array([score(metric, shares[group != one], truth[group != one]) for one in range(count)])
    # Scaled so that the sum of squares gives the variance of the jackknife.
    return np.asarray((count - 1) * (without.mean() - without)[group] * np.sqrt(len(truth) / (count - 1)))


def likelihood(shares: Shares, truth: NDArray[np.int64]) -> float:
    """Mean logarithm of the probability of the true class, clipped below at 1e-7."""
    return float(np.log(np.maximum(shares[np.arange(len(truth)), truth], 1e-7)).mean())


def merit(metric: str, answers: Shares, truth: Truth) -> tuple[float, float]:
    """What averages are compared by: the score to a tenth of a point, then the likelihood, or less error of numbers."""
    if metric not in NUMBER_METRICS:
        return round(score(metric, answers, truth), 3), likelihood(answers, truth.astype(np.int64))
    reached = score(metric, answers, truth)
    return round(reached, 3), reached


def calibration_bins(shares: Shares, truth: NDArray[np.int64]) -> list[tuple[float, float, int]]:
    """Mean confidence, share correct and number of nodes of each bin, by quantiles of confidence.

    Nodes of equal confidence are in one bin, so there are fewer bins than :data:`BINS` where many are equally sure.

    >>> calibration_bins(np.array([[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]]), np.array([0, 0, 0]))
    [(0.5, 1.0, 1), (0.75, 0.5, 2)]
    """
    sure, right, place = _binned(shares, truth)
    bins = [place == b for b in range(place.max() + 1)]
    return [(float(sure[one].mean()), float(right[one].mean()), int(one.sum())) for one in bins]


def _binned(
    shares: Shares, truth: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
    """Confidence of each node, whether it is right, and its bin."""
    sure = np.asarray(shares.max(axis=1), dtype=np.float64)
    ends = np.quantile(sure, np.arange(1, BINS) / BINS, method="inverted_cdf")
    place = np.unique(np.searchsorted(ends, sure, side="left"), return_inverse=True)[1]
    return sure, shares.argmax(axis=1) == truth, place


def calibration_error(shares: Shares, truth: NDArray[np.int64]) -> float:
    """Expected calibration error: mean distance of confidence and share correct over the bins.

    >>> calibration_error(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([0, 0]))
    0.25
    """
    return sum(abs(sure - right) * count for sure, right, count in calibration_bins(shares, truth)) / len(truth)


def calibration_interval(shares: Shares, truth: NDArray[np.int64]) -> tuple[float, float]:
    """95% interval of the expected calibration error over nodes: the basic bootstrap, at least 0.

    Chance alone moves every bin, which makes the error of a sample larger than that of all nodes; the basic bootstrap
    takes most of this excess off again. The interval begins at 0 wherever nodes that are right exactly as often as they
    are sure would have an error as large.
    """
    sure, right, place = _binned(shares, truth)
    gap, count, rng = sure - right, len(truth), np.random.default_rng(0)
    errors, by_chance = np.empty(RESAMPLES), np.empty(RESAMPLES)
    for i in range(RESAMPLES):
        drawn = rng.integers(count, size=count)
        errors[i] = np.abs(np.bincount(place[drawn], weights=gap[drawn])).sum() / count
        by_chance[i] = np.abs(np.bincount(place, weights=sure - (rng.random(count) < sure))).sum() / count
    low, high = np.quantile(errors, [0.025, 0.975]).tolist()
    error = calibration_error(shares, truth)
    unclear = error <= np.quantile(by_chance, 0.975)
    return 0.0 if unclear else max(2 * error - high, 0.0), max(2 * error - low, 0.0)


def best_temperature(shares: Shares, truth: NDArray[np.int64]) -> float:
    """The temperature that maximises the likelihood of these labels, a priori about 1; 1 for too few labels.

    References:
        Guo, Pleiss, Sun, Weinberger, On Calibration of Modern Neural Networks, 2017, Section 4.2.
    """
    if len(truth) < ENOUGH:
        return 1.0

    def loss(logarithm: float) -> float:
        prior = logarithm**2 / 2 / len(truth)  # without it, labels that are all right would make T as small as may be
        return prior - likelihood(sharpened(shares, float(np.exp(logarithm))), truth)

    return _best(loss)


def matching_temperature(shares: Shares, confidence: float) -> float:
    """The temperature at which these probabilities have this mean confidence.

    >>> round(matching_temperature(np.array([[0.6, 0.4]]), 0.692), 2)
    0.5
    """

    def distance(logarithm: float) -> float:
        return abs(float(sharpened(shares, float(np.exp(logarithm))).max(axis=1).mean()) - confidence)

    return _best(distance)


def _best(loss: Callable[[float], float]) -> float:
    """The temperature whose logarithm has the smallest loss."""
    from scipy.optimize import minimize_scalar  # slow to import

    return float(np.exp(minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded").x))


def sharpened(shares: Shares, temperature: float) -> NDArray[np.float64]:
    """Probabilities to the power 1/T, normalised; the order of the classes does not change.

    >>> sharpened(np.array([[0.6, 0.4]]), 0.5).round(3)
    array([[0.692, 0.308]])
    """
    logarithms = np.log(np.maximum(np.asarray(shares, dtype=np.float64), 1e-12)) / temperature
    return np.asarray(softmax(logarithms, axis=1))
