"""A graph that need not fit in memory: built in files from pieces or from tables, or viewed in memory."""

from __future__ import annotations  # so that help() prints the names of types and not all that they stand for

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from newtonnet import tables
from newtonnet.graphs import Features, Graph, compact, hash_arrays, read_rows

from .adjacency import ENTRIES, Adjacency, EdgePiece, adjacency_of, open_adjacency, write_adjacency
from .array_files import (
    check_range,
    check_sums,
    checked_count,
    new_folder,
    read_array,
    read_manifest,
    sample_checksum,
    write_manifest,
)

FEWEST = 1 << 16
"""Entries that are sorted at once, however little memory is allowed."""
MOST = np.iinfo(np.int32).max - 1
"""Entries, two per edge, that the adjacency of a :class:`Graph` can hold."""


@dataclass(frozen=True, eq=False)
class LargeGraph:
    """What out-of-core training reads of a graph.

    Attributes:
        adjacency: symmetric, on disk or in memory.
        features: float32, ``(n, F)``, dense (in memory or mapped from a file) or CSR.
        labels: classes ``0 .. C-1``, and -1 where unknown, ``(n,)``.
        class_names: one for each class.
        name: the name of the graph in records.
        checksum: short hash of everything that training can see.
        features_checksum: short hash of the features alone.
        folder: where the files are; None in memory.
    """

    adjacency: Adjacency
    features: Features
    labels: NDArray[np.int32] | NDArray[np.int64]
    class_names: tuple[str, ...]
    name: str
    checksum: str
    features_checksum: str
    folder: Path | None = None

    @property
    def nodes(self) -> int:
        """Number of nodes n."""
        return self.adjacency.nodes

    @property
    def classes(self) -> int:
        """Number of classes C."""
        return len(self.class_names)

    def dense(self, rows: slice, columns: slice) -> NDArray[np.float32]:
        """A dense piece of the features."""
        if isinstance(self.features, sp.csr_array):
            piece: NDArray[np.float32] = self.features[rows][:, columns].toarray()
            return piece
        return np.ascontiguousarray(read_rows(self.features, rows)[:, columns])

    def __reduce__(self) -> str | tuple[Any, ...]:
        # Pickled by its folder: other processes map the files instead of receiving their contents.
        return super().__reduce__() if self.folder is None else (open_graph, (self.folder.absolute(),))

    def __repr__(self) -> str:
        folder = None if self.folder is None else str(self.folder)
        return (
            f"LargeGraph({self.name!r}, nodes={self.nodes}, edges={self.adjacency.edges}, "
            f"features={self.features.shape[1]}, classes={self.classes}, folder={folder!r})"
        )


def as_large(graph: Graph | LargeGraph) -> LargeGraph:
    """View a graph as a :class:`LargeGraph`; nothing but row pointers is copied."""
    if isinstance(graph, LargeGraph):
        return graph
    return LargeGraph(
        adjacency=adjacency_of(graph),
        features=graph.features,
        labels=graph.labels,
        class_names=graph.class_names,
        name=graph.name,
        checksum=graph.checksum,
        features_checksum=hash_arrays(graph.features),
    )


def open_graph(folder: str | Path, *, verify: bool | None = None) -> LargeGraph:
    """Open the graph that :func:`write_graph` built in a folder.

    Row pointers and the ranges of column indices and labels are always checked.

    Args:
        folder: where the files are.
        verify: compare all files with their checksums; by default up to 1 GB, and samples of larger ones.
    """
    folder, again = Path(folder), "build it again"
    with read_manifest(folder / "graph.json", "graph; build one with write_graph", again=again) as about:
        adjacency = open_adjacency(folder / "adjacency", verify=verify)
        features = read_array(folder / "features.f32", "<f4", (adjacency.nodes, checked_count(about["features"])))
        graph = LargeGraph(
            adjacency=adjacency,
            features=features,
            labels=read_array(folder / "labels.i32", "<i4", (adjacency.nodes,)),
            class_names=tuple(map(str, about["class_names"])),
            name=str(about["name"]),
            checksum=str(about["checksum"]),
            features_checksum=str(about["features_checksum"]),
            folder=folder,
        )
        sample = about.get("sample")
    check_range(graph.labels, -1, graph.classes, folder / "labels.i32")
    whole = graph.features_checksum
    check_sums([features], whole=whole, sample=sample, verify=verify, where=folder / "features.f32", again=again)
    if verify is not False and _checksum(adjacency.checksum, whole, graph.labels) != graph.checksum:
        raise ValueError(f"{folder / 'labels.i32'} was changed after it was written: its checksum differs; {again}")
    return graph


