"""The graph that everything else reads: features, adjacency and labels, checked when it is built; and its edges."""

import hashlib
import mmap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from newtonnet.drawing import small_table

from .plan import row_blocks

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Features: TypeAlias = NDArray[np.float32] | sp.csr_array

MOST = np.iinfo(np.int32).max - 64
"""Nodes, features or entries that int32 indices can count, with room for the entries that kernels read ahead."""
NO_ROWS = (
    "a graph cannot be cut into rows, as scikit-learn's cross_val_score, GridSearchCV and transformers do; use "
    "newtonnet.cross_validate for scores, tune='auto' or settings=... for a search, and transform features before"
)
"""What composes with scikit-learn, and what to use instead of what does not."""
CHUNK = 1 << 22
"""Bytes of an array that are processed at a time."""


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph with node features and, for some nodes, a class or a number; frozen and validated.

    Build one with :func:`from_edges`, :func:`from_scipy`, :func:`from_networkx` or :func:`from_pyg`, which symmetrise,
    merge duplicates and drop self-loops. The constructor repairs nothing and raises an error for invalid input; so does
    unpickling. Arrays are copied unless they are files or other memory that nobody can write to.

    Attributes:
        features: float32, shape ``(n, F)``, dense or CSR.
        adjacency: float32 CSR of shape ``(n, n)`` with int32 indices, sorted, zero diagonal, weights above 0;
            symmetric unless ``directed``.
        labels: int64, shape ``(n,)``, classes ``0 .. C-1`` and -1 where the class is unknown.
        class_names: one name for each class.
        node_names: one name for each node, or none at all.
        name: name of the graph in records and reports.
        directed: edges are directed; signals flow from source to target.
        text_labels: the labels were given as texts, even if the class names look like numbers or booleans.
        rows: edges as a data set stores them, int32, shape ``(2, R)``: directions, duplicates and self-loops, which the
            paper's released code counts; None where they are not kept. Not part of the checksum.
        targets: for numbers instead of classes, float64, shape ``(n,)``, NaN where the number is unknown; ``labels``
            are then 0 where it is known and -1 elsewhere, and the one class name is the name of the number.
        trusted: check only the shape and types of the adjacency and copy nothing, because it is a checked file that may
            be too large to read.
    """

    features: Features
    adjacency: sp.csr_array
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    node_names: tuple[str, ...] = ()
    name: str = "graph"
    directed: bool = False
    rows: NDArray[np.int32] | None = None
    text_labels: bool = False
    targets: NDArray[np.float64] | None = None
    trusted: InitVar[bool] = False

    def __post_init__(self, trusted: bool) -> None:
        if not trusted:
            for name in ("features", "adjacency", "labels", "rows", "targets"):
                object.__setattr__(self, name, _frozen(getattr(self, name)))
        _check_features(self.features)
        n = self.features.shape[0]
        _check_form(self.adjacency, n)
        if not trusted:
            _check_entries(self.adjacency, directed=self.directed)
        _check_labels(self.labels, n, len(self.class_names))
        if self.targets is not None:
            _check_targets(self.targets, self.labels, self.class_names)
        if self.node_names and len(self.node_names) != n:
            raise ValueError(f"expected {n} node names, one for each row of features, got {len(self.node_names)}")
        if self.rows is not None and (
            self.rows.dtype != np.int32
            or self.rows.ndim != 2
            or len(self.rows) != 2
            or (self.rows.size and not 0 <= self.rows.min() <= self.rows.max() < n)
        ):
            raise ValueError(
                f"rows must be int32 numbers of nodes, shape (2, R), got {self.rows.dtype} {self.rows.shape}"
            )
        for array in (*_arrays(self.features), *_arrays(self.adjacency), self.labels):
            array.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (
            self.features,
            self.adjacency,
            self.labels,
            self.class_names,
            self.node_names,
            self.name,
            self.directed,
            self.rows,
            self.text_labels,
            self.targets,
        )
        return Graph, parts  # the constructor checks what comes out of a pickle

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

    @property
    def truth(self) -> NDArray[np.int64] | NDArray[np.float64]:
        """What is known of each node, shape ``(n,)``: its class, -1 where unknown, or its number, NaN where unknown."""
        return self.labels if self.targets is None else self.targets

    @cached_property
    def labelled(self) -> NDArray[np.int64]:
        """Nodes whose class, or number, is known, ascending."""
        nodes = np.flatnonzero(self.labels >= 0)
        nodes.setflags(write=False)
        return nodes

    @cached_property
    def pairs(self) -> NDArray[np.int32]:
        """Ends of every edge once, shape ``(2, E)``."""
        ends = np.concatenate(list(edge_blocks(self)), axis=1)
        ends.setflags(write=False)
        return ends

    @cached_property
    def weighted(self) -> bool:
        """Whether any edge has a weight other than 1."""
        return any(bool((piece != 1).any()) for piece in in_pieces(self.adjacency.data))

    @cached_property
    def checksum(self) -> str:
        """Short hash of everything that training uses: features, adjacency and labels."""
        numbers = () if self.targets is None else (self.targets,)
        return hash_arrays(self.features, self.adjacency, self.labels, *numbers)

    @cached_property
    def structure(self) -> str:
        """Short hash of the edges and their weights, given the order of the nodes."""
        return hash_arrays(self.adjacency)

    def relabelled(self, labels: NDArray[np.int64], class_names: tuple[str, ...] | None = None) -> "Graph":
        """The same graph with other labels; edges and features are shared.

        Args:
            labels: int64, shape ``(n,)``, -1 where the class is unknown. Of a graph with numbers they say whose number
                stays known.
            class_names: one name for each class; the same if not given.
        """
        names = self.class_names if class_names is None else class_names
        _check_labels(labels, self.nodes, len(names))
        numbers = None
        if self.targets is not None and class_names is None:
            numbers = np.where(labels >= 0, self.targets, np.nan)
            _check_targets(numbers, labels, names)
        return self._with(labels, names, numbers, text_labels=self.text_labels and class_names is None)

    def with_targets(self, targets: NDArray[np.float64], name: str | None = None) -> "Graph":
        """The same graph with numbers to learn; edges and features are shared.

        Args:
            targets: float64, shape ``(n,)``, NaN where the number is unknown.
            name: what the numbers are; as before, or ``target``, if not given.

        >>> from newtonnet.graphs import from_edges
        >>> from_edges([[0], [1]], np.eye(3)).with_targets(np.array([0.5, np.nan, 2.0])).labels
        array([ 0, -1,  0])
        """
        known = self.targets is not None
        names = (name or (self.class_names[0] if known else "target"),)
        labels = np.where(np.isnan(targets), -1, 0).astype(np.int64)
        _check_labels(labels, self.nodes, 1)
        _check_targets(targets, labels, names)
        return self._with(labels, names, targets, text_labels=False)

    def _with(
        self,
        labels: NDArray[np.int64],
        names: tuple[str, ...],
        targets: NDArray[np.float64] | None,
        *,
        text_labels: bool,
    ) -> "Graph":
        kept = {name: value for name, value in vars(self).items() if name not in ("labelled", "checksum")}
        graph = object.__new__(Graph)  # not the constructor, which would check the shared parts again
        labels, targets = _frozen(labels), _frozen(targets)
        vars(graph).update(kept, labels=labels, class_names=names, targets=targets, text_labels=text_labels)
        return graph

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise TypeError(NO_ROWS)  # scikit-learn asks for it where it would take rows

    def __repr__(self) -> str:
        learned = f"classes={self.classes}" if self.targets is None else f"target={self.class_names[0]!r}"
        return (
            f"Graph({self.name!r}, nodes={self.nodes}, edges={self.edges}, features={self.features.shape[1]}, "
            f"{learned}, labelled={len(self.labelled)})"
        )

    def _repr_html_(self) -> str:
        counts = np.bincount(self.labels[self.labelled], minlength=self.classes)
        known = [f"{name} {count:,}" for name, count in zip(self.class_names[:12], counts.tolist(), strict=False)]
        rest = ["…"] if self.classes > len(known) else []
        rows = [
            ("nodes", f"{self.nodes:,}"),
            ("edges", f"{self.edges:,}, {'directed' if self.directed else 'undirected'}"),
            ("features", f"{self.features.shape[1]:,}"),
            ("known classes", ", ".join([*known, *rest]) or "none"),
            ("nodes without a class", f"{self.nodes - len(self.labelled):,}"),
        ]
        return small_table(rows, caption=self.name)

    def plot(self, node: int | str | None = None, most: int = 150) -> "Figure":
        """Draw the graph, or the nodes nearest to one; see :func:`~newtonnet.graphs.plot_graph`."""
        from .plotting import plot_graph

        return plot_graph(self, node, most)


def edge_blocks(graph: Graph) -> Iterator[NDArray[np.int32]]:
    """The columns of ``graph.pairs``, a block ``(2, m)`` at a time, because the adjacency may be a file."""
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

    >>> from newtonnet.graphs import from_edges
    >>> components(from_edges([[0, 3, 4], [2, 2, 5]], np.eye(7)))
    4
    """
    # Union-find: a node points to itself or to a smaller node of its component. Edges link the roots of their ends, and
    # chains of pointers are shortened, until the two ends of every edge have the same root.
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


