"""The explanation of a trained network, by the method that fits its kind."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from newtonnet.graphs import Graph
from newtonnet.nn import Inputs, Population, SpectralNet

from .explanation import Explanation, Pair, hop_distances
from .gradients import explain_by_gradient
from .spectral import explain_spectral


def explain(
    model: Population,
    graph: Graph,
    nodes: Sequence[int],
    pairs: Sequence[Pair] | None = None,
    *,
    inputs: Inputs | None = None,
    distances: Sequence[NDArray[np.signedinteger]] | None = None,
) -> list[Explanation]:
    """Why a network prefers one class to another, or predicts a number, for each of some nodes.

    A spectral network is explained exactly, a stack of ReLU layers by gradient times input, any other model by
    integrated gradients.

    Args:
        model: a population of one member, on the CPU.
        graph: the graph.
        nodes: the nodes to explain.
        pairs: two classes for each of them, ``(0, None)`` for a number; the most probable class and the runner-up if
            not given.
        inputs: what ``model.prepare(graph)`` returned, if that is known.
        distances: for each node the :func:`hop_distances`, if they are known.
    """
    if len(model.seeds) != 1:
        raise ValueError(f"one member is explained at a time, got a population of {len(model.seeds)}; take one of them")
    outside = [node for node in nodes if not 0 <= node < graph.nodes]
    if outside:
        raise ValueError(f"node {outside[0]} is not in the graph, whose nodes are 0..{graph.nodes - 1}")
    inputs = model.prepare(graph) if inputs is None else inputs
    distances = [hop_distances(graph, node) for node in nodes] if distances is None else distances
    if pairs is None and graph.targets is not None:
        pairs = [(0, None)] * len(nodes)
    if pairs is None:
        with torch.no_grad():
            order = model(inputs)[list(nodes), 0].argsort(dim=1, descending=True, stable=True)
        pairs = [(first, second) for first, second in order[:, :2].tolist()]
    if isinstance(model, SpectralNet):
        with torch.no_grad():
            return explain_spectral(model, graph, inputs, nodes, pairs, distances)
    with torch.enable_grad():
        return explain_by_gradient(model, graph, inputs, nodes, pairs, distances)
