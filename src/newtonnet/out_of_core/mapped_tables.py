"""Own tables as a graph whose edges stay on disk: nodes in memory, edges read in pieces, the adjacency mapped."""

from collections import Counter
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from newtonnet.graphs import Graph, compact, trusted_graph
from newtonnet.tables.columns import Columns
from newtonnet.tables.edge_pieces import edge_pieces
from newtonnet.tables.edge_table import EdgeRows
from newtonnet.tables.encoding import Encoding
from newtonnet.tables.node_table import NodeTable, read_nodes
from newtonnet.tables.tables import Reading, reading_of

from .adjacency import ENTRIES, Adjacency, EdgePiece, write_adjacency

FEWEST = 1 << 16
"""Entries that are sorted at once, however little memory there is."""
MOST = np.iinfo(np.int32).max - 1
"""Entries of the adjacency of a graph, two for each edge."""


def read_tables_on_disk(
    nodes: str | PathLike[str],
    edges: str | PathLike[str],
    *,
    folder: str | Path,
    columns: Columns,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    standardise: bool = True,
    text_encoding: str = "utf-8",
    name: str | None = None,
    encoding: Encoding | None = None,
    class_names: Sequence[str] | None = None,
    max_memory: int | None = None,
) -> Reading:
    """The graph that :func:`newtonnet.datasets.read_tables` gives, with its adjacency in files.

    The nodes are read whole; the edges are read in pieces and sorted on disk, with 20 bytes for each node and 40 for
    each entry that is sorted at once. The graph is good as long as the folder is there.

    Args:
        nodes: a file with one row for each node.
        edges: a file with one row for each edge.
        folder: a new or empty one for the adjacency; nothing stays of it where reading fails.
        columns: which columns hold ids, classes and weights.
        ignore: columns of the nodes that are no features.
        categorical: columns of numbers that are codes of categories.
        standardise: give numbers mean 0 and deviation 1.
        text_encoding: of CSV files.
        name: the graph's name; the nodes file's if not given.
        encoding: how columns become features; learned from these nodes if not given.
        class_names: the classes in order; those of the label column, sorted, if not given.
        max_memory: bytes, of which sorting takes half; it sorts as much as :func:`write_adjacency` if not given.
    """
    read = read_nodes(
        nodes,
        columns=columns,
        ignore=ignore,
        categorical=categorical,
        standardise=standardise,
        text_encoding=text_encoding,
        encoding=encoding,
        class_names=class_names,
    )
    _give_back()
    count = len(read.ids)
    tally: Counter[str] = Counter()
    pieces = edge_pieces(edges, read.ids, columns=columns, text_encoding=text_encoding, tally=tally)
    entries = ENTRIES if max_memory is None else entries_at_once(max_memory, count)
    adjacency = write_adjacency(folder, _sortable(pieces), nodes=count, entries=entries)
    _give_back()
    return reading_of(read, _graph(read, adjacency, name or read.name), tally, columns, learned=encoding is None)


def entries_at_once(max_memory: int, nodes: int) -> int:
    """How many entries of an adjacency to sort at once: half of the memory, with what nodes take, or an eighth.

    >>> entries_at_once(500 * 10**6, 10**6), entries_at_once(80 * 10**6, 10**8)
    (5750000, 250000)
    """
    return min(ENTRIES, max(FEWEST, max(max_memory // 2 - 20 * nodes, max_memory // 8) // 40))


def _give_back() -> None:
    """Give freed memory back to the system, which pyarrow would keep for tables that do not come."""
    pa.default_memory_pool().release_unused()


def _sortable(pieces: Iterator[EdgeRows]) -> Iterator[EdgePiece]:
    return (ends if weights is None else (ends, weights) for ends, weights in pieces)


def _graph(read: NodeTable, adjacency: Adjacency, name: str) -> Graph:
    labels = np.full(adjacency.nodes, -1, dtype=np.int64) if read.labels is None else read.labels
    return trusted_graph(
        compact(read.features),
        mapped_matrix(adjacency),
        labels,
        class_names=read.class_names,
        node_names=read.names(),
        name=name,
    )


def mapped_matrix(adjacency: Adjacency) -> sp.csr_array:
    """An adjacency as the matrix of a graph: columns and weights stay in their files, weights of 1 take no room."""
    entries = len(adjacency.columns)
    if entries > MOST:
        raise ValueError(
            f"at most {MOST} entries, two for each edge, are supported in a graph from tables, got {entries}; build a "
            "larger one with newtonnet.out_of_core.write_graph"
        )
    matrix = sp.csr_array((adjacency.nodes, adjacency.nodes), dtype=np.float32)
    # Not through the constructor, which would forget that these are files.
    matrix.indptr, matrix.indices = adjacency.rows.astype(np.int32), adjacency.columns
    one = np.broadcast_to(np.float32(1), entries)
    matrix.data = one if adjacency.weights is None else adjacency.weights
    matrix.has_canonical_format = True
    return matrix