def check_trainable(graph: Graph) -> None:
    """Raise an error for a graph that cannot be trained on: no labelled node, or labels of one class or number only."""
    if graph.targets is not None:
        known = graph.targets[graph.labelled]
        if len(known) < 2:
            raise ValueError(f"graph {graph.name!r} has {len(known)} known targets; at least 2 are needed")
        if known.min() == known.max():
            raise ValueError(f"all known targets of graph {graph.name!r} are {known[0]:g}; there is nothing to learn")
        return
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
    dense = features.toarray() if isinstance(features, sp.csr_array) else features
    return np.ascontiguousarray(dense, dtype=np.float32)


def hash_arrays(*arrays: NDArray[Any] | sp.csr_array) -> str:
    """Short hash of the types, shapes and contents of arrays and of the three arrays of CSR matrices."""
    digest = hashlib.sha256()
    for array in (part for one in arrays for part in _arrays(one)):
        digest.update(str((array.dtype.str, array.shape)).encode())
        for piece in in_pieces(array):
            digest.update(piece.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]


def _arrays(matrix: NDArray[Any] | sp.csr_array) -> tuple[NDArray[Any], ...]:
    return (matrix.data, matrix.indices, matrix.indptr) if isinstance(matrix, sp.csr_array) else (matrix,)


