"""Why these predictions: explained nodes with a drawing of their neighbourhoods, as a section or a page of its own."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.explanations import Explanation, describe, hop_distances
from newtonnet.graphs import Graph

from .markup import document, fill, paragraphs, script_data
from .words import amount

DRAWN = 24
"""Contributing nodes in a drawing; nodes on the way to them come on top."""
FURTHEST = 4
"""Hops from the node up to which its neighbourhood is drawn."""
LISTED = 8
"""Nodes and features with a bar of their own."""
LARGEST = 900_000
"""Characters of data in a page; every second node is left out until they fit."""

UNCERTAIN, SURPRISING, TYPICAL, WRONG, SPREAD = GROUPS = (
    "uncertain",
    "unlike its neighbours",
    "typical of its class",
    "far from its known number",
    "one of all sizes",
)
"""Why a node is listed; the last two are for numbers as targets, which have no uncertain or typical ones."""

CLASS_WORDS = "for its most probable class against the runner-up: a contribution above 0 speaks for the first."
NUMBER_WORDS = "in its own units: a contribution above 0 makes it larger."
"""What contributions mean, for classes and for numbers."""

ExplainedNode = Mapping[str, Any]
"""What the page's script reads about one node."""


def nodes_to_explain(
    graph: Graph, probabilities: NDArray[np.float64], most: int, *, own: int | None = None
) -> list[tuple[int, str]]:
    """Nodes worth an explanation, each with the reason: a third of each group, as far as there are such nodes.

    Uncertain nodes have the smallest lead of the first class over the second. Surprising ones have another class than
    most of their neighbours, the surest first. Typical ones are the surest of each class.

    Args:
        graph: the graph.
        probabilities: of all nodes, ``(n, C)``.
        most: number of nodes.
        own: only the first nodes, as many as the table has; all if None.
    """
    if probabilities.shape[1] == 1:
        return numbers_to_explain(graph, probabilities[:, 0], most, own=own)
    predicted, order = probabilities.argmax(axis=1), np.sort(probabilities, axis=1)
    sure, lead = order[:, -1], order[:, -1] - order[:, -2]
    votes = graph.adjacency @ np.eye(probabilities.shape[1])[predicted]
    alone = votes.max(axis=1) == 0
    unlike = ~alone & (votes[np.arange(len(predicted)), predicted] < votes.max(axis=1))
    surest = np.argsort(-sure, kind="stable")
    rank = np.empty(len(sure), dtype=np.int64)
    for c in range(probabilities.shape[1]):
        alike = surest[predicted[surest] == c]
        rank[alike] = np.arange(len(alike))
    listed = {
        UNCERTAIN: np.argsort(lead, kind="stable"),
        SURPRISING: surest[unlike[surest]],
        TYPICAL: surest[np.argsort(rank[surest], kind="stable")],  # the surest of every class, then the second of each
    }
    return _chosen(listed, most, own)


def numbers_to_explain(
    graph: Graph, predicted: NDArray[np.float64], most: int, *, own: int | None = None
) -> list[tuple[int, str]]:
    """The same for predicted numbers ``(n,)``: large errors, large differences from neighbours, and all sizes."""
    truth = graph.truth if graph.targets is not None else np.full(graph.nodes, np.nan)
    error = np.nan_to_num(np.abs(predicted - truth), nan=-1.0)
    degree = np.asarray(graph.adjacency.sum(axis=1)).ravel()
    around = np.divide(graph.adjacency @ predicted, degree, out=predicted.copy(), where=degree > 0)
    rising = np.argsort(predicted, kind="stable")
    spread = rising[np.unique(np.linspace(0, len(rising) - 1, max(most, 1)).astype(np.int64))]
    wrong = np.argsort(-error, kind="stable")
    return _chosen(
        {
            WRONG: wrong[error[wrong] >= 0],
            SURPRISING: np.argsort(-np.abs(predicted - around), kind="stable"),
            SPREAD: spread,
        },
        most,
        own,
    )


