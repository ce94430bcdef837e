"""The filter that a classifier has learned, as something to look at and to call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.typing import ArrayLike, NDArray

from newtonnet.training import FREQUENCIES, Record


@dataclass(frozen=True, eq=False)
class LearnedFilter:
    """The response of the best setting's members, one for each fold they were trained on.

    Calling it gives the mean amplitude at any frequencies of [0, 2], each member scaled to a largest magnitude of 1
    on them: the encoder before the filter can undo any factor.

    Attributes:
        points: where the filter's values sit, shape ``(K+1,)``.
        values: amplitudes there, shape ``(M, K+1)``.
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
        largest = np.abs(self.responses).max(axis=1, keepdims=True)
        return self.responses / np.where(largest > 0, largest, 1.0)

    def __call__(self, frequencies: ArrayLike) -> NDArray[np.float64]:
        """Mean scaled amplitude at these frequencies, of their shape."""
        degree = min(max(len(self.points) - 1, 1), len(self.frequencies) - 1)
        mean = Chebyshev.fit(self.frequencies, self.scaled.mean(axis=0), degree, domain=[0, 2])
        return np.asarray(mean(np.asarray(frequencies, dtype=np.float64)), dtype=np.float64)


def curves(records: Sequence[Record]) -> list[dict[str, list[float | None]]]:
    """Epoch, loss, train, validation and homophily of every run; inner splits have no test nodes."""
    return [{name: list(row) for name, row in record.history.items() if name != "test"} for record in records]


def learned_filter(records: Sequence[Record]) -> LearnedFilter | None:
    """The filter of these runs, or None where their model has none."""
    outcomes = [record.outcome for record in records]
    if not outcomes[0].response:
        return None
    rows: list[Any] = [[outcome.values for outcome in outcomes], [outcome.response for outcome in outcomes]]
    values, responses = (np.array(row, dtype=np.float64) for row in rows)
    return LearnedFilter(np.array(outcomes[0].points), values, np.array(FREQUENCIES), responses)