def _frozen(matrix: Any) -> Any:
    """A copy that nobody else can write to; no copy of read-only memory. What is no array is left to the checks."""
    if isinstance(matrix, sp.csr_array):
        whole = object.__new__(sp.csr_array)
        vars(whole).update(vars(matrix))
        whole.data, whole.indices, whole.indptr = (_frozen(array) for array in _arrays(matrix))
        return whole
    if not isinstance(matrix, np.ndarray) or matrix.dtype.hasobject:
        return matrix
    owner: Any = matrix
    while isinstance(owner, np.ndarray) and not owner.flags.writeable and owner.base is not None:
        owner = owner.base
    with suppress(TypeError):
        if not isinstance(owner, np.ndarray) and memoryview(owner).readonly:
            return matrix
    copy = matrix.copy(order="K")
    copy.setflags(write=False)
    return copy


def check_int32(count: int, what: str) -> None:
    """Refuse a count that int32 indices cannot hold, before they wrap around."""
    if count > MOST:
        raise ValueError(f"at most {MOST:,} {what} are supported in memory, got {count:,}")


def _check_features(features: Features) -> None:
    """Features are a finite float32 matrix, dense or CSR, with at least one row and one column."""
    if not isinstance(features, np.ndarray | sp.csr_array):
        raise TypeError(f"features must be a numpy array or a scipy csr_array, got {type(features).__name__}")
    _check_indices(features, "features")
    if features.ndim != 2 or features.shape[0] == 0 or features.shape[1] == 0:
        raise ValueError(f"features must have shape (nodes, features) with at least one of each, got {features.shape}")
    if features.dtype != np.float32:
        raise TypeError(f"features must be float32, got {features.dtype}")
    finite = np.isfinite(features.data if isinstance(features, sp.csr_array) else features)
    if not finite.all():
        node = int(np.argmin(finite)) // features.shape[1]
        if isinstance(features, sp.csr_array):
            node = int((features.indptr <= np.argmin(finite)).sum()) - 1
        raise ValueError(f"features must be finite float32, but node {node} has a NaN or infinite one; fill or drop it")


