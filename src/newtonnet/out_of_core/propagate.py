"""The Chebyshev recurrence from disk to disk: some columns at a time, the matrix read some rows at a time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from newtonnet import kernels
from newtonnet.files import locked, make_folder
from newtonnet.graphs import Graph, csr_tensor, read_rows, row_blocks, row_chunks

from .adjacency import Adjacency
from .large_graph import LargeGraph, as_large
from .store import LOCK, MANIFEST, FeatureStore, StoreIdentity, check_identity, create_store, open_store, write_part

ENTRIES = 1 << 20
"""Entries of the matrix that are read at once."""
PROPAGATION_MEMORY = 2 * 10**9
"""Default number of bytes for the columns in memory."""
LANES = 16
"""Columns of float32 in a cache line; fewer columns at once waste a part of each line."""


@dataclass(frozen=True)
class PropagationProgress:
    """Number of finished parts, and of all."""

    parts: int
    total: int


def propagate_to_disk(
    graph: Graph | LargeGraph,
    folder: str | Path,
    *,
    degree: int = 5,
    self_loops: bool = False,
    max_memory: int | None = None,
    threads: int | None = None,
    progress: Callable[[PropagationProgress], None] | None = None,
) -> FeatureStore:
    r"""Compute the propagated features of a graph, or finish what an interrupted call has begun.

    .. math:: T_0 = X, \qquad T_1 = -\hat A X, \qquad T_k = -2 \hat A\,T_{k-1} - T_{k-2}

    Columns are independent, so as many are computed at once as the memory allows. A part (some columns of one term) is
    written, synced to the disk and then listed in the manifest. If the process is killed, the next call continues
    after the last listed part and gives the same numbers.

    Args:
        graph: in memory or on disk.
        folder: a new folder, or a store begun for the same graph, features, degree and operator.
        degree: K, the highest power.
        self_loops: use the graph with self-loops.
        max_memory: bytes for the three arrays of columns in memory; 2 GB by default.
        threads: number of threads; that of torch by default.
        progress: called after every part.

    Returns:
        The complete store.
    """
    graph, folder = as_large(graph), Path(folder)
    if degree < 1:
        raise ValueError(f"the degree must be at least 1, got {degree}")
    wanted = store_identity(graph, degree, self_loops=self_loops)
    width = _width(graph.nodes, wanted.features, PROPAGATION_MEMORY if max_memory is None else max_memory)
    with _locked(folder), kernels.use_threads(threads):
        store = _begin(folder, wanted, width)
        total = len(store.columns) * (degree + 1)
        for columns in store.columns:
            for grown in _recur(graph, store, columns):
                store = grown
                if progress is not None:
                    progress(PropagationProgress(len(store.parts), total))
    return store


def is_free_for(folder: str | Path, graph: Graph | LargeGraph, *, degree: int, self_loops: bool = False) -> bool:
    """Whether a folder holds the store of this graph, finished or not, or no store at all."""
    if not (Path(folder) / MANIFEST).exists():
        return True
    return open_store(folder, verify=False).identity == store_identity(as_large(graph), degree, self_loops=self_loops)


def store_identity(graph: LargeGraph, degree: int, *, self_loops: bool = False) -> StoreIdentity:
    """The identity of the store of a graph."""
    f = graph.features.shape[1]
    return StoreIdentity(graph.nodes, f, degree, self_loops, graph.adjacency.checksum, graph.features_checksum)


def _width(nodes: int, features: int, max_memory: int) -> int:
    """Columns at once: three of float32 each, and a scale for every node."""
    room = (max_memory - 4 * nodes) // (12 * nodes)
    if room < 1:
        needed = f"one column of {nodes} nodes takes {16 * nodes / 1e6:,.1f} MB"
        raise ValueError(f"max_memory is {max_memory / 1e6:,.1f} MB, but {needed}")
    return features if room >= features else room - room % LANES if room > LANES else room


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder; one that was created in vain is removed again."""
    fresh = not folder.exists()
    if not fresh and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder for the propagated features")
    make_folder(folder)
    busy = ValueError(f"another process is writing to {folder}; wait for it or name another folder")
    try:
        with locked(folder / LOCK, busy=busy):
            yield
    finally:
        if fresh and not (folder / MANIFEST).exists():
            with suppress(OSError):  # another process has begun
                folder.rmdir()


def _begin(folder: Path, wanted: StoreIdentity, width: int) -> FeatureStore:
    if not (folder / MANIFEST).exists():
        return create_store(folder, wanted, width)
    store = open_store(folder)
    check_identity(store, wanted)
    if store.width > width and not store.complete:
        needed = (12 * store.width + 4) * wanted.nodes / 1e6
        raise ValueError(f"{folder} was begun with {store.width} columns at once; allow {needed:,.0f} MB or remove it")
    return store


