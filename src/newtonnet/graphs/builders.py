"""Graphs from what people have: edge lists, scipy matrices, networkx graphs, PyTorch Geometric data; and labels."""

from __future__ import annotations  # so that help() prints the names of types and not all that they stand for

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray

from .graph import NO_ROWS, Features, Graph, check_int32, check_weights, compact

if TYPE_CHECKING:  # slow to import, and already imported by a caller who passes their objects
    import networkx as nx
    from torch_geometric.data import Data


def from_edges(
    edges: ArrayLike,
    features: ArrayLike | sp.sparray | sp.spmatrix | torch.Tensor,
    *,
    labels: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    class_names: Sequence[str] | None = None,
    node_names: Sequence[str] = (),
    name: str = "graph",
    directed: bool = False,
    text_labels: bool = False,
) -> Graph:
    """A graph from pairs of node numbers, in any order and in one or both directions.

    The weight of a pair is the largest given for it in either direction; self-loops and weights of 0 are dropped.

    Args:
        edges: node numbers, shape ``(2, E)``; or a frame with a row for each edge, whose first two columns are the ends
            and whose column ``weight``, if there is one, holds the weights.
        features: shape ``(n, F)``, dense or sparse; stored as CSR if that is much smaller.
        labels: classes ``0 .. C-1``, -1 for unknown, shape ``(n,)``; all unknown if not given.
        weights: one weight above 0 for each edge, shape ``(E,)``; all 1 if not given.
        class_names: one name for each class; their numbers if not given.
        node_names: one name for each node.
        name: name of the graph.
        directed: keep the edges directed, from source to target.
        text_labels: the class names are texts, even if they look like numbers or booleans.

    >>> from_edges([[0, 1, 1], [1, 0, 2]], [[1.0], [2.0], [4.0]], labels=[0, 1, -1])
    Graph('graph', nodes=3, edges=2, features=1, classes=2, labelled=2)
    """
    x = _features(features)
    n = x.shape[0]
    if hasattr(edges, "columns"):
        frame: Any = edges
        names = list(getattr(frame, "column_names", frame.columns))  # Arrow's, or those of pandas and Polars
        weights = np.asarray(frame["weight"]) if weights is None and "weight" in names[2:] else weights
        edges = np.stack([np.asarray(frame[name]) for name in names[:2]])
    ends = np.asarray(edges)
    if ends.size == 0:
        ends = np.zeros((2, 0), dtype=np.int64)
    if ends.ndim != 2 or ends.shape[0] != 2 or not np.issubdtype(ends.dtype, np.integer):
        raise ValueError(f"edges must be whole numbers of shape (2, E), got {ends.dtype} of shape {ends.shape}")
    if ends.size and not 0 <= ends.min() <= ends.max() < n:
        outside = np.flatnonzero(((ends < 0) | (ends >= n)).any(axis=0))
        pair = ends[:, outside[0]].tolist()
        raise ValueError(f"edge {outside[0]} joins nodes {pair}, but nodes are numbered 0..{n - 1}")
    y = _labels(labels, n)
    if class_names is None and y.max(initial=-1) >= max(n, 2):
        raise ValueError(f"labels must number the classes 0..C-1, but one is {y.max()} among {n} nodes; renumber them")
    classes = tuple(str(c) for c in range(int(y.max(initial=-1)) + 1)) if class_names is None else tuple(class_names)
    return Graph(
        features=x,
        adjacency=_adjacency(ends, weights, n, directed=directed),
        labels=y,
        class_names=classes,
        node_names=tuple(node_names),
        name=name,
        directed=directed,
        text_labels=text_labels,
        trusted=True,  # all of it was made or copied here
    )


def from_scipy(
    adjacency: sp.sparray | sp.spmatrix,
    features: ArrayLike | sp.sparray | sp.spmatrix | torch.Tensor,
    *,
    labels: ArrayLike | None = None,
    class_names: Sequence[str] | None = None,
    node_names: Sequence[str] = (),
    name: str = "graph",
    directed: bool = False,
) -> Graph:
    """A graph from a sparse adjacency matrix of edge weights; see :func:`from_edges` for the arguments.

    >>> from_scipy(sp.csr_array([[0, 2], [0, 0]]), [[1.0], [2.0]], labels=[0, 1]).adjacency.toarray()
    array([[0., 2.],
           [2., 0.]], dtype=float32)
    """
    coo = sp.coo_array(adjacency)
    if coo.shape[0] != coo.shape[1]:
        raise ValueError(f"an adjacency matrix must be square, got shape {coo.shape}")
    x = _features(features)
    if x.shape[0] != coo.shape[0]:
        raise ValueError(f"adjacency has {coo.shape[0]} nodes but features have {x.shape[0]} rows; they must agree")
    return from_edges(
        np.stack([coo.row, coo.col]),
        x,
        labels=labels,
        weights=coo.data,
        class_names=class_names,
        node_names=node_names,
        name=name,
        directed=directed,
    )


