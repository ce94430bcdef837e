"""Scores over splits that share their nodes: corrected intervals, paired tests, and many tests at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

LEVEL = 0.95
"""Of every interval."""

SIGNIFICANT = 0.05
"""What an adjusted p must be below."""

Scores = Sequence[float | None]
"""A score for each split; None where there is none."""


@dataclass(frozen=True)
class Estimate:
    """A mean over splits with its interval; of a difference also how likely one as large is by chance."""

    mean: float
    low: float
    high: float
    p: float
    """Two-sided, of the mean being 0."""
    splits: int

    @property
    def signed(self) -> str:
        """A difference and its interval, for people.

        >>> Estimate(1.0, -0.5, 2.5, 0.2, 10).signed
        '+1.00 [-0.50, +2.50]'
        """
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


def estimate(scores: Scores, ratio: float) -> Estimate | None:
    r"""The mean of scores over splits, with the interval that Nadeau and Bengio correct for overlapping splits.

    .. math:: \bar x \pm t_{n-1} \sqrt{\left(\frac1n + \frac{n_{test}}{n_{train}}\right) s^2}

    Args:
        scores: one for each split; those without one are left out.
        ratio: test nodes for each training node.

    Returns:
        The estimate; None for fewer than two scores.

    >>> found = estimate([0.0, 1.0], 0.5)
    >>> round(found.mean, 3), round(found.high - found.mean, 3)
    (0.5, 8.985)

    References:
        Nadeau, Bengio, Inference for the Generalization Error, 2003, Eq. (13).
    """
    known = np.array([score for score in scores if score is not None], dtype=np.float64)
    n = len(known)
    if n < 2:
        return None
    return _estimate(float(known.mean()), math.sqrt((1 / n + ratio) * float(known.var(ddof=1))), n)


def _estimate(mean: float, error: float, n: int) -> Estimate:
    """From a mean and its standard error; differences that are all the same are certain, or none at all."""
    reach = _reach(n) * error
    p = 2 * float(stdtr(n - 1, -abs(mean) / error)) if error else float(mean == 0)
    return Estimate(mean, mean - reach, mean + reach, p, n)


def compare(ours: Scores, theirs: Scores, ratio: float) -> Estimate | None:
    """How much better the first is, paired by split: the estimate of the differences ``ours - theirs``.

    >>> compare([0.75, 0.5], [0.25, 0.0], 1 / 3).mean
    0.5
    """
    both = zip(ours, theirs, strict=True)
    return estimate([a - b for a, b in both if a is not None and b is not None], ratio)


def contrast(ones: Sequence[Estimate], others: Sequence[Estimate]) -> Estimate:
    """How much larger the mean of some estimates is than that of others, all of them independent of each other.

    Args:
        ones: at least one.
        others: at least one.

    >>> up, flat = (Estimate(mean, mean - 1, mean + 1, p=0.0, splits=10) for mean in (2.0, 0.5))
    >>> contrast([up, up], [flat]).signed
    '+1.50 [+0.28, +2.72]'
    """
    splits = min(one.splits for one in (*ones, *others))
    mean = sum(one.mean for one in ones) / len(ones) - sum(one.mean for one in others) / len(others)
    errors = [(one.high - one.low) / 2 / _reach(one.splits) / len(group) for group in (ones, others) for one in group]
    return _estimate(mean, math.sqrt(sum(error**2 for error in errors)), splits)


def _reach(splits: int) -> float:
    """Standard errors from the middle of an interval to its end."""
    return float(stdtrit(splits - 1, (1 + LEVEL) / 2))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order of the given ones: below 0.05 for those that stand together.

    >>> holm([0.5, 0.125, 0.25])
    [0.5, 0.375, 0.5]

    References:
        Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979.
    """
    values = np.array(p_values, dtype=np.float64)
    order = values.argsort(kind="stable")
    adjusted = np.arange(len(values), 0, -1) * values[order]
    values[order] = np.maximum.accumulate(adjusted).clip(max=1.0)
    return values.tolist()  # type: ignore[no-any-return]
