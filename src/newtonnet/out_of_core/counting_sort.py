"""Edges that come in pieces to a sorted matrix in files: a counting sort from disk to disk."""

from collections.abc import Iterable
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .disk import reserve

Piece = NDArray[np.integer[Any]] | tuple[NDArray[np.integer[Any]], NDArray[np.floating[Any]]]
"""Some edges: node numbers ``(2, m)``, or these and the edges' weights ``(m,)``."""

LEAST, MOST = 1 << 16, 1 << 20
"""Edges that are put into parts at once: as many as are sorted at once, within these."""


def sort_edges(place: Path, pieces: Iterable[Piece], *, nodes: int, entries: int) -> bool:
    """Write ``rows.i64``, ``columns.i32`` and, where a weight is not 1, ``weights.f32``; whether there are weights.

    Edges are noted in a file while rows are counted. Then both directions of each are put into parts of another file
    by their row, whose sizes are known by then, and each part is sorted by itself and appended to the matrix.
    """
    degrees, weighted = _note(place / "noted", pieces, nodes)
    bounds, kind = _cut(degrees, entries), _kind(weighted)
    _scatter(place / "noted", place / "parts", degrees, bounds, kind, step=min(max(entries // 2, LEAST), MOST))
    (place / "noted").unlink()
    _sort(place, degrees, bounds, kind)
    (place / "parts").unlink()
    return weighted


def _kind(weighted: bool) -> np.dtype[np.void]:
    return np.dtype([("row", "<i4"), ("column", "<i4"), *([("weight", "<f4")] if weighted else [])])


def _note(path: Path, pieces: Iterable[Piece], nodes: int) -> tuple[NDArray[np.int64], bool]:
    """Write all edges down once and count the entries of every row; whether any weight is not 1."""
    degrees = np.zeros(nodes, dtype=np.int64)
    seen, weighted = 0, False
    with path.open("wb") as stream:
        for piece in pieces:
            ends, weights = _check_piece(piece, nodes, seen)
            seen += ends.shape[1]
            kept = (ends[0] != ends[1]) & (weights > 0)
            noted = np.empty(int(kept.sum()), dtype=_kind(True))
            noted["row"], noted["column"], noted["weight"] = ends[0, kept], ends[1, kept], weights[kept]
            weighted = weighted or bool((noted["weight"] != 1).any())
            np.add.at(degrees, noted["row"], 1)
            np.add.at(degrees, noted["column"], 1)
            stream.write(noted.data)
    return degrees, weighted


def _check_piece(piece: Piece, nodes: int, seen: int) -> tuple[NDArray[np.integer[Any]], NDArray[np.float32]]:
    pair = piece if isinstance(piece, tuple) else (piece, None)
    ends = np.asarray(pair[0])
    if ends.ndim != 2 or ends.shape[0] != 2 or not np.issubdtype(ends.dtype, np.integer):
        raise ValueError(f"edges must be whole numbers of shape (2, m), got {ends.dtype} of shape {ends.shape}")
    weights = np.ones(ends.shape[1], np.float32) if pair[1] is None else np.asarray(pair[1], dtype=np.float32)
    if weights.shape != (ends.shape[1],):
        raise ValueError(f"expected {ends.shape[1]} edge weights, one for each edge, got shape {weights.shape}")
    outside = np.flatnonzero(((ends < 0) | (ends >= nodes)).any(axis=0))
    if len(outside):
        where, pair_there = seen + int(outside[0]), ends[:, outside[0]].tolist()
        raise ValueError(f"edge {where} joins nodes {pair_there}, but the nodes are 0..{nodes - 1}")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(f"edge {seen + int(bad[0])} has weight {weights[bad[0]]}; it must be finite and not negative")
    return ends, weights


def _cut(degrees: NDArray[np.int64], entries: int) -> NDArray[np.int64]:
    """First rows of parts with at most so many entries, if a row has no more; n at the end."""
    if entries < 1:
        raise ValueError(f"at least 1 entry must be sorted at once, got {entries}")
    before = np.concatenate([[0], np.cumsum(degrees)])
    bounds = [0]
    while bounds[-1] < len(degrees):
        last = int(np.searchsorted(before, before[bounds[-1]] + entries, side="right")) - 1
        bounds.append(min(max(last, bounds[-1] + 1), len(degrees)))
    return np.array(bounds, dtype=np.int64)


def _scatter(
    noted: Path,
    parts: Path,
    degrees: NDArray[np.int64],
    bounds: NDArray[np.int64],
    kind: np.dtype[np.void],
    *,
    step: int,
) -> None:
    """Put both directions of every edge into the part of the file that belongs to its row, ``step`` edges at once."""
    sizes = np.add.reduceat(degrees, bounds[:-1])
    reserve({parts: int(sizes.sum()) * kind.itemsize})
    cursor = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    with noted.open("rb") as source, parts.open("r+b") as target:
        while len(edges := np.fromfile(source, dtype=_kind(True), count=step)):
            both = np.empty(2 * len(edges), dtype=kind)
            both["row"] = np.concatenate([edges["row"], edges["column"]])
            both["column"] = np.concatenate([edges["column"], edges["row"]])
            if "weight" in (kind.names or ()):
                both["weight"] = np.tile(edges["weight"], 2)
            part = np.searchsorted(bounds, both["row"], side="right") - 1
            both = both[np.argsort(part, kind="stable")]
            counts = np.bincount(part, minlength=len(sizes))
            ends = np.cumsum(counts)
            for here in np.flatnonzero(counts):
                target.seek(int(cursor[here]) * kind.itemsize)
                target.write(both[ends[here] - counts[here] : ends[here]].data)
            cursor += counts


def _sort(place: Path, degrees: NDArray[np.int64], bounds: NDArray[np.int64], kind: np.dtype[np.void]) -> None:
    """Sort each part by row and column, merge duplicates, and append it to the matrix."""
    nodes = len(degrees)
    rows = np.zeros(nodes + 1, dtype=np.int64)
    with (
        (place / "parts").open("rb") as source,
        (place / "columns.i32").open("wb") as columns,
        (place / "weights.f32").open("wb") if "weight" in (kind.names or ()) else nullcontext() as weights,
    ):
        for start, stop in pairwise(bounds.tolist()):
            entries = np.fromfile(source, dtype=kind, count=int(degrees[start:stop].sum()))
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
            edges = np.arange(1, stop - start + 1, dtype=np.int64) * nodes
            rows[start + 1 : stop + 1] = rows[start] + np.searchsorted(keys, edges)
    rows.tofile(place / "rows.i64")
