"""What is counted over all edges, some rows of the adjacency at a time: they may lie in a file larger than memory."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .graph import Graph
from .mapped_arrays import read_rows
from .plan import row_blocks


def edge_blocks(graph: Graph) -> Iterator[NDArray[np.int32]]:
    """The columns of ``graph.pairs`` in their order, some at a time: ends of every edge once, ``(2, m)``."""
    pointers = graph.adjacency.indptr
    for rows in row_blocks(pointers):
        inside = slice(int(pointers[rows.start]), int(pointers[rows.stop]))
        counts = np.diff(pointers[rows.start : rows.stop + 1])
        sources = np.repeat(np.arange(rows.start, rows.stop, dtype=np.int32), counts)
        targets = read_rows(graph.adjacency.indices, inside)
        kept = slice(None) if graph.directed else sources < targets
        yield np.stack([sources[kept], targets[kept]])


def known_edges(graph: Graph) -> int:
    """Edges whose two ends have a label."""
    known = graph.labels >= 0
    return sum(int(np.count_nonzero(known[a] & known[b])) for a, b in edge_blocks(graph))


def isolated_nodes(graph: Graph) -> int:
    """Nodes without an edge, whatever its direction."""
    touched = np.zeros(graph.nodes, dtype=np.bool_)
    for ends in edge_blocks(graph):
        touched[ends] = True
    return int((~touched).sum())


def components(graph: Graph) -> int:
    """Number of connected parts, directions apart; a node without an edge is one.

    Every node points to a smaller one of its part or to itself. An edge makes the larger of what its ends point to
    point to the smaller one, and a chain of pointers is cut short, until all edges join nodes that point to the same.

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