def _chosen(listed: Mapping[str, NDArray[np.int64]], most: int, own: int | None) -> list[tuple[int, str]]:
    """Nodes with the group that they were first listed in, an equal part of each group."""
    chosen: dict[int, str] = {}
    for i, (group, nodes) in enumerate(listed.items(), 1):
        for node in (nodes if own is None else nodes[nodes < own]).tolist():
            if len(chosen) >= most * i // len(listed):
                break
            chosen.setdefault(node, group)
    return list(chosen.items())


def explained_node(
    explanation: Explanation,
    graph: Graph,
    probabilities: NDArray[np.float64],
    *,
    group: str = "",
    feature_names: Sequence[str] | None = None,
) -> ExplainedNode:
    """What the page says and draws about one node.

    Args:
        explanation: of the node.
        graph: with known labels.
        probabilities: of all nodes, ``(n, C)``; they give the colours of nodes whose label is unknown.
        group: why the node is listed.
        feature_names: one for each feature.
    """
    if explanation.classes[1] is None:
        return _explained_number(explanation, graph, probabilities[:, 0], group, feature_names)
    told = _rounded(describe(explanation, graph, feature_names=feature_names, top=LISTED))
    node, known = explanation.node, graph.labels[explanation.node]
    return {
        **told,
        "group": group,
        "probability": round(float(probabilities[node, explanation.classes[0]]), 4),
        "label": graph.class_names[known] if known >= 0 else None,
        "drawing": _drawing(
            explanation, graph, np.where(graph.labels >= 0, graph.labels, probabilities.argmax(axis=1))
        ),
    }


def _explained_number(
    explanation: Explanation,
    graph: Graph,
    predicted: NDArray[np.float64],
    group: str,
    feature_names: Sequence[str] | None,
) -> ExplainedNode:
    """The same for a number; nodes are coloured by the third of all numbers that theirs is in."""
    told = _rounded(describe(explanation, graph, feature_names=feature_names, top=LISTED), digits=6)
    node = explanation.node
    truth = graph.truth if graph.targets is not None else np.full(graph.nodes, np.nan)
    numbers = np.where(np.isnan(truth), predicted, truth)
    cuts = np.quantile(numbers, [1 / 3, 2 / 3])
    return {
        **told,
        "group": group,
        "prediction": amount(float(predicted[node])),
        "label": None if np.isnan(truth[node]) else amount(float(truth[node])),
        "kinds": [f"below {amount(cuts[0])}", f"{amount(cuts[0])} to {amount(cuts[1])}", f"above {amount(cuts[1])}"],
        "drawing": _drawing(explanation, graph, np.searchsorted(cuts, numbers), digits=6),
    }


def _rounded(value: Any, digits: int | None = None) -> Any:
    """Plain data with numbers as short as a page needs them: to so many significant digits, or to five decimals."""
    if isinstance(value, dict):
        return {name: _rounded(part, digits) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part, digits) for part in value]
    if not isinstance(value, float):
        return value
    return round(value, 5) if digits is None else float(f"{value:.{digits}g}")


def why_section(nodes: Sequence[ExplainedNode], class_names: Sequence[str]) -> str:
    """A searchable list of nodes with the explanation of the chosen one, and the data that the script draws."""
    if not nodes:
        return paragraphs("No prediction was explained.")
    numbers = "target" in nodes[0]
    kinds = nodes[0]["kinds"] if numbers else class_names
    data = script_data("why-data", {"nodes": list(nodes), "classes": list(kinds)})
    if len(data) > LARGEST and len(nodes) > 1:
        return why_section(nodes[::2], class_names)
    them = "this node" if len(nodes) == 1 else f"each of these {len(nodes):,} nodes"
    whose = f"The number of {them}" if numbers else them.capitalize()
    what = f"{whose} is explained {NUMBER_WORDS if numbers else CLASS_WORDS}"
    return fill("why.html", what=what, fill="number" if numbers else "class") + data


