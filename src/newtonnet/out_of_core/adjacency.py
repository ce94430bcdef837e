"""The adjacency matrix of a graph of any size: built from pieces of edges on disk in bounded memory, then mapped."""

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.graphs import Graph, hash_arrays, in_pieces, row_blocks

from .array_files import (
    check_range,
    check_sums,
    checked_count,
    new_folder,
    read_array,
    read_manifest,
    reserve,
    sample_checksum,
    write_manifest,
)

ENTRIES = 1 << 23
"""Default number of entries that are sorted at once; each takes about 40 bytes of memory."""
LEAST, MOST = 1 << 16, 1 << 20
"""Bounds on the number of edges that are distributed to parts at once; between them it is ``entries / 2``."""

EdgePiece = NDArray[np.integer[Any]] | tuple[NDArray[np.integer[Any]], NDArray[np.floating[Any]]]
"""Some edges: node numbers ``(2, m)``, or a pair of these and the edges' weights ``(m,)``."""


@dataclass(frozen=True, eq=False)
class Adjacency:
    """A symmetric CSR matrix without a diagonal, in memory or mapped from files.

    Attributes:
        rows: row pointers, int64, ``(n+1,)``.
        columns: column indices, sorted in each row, int32, ``(nnz,)``.
        weights: values, float32, ``(nnz,)``; None if all are 1.
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

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """The arrays that the checksum is of."""
        return [self.rows, self.columns] if self.weights is None else [self.rows, self.columns, self.weights]

    def __repr__(self) -> str:
        return f"Adjacency(nodes={self.nodes}, edges={self.edges}, weighted={self.weights is not None})"


def adjacency_of(graph: Graph) -> Adjacency:
    """The adjacency of an undirected graph, in memory or mapped from files; only the row pointers are copied."""
    if graph.directed:
        raise ValueError(f"graph {graph.name!r} is directed; out-of-core training needs an undirected graph")
    matrix = graph.adjacency
    return _hashed(matrix.indptr.astype(np.int64), matrix.indices, matrix.data if graph.weighted else None)


def open_adjacency(folder: str | Path, *, verify: bool | None = None) -> Adjacency:
    """Open the adjacency that :func:`write_adjacency` built in a folder.

    Row pointers and the range of the column indices are always checked.

    Args:
        folder: where the files are.
        verify: compare all files with their checksum; by default up to 1 GB, and samples of larger ones.
    """
    path, holds = Path(folder) / "adjacency.json", "adjacency; build one with write_adjacency"
    with read_manifest(path, holds, again="build it again") as about:
        nodes, entries = checked_count(about["nodes"]), checked_count(about["entries"])
        rows, columns, weights = _map(path.parent, nodes, entries, weighted=about["weighted"] is True)
        adjacency = Adjacency(rows, columns, weights, str(about["checksum"]))
        sample = about.get("sample")
    _check_pointers(rows, entries, path.with_name("rows.i64"))
    check_range(columns, 0, nodes, path.with_name("columns.i32"))
    whole, again = adjacency.checksum, "build it again"
    check_sums(adjacency.arrays, whole=whole, sample=sample, verify=verify, where=path.parent, again=again)
    return adjacency


def _check_pointers(rows: NDArray[np.int64], entries: int, where: Path) -> None:
    """Row pointers rise from 0 to the number of entries."""
    last = 0
    for i, piece in enumerate(in_pieces(rows)):
        if (i == 0 and piece[0] != 0) or piece[0] < last or (piece[1:] < piece[:-1]).any():
            raise ValueError(f"{where}: row pointers must rise from 0; build the folder again")
        last = int(piece[-1])
    if last != entries:
        raise ValueError(f"{where}: row pointers must end at {entries}, the number of entries; build the folder again")


def write_adjacency(folder: str | Path, edges: Iterable[EdgePiece], *, nodes: int, entries: int = ENTRIES) -> Adjacency:
    """Build an adjacency in a new folder, as :func:`newtonnet.graphs.from_edges` would, but in little memory.

    Edges may come in any order and in one or both directions. The weight of a pair is the largest one given for it;
    self-loops and weights of 0 are dropped. Pieces are read once. During the build the folder takes 28 bytes per edge,
    or 40 with weights.

    Args:
        folder: a new or empty folder; if the build fails, nothing is left of it.
        edges: pieces of edges.
        nodes: number of nodes n.
        entries: number of entries (two per edge) that are sorted at once. Memory is about 40 bytes for each of them
            and 20 for each node. All entries of one node are sorted at once even if they are more.

    Returns:
        The adjacency, mapped from its files.
    """
    folder = Path(folder)
    if not 1 <= nodes < 2**31:
        raise ValueError(f"the number of nodes must be from 1 to 2^31 - 1, got {nodes}")
    if entries < 1:
        raise ValueError(f"entries must be at least 1, got {entries}")
    with new_folder(folder) as building:
        weighted = _sort_edges(building, edges, nodes=nodes, entries=entries)
        count = (building / "columns.i32").stat().st_size // 4
        adjacency = _hashed(*_map(building, nodes, count, weighted=weighted))
        about = {"nodes": nodes, "entries": count, "weighted": weighted, "checksum": adjacency.checksum}
        write_manifest(building / "adjacency.json", {**about, "sample": sample_checksum(*adjacency.arrays)})
    return open_adjacency(folder, verify=False)


def _map(
    folder: Path, nodes: int, entries: int, *, weighted: bool
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32] | None]:
    return (
        read_array(folder / "rows.i64", "<i8", (nodes + 1,)),
        read_array(folder / "columns.i32", "<i4", (entries,)),
        read_array(folder / "weights.f32", "<f4", (entries,)) if weighted else None,
    )


def _hashed(rows: NDArray[np.int64], columns: NDArray[np.int32], weights: NDArray[np.float32] | None) -> Adjacency:
    checksum = hash_arrays(rows, columns, *([] if weights is None else [weights]))
    return Adjacency(rows, columns, weights, checksum)


def _sort_edges(folder: Path, pieces: Iterable[EdgePiece], *, nodes: int, entries: int) -> bool:
    """Write the CSR arrays to files by a counting sort from disk to disk; return whether there are weights."""
    # A part holds the entries of some rows. The edges are distributed to the parts, and each is sorted alone.
    degrees, weighted = _spool(folder / "edges", pieces, nodes)
    pointers = np.concatenate([[0], np.cumsum(degrees)])
    bounds = np.array([0, *(rows.stop for rows in row_blocks(pointers, entries))])
    starts, kind = pointers[bounds], _entry(weighted)
    _distribute(folder, bounds, starts, kind, step=min(max(entries // 2, LEAST), MOST))
    (folder / "edges").unlink()
    _sort_parts(folder, bounds, starts, kind)
    (folder / "parts").unlink()
    return weighted


def _entry(weighted: bool) -> np.dtype[np.void]:
    return np.dtype([("row", "<i4"), ("column", "<i4"), *([("weight", "<f4")] if weighted else [])])


def _spool(path: Path, pieces: Iterable[EdgePiece], nodes: int) -> tuple[NDArray[np.int64], bool]:
    """Write all edges to a file; return the number of entries of each row and whether any weight is not 1."""
    degrees = np.zeros(nodes, dtype=np.int64)
    seen, weighted = 0, False
    with path.open("wb") as stream:
        for piece in pieces:
            ends, weights = _check_piece(piece, nodes, seen)
            seen += ends.shape[1]
            kept = (ends[0] != ends[1]) & (weights > 0)
            edges = np.empty(int(kept.sum()), dtype=_entry(True))
            edges["row"], edges["column"], edges["weight"] = ends[0, kept], ends[1, kept], weights[kept]
            weighted = weighted or bool((edges["weight"] != 1).any())
            np.add.at(degrees, edges["row"], 1)
            np.add.at(degrees, edges["column"], 1)
            stream.write(edges.data)
    return degrees, weighted


def _check_piece(piece: EdgePiece, nodes: int, seen: int) -> tuple[NDArray[np.integer[Any]], NDArray[np.float32]]:
    ends, weights = piece if isinstance(piece, tuple) else (piece, None)
    ends = np.asarray(ends)
    if ends.ndim != 2 or ends.shape[0] != 2 or not np.issubdtype(ends.dtype, np.integer):
        raise ValueError(f"edges must be integers of shape (2, m), got {ends.dtype} of shape {ends.shape}")
    weights = np.ones(ends.shape[1], np.float32) if weights is None else np.asarray(weights, dtype=np.float32)
    if weights.shape != (ends.shape[1],):
        raise ValueError(f"expected {ends.shape[1]} edge weights, one for each edge, got shape {weights.shape}")
    if len(bad := np.flatnonzero(((ends < 0) | (ends >= nodes)).any(axis=0))):
        pair = ends[:, bad[0]].tolist()
        raise ValueError(f"edge {seen + int(bad[0])} joins nodes {pair}, but the nodes are 0..{nodes - 1}")
    if len(bad := np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))):
        raise ValueError(f"edge {seen + int(bad[0])} has weight {weights[bad[0]]}; it must be finite and not negative")
    return ends, weights


def _distribute(
    folder: Path, bounds: NDArray[np.int64], starts: NDArray[np.int64], kind: np.dtype[np.void], *, step: int
) -> None:
    """Write both directions of every edge into the part of its row, ``step`` edges at a time."""
    reserve({folder / "parts": int(starts[-1]) * kind.itemsize})
    cursor = starts[:-1].copy()
    with (folder / "edges").open("rb") as source, (folder / "parts").open("r+b") as target:
        while len(some := np.fromfile(source, dtype=_entry(True), count=step)):
            both = np.empty(2 * len(some), dtype=kind)
            both["row"] = np.concatenate([some["row"], some["column"]])
            both["column"] = np.concatenate([some["column"], some["row"]])
            if "weight" in (kind.names or ()):
                both["weight"] = np.tile(some["weight"], 2)
            part = np.searchsorted(bounds, both["row"], side="right") - 1
            both = both[np.argsort(part, kind="stable")]
            counts = np.bincount(part, minlength=len(cursor))
            stops = np.cumsum(counts)
            for i in np.flatnonzero(counts):
                target.seek(int(cursor[i]) * kind.itemsize)
                target.write(both[stops[i] - counts[i] : stops[i]].data)
            cursor += counts


def _sort_parts(folder: Path, bounds: NDArray[np.int64], starts: NDArray[np.int64], kind: np.dtype[np.void]) -> None:
    """Sort each part by row and column, merge duplicates, and append it to the matrix."""
    nodes = int(bounds[-1])
    rows = np.zeros(nodes + 1, dtype=np.int64)
    with (
        (folder / "parts").open("rb") as source,
        (folder / "columns.i32").open("wb") as columns,
        (folder / "weights.f32").open("wb") if "weight" in (kind.names or ()) else nullcontext() as weights,
    ):
        for (start, stop), count in zip(pairwise(bounds.tolist()), np.diff(starts).tolist(), strict=True):
            entries = np.fromfile(source, dtype=kind, count=count)
            keys = (entries["row"].astype(np.int64) - start) * nodes + entries["column"]
            if weights is None:
                del entries
                keys.sort()
                keys = keys[np.flatnonzero(np.diff(keys, prepend=-1))]
            else:
                order = np.argsort(keys, kind="stable")
                keys = keys[order]
                first = np.flatnonzero(np.diff(keys, prepend=-1))
                largest = np.maximum.reduceat(entries["weight"][order], first) if len(first) else entries["weight"]
                keys = keys[first]
                weights.write(np.ascontiguousarray(largest).data)
            columns.write((keys % nodes).astype("<i4").data)
            ends = np.arange(1, stop - start + 1, dtype=np.int64) * nodes
            rows[start + 1 : stop + 1] = rows[start] + np.searchsorted(keys, ends)
    rows.tofile(folder / "rows.i64")
