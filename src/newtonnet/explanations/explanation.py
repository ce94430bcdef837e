"""What an explanation holds: contributions of nodes, features and frequency bands to the difference of two logits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from newtonnet.drawing import bar_plot, small_table
from newtonnet.graphs import Graph

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Pair = tuple[int, int | None]
"""The class that is explained, and the one that it is compared with; ``(0, None)`` for a number, which is explained
itself."""

BAND_NAMES = ("low", "middle", "high")
UNRESOLVED = "unresolved"
"""Name of what belongs to no frequency band: links read one by one, columns of a table, or a directed graph."""

FAR = -1
"""Distance of a node that no path reaches."""


@dataclass(frozen=True, eq=False)
class Explanation:
    r"""Why a model prefers one class to another for a node, or predicts its number.

    The difference of the two logits (or the number :math:`z_a` itself) is split three times, each time completely:

    .. math:: z_a - z_b = \sum_j n_j + \beta + \rho = \sum_f x_f + \beta + \rho = \sum_b s_b + \beta + \rho

    Attributes:
        node: the explained node.
        classes: the two classes a and b, by default the most probable one and the runner-up; ``(0, None)`` of a number.
        method: how the contributions were found, in a few words.
        total: :math:`z_a - z_b`, or the predicted number.
        bias: :math:`\beta`, what the model answers by its biases alone: nodes whose features are all 0.
        remainder: :math:`\rho`, what the method could not attribute; 0 but for rounding where it is exact.
        nodes: nodes that contribute, ascending, ``(m,)``.
        contributions: :math:`n_j`, what the features of each of them contribute, ``(m,)``.
        hops: their distances from the node, ignoring directions; -1 where no path leads there, ``(m,)``.
        features: :math:`x_f`, over all nodes, for each feature and then for each of the further inputs.
        inputs: names of the further inputs, such as ``links``.
        bands: :math:`s_b` by name: low, middle and high frequencies, and ``unresolved``.
        node_names: one for each node of the graph, or none; only for showing it, as are the next two.
        class_names: one for each class, or none.
        feature_names: one for each feature, or none.
    """

    node: int
    classes: Pair
    method: str
    total: float
    bias: float
    remainder: float
    nodes: NDArray[np.int64] = field(repr=False)
    contributions: NDArray[np.float64] = field(repr=False)
    hops: NDArray[np.int64] = field(repr=False)
    features: NDArray[np.float64] = field(repr=False)
    inputs: tuple[str, ...]
    bands: Mapping[str, float]
    node_names: Sequence[str] = field(default=(), repr=False)
    class_names: Sequence[str] = field(default=(), repr=False)
    feature_names: Sequence[str] = field(default=(), repr=False)

    @property
    def by_hops(self) -> dict[int, float]:
        """Contributions of all nodes at each distance; 0 is the node itself, -1 what no path reaches."""
        return {int(hop): float(self.contributions[self.hops == hop].sum()) for hop in np.unique(self.hops)}

    def top_nodes(self, count: int) -> list[tuple[int, int, float]]:
        """The nodes that contribute most, in either direction: number, distance and contribution."""
        order = np.argsort(-np.abs(self.contributions), kind="stable")[:count]
        return [(int(self.nodes[i]), int(self.hops[i]), float(self.contributions[i])) for i in order]

    def top_features(self, count: int) -> list[tuple[int, float]]:
        """The features that contribute most, in either direction: number and contribution; none that are 0."""
        order = np.argsort(-np.abs(self.features), kind="stable")[:count]
        return [(int(i), float(self.features[i])) for i in order if self.features[i] != 0]

    def plot(self, top: int = 8) -> "Figure":
        """Bars of what contributes most, as a figure of plotly: frequency bands, features and nodes.

        Args:
            top: number of nodes and of features with a bar of their own; all others share one.
        """
        return bar_plot(list(self._strongest(top).items()), self._title())

    def _repr_html_(self) -> str:
        tables = [
            small_table([(name, f"{value:+.3f}") for name, value in bars], caption=what)
            for what, bars in self._strongest(5).items()
        ]
        cells = "".join(f'<td style="vertical-align:top">{one}</td>' for one in tables)
        return f"<p>{escape(self._title())}</p><table><tr>{cells}</tr></table>"

    def _title(self) -> str:
        names = [
            self.class_names[code] if self.class_names else f"class {code}" for code in self.classes if code is not None
        ]
        what = f"{names[0]} rather than {names[1]}, by {self.total:+.2f}" if len(names) == 2 else f"{self.total:.4g}"
        return f"{self._name(self.node)}: {what} (bias {self.bias:+.4g})"

    def _name(self, node: int) -> str:
        return self.node_names[node] if self.node_names else f"node {node}"

    def _strongest(self, top: int) -> dict[str, list[tuple[str, float]]]:
        """Named contributions of the bands, and of the strongest features and nodes with the sum of all others."""
        count = len(self.features) - len(self.inputs)
        names = [*(self.feature_names or (f"feature {i}" for i in range(count))), *self.inputs]
        features = [(names[i], value) for i, value in self.top_features(top)]
        nodes = [(self._name(node), value) for node, _, value in self.top_nodes(top)]
        groups = {"frequencies": list(self.bands.items()), "features": features, "nodes": nodes}
        for what, all_of_them in (("features", self.features), ("nodes", self.contributions)):
            others = float(all_of_them.sum() - sum(value for _, value in groups[what]))
            if np.count_nonzero(all_of_them) > top:
                groups[what].append(("all others", others))
        return groups


def make_explanation(
    node: int,
    classes: Pair,
    method: str,
    *,
    total: float,
    bias: float,
    contributions: NDArray[np.float64],
    distances: NDArray[np.signedinteger],
    features: NDArray[np.float64],
    inputs: Sequence[str] = (),
    bands: ArrayLike | None = None,
) -> Explanation:
    """An explanation from the contributions of all nodes, ``(n,)``; what they and the bias leave is the remainder.

    Without ``bands``, ``(3,)``, everything is unresolved; with them, what they leave of the contributions.
    """
    nodes = np.flatnonzero(contributions)
    given = float(contributions.sum())
    known = [] if bands is None else [float(band) for band in np.asarray(bands)]
    split = dict(zip(BAND_NAMES, known, strict=False))
    rest = given - sum(known)
    if bands is None or abs(rest) > 1e-6 * max(1.0, float(np.abs(contributions).sum())):
        split[UNRESOLVED] = rest
    return Explanation(
        node=node,
        classes=classes,
        method=method,
        total=total,
        bias=bias,
        remainder=total - bias - given,
        nodes=nodes,
        contributions=contributions[nodes],
        hops=distances[nodes],
        features=features,
        inputs=tuple(inputs),
        bands=split,
    )


def combine(parts: Sequence[Explanation], weights: Sequence[float]) -> Explanation:
    """The weighted sum of explanations of one node and one pair of classes, which is complete as its parts are."""
    first = parts[0]
    if any((part.node, part.classes) != (first.node, first.classes) for part in parts):
        raise ValueError("explanations can be combined only for one node and one pair of classes")
    reached = np.zeros(1 + max(part.nodes.max(initial=-1) for part in parts), dtype=np.bool_)
    for part in parts:
        reached[part.nodes] = True
    nodes, place = np.flatnonzero(reached), np.cumsum(reached) - 1
    contributions, hops = np.zeros(len(nodes)), np.zeros(len(nodes), dtype=np.int64)
    own = len(first.features) - len(first.inputs)
    names = tuple(dict.fromkeys(name for part in parts for name in part.inputs))
    features = np.zeros(own + len(names))
    bands = dict.fromkeys((*BAND_NAMES, UNRESOLVED), 0.0)
    for part, weight in zip(parts, weights, strict=True):
        places = place[part.nodes]
        contributions[places] += weight * part.contributions
        hops[places] = part.hops
        features[:own] += weight * part.features[:own]
        for name, value in zip(part.inputs, part.features[own:], strict=True):
            features[own + names.index(name)] += weight * float(value)
        for name, value in part.bands.items():
            bands[name] += weight * value

    def mean(name: str) -> float:
        return float(sum(weight * getattr(part, name) for part, weight in zip(parts, weights, strict=True)))

    return Explanation(
        node=first.node,
        classes=first.classes,
        method="; ".join(dict.fromkeys(name for part in parts for name in part.method.split("; "))),
        total=mean("total"),
        bias=mean("bias"),
        remainder=mean("remainder"),
        nodes=nodes,
        contributions=contributions,
        hops=hops,
        features=features,
        inputs=names,
        bands={name: value for name, value in bands.items() if any(name in part.bands for part in parts)},
        node_names=first.node_names,
        class_names=first.class_names,
        feature_names=first.feature_names,
    )


def rescale(explanation: Explanation, factor: float, offset: float) -> Explanation:
    """The explanation of ``factor`` times the number plus ``offset``, which belongs to the bias."""
    scaled = combine([explanation], [factor])
    return replace(scaled, total=scaled.total + offset, bias=scaled.bias + offset)


def contrast(values: NDArray[np.float64], pair: Pair) -> NDArray[np.float64]:
    """The difference of two classes along the last axis, or a number's own values."""
    first, second = pair
    return np.asarray(values[..., first] if second is None else values[..., first] - values[..., second])