def render_why(title: str, nodes: Sequence[ExplainedNode], class_names: Sequence[str], *, version: str) -> str:
    """A self-contained page of explained nodes."""
    body = fill("why_page.html", title=escape(title), section=why_section(nodes, class_names), version=escape(version))
    return document(title, body, scripts=("why.js",), plots=False)


def _drawing(
    explanation: Explanation, graph: Graph, classes: NDArray[np.int64], digits: int | None = None
) -> dict[str, Any]:
    """The strongest nodes near the explained one, which is in the middle of rings by hops, and the links among them.

    ``nodes``: name, class, whether its label is known, hops, contribution, x and y in [-1, 1], place of the node on the
    way to the middle. ``links``: pairs of places.
    """
    distances = hop_distances(graph, explanation.node)
    value = dict(zip(explanation.nodes.tolist(), explanation.contributions.tolist(), strict=True))
    strongest = sorted(value, key=lambda j: (-abs(value[j]), j))
    near = [j for j in strongest if 0 < distances[j] <= FURTHEST][:DRAWN]
    parents = {explanation.node: explanation.node}
    for j in near:
        while j not in parents:
            parents[j] = parent = _towards(graph, distances, j, parents, value)
            j = parent
    order = sorted(parents, key=lambda j: (int(distances[j]), -abs(value.get(j, 0.0)), j))
    place = {j: i for i, j in enumerate(order)}
    positions = _radial(order, parents, distances)
    linked = graph.adjacency[order][:, order].tocoo()
    pairs = sorted({(min(i, j), max(i, j)) for i, j in zip(linked.row.tolist(), linked.col.tolist(), strict=True)})
    rows = [
        [
            graph.node_names[j] if graph.node_names else str(j),
            int(classes[j]),
            bool(graph.labels[j] >= 0),
            int(distances[j]),
            _rounded(value.get(j, 0.0), digits),
            *positions[j],
            place[parents[j]],
        ]
        for j in order
    ]
    return {"nodes": rows, "links": pairs}


def _towards(
    graph: Graph, distances: NDArray[np.int64], node: int, drawn: Mapping[int, int], value: Mapping[int, float]
) -> int:
    """A neighbour that is one hop nearer: one that is drawn already, or else the one that contributes most."""
    matrix = graph.adjacency
    beside = [matrix.indices[matrix.indptr[node] : matrix.indptr[node + 1]]]
    if graph.directed:
        beside.append(matrix[:, [node]].nonzero()[0])
    nearer = [int(j) for j in np.concatenate(beside) if distances[j] == distances[node] - 1]
    return min(nearer, key=lambda j: (j not in drawn, -abs(value.get(j, 0.0)), j))


def _radial(
    order: Sequence[int], parents: Mapping[int, int], distances: NDArray[np.int64]
) -> dict[int, tuple[float, float]]:
    """Places on rings by hops: every node's children share its sector, those with more leaves have more of it."""
    children: dict[int, list[int]] = {j: [] for j in order}
    for j in order[1:]:
        children[parents[j]].append(j)
    leaves: dict[int, float] = {}
    for j in reversed(order):
        leaves[j] = sum(leaves[child] for child in children[j]) or 1
    room = {j: count**0.6 for j, count in leaves.items()}
    rings = max(int(distances[j]) for j in order) or 1
    sector, places = {order[0]: (0.0, 1.0)}, {}
    for j in order:
        start, end = sector[j]
        angle, radius = 2 * math.pi * (start + end) / 2 - math.pi / 2, (distances[j] / rings) ** 0.75
        places[j] = round(radius * math.cos(angle), 3), round(radius * math.sin(angle), 3)
        for child in children[j]:
            share = (sector[j][1] - sector[j][0]) * room[child] / sum(room[one] for one in children[j])
            sector[child] = start, start + share
            start += share
    return places
