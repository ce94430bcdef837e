"""The graph that everything else reads: features, adjacency and labels, checked when it is built."""

import hashlib
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Features: TypeAlias = NDArray[np.float32] | sp.csr_array

CHUNK = 1 << 22
"""Bytes of an array that are processed at a time."""


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph with node features and, for some nodes, a class; frozen and validated.

    Build one with :func:`from_edges`, :func:`from_scipy`, :func:`from_networkx` or :func:`from_pyg`, which symmetrise,
    merge duplicates and drop self-loops. The constructor repairs nothing and raises an error for invalid input.

    Attributes:
        features: float32, shape ``(n, F)``, dense or CSR.
        adjacency: float32 CSR of shape ``(n, n)`` with int32 indices, sorted, zero diagonal, weights above 0;
            symmetric unless ``directed``.
        labels: int64, shape ``(n,)``, classes ``0 .. C-1`` and -1 where the class is unknown.
        class_names: one name for each class.
        node_names: one name for each node, or none at all.
        name: name of the graph in records and reports.
        directed: edges are directed (only to repeat published runs; everything else assumes symmetry).
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
        """Number of undirected edges, or of directed ones if the graph is directed."""
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
        """Whether any edge has a weight other than 1."""
        return any(bool((piece != 1).any()) for piece in in_pieces(self.adjacency.data))

    @cached_property
    def checksum(self) -> str:
        """Short hash of everything that training uses: features, adjacency and labels."""
        return _hash(*_arrays(self.features), *_arrays(self.adjacency), self.labels)

    @cached_property
    def structure(self) -> str:
        """Short hash of the edges and their weights, given the order of the nodes."""
        return _hash(*_arrays(self.adjacency))

    def relabelled(self, labels: NDArray[np.int64], class_names: tuple[str, ...] | None = None) -> "Graph":
        """The same graph with other labels; edges and features are shared.

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
    """An undirected graph whose adjacency is not checked, because it may be too large.

    Args:
        features: as in :class:`Graph`, with the same checks.
        adjacency: as in :class:`Graph`; only its shape and types are checked.
        labels: as in :class:`Graph`, with the same checks.
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
    """A graph from checked parts."""
    graph = object.__new__(Graph)
    vars(graph).update(fields)
    _freeze(graph)
    return graph


def _freeze(graph: Graph) -> None:
    for array in (*_arrays(graph.features), *_arrays(graph.adjacency), graph.labels):
        array.setflags(write=False)


def check_trainable(graph: Graph) -> None:
    """Raise an error for a graph that cannot be trained on: no labelled node, or labels of one class only."""
    present = np.unique(graph.labels[graph.labelled])
    if len(present) == 0:
        raise ValueError(
            f"graph {graph.name!r} has no labelled node; label some of each class (unknown ones are -1, None or blank)"
        )
    if len(present) == 1:
        name = graph.class_names[int(present[0])]
        raise ValueError(f"graph {graph.name!r} has labels of one class only ({name!r}); at least 2 classes are needed")