def _recur(graph: LargeGraph, store: FeatureStore, columns: tuple[int, int]) -> Iterator[FeatureStore]:
    """Finish the parts of some columns, one after the other, from the first that is missing."""
    finished = sum(part.columns == columns for part in store.parts)
    degree, chosen = store.identity.degree, slice(*columns)
    if finished > degree:
        return
    shape = (graph.nodes, columns[1] - columns[0])
    # T_{k-2}, which becomes T_k, then T_{k-1}, then S T_{k-1}.
    before, now, scaled = (torch.empty(shape) for _ in range(3))
    if finished == 0:
        for rows in row_chunks(graph.nodes, 4 * shape[1]):
            now.numpy()[rows] = graph.dense(rows, chosen)
        store = write_part(store, columns, 0, now.numpy())
        yield store
        finished = 1
    else:
        _load(store, finished - 1, chosen, now)
        if finished > 1:
            _load(store, finished - 2, chosen, before)
    scale = _scales(graph.adjacency, self_loops=store.identity.self_loops)
    for k in range(finished, degree + 1):
        torch.mul(now, scale[:, None], out=scaled)
        for rows, product in _products(graph.adjacency, scaled, self_loops=store.identity.self_loops):
            product *= scale[rows, None] * (-1 if k == 1 else -2)
            if k == 1:
                before[rows] = product
            else:
                torch.sub(product, before[rows], out=before[rows])
        before, now = now, before
        store = write_part(store, columns, k, now.numpy())
        yield store


def _load(store: FeatureStore, k: int, columns: slice, out: Tensor) -> None:
    term = store.term(k)
    for rows in row_chunks(len(term), 4 * term.shape[1]):
        out.numpy()[rows] = read_rows(term, rows)[:, columns]


def _scales(adjacency: Adjacency, *, self_loops: bool) -> Tensor:
    r"""The diagonal :math:`S = D^{-1/2}` of :math:`\hat A = S A S`, float32, ``(n,)``; 0 for a node without edges."""
    scale = torch.empty(adjacency.nodes)
    for rows in row_blocks(adjacency.rows, ENTRIES):
        pointers = read_rows(adjacency.rows, slice(rows.start, rows.stop + 1))
        degree = np.diff(pointers).astype(np.float64)
        if adjacency.weights is not None:
            weights = read_rows(adjacency.weights, slice(pointers[0], pointers[-1])).astype(np.float64)
            owners = np.repeat(np.arange(len(degree)), np.diff(pointers))
            degree = np.bincount(owners, weights=weights, minlength=len(degree)).astype(np.float64)
        degree += self_loops
        with np.errstate(divide="ignore"):
            scale[rows] = torch.from_numpy(np.where(degree > 0, degree**-0.5, 0.0)).float()
    return scale


def _products(adjacency: Adjacency, x: Tensor, *, self_loops: bool) -> Iterator[tuple[slice, Tensor]]:
    """The rows of A x, or (A + I) x, some at a time: slices of rows and ``(r, c)``."""
    ones = torch.ones(0)  # x is scaled, so the values of an unweighted matrix are 1: one array serves all rows
    for rows in row_blocks(adjacency.rows, ENTRIES):
        pointers = read_rows(adjacency.rows, slice(rows.start, rows.stop + 1))
        inside = slice(int(pointers[0]), int(pointers[-1]))
        count = inside.stop - inside.start
        columns = torch.zeros(count + kernels.AHEAD, dtype=torch.int32)  # the kernel reads ahead of its entries
        columns.numpy()[:count] = read_rows(adjacency.columns, inside)
        if count and not 0 <= int(columns.min()) <= int(columns.max()) < len(x):
            raise ValueError(f"the adjacency holds column indices outside 0..{len(x) - 1}; build it again")
        if adjacency.weights is not None:
            values = torch.from_numpy(read_rows(adjacency.weights, inside))
        else:
            ones = ones if len(ones) >= count else torch.ones(count)
            values = ones[:count]
        local = torch.from_numpy((pointers - pointers[0]).astype(np.int32))
        if kernels.available():
            product = kernels.multiply(kernels.Pattern(local, columns), values, x[:, None]).flatten(1)
        else:
            matrix = csr_tensor(local, columns[:count], values, (len(local) - 1, len(x)))
            product = torch.mm(matrix, x)
        if self_loops:
            product += x[rows]
        yield rows, product