def as_graph(data: Any) -> Graph:
    """A graph from any supported object.

    Args:
        data: a :class:`Graph` (returned as it is), PyTorch Geometric ``Data``, a networkx graph, or a pair of a scipy
            adjacency matrix and features.

    >>> as_graph((sp.csr_array([[0, 1], [1, 0]]), [[1.0], [2.0]])).edges
    1
    """
    if isinstance(data, Graph):
        return data
    if isinstance(data, tuple) and len(data) == 2 and sp.issparse(data[0]):
        return from_scipy(*data)
    kinds = {kind.__module__.split(".")[0] for kind in type(data).__mro__}
    if "networkx" in kinds:
        return from_networkx(data)
    if "torch_geometric" in kinds and hasattr(data, "edge_index"):
        return from_pyg(data)
    got = type(data).__name__
    if isinstance(data, tuple):
        got = f"({', '.join(type(part).__name__ for part in data)})"
    if hasattr(data[0] if isinstance(data, tuple) and data else data, "columns"):
        got += "; a table alone has no edges: give a classifier the pair (nodes, edges), or load_tables(nodes, edges)"
    elif isinstance(data, list):
        got += f"; {NO_ROWS}"
    elif isinstance(data, tuple):
        got += "; convert a dense matrix with scipy.sparse.csr_array"
    raise TypeError(
        "expected a newtonnet Graph, PyTorch Geometric Data, a networkx graph, or a pair (scipy adjacency, features), "
        f"got {got}"
    )


def from_networkx(
    graph: nx.Graph,
    *,
    features: str = "x",
    label: str = "y",
    weight: str = "weight",
    name: str = "graph",
) -> Graph:
    """A graph from networkx, with its order and names of nodes.

    Args:
        graph: any networkx graph; directions and parallel edges are merged.
        features: node attribute with a number or a sequence of numbers. If no node has ``x``, every node gets a feature
            of its own; for attributes of other kinds see :func:`newtonnet.tables.networkx_tables`.
        label: node attribute with the class, a number, a string or a boolean; missing, None, NaN, blank or the number
            -1 means unknown. Classes are numbered in sorted order.
        weight: edge attribute with the weight; 1 if it is missing.
        name: name of the graph.

    >>> import networkx as nx
    >>> g = nx.path_graph(3)
    >>> nx.set_node_attributes(g, {0: [1.0], 1: [2.0], 2: [4.0]}, "x")
    >>> nx.set_node_attributes(g, {0: "cat", 2: "dog"}, "y")
    >>> from_networkx(g).labels
    array([ 0, -1,  1])
    """
    nodes = list(graph.nodes)
    missing = [node for node in nodes if features not in graph.nodes[node]]
    none = bool(nodes) and len(missing) == len(nodes) and features == "x"
    if missing and not none:
        raise ValueError(
            f"node {missing[0]!r} has no attribute {features!r}; put its features there, or name their attribute with "
            "newtonnet.graphs.from_networkx(graph, features=...)"
        )
    found = [] if none else [graph.nodes[node][features] for node in nodes]
    rows = [np.atleast_1d(np.asarray(one, dtype=np.float32)) for one in found]
    widths = {row.shape for row in rows}
    if len(widths) > 1:
        raise ValueError(f"all nodes must have the same number of features, got shapes {sorted(widths)}")
    labels, classes = code_labels([graph.nodes[node].get(label) for node in nodes], len(nodes))
    position = {node: index for index, node in enumerate(nodes)}
    ends = [(position[u], position[v]) for u, v in graph.edges()]
    return from_edges(
        np.array(ends, dtype=np.int64).reshape(-1, 2).T,
        np.stack(rows) if rows else sp.eye_array(len(nodes), dtype=np.float32),
        labels=labels,
        weights=[_weight(u, v, value) for u, v, value in graph.edges(data=weight, default=1.0)],
        class_names=[str(value) for value in classes],
        node_names=[str(node) for node in nodes],
        name=name,
        text_labels=classes.dtype.kind == "U",
    )


