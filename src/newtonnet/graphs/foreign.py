"""Graphs from objects of other packages: networkx graphs and PyTorch Geometric data."""

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch

from .builders import from_edges, from_scipy
from .graph import Graph

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
        label: the node attribute that holds the class, of any type; missing, None, NaN or the number -1 means
            unknown. Classes are numbered in sorted order.
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
    known = [None if _is_blank(value) else value for value in known]
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


def _is_blank(label: Any) -> bool:
    return isinstance(label, Real) and (math.isnan(label) or label == -1)


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