def compact(features: Features) -> Features:
    """CSR if that takes less than half the memory of a dense array, dense otherwise.

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


def check_features(features: Features) -> None:
    """Features are a finite float32 matrix, dense or CSR, with at least one row and one column."""
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
        raise ValueError(
            f"features must be finite, but node {first} has a NaN or infinite feature (or one above 3.4e38); fill or "
            "drop it"
        )


def check_adjacency(adjacency: sp.csr_array, n: int, *, directed: bool) -> None:
    """An adjacency is a canonical CSR matrix of n nodes with positive weights, without self-loops, symmetric."""
    if not isinstance(adjacency, sp.csr_array):
        raise TypeError(f"adjacency must be a scipy csr_array, got {type(adjacency).__name__}")
    _check_indices(adjacency, "adjacency")
    check_form(adjacency, n)
    if not adjacency.has_canonical_format:
        raise ValueError("adjacency must have sorted indices without duplicates; build the graph with from_scipy")
    check_weights(adjacency.data)
    if adjacency.nnz and float(adjacency.data.min()) == 0:
        raise ValueError("adjacency stores edges of weight 0; build the graph with from_scipy, which drops them")
    if adjacency.diagonal().any():
        raise ValueError("adjacency must have no self-loops; build the graph with from_scipy, which drops them")
    if not directed and (adjacency != adjacency.T).nnz:
        raise ValueError("adjacency must be symmetric; build the graph with from_scipy, which symmetrises it")


def check_form(adjacency: sp.csr_array, n: int) -> None:
    """The adjacency has the right shape and types; its entries are not read."""
    if adjacency.shape != (n, n):
        raise ValueError(f"adjacency must have shape ({n}, {n}) to fit {n} rows of features, got {adjacency.shape}")
    if adjacency.dtype != np.float32 or adjacency.indices.dtype != np.int32 or adjacency.indptr.dtype != np.int32:
        raise TypeError(
            f"adjacency must be float32 with int32 indices, got {adjacency.dtype}, {adjacency.indices.dtype}"
        )


def _check_indices(matrix: Features, name: str) -> None:
    """The indices of a CSR matrix lie inside it; otherwise scipy would read foreign memory."""
    if isinstance(matrix, sp.csr_array):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"{name} is not a valid CSR matrix ({error}); an index may be out of range") from error


def check_weights(weights: NDArray[np.floating]) -> None:
    """Edge weights are finite and not negative."""
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if len(bad):
        raise ValueError(f"edge weights must be finite and not negative, but entry {bad[0]} is {weights[bad[0]]}")


def check_labels(labels: NDArray[np.int64], n: int, classes: int) -> None:
    """Labels are one int64 for each node, -1 or the number of a class."""
    if not isinstance(labels, np.ndarray) or labels.dtype != np.int64:
        kind = labels.dtype if isinstance(labels, np.ndarray) else type(labels).__name__
        raise TypeError(f"labels must be an int64 numpy array (-1 means unknown), got {kind}")
    if labels.shape != (n,):
        raise ValueError(f"expected {n} labels, one for each row of features, got shape {labels.shape}")
    if n and (labels.min() < -1 or labels.max() >= classes):
        raise ValueError(f"labels must be -1 or 0..{classes - 1}, got {labels.min()}..{labels.max()}")


def check_names(names: Sequence[str], n: int) -> None:
    """There is one name for each node, or none at all."""
    if names and len(names) != n:
        raise ValueError(f"expected {n} node names, one for each row of features, got {len(names)}")


def read_rows(array: NDArray[Any], rows: slice) -> NDArray[Any]:
    """A copy of some rows of an array; a memory-mapped file is read, so that its pages are not kept in memory."""
    if not _is_file(array):
        return np.array(array[rows])
    width = int(np.prod(array.shape[1:], dtype=np.int64))
    count = max(rows.stop - rows.start, 0)
    offset = array.offset + rows.start * width * array.itemsize
    flat = np.fromfile(str(array.filename), array.dtype, count * width, offset=offset)
    return flat.reshape(count, *array.shape[1:])


def in_pieces(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """All rows in order, contiguous, about :data:`CHUNK` bytes at a time; copied only if necessary.

    >>> [piece.tolist() for piece in in_pieces(np.broadcast_to(np.float32(1), 3))]
    [[1.0, 1.0, 1.0]]
    """
    width = array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    step = max(1, CHUNK // max(width, 1))
    for start in range(0, len(array), step):
        rows = slice(start, min(start + step, len(array)))
        yield read_rows(array, rows) if _is_file(array) else np.ascontiguousarray(array[rows])


def _is_file(array: Any) -> TypeGuard["np.memmap[Any, Any]"]:
    """Whether it is a whole mapped file; a slice of one does not know its offset."""
    base: object = array.base
    return isinstance(array, np.memmap) and isinstance(base, mmap.mmap) and bool(array.flags.c_contiguous)
