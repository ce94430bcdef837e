"""The shape of a learned filter: its responses on a common scale, and which frequencies they keep."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from newtonnet.graphs import BANDS

from .findings import Response

Kind = Literal["low", "high", "middle", "ends", "flat", "even"]

MARGIN = 0.1
"""Two bands differ when their mean magnitudes differ by more than this share of the largest amplitude."""
FLAT = 0.25
"""A response that varies by at most this share of its largest amplitude is called constant."""


@dataclass(frozen=True)
class FilterShape:
    """A filter's responses over splits, each divided by its own largest magnitude."""

    frequencies: list[float]
    mean: list[float]
    lowest: list[float]
    highest: list[float]
    points: list[float]
    values: list[float]
    """Mean values at the points, on the same scale."""
    scale: float
    """Largest magnitude, averaged over splits."""
    kinds: tuple[Kind, ...]
    """Kind of each split's filter."""
    kind: Kind
    """Kind of their mean."""


def filter_shape(response: Response) -> FilterShape | None:
    """The shape of a filter over its splits, without those that are not finite; None if there are no others.

    The encoder before the filter absorbs any constant factor, so only shapes can be compared between splits.
    """
    rows = np.array(response.responses)
    kept = np.isfinite(rows).all(axis=1)
    if not kept.any():
        return None
    largest = np.abs(rows[kept]).max(axis=1, keepdims=True)
    divisor = np.where(largest > 0, largest, 1.0)
    scaled = rows[kept] / divisor
    sizes = np.abs(scaled)
    return FilterShape(
        frequencies=list(response.frequencies),
        mean=scaled.mean(axis=0).tolist(),
        lowest=scaled.min(axis=0).tolist(),
        highest=scaled.max(axis=0).tolist(),
        points=list(response.points),
        values=(np.array(response.values)[kept] / divisor).mean(axis=0).tolist() if response.points else [],
        scale=float(largest.mean()),
        kinds=tuple(filter_kind(response.frequencies, row) for row in sizes),
        kind=filter_kind(response.frequencies, sizes.mean(axis=0)),
    )


def filter_kind(frequencies: ArrayLike, magnitudes: ArrayLike) -> Kind:
    """Which bands a response keeps, from the mean magnitude in each third of [0, 2].

    It is ``flat`` if nearly constant; ``middle`` or ``ends`` if the middle band is clearly above or below both others;
    ``even`` if no band stands out; otherwise ``low`` or ``high``.

    >>> grid = [0.0, 0.5, 1.0, 1.5, 2.0]
    >>> [filter_kind(grid, row) for row in ([1, 0.8, 0.5, 0.2, 0], [0, 0.4, 1, 0.4, 0], [0.9, 0.95, 1, 1, 0.9])]
    ['low', 'middle', 'flat']
    """
    sizes = np.asarray(magnitudes, dtype=np.float64)
    top = sizes.max()
    if top - sizes.min() <= FLAT * top:
        return "flat"
    band = np.searchsorted(BANDS, np.asarray(frequencies), side="right")
    low, middle, high = (float(sizes[band == b].mean() / top) for b in range(3))
    if middle - max(low, high) > MARGIN:
        return "middle"
    if min(low, high) - middle > MARGIN and min(low, high) >= max(low, high) / 2:
        return "ends"
    if abs(low - high) <= MARGIN:
        return "even"
    return "low" if low > high else "high"
