"""Counts over all edges, a block of rows at a time, because the adjacency may be a file larger than memory."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .graph import Graph, read_rows
from .plan import row_blocks


def edge_blocks(graph: Graph) -> Iterator[NDArray[np.int32]]:
    """The columns of ``graph.pairs`` in order, a block at a time: ends of every edge once, shape ``(2, m)``."""
    pointers = graph.adjacency.indptr
    for rows in row_blocks(pointers):
        inside = slice(int(pointers[rows.start]), int(pointers[rows.stop]))
        counts = np.diff(pointers[rows.start : rows.stop + 1])
        sources = np.repeat(np.arange(rows.start, rows.stop, dtype=np.int32), counts)
        targets = read_rows(graph.adjacency.indices, inside)
        kept = slice(None) if graph.directed else sources < targets
        yield np.stack([sources[kept], targets[kept]])


def known_edges(graph: Graph) -> int:
    """Number of edges whose two ends have a label."""
    known = graph.labels >= 0
    return sum(int(np.count_nonzero(known[a] & known[b])) for a, b in edge_blocks(graph))


def isolated_nodes(graph: Graph) -> int:
    """Number of nodes without an edge, in either direction."""
    touched = np.zeros(graph.nodes, dtype=np.bool_)
    for ends in edge_blocks(graph):
        touched[ends] = True
    return int((~touched).sum())


def components(graph: Graph) -> int:
    """Number of connected components, ignoring directions; an isolated node is one.

    Union-find over blocks of edges: every node points to a smaller one of its component or to itself. An edge links
    the roots of its ends, and chains of pointers are shortened, until the two ends of every edge have the same root.

    >>> from newtonnet.graphs import from_edges
    >>> components(from_edges([[0, 3, 4], [2, 2, 5]], np.eye(7)))
    4
    """
    root = np.arange(graph.nodes, dtype=np.int32)
    changed = True
    while changed:
        changed = False
        for ends in edge_blocks(graph):
            a, b = root[ends]
            apart = a != b
            if apart.any():
                changed = True
                a, b = a[apart], b[apart]
                np.minimum.at(root, np.maximum(a, b), np.minimum(a, b))
        while changed and not np.array_equal(shorter := root[root], root):
            root = shorter
    return int(np.count_nonzero(root == np.arange(graph.nodes)))
