"""Ridge regression and boosting on a filter bank explained: by columns, then by the nodes and features in a column."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.bank import (
    Bank,
    BankColumn,
    BoostingOptions,
    RidgeOptions,
    Shown,
    filled,
    is_shown,
    prediction_bank,
    stored_trees,
)
from newtonnet.graphs import Graph, band_coefficients, propagate

from .explanation import Explanation, Pair, contrast, make_explanation
from .trees import make_leaves

RIDGE = "exact: linear in the columns of the filter bank"
BOOSTING = "TreeSHAP on the columns of the filter bank, each divided among nodes by its filter"

UNSEEN = float(np.log(1e-7))
"""Logit of a class that boosting was not trained on."""

Array = NDArray[np.float64]


def explain_bank(
    state: Mapping[str, Tensor],
    options: BoostingOptions | RidgeOptions,
    graph: Graph,
    shown: Shown,
    nodes: Sequence[int],
    pairs: Sequence[Pair],
    distances: Sequence[NDArray[np.signedinteger]],
) -> list[Explanation]:
    r"""The contributions to the logits, or numbers, of some nodes, for a model on a filter bank.

    Ridge regression is linear in its columns, and a column is linear in the signal that it filters:
    :math:`w_c \sum_j F_{ij} s_j`, so every node and every feature has its part. Boosting is not; each column has its
    Shapley value, which is divided among the nodes (and, of a component, among the features) in proportion to
    :math:`|F_{ij} s_j|`; where that is 0 everywhere, the node itself has all of it.

    Args:
        state: of the trained bank.
        options: with which it was trained.
        graph: the graph.
        shown: labels that neighbours see, as for prediction.
        nodes: the nodes to explain.
        pairs: two classes for each of them; ``(0, None)`` for a number.
        distances: for each of them the hops to all nodes.
    """
    bank = prediction_bank(state, options.layout, graph, shown)
    columns = _ridge(bank, state) if isinstance(options, RidgeOptions) else _boosting(bank, state)
    reader = _reader(bank, graph, shown)
    linear = isinstance(options, RidgeOptions) and options.filter == "chebyshev"
    by_bands = reader.bands(state["weights"].numpy()) if linear else None
    explanations = []
    for node, pair, reach in zip(nodes, pairs, distances, strict=True):
        by_columns = columns(node, pair)
        contributions, features = reader.divide(node, by_columns)
        bands = None if by_bands is None else contrast(by_bands[:, node], pair)
        explanations.append(
            make_explanation(
                node,
                pair,
                BOOSTING if by_columns.weights is None else RIDGE,
                total=by_columns.bias + float(by_columns.parts.sum()),
                bias=by_columns.bias,
                contributions=contributions,
                distances=reach,
                features=features,
                inputs=reader.names,
                bands=bands,
            )
        )
    return explanations


@dataclass(frozen=True, eq=False)
class _ByColumns:
    """A difference of logits as a bias and what each column contributes, ``(m,)``: weight times value if linear."""

    bias: float
    parts: Array
    weights: Array | None = None


def _ridge(bank: Bank, state: Mapping[str, Tensor]) -> Callable[[int, Pair], _ByColumns]:
    weights, offsets, values = state["weights"].numpy(), state["offsets"].numpy(), filled(bank)
    # No node has a log degree of 0: structure contributes by its difference from the mean node, which is in the bias.
    own = [column.signal in ("structure", "eigenvector") for column in bank.columns]
    mean = np.where(own, values.mean(axis=0), 0)

    def columns(node: int, pair: Pair) -> _ByColumns:
        weight = contrast(weights, pair)
        bias = float(contrast(offsets, pair) + weight @ mean)
        return _ByColumns(bias, weight * (values[node] - mean), weight)

    return columns


def _boosting(bank: Bank, state: Mapping[str, Tensor]) -> Callable[[int, Pair], _ByColumns]:
    leaves, baseline = make_leaves(stored_trees(state)), state["baseline"].numpy()
    classes, outputs = state["classes"].tolist(), len(baseline)
    means = baseline + leaves.expected.reshape(-1, outputs).sum(axis=0)

    def columns(node: int, pair: Pair) -> _ByColumns:
        each = leaves.contributions(bank.values[node], outputs)
        bias, parts = 0.0, np.zeros(each.shape[1])
        for sign, c in zip((1, -1), pair, strict=True):
            if c is None:
                continue
            if c not in classes:
                bias += sign * UNSEEN
            elif outputs > 1 or c == classes[-1]:  # of two classes only the second has an output
                place = classes.index(c) if outputs > 1 else 0
                bias, parts = bias + sign * float(means[place]), parts + sign * each[place]
        return _ByColumns(bias, parts)

    return columns


@dataclass(frozen=True, eq=False)
class _Reader:
    """Divides the contributions of columns among nodes, features and bands.

    Attributes:
        bank: the columns.
        graph: whose features they filter.
        shown: labels that neighbours see.
        signals: the filtered features or components, ``(n, q)``.
        basis: from features to components, ``(F, q)``; None without.
        inputs: for each column the name of its further input (structure, a class of labels), None of a feature.
    """

    bank: Bank
    graph: Graph
    shown: Shown
    signals: Array
    basis: Array | None
    inputs: tuple[str | None, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The further inputs."""
        return tuple(dict.fromkeys(name for name in self.inputs if name is not None))

    def divide(self, node: int, given: _ByColumns) -> tuple[Array, Array]:
        """Contributions of nodes ``(n,)``, and of features and further inputs."""
        count, columns = self.graph.features.shape[1], self.bank.columns
        nodes, features = np.zeros(self.graph.nodes), np.zeros(count + len(self.names))
        degrees = np.array(
            [column.degree if name is None else -1 for column, name in zip(columns, self.inputs, strict=True)]
        )
        longest = max(column.degree for column in columns)
        kinds = {column.filter for column in columns}  # known numbers have means beside features with another filter
        by_filter = {kind: self._filter_rows(node, longest, kind) for kind in kinds}
        rows = by_filter[columns[0].filter]
        for i in np.flatnonzero(degrees < 0).tolist():
            features[count + self.names.index(str(self.inputs[i]))] += given.parts[i]
            nodes += self._labels(node, i, by_filter[columns[i].filter][columns[i].degree], given)
        for degree in range(degrees.max() + 1):
            row, inside = rows[degree], degrees == degree
            own = given.parts[inside]
            if given.weights is not None:
                nodes += row * (self.signals @ given.weights[inside])
            else:
                nodes += _shared(np.abs(row), np.abs(self.signals), own, at=node)
            if self.basis is None:
                features[:count] += own
                continue
            reached = np.asarray(self.graph.features.T @ row)
            if given.weights is not None:
                features[:count] += reached * (self.basis @ given.weights[inside])
            else:
                features[:count] += _shared(np.abs(reached), np.abs(self.basis), own)
        return nodes, features

    def _labels(self, node: int, i: int, row: Array, given: _ByColumns) -> Array:
        """What each node contributes to a column of labels; any other column is the node's own."""
        column, parts = self.bank.columns[i], np.zeros(self.graph.nodes)
        if column.signal in ("label", "reached"):
            known = is_shown(self.shown)
            others, parts = np.where(known & (np.arange(len(row)) != node), row, 0), np.zeros(len(row))
            if column.signal == "reached":
                parts = others / (max(known.mean(), 1 / len(known)) if self.shown.dtype == np.float64 else 1)
            elif self.shown.dtype == np.float64:
                parts[known] = others[known] * self.shown[known]
            else:
                parts = np.where(self.shown == column.place, others, 0)
            if column.filter == "mean" and column.signal == "label" and others.any():
                parts = parts / others.sum()  # shares of the classes among the labels that are reached
        if given.weights is not None and parts.any():
            return np.asarray(given.weights[i] * parts)
        return _shared(np.abs(parts), np.ones((len(parts), 1)), given.parts[[i]], at=node)

    def _filter_rows(self, node: int, degree: int, kind: str) -> list[Array]:
        """Row ``node`` of the filters of one kind and all degrees, each ``(n,)``."""
        around, rows = self.bank.around, [np.zeros((self.graph.nodes, 1))]
        rows[0][node] = 1
        mean = kind == "mean"
        for k in range(1, degree + 1):
            moved = around.shift(rows[-1])
            rows.append(-moved if mean else moved if k == 1 else 2 * moved - rows[-2])
        if mean:  # P = D^-1/2 Â D^1/2
            root = np.sqrt(around.degree)[:, None]
            rows[1:] = [row * root / max(float(root[node, 0]), 1e-30) for row in rows[1:]]
        return [row[:, 0] for row in rows]

    def bands(self, weights: Array) -> Array:
        r"""What low, middle and high frequencies of the features contribute to every node's logits, ``(3, n, C)``.

        With weights :math:`w_k` of the columns :math:`T_k(L - I) X` and a band b, a polynomial too, it is row i of
        :math:`b(L) \sum_k T_k(L - I) X w_k`: as many products for all nodes as for one.
        """
        columns = self.bank.columns
        degrees = np.array([c.degree if name is None else -1 for c, name in zip(columns, self.inputs, strict=True)])
        degree = max(degrees.max(), 0)
        # Clenshaw: the sum over degrees from the last to the first.
        last, now = (np.zeros((self.graph.nodes, weights.shape[1])) for _ in range(2))
        for k in range(degree, -1, -1):
            own = self.signals @ weights[degrees == k]
            moved = self.bank.around.shift(now) * (2 if k else 1)
            last, now = now, own + moved - last
        block = torch.from_numpy(np.stack([now, now], axis=1))
        with torch.no_grad():
            parts = propagate(self.bank.around.operator, block, band_coefficients()[[0, 2]].T).numpy()
        low, high = parts[:, 0], parts[:, 1]
        return np.stack([low, now - low - high, high])


