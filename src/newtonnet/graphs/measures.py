"""Homophily: how often edges join equal labels, by four measures, and how neighbours' numbers correlate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .graph import Graph, edge_blocks


@dataclass(frozen=True)
class Homophily:
    r"""Four measures of a labelled graph, and the chance level; NaN if no edge joins two labelled nodes.

    Attributes:
        edge: share of edges that join equal labels.
        node: the same share over the edges of a node, averaged over nodes.
        class_insensitive: excess of each class's share over its share of the nodes, averaged over classes.
        adjusted: edge homophily rescaled so that chance is 0 and the maximum is 1.
        chance: share of edges that join equal labels by chance, :math:`\sum_k (D_k / 2E)^2`.
    """

    edge: float
    node: float
    class_insensitive: float
    adjusted: float
    chance: float


def homophily(graph: Graph, labels: NDArray[np.int64] | None = None) -> Homophily:
    r"""All four measures, and the chance level of the last.

    With :math:`h` the share of edges that join equal labels, :math:`h_v` the same over the edges of node :math:`v`,
    :math:`h_k` over those of class :math:`k`, :math:`n_k` its share of the labelled nodes and :math:`D_k` its degree:

    .. math::
        h_{edge} = h, \quad h_{node} = \frac1{|V'|}\sum_{v} h_v, \quad
        h_{ins} = \frac{1}{C-1} \sum_k \max(0, h_k - n_k), \quad
        h_{adj} = \frac{h - \sum_k (D_k/2E)^2}{1 - \sum_k (D_k/2E)^2}

    Args:
        graph: the graph; edge weights are ignored.
        labels: labels to use instead of the graph's own, shape ``(n,)``, -1 for unknown.

    >>> from newtonnet.graphs import from_edges
    >>> homophily(from_edges([[0, 1, 2], [1, 2, 3]], np.eye(4), labels=[0, 0, 1, 1])).edge
    0.6666666666666666

    References:
        Pei et al., Geom-GCN, 2020 (node); Lim et al., Large Scale Learning on Non-Homophilous Graphs, 2021
        (class-insensitive); Platonov et al., Characterizing Graph Datasets for Node Classification, 2023 (adjusted).
    """
    y = graph.labels if labels is None else np.asarray(labels, dtype=np.int64)
    if y.shape != (graph.nodes,):
        raise ValueError(f"expected {graph.nodes} labels, got shape {y.shape}")
    known = y >= 0
    degree, agreeing = np.zeros(graph.nodes, dtype=np.int64), np.zeros(graph.nodes)
    for ends in edge_blocks(graph):
        ends = ends[:, known[ends].all(axis=0)]
        np.add.at(degree, ends, 1)
        np.add.at(agreeing, ends[:, y[ends[0]] == y[ends[1]]], 1.0)
    if not degree.any():
        return Homophily(*(float("nan"),) * 5)
    classes = max(graph.classes, int(y.max()) + 1)
    class_degree = np.bincount(y[known], weights=degree[known], minlength=classes)
    class_agreeing = np.bincount(y[known], weights=agreeing[known], minlength=classes)
    class_share = np.bincount(y[known], minlength=classes) / known.sum()
    class_ratio = np.divide(class_agreeing, class_degree, out=np.zeros(classes), where=class_degree > 0)

    edge = float(agreeing.sum() / degree.sum())
    chance = float(((class_degree / class_degree.sum()) ** 2).sum())
    return Homophily(
        edge=edge,
        node=float((agreeing[degree > 0] / degree[degree > 0]).mean()),
        class_insensitive=float(np.maximum(class_ratio - class_share, 0).sum() / max(classes - 1, 1)),
        adjusted=(edge - chance) / (1 - chance) if chance < 1 else float("nan"),
        chance=chance,
    )


def assortativity(graph: Graph, targets: NDArray[np.float64] | None = None) -> float:
    r"""Homophily of numbers: the correlation of the two ends of an edge, over edges whose ends are both known.

    .. math:: r = \frac{\sum_{(i,j)} (y_i - \mu)(y_j - \mu)}{\sum_{(i,j)} (y_i - \mu)^2}, \qquad
              \mu = \frac1{2E} \sum_{(i,j)} y_i

    over both directions of every edge. It is 1 where neighbours are equal, 0 by chance, and -1 where they are opposite.

    Args:
        graph: the graph; edge weights are ignored.
        targets: numbers to use instead of the graph's own, shape ``(n,)``, NaN for unknown.

    Returns:
        NaN if no edge joins two known nodes, or if all their numbers are equal.

    >>> from newtonnet.graphs import from_edges
    >>> path = from_edges([[0, 1, 2], [1, 2, 3]], np.eye(4))
    >>> assortativity(path, np.array([1.0, -1.0, 1.0, -1.0]))
    -1.0

    References:
        Newman, Mixing Patterns in Networks, 2003, Eq. (21).
    """
    y = graph.truth if targets is None else targets
    if y.shape != (graph.nodes,) or y.dtype != np.float64:
        raise ValueError(f"expected {graph.nodes} float64 targets, got {y.dtype} of shape {y.shape}")
    known = np.isfinite(y)
    centred = y - y[known].mean() if known.any() else y  # so that large numbers lose no digits
    count, total, squares, products = 0, 0.0, 0.0, 0.0
    for ends in edge_blocks(graph):
        a, b = centred[ends[:, known[ends].all(axis=0)]]
        count += 2 * len(a)
        total += float(a.sum() + b.sum())
        squares += float((a**2).sum() + (b**2).sum())
        products += 2 * float((a * b).sum())
    if count == 0:
        return float("nan")
    mean = total / count
    variance = squares / count - mean**2
    return (products / count - mean**2) / variance if variance > 1e-12 * max(squares / count, 1e-300) else float("nan")
