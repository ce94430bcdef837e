"""Graphs from what people have: edge lists, scipy matrices, networkx graphs, PyTorch Geometric data."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray

from .checks import Features, check_weights
from .graph import Graph, compact

if TYPE_CHECKING:  # both are slow to import, and whoever passes one has imported it already
    import networkx as nx
    from torch_geometric.data import Data


def as_graph(data: Any) -> Graph:
    """A graph from whatever people have.

    Args:
        data: a :class:`Graph` itself, PyTorch Geometric's ``Data``, a networkx graph, or a pair of a scipy adjacency
            matrix and features.

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
    raise TypeError(
        "expected a newtonnet Graph, PyTorch Geometric Data, a networkx graph, or a pair (scipy adjacency, features), "
        f"got {type(data).__name__}"
    )


def from_edges(
    edges: ArrayLike,
    features: ArrayLike | sp.sparray | sp.spmatrix,
    *,
    labels: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    class_names: Sequence[str] | None = None,
    node_names: Sequence[str] = (),
    name: str = "graph",
    directed: bool = False,
) -> Graph:
    """A graph from pairs of node numbers, in any order and in one or both directions.

    A pair's weight is the largest that is given for it in either direction; self-loops and weights of 0 are dropped.

    Args:
        edges: node numbers, shape ``(2, E)``.
        features: shape ``(n, F)``, dense or sparse; kept sparse where that is much smaller.
        labels: classes ``0 .. C-1``, -1 for unknown, shape ``(n,)``; all unknown if not given.
        weights: one weight above 0 for each edge, shape ``(E,)``; all 1 if not given.
        class_names: one name for each class; their numbers if not given.
        node_names: one name for each node.
        name: the graph's name.
        directed: keep the edges as they are stored, source to target.

    >>> from_edges([[0, 1, 1], [1, 0, 2]], [[1.0], [2.0], [4.0]], labels=[0, 1, -1])
    Graph('graph', nodes=3, edges=2, features=1, classes=2, labelled=2)
    """
    x = _features(features)
    n = x.shape[0]
    ends = np.asarray(edges)
    if ends.size == 0:
        ends = np.zeros((2, 0), dtype=np.int64)
    if ends.ndim != 2 or ends.shape[0] != 2 or not np.issubdtype(ends.dtype, np.integer):
        raise ValueError(f"edges must be whole numbers of shape (2, E), got {ends.dtype} of shape {ends.shape}")
    outside = np.flatnonzero(((ends < 0) | (ends >= n)).any(axis=0))
    if len(outside):
        pair = ends[:, outside[0]].tolist()
        raise ValueError(f"edge {outside[0]} joins nodes {pair}, but the nodes are 0..{n - 1}")
    y = _labels(labels, n)
    if class_names is None and y.max(initial=-1) >= max(n, 2):
        raise ValueError(f"labels must number the classes 0..C-1, but one is {y.max()} among {n} nodes; renumber them")
    names = tuple(class_names) if class_names is not None else tuple(str(c) for c in range(int(y.max(initial=-1)) + 1))
    return Graph(
        features=x,
        adjacency=_adjacency(ends, weights, n, directed=directed),
        labels=y,
        class_names=names,
        node_names=tuple(node_names),
        name=name,
        directed=directed,
    )


