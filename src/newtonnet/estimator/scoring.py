"""Scores and calibration of probabilities: accuracy, ROC-AUC, likelihood and temperature."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax

ENOUGH = 50
"""Number of labels needed to estimate a temperature."""

Shares = NDArray[np.floating[Any]]
"""Probabilities of the classes, shape ``(v, C)``."""


def score(metric: str, shares: Shares, truth: NDArray[np.int64]) -> float:
    """Accuracy or ROC-AUC of probabilities ``(v, C)`` for nodes of these classes ``(v,)``."""
    if metric == "accuracy":
        return float((shares.argmax(axis=1) == truth).mean())
    if len(np.unique(truth)) != 2:
        raise ValueError("roc_auc needs nodes of both classes; use accuracy, or other nodes")
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, shares[:, 1]))


def likelihood(shares: Shares, truth: NDArray[np.int64]) -> float:
    """Mean logarithm of the probability of the true class, clipped below at 1e-7."""
    return float(np.log(np.maximum(shares[np.arange(len(truth)), truth], 1e-7)).mean())


def best_temperature(shares: Shares, truth: NDArray[np.int64]) -> float:
    """The temperature that maximises the likelihood of these labels; 1 if there are too few of them.

    Single members are usually overconfident, and averages of many underconfident.

    References:
        Guo, Pleiss, Sun, Weinberger, On Calibration of Modern Neural Networks, 2017, Section 4.2.
    """
    if len(truth) < ENOUGH:
        return 1.0

    def loss(logarithm: float) -> float:
        return -likelihood(sharpened(shares, float(np.exp(logarithm))), truth)

    return float(np.exp(minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded").x))


def sharpened(shares: Shares, temperature: float) -> NDArray[np.float64]:
    """Probabilities to the power 1/T, normalised; the order of the classes does not change.

    >>> sharpened(np.array([[0.6, 0.4]]), 0.5).round(3)
    array([[0.692, 0.308]])
    """
    logarithms = np.log(np.maximum(np.asarray(shares, dtype=np.float64), 1e-12)) / temperature
    return np.asarray(softmax(logarithms, axis=1))