def _reader(bank: Bank, graph: Graph, shown: Shown) -> _Reader:
    basis = bank.state["basis"].double().numpy() if "basis" in bank.state else None
    signals = graph.features if basis is None else graph.features @ basis
    dense = signals.toarray() if isinstance(signals, sp.sparray) else signals
    inputs = tuple(_input(column, graph.class_names) for column in bank.columns)
    return _Reader(bank, graph, shown, np.asarray(dense, dtype=np.float64), basis, inputs)


def _input(column: BankColumn, class_names: Sequence[str]) -> str | None:
    """The name of what a column reads beside the features; None of a feature."""
    if column.signal in ("feature", "component"):
        return None
    if column.signal != "label":
        return column.name.split(",")[0]
    return f"known {class_names[0]}" if len(class_names) == 1 else f"known label {class_names[column.place]}"


def _shared(row: Array, signals: Array, parts: Array, *, at: int | None = None) -> Array:
    """Parts ``(q,)`` divided in proportion to ``row[j] * signals[j, q]``, both at least 0, ``(n,)``.

    Where all of that is 0, everything goes to one place, or is divided in proportion to the signals alone.
    """
    whole = row @ signals
    weights = np.divide(parts, whole, out=np.zeros(len(parts)), where=whole > 0)
    shares = row * (signals @ weights)
    lost = whole == 0
    if at is not None:
        shares[at] += parts[lost].sum()
    elif lost.any():
        shares += signals[:, lost] @ (parts[lost] / np.maximum(signals[:, lost].sum(axis=0), 1e-30))
    return np.asarray(shares)