def describe(
    explanation: Explanation, graph: Graph, *, feature_names: Sequence[str] | None = None, top: int = 10
) -> dict[str, Any]:
    """An explanation as plain data with names: the strongest nodes and features, and the sum of all others.

    Args:
        explanation: of a node of the graph.
        graph: names the node, its neighbours and the classes.
        feature_names: one for each feature; numbers if not given.
        top: number of nodes and of features to name.
    """
    count = len(explanation.features) - len(explanation.inputs)
    names = [*(feature_names or (f"feature {i}" for i in range(count))), *explanation.inputs]
    if len(names) != len(explanation.features):
        raise ValueError(f"expected {count} feature names, got {len(names) - len(explanation.inputs)}")

    def name(node: int) -> str:
        return graph.node_names[node] if graph.node_names else str(node)

    nodes, features = explanation.top_nodes(top), explanation.top_features(top)
    return {
        "node": name(explanation.node),
        **_named(explanation.classes, graph.class_names),
        "method": explanation.method,
        "total": explanation.total,
        "bias": explanation.bias,
        "remainder": explanation.remainder,
        "nodes": [{"node": name(node), "hops": hops, "contribution": value} for node, hops, value in nodes],
        "other_nodes": float(explanation.contributions.sum() - sum(value for *_, value in nodes)),
        "hops": {str(hop) if hop != FAR else "unreached": value for hop, value in explanation.by_hops.items()},
        "features": [{"feature": names[i], "contribution": value} for i, value in features],
        "other_features": float(explanation.features.sum() - sum(value for _, value in features)),
        "bands": dict(explanation.bands),
    }


