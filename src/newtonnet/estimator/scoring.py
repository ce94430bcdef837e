"""What probabilities are worth: score, likelihood, and the temperature that makes them honest."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.metrics import roc_auc_score

ENOUGH = 50
"""Labels from which on a temperature can be told."""

Shares = NDArray[np.floating[Any]]


def score(metric: str, shares: Shares, truth: NDArray[np.int64]) -> float:
    """Accuracy or ROC-AUC of probabilities ``(v, C)`` for nodes of these classes ``(v,)``."""
    if metric == "accuracy":
        return float((shares.argmax(axis=1) == truth).mean())
    if len(np.unique(truth)) != 2:
        raise ValueError("roc_auc needs nodes of both classes to score by; use accuracy, or other nodes")
    return float(roc_auc_score(truth, shares[:, 1]))


def likelihood(shares: Shares, truth: NDArray[np.int64]) -> float:
    """Mean logarithm of the probability given to the true class, none taken as less than 1e-7."""
    return float(np.log(np.maximum(shares[np.arange(len(truth)), truth], 1e-7)).mean())


def best_temperature(shares: Shares, truth: NDArray[np.int64]) -> float:
    """The temperature at which these labels are most likely; 1 where there are too few to tell.

    Members that overfit are too sure of themselves, averages of many are not sure enough; one number mends most of it.

    References:
        Guo, Pleiss, Sun, Weinberger, On Calibration of Modern Neural Networks, 2017, Section 4.2.
    """
    if len(truth) < ENOUGH:
        return 1.0

    def surprise(logarithm: float) -> float:
        return -likelihood(sharpened(shares, float(np.exp(logarithm))), truth)

    return float(np.exp(minimize_scalar(surprise, bounds=(-2.0, 2.0), method="bounded").x))


def sharpened(shares: Shares, temperature: float) -> NDArray[np.float64]:
    """Probabilities to the power 1/T, made to sum to 1 again: the order of the classes stays.

    >>> sharpened(np.array([[0.6, 0.4]]), 0.5).round(3)
    array([[0.692, 0.308]])
    """
    logarithms = np.log(np.maximum(np.asarray(shares, dtype=np.float64), 1e-12)) / temperature
    powers = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