def _checksum(adjacency: str, features: str, labels: NDArray[Any]) -> str:
    return hashlib.sha256(f"{adjacency} {features} {hash_arrays(labels)}".encode()).hexdigest()[:16]


def write_graph(
    folder: str | Path,
    edges: Iterable[EdgePiece],
    features: Iterable[NDArray[np.float32]],
    labels: Iterable[ArrayLike],
    *,
    nodes: int,
    class_names: Sequence[str] | None = None,
    name: str = "graph",
    entries: int = ENTRIES,
) -> LargeGraph:
    """Build a graph in a new folder from pieces, each of which is read once.

    Args:
        folder: a new or empty folder; if the build fails, nothing is left of it.
        edges: pieces of edges, see :func:`write_adjacency`.
        features: rows of features in the order of the nodes, some at a time, each ``(m, F)``.
        labels: classes in the order of the nodes, -1 for unknown, some at a time, each ``(m,)``.
        nodes: number of nodes n.
        class_names: one name for each class; their numbers by default.
        name: the name of the graph.
        entries: entries of the adjacency that are sorted at once.

    Returns:
        The graph, mapped from its files.
    """
    folder = Path(folder)
    with new_folder(folder) as building:
        width = _write_features(building / "features.f32", features, nodes)
        largest = _write_labels(building / "labels.i32", labels, nodes)
        names = [str(c) for c in range(largest + 1)] if class_names is None else list(class_names)
        if largest >= len(names):
            raise ValueError(f"labels must be -1 or 0..{len(names) - 1}, one for each class name, got {largest}")
        adjacency = write_adjacency(building / "adjacency", edges, nodes=nodes, entries=entries)
        x = read_array(building / "features.f32", "<f4", (nodes, width))
        y = read_array(building / "labels.i32", "<i4", (nodes,))
        features_checksum = hash_arrays(x)
        about = {
            "name": name,
            "features": width,
            "class_names": names,
            "features_checksum": features_checksum,
            "checksum": _checksum(adjacency.checksum, features_checksum, y),
            "sample": sample_checksum(x),
        }
        write_manifest(building / "graph.json", about)
    return open_graph(folder, verify=False)


def _write_features(path: Path, pieces: Iterable[NDArray[np.float32]], nodes: int) -> int:
    seen, width = 0, 0
    with path.open("wb") as stream:
        for piece in pieces:
            rows = np.ascontiguousarray(piece, dtype="<f4")
            if rows.ndim != 2 or rows.shape[1] == 0 or (width and rows.shape[1] != width):
                expected = f"(m, {width})" if width else "(m, F)"
                raise ValueError(f"pieces of features must have shape {expected}, got {rows.shape}")
            if len(bad := np.flatnonzero(~np.isfinite(rows).all(axis=1))):
                raise ValueError(f"features must be finite, but node {seen + int(bad[0])} has a NaN or infinite one")
            stream.write(rows.data)
            seen, width = seen + len(rows), rows.shape[1]
    if seen != nodes or not width:
        raise ValueError(f"expected features of {nodes} nodes, got {seen}")
    return width


def _write_labels(path: Path, pieces: Iterable[ArrayLike], nodes: int) -> int:
    seen, largest = 0, -1
    with path.open("wb") as stream:
        for piece in pieces:
            y = np.asarray(piece)
            if y.ndim != 1 or not np.issubdtype(y.dtype, np.integer) or y.min(initial=0) < -1:
                raise ValueError(f"labels must be integers 0..C-1, or -1 for unknown, got {y.dtype} {y.shape}")
            stream.write(y.astype("<i4").data)
            seen, largest = seen + len(y), max(largest, int(y.max(initial=-1)))
    if seen != nodes:
        raise ValueError(f"expected labels of {nodes} nodes, got {seen}")
    return largest


