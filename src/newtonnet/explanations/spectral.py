"""Spectral networks explained exactly: the filter is linear in what it filters, the encoder for its ReLU pattern."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from newtonnet.graphs import Features, Graph, Operator, band_coefficients, propagate
from newtonnet.nn import Inputs, SpectralNet

from .explanation import Explanation, Pair, contrast, make_explanation

EXACT = "exact: filter row and ReLU pattern"

LINKS = "links"
"""Name of the input of an adjacency branch, which reads the node's links one by one."""

ROWS = 1 << 12
"""Nodes whose features are read at once, so that their hidden numbers stay in the cache."""

NUMBERS = 1 << 22
"""Numbers in the rows of the filter that are computed at once."""

Array = NDArray[np.float64]


def explain_spectral(
    model: SpectralNet,
    graph: Graph,
    inputs: Inputs,
    nodes: Sequence[int],
    pairs: Sequence[Pair],
    distances: Sequence[NDArray[np.signedinteger]],
) -> list[Explanation]:
    r"""The contributions to the logits of some nodes, for a population of one.

    .. math:: z_{ic} = \sum_j g_c(L)_{ij}\, f_c(x_j), \qquad
              f_c(x_j) = \sum_f x_{jf} \sum_h W_{1,fh} m_{jh} W_{2,hc} + \sum_h b_{1,h} m_{jh} W_{2,hc} + b_{2,c}

    where :math:`m_{jh}` says whether hidden unit h is active at node j. Row i of :math:`g(L)` is K products of the
    (transposed) operator with one unit vector; the bands split :math:`f` by :func:`band_coefficients`.

    Args:
        model: a population of one member.
        graph: the graph, whose features are read.
        inputs: the graph as the model prepared it.
        nodes: the nodes to explain.
        pairs: two classes for each of them.
        distances: for each of them the hops to all nodes.
    """
    encoded, branch = _encode(model, graph), _Branch.of(model, graph)
    operator = inputs.operator
    bands = _Bands(operator, encoded, pairs) if operator.symmetric else None
    if not operator.symmetric:
        operator = replace(operator, matrix=operator.transpose, transpose=operator.matrix)
    coefficients = model.filter.coefficients(model.filter_parameters())
    coefficients = coefficients.reshape(len(coefficients), -1)  # (K+1, 1), or (K+1, C) for one filter per class
    width = max(1, NUMBERS // (graph.nodes * coefficients.shape[1]))
    explanations = []
    for start in range(0, len(nodes), width):
        some = nodes[start : start + width]
        rows = _filter_rows(operator, coefficients, some)
        for i, node in enumerate(some):
            pair, reach = pairs[start + i], distances[start + i]
            explanations.append(_explain(graph, encoded, branch, bands, node, pair, rows[:, i], reach))
    return explanations


def _explain(
    graph: Graph,
    encoded: "_Encoded",
    branch: "_Branch | None",
    bands: "_Bands | None",
    node: int,
    pair: Pair,
    rows: Array,
    distances: NDArray[np.signedinteger],
) -> Explanation:
    """One explanation from the rows of the filter, ``(n, 1)`` or ``(n, C)``."""
    # A number is compared with nothing: a second row of zeros.
    one, two = both = pair[0], pair[0] if pair[1] is None else pair[1]
    first, second = (rows[:, 0 if rows.shape[1] == 1 else c] for c in both)
    second = np.zeros_like(second) if pair[1] is None else second
    signals, biases = encoded.signals, encoded.biases
    parts = first * signals[:, one] - second * signals[:, two]
    bias = float(first @ biases[:, one] - second @ biases[:, two])
    total = float(parts.sum()) + bias
    features = encoded.features(graph.features, both, first, second)
    split = None if bands is None else bands.of(both, first, second)
    names: tuple[str, ...] = ()
    if branch is not None:
        links, own_bias = branch.contributions(node, pair)
        parts, features, names = parts + links, np.append(features, links.sum()), (LINKS,)
        bias, total = bias + own_bias, total + float(links.sum()) + own_bias
    return make_explanation(
        node,
        pair,
        EXACT,
        total=total,
        bias=bias,
        contributions=parts,
        distances=distances,
        features=features,
        inputs=names,
        bands=split,
    )


@dataclass(frozen=True, eq=False)
class _Encoded:
    """One member's encoder at every node, as a linear map of its features and a bias.

    Attributes:
        first: :math:`W_1`, ``(F, h)``, or the one map ``(F, C)`` of an encoder without a hidden layer.
        second: :math:`W_2`, ``(h, C)``, or the identity.
        active: which hidden units are active, bool, ``(n, h)``; None without a hidden layer.
        signals: what the features contribute to the encoder's output, ``(n, C)``.
        biases: what the biases do, ``(n, C)``.
    """

    first: Array
    second: Array
    active: NDArray[np.bool_] | None
    signals: Array
    biases: Array

    def features(self, features: Features, pair: tuple[int, int], first: Array, second: Array) -> Array:
        """What each feature contributes over all nodes, given the rows of the filter for both classes, ``(F,)``."""
        total = np.zeros_like(self.first)
        for rows in _row_blocks(np.flatnonzero((first != 0) | (second != 0))):
            weights = np.outer(first[rows], self.second[:, pair[0]]) - np.outer(second[rows], self.second[:, pair[1]])
            if self.active is not None:
                weights *= self.active[rows]
            total += _dense(features[rows].T @ weights)
        return np.asarray((self.first * total).sum(axis=1))


def _encode(model: SpectralNet, graph: Graph) -> _Encoded:
    first, bias = _numbers(model.weight1)[:, 0], _numbers(model.bias1)[0]
    blocks = _row_blocks(np.arange(graph.nodes))
    if not model.hidden:
        signals = np.concatenate([_dense(graph.features[rows] @ first) for rows in blocks])
        return _Encoded(first, np.eye(len(bias)), None, signals, np.broadcast_to(bias, signals.shape))
    second, last = _numbers(model.weight2)[0], _numbers(model.bias2)[0]
    active = np.empty((graph.nodes, len(bias)), dtype=np.bool_)
    signals, biases = np.empty((2, graph.nodes, len(last)))
    for rows in blocks:
        product = _dense(graph.features[rows] @ first)
        active[rows] = product > -bias
        signals[rows] = (active[rows] * product) @ second
        biases[rows] = active[rows].astype(np.float64) @ (bias[:, None] * second) + last
    return _Encoded(first, second, active, signals, biases)


@dataclass(frozen=True, eq=False)
class _Branch:
    """One member's adjacency branch, ``(n, h)``, ``(h,)``, ``(h, C)`` and ``(C,)``: linear in the links of a node."""

    graph: Graph
    first: Array
    bias: Array
    second: Array
    last: Array

    @staticmethod
    def of(model: SpectralNet, graph: Graph) -> "_Branch | None":
        if model.branch is None:
            return None
        first, bias, second, last = (
            _numbers(model.parameter(f"branch_{name}")) for name in ("weight1", "bias1", "weight2", "bias2")
        )
        return _Branch(graph, first[:, 0], bias[0], second[0], last[0])

    def contributions(self, node: int, pair: Pair) -> tuple[Array, float]:
        """What each linked node adds to the difference of two classes, ``(n,)``, and what the biases add."""
        adjacency = self.graph.adjacency
        inside = slice(adjacency.indptr[node], adjacency.indptr[node + 1])
        linked, weights = adjacency.indices[inside], adjacency.data[inside].astype(np.float64)
        hidden = weights @ self.first[linked] + self.bias
        turned = (hidden > 0) * contrast(self.second, pair)
        links = np.zeros(self.graph.nodes)
        links[linked] = weights * (self.first[linked] @ turned)
        return links, float(self.bias @ turned + contrast(self.last, pair))


class _Bands:
    """What the encoder's output has in the low and in the high band, for the classes of these pairs."""

    def __init__(self, operator: Operator, encoded: _Encoded, pairs: Sequence[Pair]) -> None:
        self.classes = sorted({c for pair in pairs for c in pair if c is not None})
        self.signals = encoded.signals[:, self.classes]
        block = torch.from_numpy(self.signals).to(operator.matrix.dtype)
        outer = band_coefficients()[[0, 2]].T  # the middle band is what these two leave
        parts = propagate(operator, torch.stack([block, block], dim=1), outer)
        self.low, self.high = (part.double().numpy() for part in parts.unbind(dim=1))

    def of(self, pair: tuple[int, int], first: Array, second: Array) -> Array:
        """Contributions of low, middle and high frequencies, given the rows of the filter for both classes."""
        a, b = (self.classes.index(c) for c in pair)
        low, high, whole = (first @ x[:, a] - second @ x[:, b] for x in (self.low, self.high, self.signals))
        return np.array([low, whole - low - high, high])


def _filter_rows(operator: Operator, coefficients: torch.Tensor, nodes: Sequence[int]) -> Array:
    """Rows of the filter, ``(n, m, 1)``, or ``(n, m, C)`` for one filter per class."""
    units = torch.zeros(operator.nodes, len(nodes), coefficients.shape[1], dtype=operator.matrix.dtype)
    units[list(nodes), range(len(nodes))] = 1
    return propagate(operator, units, coefficients[:, None].expand(-1, len(nodes), -1)).double().numpy()


def _row_blocks(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [rows[start : start + ROWS] for start in range(0, len(rows), ROWS)]


def _dense(product: NDArray[np.floating]) -> Array:
    return np.asarray(product, dtype=np.float64)


def _numbers(parameter: torch.Tensor) -> Array:
    return parameter.detach().double().numpy()
