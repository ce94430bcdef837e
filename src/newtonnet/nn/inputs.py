"""How a graph becomes what a model reads, refused where the model was built for another."""

import hashlib
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
import torch

from newtonnet.graphs import Graph, Operator, normalised_operator

from .layers import FeatureMatrix, Inputs, feature_matrix


def normalised_inputs(
    graph: Graph, *, self_loops: bool, dtype: torch.dtype, device: torch.device | str = "cpu"
) -> Inputs:
    """The features and the symmetrically normalised adjacency, plain or with self-loops."""
    return Inputs(
        feature_matrix(graph.features, dtype, device),
        normalised_operator(graph, self_loops=self_loops, dtype=dtype, device=device),
    )


def adjacency_inputs(
    graph: Graph, *, row_normalised: bool, dtype: torch.dtype, device: torch.device | str = "cpu"
) -> Inputs:
    r"""The features, and the adjacency both as features and as operator.

    Args:
        graph: the graph.
        row_normalised: take :math:`(D + I)^{-1} (A + I)`, whose rows sum to 1, instead of :math:`A` as it is.
        dtype: float32 or float64.
        device: where to put them.
    """
    matrix = sp.csr_array(graph.adjacency, dtype=np.float64)
    if row_normalised:
        matrix = sp.csr_array(matrix + sp.eye_array(graph.nodes, format="csr"))
        rows = np.asarray(matrix.sum(axis=1))
        matrix.data /= np.repeat(rows, np.diff(matrix.indptr))
    adjacency = feature_matrix(matrix, dtype, device)
    transpose = adjacency.matrix if adjacency.transpose is None else adjacency.transpose
    return Inputs(feature_matrix(graph.features, dtype, device), Operator(adjacency.matrix, transpose), adjacency)


def with_adjacency(inputs: Inputs, graph: Graph) -> Inputs:
    """The same inputs and the raw adjacency as features, in the operator's type and place."""
    matrix, operator = sp.csr_array(graph.adjacency, dtype=np.float64), inputs.operator.matrix
    return replace(inputs, adjacency=feature_matrix(matrix, operator.dtype, operator.device))


def adjacency_features(inputs: Inputs) -> FeatureMatrix:
    """The adjacency as features, refused where another model's inputs have none."""
    if inputs.adjacency is None:
        raise ValueError("these inputs have no adjacency features; prepare the graph with the model that reads them")
    return inputs.adjacency


def check_features(graph: Graph, expected: int) -> None:
    """Refuse a graph with another number of features than the model was built for."""
    if graph.features.shape[1] != expected:
        raise ValueError(f"the model takes {expected} features, graph {graph.name!r} has {graph.features.shape[1]}")


def fingerprint(graph: Graph) -> tuple[int, str]:
    """Number of nodes and a hash of their degrees in any order: enough to tell graphs apart, whatever their order."""
    degrees = np.sort(np.diff(graph.adjacency.indptr))
    return graph.nodes, hashlib.sha256(degrees.tobytes()).hexdigest()[:16]


def check_same_graph(graph: Graph, known: tuple[int, str] | None, *, model: str) -> None:
    """Refuse another graph than the one that a model with weights for every node was built for, if it was.

    The order of the nodes is not checked: whoever reorders them has to reorder the model's rows too.
    """
    if known is not None and fingerprint(graph) != known:
        raise ValueError(
            f"model {model!r} has weights for each of the {known[0]} nodes of the graph it was built for, and "
            f"{graph.name!r} ({graph.nodes} nodes) is another one; train it anew there, or use a model that can leave "
            "its graph"
        )
