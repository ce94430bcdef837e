"""Which nodes make a step together, how workers share them, and how their rows are read from a feature store."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .adjacency import Adjacency
from .array_files import take_rows
from .store import FeatureStore

MAPPED = 10**9
"""Default number of bytes of a store that may be mapped at once."""
WINDOW = 1 << 26
"""Bytes of one term that are mapped at a time if all of them are too many."""


@dataclass(frozen=True)
class Batching:
    """How training goes through the nodes."""

    batch: int = 65536
    """Number of nodes in a step, over all workers."""
    run: int = 1
    """Number of consecutive training nodes that are shuffled together. 1 shuffles every node; 64 reads whole pages,
    which is much faster if the store does not fit in memory."""
    homophily_edges: int = 100_000
    """Number of edges on which the homophily is estimated; all edges if there are fewer."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")


@dataclass(frozen=True)
class Worker:
    """Number ``rank`` of the ``size`` processes that train one model together."""

    rank: int = 0
    size: int = 1
    add: Callable[[Tensor], None] = lambda numbers: None
    """Sums a tensor over all workers, in place."""

    def share(self, count: int) -> slice:
        """Slice of ``count`` things that belongs to this worker.

        >>> Worker(1, 3).share(10)
        slice(3, 6, None)
        """
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def any(self, flag: bool) -> bool:
        """Whether the argument is true in any worker; all workers get the same answer."""
        count = torch.tensor([float(flag)])
        self.add(count)
        return bool(count[0])


def epoch_batches(
    nodes: NDArray[np.int64], batching: Batching, *, seed: int, epoch: int
) -> Iterator[NDArray[np.int64]]:
    """The batches of an epoch, the same for any number of workers; each is sorted, since files are read in order.

    >>> [batch.tolist() for batch in epoch_batches(np.arange(5), Batching(batch=3), seed=0, epoch=1)]
    [[1, 3, 4], [0, 2]]
    """
    rng = np.random.default_rng([seed % 2**63, epoch])
    ascending, run = np.sort(nodes), batching.run
    order = rng.permutation(-(-len(nodes) // run))
    indices = order if run == 1 else (order[:, None] * run + np.arange(run)).ravel()
    indices = indices[indices < len(nodes)]
    for start in range(0, len(nodes), batching.batch):
        yield np.sort(ascending[indices[start : start + batching.batch]])


@dataclass(frozen=True, eq=False)
class BatchRows:
    """What the model reads of some nodes: their rows of all Chebyshev terms, ``(K+1, B, F)``."""

    terms: Tensor
    first: int = 0
    """Position of the first of them in the whole batch, which determines the dropout masks."""


class RowReader:
    """Reads rows of the terms of a store: mapped whole if they fit in ``max_memory`` (1 GB), else by windows."""

    def __init__(self, store: FeatureStore, degree: int, *, max_memory: int | None = None) -> None:
        allowed = MAPPED if max_memory is None else max_memory
        self.terms = [store.term(k) for k in range(degree + 1)]
        self.whole = sum(term.nbytes for term in self.terms) <= allowed
        self.window = min(WINDOW, allowed)
        self._buffer = np.empty(0, dtype=np.float32)

    def read(self, nodes: NDArray[np.int64], first: int = 0) -> BatchRows:
        """The rows of ascending nodes, in a buffer that the next call overwrites."""
        shape = (len(self.terms), len(nodes), self.terms[0].shape[1])
        size = math.prod(shape)
        if size > len(self._buffer):
            self._buffer = np.empty(0, dtype=np.float32)  # free the old one before the new one is allocated
            self._buffer = np.empty(size, dtype=np.float32)
        out = self._buffer[:size].reshape(shape)
        for term, rows in zip(self.terms, out, strict=True):
            take_rows(np.asarray(term) if self.whole else term, nodes, rows, window=self.window)
        return BatchRows(torch.from_numpy(out), first)


def sample_edges(adjacency: Adjacency, *, count: int, seed: int) -> tuple[NDArray[np.int64], Tensor]:
    """Draw ``count`` edges with replacement, or take all once if they are no more: their nodes, and pairs of these."""
    entries, whole = len(adjacency.columns), adjacency.edges <= count
    rng = np.random.default_rng([seed % 2**63])
    chosen = np.arange(entries, dtype=np.int64) if whole else np.sort(rng.integers(0, entries, size=count))
    sources = np.searchsorted(adjacency.rows, chosen, side="right") - 1
    targets = np.empty(len(chosen), dtype=np.int32)
    take_rows(adjacency.columns, chosen, targets, window=WINDOW)
    ends = np.stack([sources, targets.astype(np.int64)])
    if whole:
        ends = ends[:, ends[0] < ends[1]]
    nodes, indices = np.unique(ends, return_inverse=True)
    return nodes, torch.from_numpy(indices.reshape(ends.shape))
