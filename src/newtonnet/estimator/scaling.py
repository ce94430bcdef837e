"""Features on one scale: which columns are standardised, by what, and the same for a later graph."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from newtonnet.graphs import Features, Graph, compact, in_pieces
from newtonnet.meaning import counted

UNEQUAL = 3.0
"""Factor by which root mean squares of columns may differ, and by which they may exceed 1."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """The columns that are standardised, what is subtracted from each, and what it is divided by; each ``(m,)``."""

    columns: NDArray[np.int64]
    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    def __call__(self, graph: Graph) -> Graph:
        """The graph with standardised features."""
        return replace(graph, features=self._scaled(graph.features), trusted=True)

    def _scaled(self, features: Features) -> Features:
        if isinstance(features, sp.csr_array):
            dense = (features[:, self.columns].toarray() - self.means) / self.scales
            others = np.setdiff1d(np.arange(features.shape[1]), self.columns)
            both = sp.hstack([features[:, others], sp.csr_array(dense.astype(np.float32))], format="csr")
            return compact(sp.csr_array(both[:, np.argsort(np.concatenate([others, self.columns]))]))
        scaled = np.array(features)
        for rows in range(0, len(scaled), 1 << 16):
            part = scaled[rows : rows + (1 << 16), self.columns]
            scaled[rows : rows + (1 << 16), self.columns] = (part - self.means) / self.scales
        return scaled

    def __str__(self) -> str:
        numbers = counted(len(self.columns), "numeric feature")
        return f"{numbers} of unequal scale standardised to mean 0 and standard deviation 1."


def learn_scaling(graph: Graph) -> Scaling | None:
    """Standardise numeric columns if their scales are unequal; None if they are equal, or if there are none.

    A column of zeros and ones is left alone, and so is one that is never negative and mostly 0, such as a word of a bag
    of words: centring would make it dense. Labels are not read.
    """
    n = graph.nodes
    total, squares, nonzero, negative, ones = _column_sums(graph.features)
    numeric = (ones < nonzero) & ((negative > 0) | (2 * nonzero > n))
    columns = np.flatnonzero(numeric)
    sizes = np.sqrt(squares[columns] / n)
    compared = np.append(sizes, 1.0) if (nonzero[~numeric] > 0).any() else sizes
    if not len(columns) or (compared.max() <= UNEQUAL * compared.min() and compared.max() <= UNEQUAL):
        return None
    means = total[columns] / n
    scales = np.sqrt(np.maximum(squares[columns] / n - means**2, 0.0))
    scales[scales <= 1e-7 * sizes] = 1.0  # a constant, but for rounding
    return Scaling(columns, means, scales)


def _column_sums(features: Features) -> tuple[NDArray[np.float64], ...]:
    """For each column: the sum, the sum of squares, and the numbers of entries that are not 0, negative, and 1."""
    if isinstance(features, sp.csr_array):
        data, width = features.data.astype(np.float64), features.shape[1]
        parts = (data, data**2, data != 0, data < 0, data == 1)
        columns = [np.bincount(features.indices, weights=part, minlength=width) for part in parts]
        return tuple(np.asarray(one, dtype=np.float64) for one in columns)
    sums = np.zeros((5, features.shape[1]))
    for piece in in_pieces(features):
        wide = piece.astype(np.float64)
        sums += [wide.sum(0), (wide**2).sum(0), (wide != 0).sum(0), (wide < 0).sum(0), (wide == 1).sum(0)]
    return tuple(sums)
