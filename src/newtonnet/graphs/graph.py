"""The one data structure that everything above reads: features, adjacency and labels, checked at the door."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .mapped_arrays import in_pieces

Features: TypeAlias = NDArray[np.float32] | sp.csr_array


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
        _check_features(self.features)
        n = self.features.shape[0]
        _check_adjacency(self.adjacency, n, directed=self.directed)
        _check_labels(self.labels, n, len(self.class_names))
        _check_names(self.node_names, n)
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
        _check_labels(labels, self.nodes, len(names))
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
    _check_features(features)
    n = features.shape[0]
    _check_form(adjacency, n)
    _check_labels(labels, n, len(class_names))
    _check_names(node_names, n)
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


def _check_features(features: Features) -> None:
    if not isinstance(features, np.ndarray | sp.csr_array):
        raise TypeError(f"features must be a numpy array or a scipy csr_array, got {type(features).__name__}")
    _check_indices(features, "features")
    if features.ndim != 2 or features.shape[0] == 0 or features.shape[1] == 0:
        raise ValueError(f"features must have shape (nodes, features) with at least one of each, got {features.shape}")
    if features.dtype != np.float32:
        raise TypeError(f"features must be float32, got {features.dtype}")
    values = features.data if isinstance(features, sp.csr_array) else features
    if not np.isfinite(values).all():
        rows = features.tocoo().row[~np.isfinite(values)] if isinstance(features, sp.csr_array) else None
        first = int(rows.min() if rows is not None else np.flatnonzero(~np.isfinite(features).all(axis=1))[0])
        raise ValueError(f"features must be finite, but node {first} has a NaN or infinite feature; fill or drop it")


def _check_adjacency(adjacency: sp.csr_array, n: int, *, directed: bool) -> None:
    if not isinstance(adjacency, sp.csr_array):
        raise TypeError(f"adjacency must be a scipy csr_array, got {type(adjacency).__name__}")
    _check_indices(adjacency, "adjacency")
    _check_form(adjacency, n)
    if not adjacency.has_canonical_format:
        raise ValueError("adjacency must have sorted indices without duplicates; build the graph with from_scipy")
    check_weights(adjacency.data)
    if adjacency.nnz and float(adjacency.data.min()) == 0:
        raise ValueError("adjacency stores edges of weight 0; build the graph with from_scipy, which drops them")
    if adjacency.diagonal().any():
        raise ValueError("adjacency must have no self-loops; build the graph with from_scipy, which drops them")
    if not directed and (adjacency != adjacency.T).nnz:
        raise ValueError("adjacency must be symmetric; build the graph with from_scipy, which symmetrises it")


def _check_form(adjacency: sp.csr_array, n: int) -> None:
    if adjacency.shape != (n, n):
        raise ValueError(f"adjacency must have shape ({n}, {n}) to fit {n} rows of features, got {adjacency.shape}")
    if adjacency.dtype != np.float32 or adjacency.indices.dtype != np.int32 or adjacency.indptr.dtype != np.int32:
        raise TypeError(
            f"adjacency must be float32 with int32 indices, got {adjacency.dtype}, {adjacency.indices.dtype}"
        )


def _check_indices(matrix: Features, name: str) -> None:
    """Refuse a CSR matrix whose indices lie outside it: scipy would read memory that is not its own."""
    if isinstance(matrix, sp.csr_array):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"{name} are no valid CSR matrix ({error}); an index may be out of range") from error


def check_weights(weights: NDArray[np.floating]) -> None:
    """Refuse edge weights that are not finite or are negative."""
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if len(bad):
        raise ValueError(f"edge weights must be finite and not negative, but entry {bad[0]} is {weights[bad[0]]}")


def _check_labels(labels: NDArray[np.int64], n: int, classes: int) -> None:
    if not isinstance(labels, np.ndarray) or labels.dtype != np.int64:
        kind = labels.dtype if isinstance(labels, np.ndarray) else type(labels).__name__
        raise TypeError(f"labels must be an int64 numpy array (-1 means unknown), got {kind}")
    if labels.shape != (n,):
        raise ValueError(f"expected {n} labels, one for each row of features, got shape {labels.shape}")
    if n and (labels.min() < -1 or labels.max() >= classes):
        raise ValueError(f"labels must be -1 or 0..{classes - 1}, got {labels.min()}..{labels.max()}")


def _check_names(names: Sequence[str], n: int) -> None:
    if names and len(names) != n:
        raise ValueError(f"expected {n} node names, one for each row of features, got {len(names)}")