def _check_form(adjacency: sp.csr_array, n: int) -> None:
    """The adjacency is a CSR matrix of the right shape and types; its entries are not read."""
    if not isinstance(adjacency, sp.csr_array):
        raise TypeError(f"adjacency must be a scipy csr_array, got {type(adjacency).__name__}")
    if adjacency.shape != (n, n):
        raise ValueError(f"adjacency must have shape ({n}, {n}) to fit {n} rows of features, got {adjacency.shape}")
    types = [adjacency.dtype, adjacency.indices.dtype, adjacency.indptr.dtype]
    if types != [np.float32, np.int32, np.int32]:
        raise TypeError(f"adjacency must be float32 with int32 indices, got {', '.join(map(str, types))}")


def _check_entries(adjacency: sp.csr_array, *, directed: bool) -> None:
    """The adjacency is canonical, has weights above 0 and no self-loops, and is symmetric unless directed."""
    _check_indices(adjacency, "adjacency")
    if not adjacency.has_canonical_format:
        raise ValueError("adjacency must have sorted indices without duplicates; build the graph with from_scipy")
    check_weights(adjacency.data)
    if not adjacency.data.all():
        raise ValueError("adjacency stores edges of weight 0; build the graph with from_scipy, which drops them")
    if adjacency.diagonal().any():
        raise ValueError("adjacency must have no self-loops; build the graph with from_scipy, which drops them")
    if not directed and (adjacency != adjacency.T).nnz:
        raise ValueError("adjacency must be symmetric; build the graph with from_scipy, which symmetrises it")


def _check_indices(matrix: Features, name: str) -> None:
    """The indices of a CSR matrix lie inside it; otherwise scipy would read outside of its arrays."""
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


def _check_labels(labels: NDArray[np.int64], n: int, classes: int) -> None:
    """Labels are one int64 for each node, -1 or the number of a class."""
    if not isinstance(labels, np.ndarray) or labels.dtype != np.int64:
        kind = getattr(labels, "dtype", type(labels).__name__)
        raise TypeError(f"labels must be an int64 numpy array (-1 means unknown), got {kind}")
    if labels.shape != (n,):
        raise ValueError(f"expected {n} labels, one for each row of features, got shape {labels.shape}")
    if labels.min() < -1 or labels.max() >= classes:
        raise ValueError(f"labels must be -1 or 0..{classes - 1}, got {labels.min()}..{labels.max()}")


def _check_targets(targets: NDArray[np.float64], labels: NDArray[np.int64], names: tuple[str, ...]) -> None:
    """Targets are one float64 for each node, finite where the label is 0 and NaN where it is -1."""
    if not isinstance(targets, np.ndarray) or targets.dtype != np.float64:
        kind = getattr(targets, "dtype", type(targets).__name__)
        raise TypeError(f"targets must be a float64 numpy array (NaN means unknown), got {kind}")
    if targets.shape != labels.shape:
        raise ValueError(f"expected {len(labels)} targets, one for each row of features, got shape {targets.shape}")
    if len(names) != 1:
        raise ValueError(f"targets have one name, got {len(names)}")
    if np.isinf(targets).any():
        node = int(np.isinf(targets).argmax())
        raise ValueError(f"targets must be finite, but node {node} has {targets[node]}; use NaN where it is unknown")
    if not np.array_equal(labels >= 0, np.isfinite(targets)):
        raise ValueError("labels must be 0 where the target is known and -1 elsewhere; build the graph by with_targets")


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
    for rows in row_chunks(len(array), array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))):
        yield read_rows(array, rows) if _is_file(array) else np.ascontiguousarray(array[rows])


def row_chunks(rows: int, width: int) -> Iterator[slice]:
    """Slices of rows of ``width`` bytes that hold about :data:`CHUNK` bytes each.

    >>> [part.stop for part in row_chunks(5, CHUNK // 2)]
    [2, 4, 5]
    """
    step = max(1, CHUNK // max(width, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def _is_file(array: Any) -> TypeGuard["np.memmap[Any, Any]"]:
    """Whether it is a whole mapped file; a slice of one does not know its offset."""
    base: object = array.base
    return isinstance(array, np.memmap) and isinstance(base, mmap.mmap) and bool(array.flags.c_contiguous)
