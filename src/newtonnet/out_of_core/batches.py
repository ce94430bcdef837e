"""Which nodes make a step together, how workers share them, and how their rows are read from the blocks."""

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

RESIDENT = 10**9
"""Bytes of blocks that may be mapped at once, where nothing else is said."""
WINDOW = 1 << 26
"""Bytes of one block that are mapped at a time where all of them are too many."""


@dataclass(frozen=True)
class Batching:
    """How training goes through the nodes."""

    batch: int = 65536
    """Nodes in a step, over all workers."""
    run: int = 1
    """Neighbouring training nodes that stay together when nodes are shuffled. 1 shuffles every node; 64 reads whole
    pages, which is much faster where the blocks do not fit in memory."""
    homophily_edges: int = 100_000
    """Edges on which the homophily is estimated; all of them where there are fewer."""

    def __post_init__(self) -> None:
        for name in ("batch", "run", "homophily_edges"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")


def _alone(numbers: Tensor) -> None:
    """The sum over one worker."""


@dataclass(frozen=True)
class Worker:
    """One of several processes that train one model.

    Attributes:
        rank: its number.
        size: how many there are.
        add: sums a tensor over all workers, in place.
    """

    rank: int = 0
    size: int = 1
    add: Callable[[Tensor], None] = _alone

    def share(self, count: int) -> slice:
        """Its own part of so many things.

        >>> Worker(1, 3).share(10)
        slice(3, 6, None)
        """
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)


def epoch_batches(
    nodes: NDArray[np.int64], batching: Batching, *, seed: int, epoch: int
) -> Iterator[NDArray[np.int64]]:
    """The batches of an epoch, the same for every number of workers; nodes ascend in each, as files are read best.

    >>> [batch.tolist() for batch in epoch_batches(np.arange(5), Batching(batch=3), seed=0, epoch=1)]
    [[1, 3, 4], [0, 2]]
    """
    rng = np.random.default_rng([seed % 2**63, epoch])
    ascending = np.sort(nodes)
    run = batching.run
    order = rng.permutation(-(-len(nodes) // run))
    places = order if run == 1 else (order[:, None] * run + np.arange(run)).ravel()
    places = places[places < len(nodes)]
    for start in range(0, len(nodes), batching.batch):
        yield np.sort(ascending[places[start : start + batching.batch]])


class RowReader:
    """Reads rows of the blocks of a store.

    Blocks that fit in ``resident`` bytes together stay mapped; of larger ones a window is mapped at a time.
    """

    def __init__(self, store: FeatureStore, degree: int, *, resident: int = RESIDENT) -> None:
        self.blocks = [store.term(k) for k in range(degree + 1)]
        self.whole = sum(block.nbytes for block in self.blocks) <= resident
        self.window = min(WINDOW, resident)
        self._buffer = np.empty(0, dtype=np.float32)

    def read(self, nodes: NDArray[np.int64]) -> Tensor:
        """The rows of some ascending nodes, ``(K+1, B, F)``, in a buffer that the next call fills anew."""
        shape = (len(self.blocks), len(nodes), self.blocks[0].shape[1])
        if math.prod(shape) > len(self._buffer):
            self._buffer = np.empty(0, dtype=np.float32)  # the old one goes before the new one comes
            self._buffer = np.empty(math.prod(shape), dtype=np.float32)
        out = self._buffer[: math.prod(shape)].reshape(shape)
        for block, rows in zip(self.blocks, out, strict=True):
            take_rows(np.asarray(block) if self.whole else block, nodes, rows, window=self.window)
        return torch.from_numpy(out)


@dataclass(frozen=True, eq=False)
class EdgeSample:
    """Some edges of a graph.

    Attributes:
        nodes: all their ends, ascending, ``(m,)``.
        pairs: the edges' ends as places among these nodes, ``(2, E')``.
        known: which of these nodes train, bool, ``(m,)``.
    """

    nodes: NDArray[np.int64]
    pairs: Tensor
    known: Tensor


def sample_edges(adjacency: Adjacency, train: NDArray[np.int64], *, count: int, seed: int) -> EdgeSample:
    """So many edges, each as likely as any other; all of them, once each, where the graph has no more."""
    entries, all_of_them = len(adjacency.columns), adjacency.edges <= count
    chosen = np.arange(entries, dtype=np.int64) if all_of_them else _draw(entries, count, seed)
    sources = np.searchsorted(adjacency.rows, chosen, side="right") - 1
    targets = np.empty(len(chosen), dtype=np.int32)
    take_rows(adjacency.columns, chosen, targets, window=WINDOW)
    ends = np.stack([sources, targets.astype(np.int64)])
    if all_of_them:
        ends = ends[:, ends[0] < ends[1]]
    nodes, places = np.unique(ends, return_inverse=True)
    pairs = torch.from_numpy(places.reshape(ends.shape))
    return EdgeSample(nodes, pairs, torch.from_numpy(np.isin(nodes, train)))


def _draw(entries: int, count: int, seed: int) -> NDArray[np.int64]:
    return np.sort(np.random.default_rng([seed % 2**63]).integers(0, entries, size=count))
