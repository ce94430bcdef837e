"""Explanations of an ensemble: the weighted sum of those of its members."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from newtonnet.bank import BoostingOptions, RidgeOptions
from newtonnet.explanations import Explanation, Pair, combine, explain, explain_bank, hop_distances
from newtonnet.graphs import Graph
from newtonnet.meaning import meant
from newtonnet.out_of_core import OUT_OF_CORE_MODEL

from .ensemble import Ensemble, grouped
from .families import rebuild
from .members import Member

Distances = Sequence[NDArray[np.int16]]


def explain_ensemble(
    ensemble: Ensemble, graph: Graph, nodes: Sequence[int], pairs: Sequence[Pair]
) -> list[Explanation]:
    """Why an ensemble prefers one class to another, or predicts a number, for each of some nodes.

    The ensemble averages probabilities, so its logits are not the average of its members' logits: the sum is complete
    for the weighted mean of the members' differences of logits. Numbers are averaged as they are.

    Args:
        ensemble: of members in memory.
        graph: with features as the members read them.
        nodes: the nodes to explain.
        pairs: two classes for each of them; ``(0, None)`` for a number.
    """
    if any(member.model == OUT_OF_CORE_MODEL for member in ensemble.members):
        raise ValueError("a model that was trained out of core cannot be explained; fit it with regime='memory'")
    shown = ensemble.shown(graph)
    distances = [hop_distances(graph, node).astype(np.int16) for node in nodes]
    sums: list[Explanation] = []
    for places in grouped(ensemble.members):
        members = [ensemble.members[i] for i in places]
        for i, found in zip(places, _explained(members, shown, nodes, pairs, distances), strict=True):
            weight = ensemble.weights[i]
            before = sums or [combine([one], [0.0]) for one in found]
            sums = [combine([total, one], [1.0, weight]) for total, one in zip(before, found, strict=True)]
    sums = [replace(one, node_names=graph.node_names, class_names=ensemble.class_names) for one in sums]
    if len(ensemble.members) == 1:
        return sums
    what = f"weighted sum of {len(ensemble.members)} members"
    return [replace(total, method=f"{what}; {total.method}") for total in sums]


def _explained(
    members: Sequence[Member], graph: Graph, nodes: Sequence[int], pairs: Sequence[Pair], distances: Distances
) -> Iterator[list[Explanation]]:
    """The explanations of members of one shape, one member after another."""
    options: Any = members[0].options
    if isinstance(options, BoostingOptions | RidgeOptions):
        for member in members:
            yield explain_bank(member.state, options, graph, graph.truth, nodes, pairs, distances)
        return
    population = rebuild(members, graph)
    inputs = population.prepare(graph).show(torch.tensor(graph.truth))
    for place in range(len(members)):
        alone = population.take(torch.tensor([place]))
        yield explain(alone, graph, nodes, pairs, inputs=inputs, distances=distances)


def find_node(graph: Graph, node: int | str) -> int:
    """The number of a node, given by its number or its name."""
    if isinstance(node, str):
        if node not in graph.node_names:
            names = graph.node_names or [str(i) for i in range(graph.nodes)]
            raise ValueError(f"no node is called {node!r}; {meant(node, names)}the first is {names[0]!r}")
        return graph.node_names.index(node)
    if not 0 <= node < graph.nodes:
        raise ValueError(f"node {node} is not in the graph, whose nodes are 0..{graph.nodes - 1}")
    return int(node)