def _weight(u: Any, v: Any, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"edge {u!r} to {v!r} has the weight {value!r}; expected a number above 0") from None


def from_pyg(data: Data, *, name: str = "graph", directed: bool = False) -> Graph:
    """A graph from ``x``, ``edge_index``, ``edge_weight`` (or ``edge_attr``) and ``y`` of PyTorch Geometric data.

    Classes are the sorted values of ``y``; -1 and NaN mean unknown. Masks are ignored.

    >>> from torch_geometric.data import Data
    >>> from_pyg(Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 1]))).edges
    1
    """
    if data.x is None or data.edge_index is None:
        raise ValueError("expected data with x and edge_index; one of them is None")
    labels, classes = (None, None) if data.y is None else code_labels(data.y.detach().cpu().numpy(), len(data.x))
    weights = data.get("edge_weight", data.edge_attr)
    if weights is not None:
        weights = weights.detach().cpu().numpy()
        if weights.shape[1:] not in ((), (1,)):
            raise ValueError(
                f"expected one weight for each edge, got edge_attr of shape {weights.shape}; put weights in "
                "edge_weight, or set edge_attr to None"
            )
        weights = weights.reshape(len(weights))
    return from_edges(
        data.edge_index.detach().cpu().numpy(),
        data.x,
        labels=labels,
        weights=weights,
        class_names=None if classes is None else [str(value) for value in classes],
        name=name,
        directed=directed,
    )


