"""Graphs from arrays: edge lists and scipy matrices."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray

from .checks import Features, check_weights
from .graph import Graph, compact


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


def _features(features: ArrayLike | sp.sparray | sp.spmatrix) -> Features:
    if isinstance(features, sp.sparray | sp.spmatrix):
        # A copy: compact() cleans in place and Graph freezes its arrays, neither of which may happen to the caller's.
        return compact(sp.csr_array(features, dtype=np.float32, copy=True))
    dense = features.detach().cpu().float().numpy() if isinstance(features, torch.Tensor) else features
    try:
        x = np.array(dense, dtype=np.float32)
    except (TypeError, ValueError) as reason:
        raise ValueError(f"features must be numbers, shape (nodes, features): {reason}; encode texts first") from reason
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
