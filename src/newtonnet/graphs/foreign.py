"""Graphs from objects of other packages: networkx graphs and PyTorch Geometric data."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch

from .builders import from_edges, from_scipy
from .graph import Graph
from .labels import code_labels

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
    got = type(data).__name__
    if isinstance(data, tuple):
        got = f"({', '.join(type(part).__name__ for part in data)}); scipy.sparse.csr_array makes one of a dense matrix"
    elif "pandas" in kinds:
        got += "; load_tables(nodes, edges) of newtonnet.tables makes a graph of two frames"
    raise TypeError(
        "expected a newtonnet Graph, PyTorch Geometric Data, a networkx graph, or a pair (scipy adjacency, features), "
        f"got {got}"
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
        label: the node attribute that holds the class, a number, a text or a truth value; missing, None, NaN, blank
            or the number -1 means unknown. Classes are numbered in sorted order.
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
        raise ValueError(
            f"node {missing[0]!r} has no attribute {features!r}; put its features there, or name the attribute that "
            "has them with newtonnet.graphs.from_networkx(graph, features=...)"
        )
    rows = [np.atleast_1d(np.asarray(graph.nodes[node][features], dtype=np.float32)) for node in nodes]
    widths = {row.shape for row in rows}
    if len(widths) > 1:
        raise ValueError(f"all nodes must have the same number of features, got shapes {sorted(widths)}")
    labels, classes = code_labels([graph.nodes[node].get(label) for node in nodes], len(nodes))
    position = {node: index for index, node in enumerate(nodes)}
    triples = [(position[u], position[v], _weight(u, v, data, weight)) for u, v, data in graph.edges(data=True)]
    u, v, w = zip(*triples, strict=True) if triples else ((), (), ())
    return from_edges(
        np.array([u, v], dtype=np.int64),
        np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32),
        labels=labels,
        weights=np.array(w),
        class_names=[str(value) for value in classes],
        node_names=[str(node) for node in nodes],
        name=name,
    )


def _weight(u: Any, v: Any, data: Mapping[str, Any], name: str) -> float:
    value = data.get(name, 1.0)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"edge {u!r} to {v!r} has the weight {value!r}; expected a number above 0") from None


def from_pyg(data: "Data", *, name: str = "graph", directed: bool = False) -> Graph:
    """A graph from PyTorch Geometric's ``x``, ``edge_index``, ``edge_weight`` (or ``edge_attr``) and ``y``.

    Classes are the values that ``y`` has, sorted; -1 and NaN mean unknown. Masks are not looked at.

    >>> from torch_geometric.data import Data
    >>> from_pyg(Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 1]))).edges
    1
    """
    if data.x is None or data.edge_index is None:
        raise ValueError("expected data with x and edge_index; one of them is None")
    x = data.x.detach().cpu().float()
    labels, classes = (None, None) if data.y is None else code_labels(data.y.detach().cpu().numpy(), len(x))
    weights = data.get("edge_weight", data.edge_attr)
    if weights is not None:
        weights = weights.detach().cpu().numpy()
        if weights.ndim == 2 and weights.shape[1] == 1:
            weights = weights[:, 0]
        if weights.ndim > 1:
            raise ValueError(
                f"expected one weight for each edge, got edge_attr of shape {weights.shape}; put weights in "
                "edge_weight, or set edge_attr to None"
            )
    return from_edges(
        data.edge_index.detach().cpu().numpy(),
        _scipy(x) if x.layout != torch.strided else x.numpy(),
        labels=labels,
        weights=weights,
        class_names=None if classes is None else [str(value) for value in classes],
        name=name,
        directed=directed,
    )


def _scipy(x: torch.Tensor) -> sp.csr_array:
    # Not by way of torch's CSR, which would tell the user that it is in beta.
    coo = x.to_sparse(layout=torch.sparse_coo).coalesce()
    return sp.csr_array((coo.values().numpy(), tuple(coo.indices().numpy().astype(np.int32))), shape=x.shape)
