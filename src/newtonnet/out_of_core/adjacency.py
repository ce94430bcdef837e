"""A graph's adjacency on disk, with any number of edges: built from pieces in bounded memory, read where needed."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from newtonnet.files import write_whole
from newtonnet.graphs import Graph

from .counting_sort import Piece, sort_edges
from .disk import hash_arrays, new_folder, read_array

FORMAT = 1
ENTRIES = 1 << 23
"""Entries that are sorted at once where nothing else is said; each takes about 40 bytes meanwhile."""


@dataclass(frozen=True, eq=False)
class Adjacency:
    """A symmetric CSR matrix without a diagonal, in memory or in files that are mapped into it.

    Attributes:
        rows: row pointers, int64, ``(n+1,)``.
        columns: sorted in each row, int32, ``(nnz,)``.
        weights: of the entries, float32, ``(nnz,)``; None where all are 1.
        checksum: short hash of all three.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int32]
    weights: NDArray[np.float32] | None
    checksum: str

    @property
    def nodes(self) -> int:
        """Number of nodes n."""
        return len(self.rows) - 1

    @property
    def edges(self) -> int:
        """Number of undirected edges."""
        return len(self.columns) // 2

    def blocks(self, entries: int) -> Iterator[slice]:
        """Slices of rows that hold about so many entries each; at least one row."""
        start = 0
        while start < self.nodes:
            last = int(np.searchsorted(self.rows, int(self.rows[start]) + entries, side="right")) - 1
            stop = min(self.nodes, max(start + 1, last))
            yield slice(start, stop)
            start = stop

    def __repr__(self) -> str:
        return f"Adjacency(nodes={self.nodes}, edges={self.edges}, weighted={self.weights is not None})"


def adjacency_of(graph: Graph) -> Adjacency:
    """The adjacency of a graph, in memory or mapped from files; only the row pointers are copied."""
    if graph.directed:
        raise ValueError(f"graph {graph.name!r} is directed; the precomputed regime needs symmetric edges")
    matrix = graph.adjacency
    return _checked(matrix.indptr.astype(np.int64), matrix.indices, matrix.data if graph.weighted else None)


def open_adjacency(folder: str | Path) -> Adjacency:
    """The adjacency that :func:`write_adjacency` has left in a folder."""
    folder = Path(folder)
    try:
        about = json.loads((folder / "adjacency.json").read_text(encoding="utf-8"))
        nodes, entries, checksum = int(about["nodes"]), int(about["entries"]), str(about["checksum"])
        if about["format"] != FORMAT:
            raise ValueError(f"{folder} has format {about['format']}, expected {FORMAT}; build it again")
    except FileNotFoundError:
        raise ValueError(f"{folder} holds no adjacency; write_adjacency makes one") from None
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{folder / 'adjacency.json'} cannot be read ({error}); build it again") from error
    weights = read_array(folder / "weights.f32", "<f4", (entries,)) if about["weighted"] else None
    return Adjacency(
        read_array(folder / "rows.i64", "<i8", (nodes + 1,)),
        read_array(folder / "columns.i32", "<i4", (entries,)),
        weights,
        checksum,
    )


def write_adjacency(
    folder: str | Path, edges: Graph | Iterable[Piece], *, nodes: int | None = None, entries: int = ENTRIES
) -> Adjacency:
    """Build an adjacency in a new folder, as :func:`newtonnet.graphs.from_edges` would, but with little memory.

    Edges may come in any order and in one or both directions. A pair's weight is the largest that is given for it;
    self-loops and weights of 0 are dropped. Pieces are read once. While it is built the folder takes 28 bytes per edge,
    and 40 where there are weights.

    Args:
        folder: a new or empty one; nothing stays of it where building fails.
        edges: a graph, or pieces of edges.
        nodes: number of nodes n; needed for pieces.
        entries: how many entries are sorted at once, two for each edge; memory is about 40 bytes for each of them and
            20 for each node. (A node that has more of them is still sorted at once.)
    """
    folder = Path(folder)
    if isinstance(edges, Graph):
        memory = adjacency_of(edges)
        with new_folder(folder) as place:
            memory.rows.tofile(place / "rows.i64")
            memory.columns.tofile(place / "columns.i32")
            if memory.weights is not None:
                memory.weights.tofile(place / "weights.f32")
            _describe(place, memory)
        return open_adjacency(folder)
    if nodes is None or not 1 <= nodes < 2**31:
        raise ValueError(f"pieces of edges need the number of nodes, from 1 to 2^31 - 1, got {nodes}")
    with new_folder(folder) as place:
        weighted = sort_edges(place, edges, nodes=nodes, entries=entries)
        _describe(place, _open_bare(place, nodes, weighted=weighted))
    return open_adjacency(folder)


def _open_bare(place: Path, nodes: int, *, weighted: bool) -> Adjacency:
    entries = (place / "columns.i32").stat().st_size // 4
    return _checked(
        read_array(place / "rows.i64", "<i8", (nodes + 1,)),
        read_array(place / "columns.i32", "<i4", (entries,)),
        read_array(place / "weights.f32", "<f4", (entries,)) if weighted else None,
    )


def _checked(rows: NDArray[np.int64], columns: NDArray[np.int32], weights: NDArray[np.float32] | None) -> Adjacency:
    checksum = hash_arrays(rows, columns, *([] if weights is None else [weights]))
    return Adjacency(rows, columns, weights, checksum)


def _describe(place: Path, adjacency: Adjacency) -> None:
    about = {
        "format": FORMAT,
        "nodes": adjacency.nodes,
        "entries": len(adjacency.columns),
        "weighted": adjacency.weights is not None,
        "checksum": adjacency.checksum,
    }
    write_whole(place / "adjacency.json", json.dumps(about) + "\n")
