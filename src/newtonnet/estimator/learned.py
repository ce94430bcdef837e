"""The filter that a classifier has learned, as a function of frequency."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import ArrayLike, NDArray

from newtonnet.drawing import filter_picture, filter_plot
from newtonnet.training import FREQUENCIES, Record

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

EXACT = 1e-11
"""Tolerance for a polynomial through amplitudes whose largest magnitude is about 1."""


@dataclass(frozen=True, eq=False)
class LearnedFilter:
    """The filter of the best setting, with one response for each fold.

    Calling it gives the mean amplitude at any frequencies in [0, 2]. Each member is scaled to a largest magnitude of 1
    on the grid, because the encoder before the filter can undo any factor.

    Attributes:
        points: where the filter's shape is evaluated, shape ``(Q,)``; usually its K+1 interpolation points.
        values: amplitudes there, shape ``(M, Q)``.
        frequencies: a grid on [0, 2], shape ``(41,)``.
        responses: amplitudes on the grid, shape ``(M, 41)``.
    """

    points: NDArray[np.float64]
    values: NDArray[np.float64]
    frequencies: NDArray[np.float64]
    responses: NDArray[np.float64]

    @property
    def scaled(self) -> NDArray[np.float64]:
        """The responses, each divided by its largest magnitude, shape ``(M, 41)``."""
        return self.responses / self._largest

    def __call__(self, frequencies: ArrayLike) -> NDArray[np.float64]:
        """Mean scaled amplitude at these frequencies, in the same shape."""
        places = np.concatenate([self.frequencies, self.points])
        amplitudes = np.concatenate([self.scaled, self.values / self._largest], axis=1).mean(axis=0)
        return np.asarray(_through(places, amplitudes)(np.asarray(frequencies, dtype=np.float64)), dtype=np.float64)

    def plot(self) -> "Figure":
        """The filter over frequency as a figure of plotly: its mean, a thin line for each fold, and its points."""
        values = (self.values / self._largest).mean(axis=0)
        responses = self.scaled.tolist()
        return filter_plot(self.frequencies.tolist(), responses, points=self.points.tolist(), values=values.tolist())

    def _repr_html_(self) -> str:
        text = "amplitude of the learned filter over frequency, a thin line for each fold"
        return filter_picture(self.frequencies.tolist(), self.scaled.tolist(), alternative=text)

    @property
    def _largest(self) -> NDArray[np.float64]:
        largest = np.abs(self.responses).max(axis=1, keepdims=True)
        return np.where(largest > 0, largest, 1.0)


def _through(places: NDArray[np.float64], amplitudes: NDArray[np.float64]) -> Chebyshev:
    """The polynomial of least degree through all amplitudes, as a record does not contain the filter's degree."""
    known = len(np.unique(places.round(9)))
    for degree in range(known - 1):  # with as many coefficients as places any values would fit
        powers = chebvander(places - 1, degree)
        coefficients = np.linalg.lstsq(powers, amplitudes, rcond=None)[0]
        if np.abs(powers @ coefficients - amplitudes).max() <= EXACT:
            return Chebyshev(coefficients, domain=[0, 2])
    raise ValueError(
        f"the amplitudes stored at {known} frequencies do not determine the filter, whose degree is too high; use "
        "responses instead"
    )


def curves(records: Sequence[Record]) -> list[dict[str, list[float | None]]]:
    """Epoch, loss, train, validation and homophily of every run; inner splits have no test nodes."""
    return [{name: list(row) for name, row in record.history.items() if name != "test"} for record in records]


def learned_filter(records: Sequence[Record]) -> LearnedFilter | None:
    """The filter of these runs, or None if their model has none."""
    outcomes = [record.outcome for record in records]
    if not outcomes[0].response:
        return None
    values = np.array([outcome.values for outcome in outcomes], dtype=np.float64)
    responses = np.array([outcome.response for outcome in outcomes], dtype=np.float64)
    return LearnedFilter(np.array(outcomes[0].points), values, np.array(FREQUENCIES), responses)
