"""The one data structure that everything above reads: features, adjacency and labels, checked at the door."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .checks import Features, check_adjacency, check_features, check_form, check_labels, check_names
from .mapped_arrays import in_pieces


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph with node features and, for some nodes, a class; frozen and validated.

    Build one with :func:`from_edges`, :func:`from_scipy`, :func:`from_networkx` or :func:`from_pyg`, which symmetrise,
    merge duplicates and drop self-loops; the constructor itself repairs nothing and refuses what does not fit.

    Attributes:
        features: float32, shape ``(n, F)``, dense or CSR.
        adjacency: float32 CSR of shape ``(n, n)`` with int32 indices, sorted, zero diagonal, weights above 0;
            symmetric unless ``directed``.
        labels: int64, shape ``(n,)``, classes ``0 .. C-1`` and -1 where the class is unknown.
        class_names: one name for each class.
        node_names: one name for each node, or none at all.
        name: what the graph is called in records and reports.
        directed: keep the edges one-way (only to repeat runs of others; everything else assumes symmetry).
    """

    features: Features
    adjacency: sp.csr_array
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    node_names: tuple[str, ...] = ()
    name: str = "graph"
    directed: bool = False

    def __post_init__(self) -> None:
        check_features(self.features)
        n = self.features.shape[0]
        check_adjacency(self.adjacency, n, directed=self.directed)
        check_labels(self.labels, n, len(self.class_names))
        check_names(self.node_names, n)
        _freeze(self)

    @property
    def nodes(self) -> int:
        """Number of nodes n."""
        return int(self.adjacency.shape[0])

    @property
    def edges(self) -> int:
        """Number of edges: undirected pairs, or arrows where the graph is directed."""
        return int(self.adjacency.nnz) // (1 if self.directed else 2)

    @property
    def classes(self) -> int:
        """Number of classes C."""
        return len(self.class_names)

    @cached_property
    def labelled(self) -> NDArray[np.int64]:
        """Nodes whose class is known, ascending."""
        nodes = np.flatnonzero(self.labels >= 0)
        nodes.setflags(write=False)
        return nodes

    @cached_property
    def pairs(self) -> NDArray[np.int32]:
        """Ends of every edge once, shape ``(2, E)``."""
        rows = np.repeat(np.arange(self.nodes, dtype=np.int32), np.diff(self.adjacency.indptr))
        columns = self.adjacency.indices
        kept = slice(None) if self.directed else rows < columns
        ends = np.stack([rows[kept], columns[kept]]).astype(np.int32, copy=False)
        ends.setflags(write=False)
        return ends

    @cached_property
    def weighted(self) -> bool:
        """Whether any edge has another weight than 1."""
        return any(bool((piece != 1).any()) for piece in in_pieces(self.adjacency.data))

    @cached_property
    def checksum(self) -> str:
        """Short hash of everything that training can see: features, adjacency and labels."""
        return _hash(*_arrays(self.features), *_arrays(self.adjacency), self.labels)

    @cached_property
    def structure(self) -> str:
        """Short hash of the edges and their weights, with the nodes in this order."""
        return _hash(*_arrays(self.adjacency))

    def relabelled(self, labels: NDArray[np.int64], class_names: tuple[str, ...] | None = None) -> "Graph":
        """The same graph with other labels; edges and features, which were checked already, are shared.

        Args:
            labels: int64, shape ``(n,)``, -1 where the class is unknown.
            class_names: one name for each class; the same if not given.
        """
        names = self.class_names if class_names is None else class_names
        check_labels(labels, self.nodes, len(names))
        kept = {name: value for name, value in vars(self).items() if name not in ("labelled", "checksum")}
        return _assembled({**kept, "labels": labels, "class_names": names})

    def __repr__(self) -> str:
        return (
            f"Graph({self.name!r}, nodes={self.nodes}, edges={self.edges}, features={self.features.shape[1]}, "
            f"classes={self.classes}, labelled={len(self.labelled)})"
        )


def trusted_graph(
    features: Features,
    adjacency: sp.csr_array,
    labels: NDArray[np.int64],
    *,
    class_names: Sequence[str],
    node_names: Sequence[str] = (),
    name: str = "graph",
) -> Graph:
    """An undirected graph whose builder answers for the adjacency, which may be too large to be looked through.

    Args:
        features: as in :class:`Graph`, and checked as there.
        adjacency: sorted, symmetric, without duplicates, self-loops or weights that are not above 0. Only its shape
            and types are checked.
        labels: as in :class:`Graph`, and checked as there.
        class_names: one name for each class.
        node_names: one name for each node, or none at all.
        name: the graph's name.
    """
    check_features(features)
    n = features.shape[0]
    check_form(adjacency, n)
    check_labels(labels, n, len(class_names))
    check_names(node_names, n)
    own = {"class_names": tuple(class_names), "node_names": tuple(node_names), "name": name, "directed": False}
    return _assembled({"features": features, "adjacency": adjacency, "labels": labels, **own})


def _assembled(fields: dict[str, object]) -> Graph:
    """A graph of parts that were checked."""
    graph = object.__new__(Graph)
    vars(graph).update(fields)
    _freeze(graph)
    return graph


def _freeze(graph: Graph) -> None:
    for array in (*_arrays(graph.features), *_arrays(graph.adjacency), graph.labels):
        array.setflags(write=False)


def check_trainable(graph: Graph) -> None:
    """Refuse a graph that gives nothing to learn: no labelled node, or labels of one class only."""
    present = np.unique(graph.labels[graph.labelled])
    if len(present) == 0:
        raise ValueError(
            f"graph {graph.name!r} has no labelled node; label some of each class (unknown ones are -1, None or blank)"
        )
    if len(present) == 1:
        name = graph.class_names[int(present[0])]
        raise ValueError(f"graph {graph.name!r} has labels of one class only ({name!r}); at least 2 classes are needed")


def compact(features: Features) -> Features:
    """CSR where that takes less than half the memory of a dense block, dense otherwise.

    >>> type(compact(np.eye(100, dtype=np.float32))).__name__
    'csr_array'
    """
    rows, columns = features.shape
    count = int(features.nnz if isinstance(features, sp.csr_array) else np.count_nonzero(features))
    if 2 * (8 * count + 4 * rows) < 4 * rows * columns:
        matrix = sp.csr_array(features, dtype=np.float32)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix
    return np.ascontiguousarray(
        features.toarray() if isinstance(features, sp.csr_array) else features, dtype=np.float32
    )


def _hash(*arrays: NDArray[np.generic]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str((array.dtype.str, array.shape)).encode())
        for piece in in_pieces(array):
            digest.update(piece.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]


def _arrays(matrix: Features) -> tuple[NDArray[np.generic], ...]:
    return (matrix.data, matrix.indices, matrix.indptr) if isinstance(matrix, sp.csr_array) else (matrix,)