def code_labels(y: ArrayLike | Sequence[Any], nodes: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Labels as class numbers, -1 for unknown, shape ``(n,)``, and the sorted classes as they were given.

    Args:
        y: one label for each node; -1, None, NaN, blanks and masked entries mean unknown.
        nodes: number of nodes.

    >>> code_labels(["dog", None, "cat", "dog"], 4)
    (array([ 1, -1,  0,  1]), array(['cat', 'dog'], dtype='<U3'))
    >>> code_labels([3, -1, 7, 3], 4)
    (array([ 0, -1,  1,  0]), array([3, 7]))
    """
    given = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    known = ~np.ma.getmaskarray(y) if isinstance(y, np.ma.MaskedArray) else np.ones(given.shape, dtype=np.bool_)
    if given.ndim == 2 and given.shape[1] == 1:
        given, known = given[:, 0], known[:, 0]
    if given.shape != (nodes,):
        raise ValueError(f"expected {nodes} labels, one for each node, got shape {given.shape}")
    if given.dtype.kind in "iub":
        known &= given != -1
        values = given[known]
    else:
        given = np.array([_plain(value) for value in given], dtype=object) if given.dtype.kind == "O" else given
        known &= np.array([not _missing(value) for value in given], dtype=np.bool_)
        values = _of_one_kind(given[known].tolist())
    labels = np.full(nodes, -1, dtype=np.int64)
    classes, labels[known] = np.unique(values, return_inverse=True)
    return labels, classes


def named_classes(names: Sequence[str]) -> NDArray[Any]:
    """Classes from their names, as numbers or booleans if the names are those of sorted ones.

    A class -1 remains a string, since the number means unknown.

    >>> named_classes(("1", "2", "10")), named_classes(("false", "true")), named_classes(("01", "2"))
    (array([ 1,  2, 10]), array([False,  True]), array(['01', '2'], dtype='<U2'))
    >>> named_classes(("3.0", "7.0"))  # how pandas writes whole numbers of a column with gaps
    array([3, 7])
    """
    if tuple(name.lower() for name in names) == ("false", "true"):
        return np.array([False, True])
    for ending in ("", ".0"):
        stems = [name.removesuffix(ending) for name in names if name.endswith(ending)]
        numbers = [int(stem) for stem in stems if stem.removeprefix("-").isdecimal() and len(stem) < 16]
        if -1 not in numbers and numbers == sorted(numbers) and [f"{one}{ending}" for one in numbers] == list(names):
            return np.array(numbers, dtype=np.int64)
    return np.array(names)


def _of_one_kind(found: list[Any]) -> NDArray[Any]:
    """All strings, all booleans, or all whole numbers, as integers."""
    names = {str: "strings", bool: "booleans", int: "numbers", float: "numbers", np.number: "numbers"}
    kinds = {next((names[t] for t in names if isinstance(value, t)), type(value).__name__) for value in found}
    if len(kinds) > 1 or not kinds <= set(names.values()):
        raise ValueError(f"labels must be all numbers or all strings, got {', '.join(sorted(kinds))}; use one type")
    values = np.array(found)
    if values.dtype.kind == "f":
        broken = values[~np.isfinite(values) | (values != np.round(values)) | (np.abs(values) > 2**53)]
        if len(broken):
            raise ValueError(
                f"labels must be classes, got the number {broken[0]}; use whole numbers or strings, or "
                "NewtonNetRegressor to predict numbers"
            )
        values = values.astype(np.int64)
    return values


def _plain(value: Any) -> Any:
    """The number in a tensor or array of one number, None if it is masked; everything else as it is."""
    if value is np.ma.masked:
        return None
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def _missing(value: Any) -> bool:
    """None, NaN and pandas' NA (which differ from themselves or cannot be compared), -1, and blank strings."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return bool(value != value) or (not isinstance(value, str | bool) and bool(value == -1))
    except TypeError:
        return True


def _features(features: ArrayLike | sp.sparray | sp.spmatrix | torch.Tensor) -> Features:
    if isinstance(features, torch.Tensor | sp.sparray | sp.spmatrix):
        check_int32(max(features.shape, default=0), "nodes or features")
    if isinstance(features, torch.Tensor):
        features = features.detach().cpu().float()
        if features.layout != torch.strided:  # not by torch's CSR, which warns that it is in beta
            coo = features.to_sparse(layout=torch.sparse_coo).coalesce()
            entries = coo.values().numpy(), tuple(coo.indices().numpy().astype(np.int32))
            return compact(sp.csr_array(entries, shape=coo.shape))
        features = features.numpy()
    if isinstance(features, sp.sparray | sp.spmatrix):
        # A copy, because compact() cleans in place and Graph freezes its arrays.
        return compact(sp.csr_array(features, dtype=np.float32, copy=True))
    try:
        x = np.array(features, dtype=np.float32)
    except (TypeError, ValueError) as reason:
        raise ValueError(f"features must be numbers of shape (nodes, features): {reason}; encode strings") from reason
    if x.ndim != 2:
        raise ValueError(f"features must have shape (nodes, features), got {x.shape}")
    return compact(x)


def _labels(labels: ArrayLike | None, n: int) -> NDArray[np.int64]:
    if labels is None:
        return np.full(n, -1, dtype=np.int64)
    y = np.asarray(labels)
    whole = np.issubdtype(y.dtype, np.integer) or (y.dtype.kind == "f" and np.array_equal(y, np.round(y)))
    if not whole or not np.isfinite(y).all():
        raise ValueError(f"labels must be whole numbers 0..C-1, -1 for unknown, got {y.dtype}")
    return y.astype(np.int64)


def _adjacency(ends: NDArray[np.integer], weights: ArrayLike | None, n: int, *, directed: bool) -> sp.csr_array:
    kept, w = ends[0] != ends[1], None
    if weights is not None:
        w = np.asarray(weights, dtype=np.float32)
        if w.shape != (ends.shape[1],):
            raise ValueError(f"expected {ends.shape[1]} edge weights, one for each edge, got shape {w.shape}")
        check_weights(w)
        kept &= w > 0
        w = None if bool((w[kept] == 1).all()) else w[kept]
    source, target = ends if kept.all() else (side[kept] for side in ends)
    if w is None:
        matrix = sp.csr_array((np.ones(len(source), dtype=np.float32), (source, target)), shape=(n, n))
        matrix.data[:] = 1
    else:
        pairs, places = np.unique(source.astype(np.int64) * n + target, return_inverse=True)
        largest = np.zeros(len(pairs), dtype=np.float32)
        np.maximum.at(largest, places, w)
        matrix = sp.csr_array((largest, (pairs // n, pairs % n)), shape=(n, n))
    if not directed:
        matrix = sp.csr_array(matrix.maximum(matrix.T))
    check_int32(matrix.nnz, "stored edges, two for each undirected one,")
    indices, indptr = (array.astype(np.int32, copy=False) for array in (matrix.indices, matrix.indptr))
    return sp.csr_array((matrix.data, indices, indptr), shape=(n, n))