def _named(pair: Pair, names: Sequence[str]) -> dict[str, str]:
    """The two classes, or the number, by name."""
    return {"target": names[0]} if pair[1] is None else {"class": names[pair[0]], "against": names[pair[1]]}


def hop_distances(graph: Graph, node: int) -> NDArray[np.int64]:
    """Number of edges from a node to every other, ignoring directions, ``(n,)``; -1 where no path leads.

    >>> from newtonnet.graphs import from_edges
    >>> hop_distances(from_edges([[0, 1], [1, 2]], np.eye(4)), 0)
    array([ 0,  1,  2, -1])
    """
    matrices = [graph.adjacency, graph.adjacency.T.tocsr()] if graph.directed else [graph.adjacency]
    distances = np.full(graph.nodes, FAR, dtype=np.int64)
    front, hop = np.array([node]), 0
    distances[node] = 0
    while len(front):
        hop += 1
        reached = np.zeros(graph.nodes, dtype=np.bool_)
        for matrix in matrices:
            reached[matrix.indices[_inside(matrix.indptr, front)]] = True
        front = np.flatnonzero(reached & (distances == FAR))
        distances[front] = hop
    return distances


def _inside(pointers: NDArray[np.int32], rows: NDArray[Any]) -> NDArray[np.int64]:
    """Positions of the entries of some rows of a CSR matrix."""
    counts = pointers[rows + 1] - pointers[rows]
    starts = np.repeat(pointers[rows] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    return np.asarray(starts + np.arange(counts.sum()), dtype=np.int64)