def read_tables_on_disk(
    nodes: str | PathLike[str],
    edges: str | PathLike[str],
    options: tables.TableOptions = tables.DEFAULTS,
    *,
    folder: str | Path,
    name: str | None = None,
    columns: tables.Columns | None = None,
    encoding: tables.Encoding | None = None,
    class_names: Sequence[str] | None = None,
    max_memory: int | None = None,
) -> tables.Reading:
    """Read the graph that :func:`newtonnet.tables.read_tables` gives, with its adjacency in files.

    The nodes are read whole. The edges are read in pieces and sorted on disk, which takes 20 bytes for each node and 40
    for each entry that is sorted at once. The graph can be used as long as the folder exists.

    Args:
        nodes: a file with one row for each node.
        edges: a file with one row for each edge.
        options: how to read them; directed edges are not supported.
        folder: a new or empty folder for the adjacency; if reading fails, nothing is left of it.
        name: the name of the graph; that of the nodes file by default.
        columns: the columns of ids, labels and weights; found with the options by default.
        encoding: how columns become features; learned from these nodes by default.
        class_names: the classes in order; those of the label column, sorted, by default.
        max_memory: bytes, of which sorting takes half; by default it sorts as much as :func:`write_adjacency`.

    Returns:
        The graph, the encoding of its features, and notes on the tables.
    """
    import pyarrow as pa

    if options.directed:
        raise ValueError("edges on disk cannot be directed; read them in memory, or without directed=True")
    columns = columns or tables.find_columns(nodes, edges, options)
    read = tables.read_nodes(nodes, columns, options, encoding=encoding, class_names=class_names)
    pa.default_memory_pool().release_unused()  # pyarrow would keep freed memory for later tables
    count = len(read.ids)
    tally: Counter[str] = Counter()
    chosen: Any = {"text_encoding": options.text_encoding, "unknown_edges": options.unknown_edges}
    pieces = tables.edge_pieces(edges, read.ids, columns=columns, tally=tally, **chosen)
    entries = ENTRIES if max_memory is None else entries_at_once(max_memory, count)
    sortable = (ends if weights is None else (ends, weights) for ends, weights in pieces)
    adjacency = write_adjacency(folder, sortable, nodes=count, entries=entries)
    pa.default_memory_pool().release_unused()
    graph = Graph(
        compact(read.features),
        mapped_matrix(adjacency),
        np.full(count, -1, dtype=np.int64) if read.labels is None else read.labels,
        class_names=tuple(read.class_names),
        node_names=tuple(read.names()),
        name=name or read.name,
        text_labels=read.text_labels,
        trusted=True,
    )
    return tables.reading_of(read, graph, tally, columns, learned=encoding is None)


def entries_at_once(max_memory: int, nodes: int) -> int:
    """Entries to sort at once: in half of the memory, less what the nodes take, but at least in an eighth of it.

    >>> entries_at_once(500 * 10**6, 10**6), entries_at_once(80 * 10**6, 10**8)
    (5750000, 250000)
    """
    return min(ENTRIES, max(FEWEST, max(max_memory // 2 - 20 * nodes, max_memory // 8) // 40))


def mapped_matrix(adjacency: Adjacency) -> sp.csr_array:
    """The adjacency as the matrix of a :class:`Graph`: columns and weights are mapped, weights of 1 take no room."""
    entries = len(adjacency.columns)
    if entries > MOST:
        raise ValueError(
            f"at most {MOST} entries, two for each edge, are supported in a graph from tables, got {entries}; build a "
            "larger one with newtonnet.out_of_core.write_graph"
        )
    matrix = sp.csr_array((adjacency.nodes, adjacency.nodes), dtype=np.float32)
    # The constructor would turn the memory maps into plain arrays.
    matrix.indptr, matrix.indices = adjacency.rows.astype(np.int32), adjacency.columns
    one = np.broadcast_to(np.float32(1), entries)
    matrix.data = one if adjacency.weights is None else adjacency.weights
    matrix.has_canonical_format = True
    return matrix