def from_scipy(
    adjacency: sp.sparray | sp.spmatrix,
    features: ArrayLike | sp.sparray | sp.spmatrix,
    *,
    labels: ArrayLike | None = None,
    class_names: Sequence[str] | None = None,
    node_names: Sequence[str] = (),
    name: str = "graph",
    directed: bool = False,
) -> Graph:
    """A graph from a sparse adjacency matrix whose entries are the edge weights; see :func:`from_edges`.

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


def from_networkx(
    graph: "nx.Graph",
    *,
    features: str = "x",
    label: str = "y",
    weight: str = "weight",
    name: str = "graph",
) -> Graph:
    """A graph from networkx, nodes in networkx's order and named by it.

    Args:
        graph: any networkx graph; directions and parallel edges are merged.
        features: the node attribute that holds a number or a sequence of numbers.
        label: the node attribute that holds the class, of any type; missing, None or NaN means unknown. Classes are
            numbered in sorted order.
        weight: the edge attribute that holds the weight; 1 where it is missing.
        name: the graph's name.

    >>> import networkx as nx
    >>> g = nx.path_graph(3)
    >>> nx.set_node_attributes(g, {0: [1.0], 1: [2.0], 2: [4.0]}, "x")
    >>> nx.set_node_attributes(g, {0: "cat", 2: "dog"}, "y")
    >>> from_networkx(g).labels
    array([ 0, -1,  1])
    """
    nodes = list(graph.nodes)
    missing = [node for node in nodes if features not in graph.nodes[node]]
    if missing:
        raise ValueError(f"node {missing[0]!r} has no attribute {features!r}; name the one that holds its features")
    rows = [np.atleast_1d(np.asarray(graph.nodes[node][features], dtype=np.float32)) for node in nodes]
    widths = {row.shape for row in rows}
    if len(widths) > 1:
        raise ValueError(f"all nodes must have the same number of features, got shapes {sorted(widths)}")
    known = [graph.nodes[node].get(label) for node in nodes]
    known = [None if isinstance(value, float) and math.isnan(value) else value for value in known]
    values = sorted({value for value in known if value is not None}, key=lambda value: (str(type(value)), value))
    number = {value: index for index, value in enumerate(values)}
    position = {node: index for index, node in enumerate(nodes)}
    triples = [(position[u], position[v], float(data.get(weight, 1.0))) for u, v, data in graph.edges(data=True)]
    u, v, w = zip(*triples, strict=True) if triples else ((), (), ())
    return from_edges(
        np.array([u, v], dtype=np.int64),
        np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32),
        labels=[-1 if value is None else number[value] for value in known],
        weights=np.array(w),
        class_names=[str(value) for value in values],
        node_names=[str(node) for node in nodes],
        name=name,
    )


def from_pyg(data: "Data", *, name: str = "graph", directed: bool = False) -> Graph:
    """A graph from PyTorch Geometric's ``x``, ``edge_index``, ``edge_weight`` (or ``edge_attr``) and ``y``.

    >>> from torch_geometric.data import Data
    >>> from_pyg(Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 1]))).edges
    1
    """
    if data.x is None or data.edge_index is None:
        raise ValueError("expected data with x and edge_index; one of them is None")
    x = data.x.detach().cpu()
    labels = None
    if data.y is not None:
        labels = data.y.detach().cpu().numpy()
        labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    weights = data.get("edge_weight", data.edge_attr)
    if weights is not None:
        weights = weights.detach().cpu().numpy()
        if weights.ndim == 2 and weights.shape[1] == 1:
            weights = weights[:, 0]
    return from_edges(
        data.edge_index.detach().cpu().numpy(),
        _scipy(x) if x.layout != torch.strided else x.numpy(),
        labels=labels,
        weights=weights,
        name=name,
        directed=directed,
    )


def _scipy(x: torch.Tensor) -> sp.csr_array:
    # Not by way of torch's CSR, which would tell the user that it is in beta.
    coo = x.to_sparse(layout=torch.sparse_coo).coalesce()
    return sp.csr_array((coo.values().numpy(), tuple(coo.indices().numpy().astype(np.int32))), shape=x.shape)


def _features(features: ArrayLike | sp.sparray | sp.spmatrix) -> Features:
    if isinstance(features, sp.sparray | sp.spmatrix):
        # A copy: compact() cleans in place and Graph freezes its arrays, neither of which may happen to the caller's.
        return compact(sp.csr_array(features, dtype=np.float32, copy=True))
    x = np.array(features, dtype=np.float32)
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
    w = np.ones(ends.shape[1], dtype=np.float32) if weights is None else np.asarray(weights, dtype=np.float32)
    if w.shape != (ends.shape[1],):
        raise ValueError(f"expected {ends.shape[1]} edge weights, one for each edge, got shape {w.shape}")
    check_weights(w)
    kept = (ends[0] != ends[1]) & (w > 0)
    source, target, w = ends[0, kept], ends[1, kept], w[kept]
    if not directed:
        source, target, w = np.concatenate([source, target]), np.concatenate([target, source]), np.concatenate([w, w])
    if bool((w == 1).all()):
        matrix = sp.csr_array((w, (source, target)), shape=(n, n))
        matrix.sum_duplicates()
        matrix.data[:] = 1
    else:
        matrix = _largest(source, target, w, n)
    if matrix.nnz >= np.iinfo(np.int32).max:
        raise ValueError(f"at most {np.iinfo(np.int32).max - 1} stored edges are supported in memory, got {matrix.nnz}")
    return sp.csr_array((matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)), shape=(n, n))


def _largest(
    source: NDArray[np.integer], target: NDArray[np.integer], weights: NDArray[np.float32], n: int
) -> sp.csr_array:
    """Duplicates merged by their largest weight: one sort of the pairs as numbers, then a maximum over each run."""
    pairs = source.astype(np.int64) * n + target
    order = np.argsort(pairs, kind="stable")
    pairs = pairs[order]
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    largest = np.maximum.reduceat(weights[order], first) if len(first) else weights
    pairs = pairs[first]
    rows = np.searchsorted(pairs, np.arange(n + 1, dtype=np.int64) * n)
    return sp.csr_array((largest, (pairs % n).astype(np.int32), rows), shape=(n, n))
