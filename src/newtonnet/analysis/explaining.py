"""Explanations, prediction sets and intervals of a run: named, drawn on a page, and chosen for the page of the fit."""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from newtonnet import __version__
from newtonnet.estimator import GraphEstimator, NewtonNetClassifier, NewtonNetRegressor, OutOfFold
from newtonnet.explanations import Explanation, describe
from newtonnet.files import write_whole
from newtonnet.graphs import Graph
from newtonnet.meaning import listed
from newtonnet.report import GROUPS, explained_node, nodes_to_explain, render_why

FIRST, MOST = 3, 300
"""Number of nodes explained for the page at first, to see how long one takes, and at most."""


AT_ONCE = 64 << 20
"""Bytes of explanations that are made at once."""


@dataclass(frozen=True, eq=False)
class ExplainedNodes:
    """Explanations of some nodes, with what is needed to name and to draw them.

    Attributes:
        explanations: one for each node.
        graph: the graph of the tables.
        probabilities: of all nodes, shape ``(n, C)``; of numbers their predictions, ``(n, 1)``.
        feature_names: names of the features; empty where the nodes have none.
    """

    explanations: list[Explanation]
    graph: Graph = field(repr=False)
    probabilities: NDArray[np.float64] = field(repr=False)
    feature_names: Sequence[str] = field(repr=False)

    def describe(self, top: int = 10) -> list[dict[str, Any]]:
        """Plain data with names, as ``newtonnet explain --json`` prints them."""
        names = self.feature_names or None
        return [
            {
                **describe(one, self.graph, feature_names=names, top=top),
                "probability" if one.classes[1] is not None else "prediction": float(
                    self.probabilities[one.node, one.classes[0]]
                ),
            }
            for one in self.explanations
        ]

    def _repr_html_(self) -> str:
        return "".join(one._repr_html_() for one in self.explanations)

    def report(self, path: str | PathLike[str]) -> None:
        """Write a page with a drawing of each node's neighbourhood."""
        names = self.feature_names or None
        rows = [explained_node(one, self.graph, self.probabilities, feature_names=names) for one in self.explanations]
        title = f"Why {listed([row['node'] for row in rows], 3)}"
        write_whole(Path(path), render_why(title, rows, self.graph.class_names, version=__version__))


def plausible_classes(
    classifier: NewtonNetClassifier, graph: Graph, probabilities: NDArray[np.float64]
) -> NDArray[np.bool_] | None:
    """The prediction sets of all nodes; None for a model without held-out predictions to calibrate them."""
    held: OutOfFold | None = classifier.out_of_fold_
    if held is None:
        return None
    with warnings.catch_warnings():  # the page and the documentation say where sets are doubtful
        warnings.simplefilter("ignore", UserWarning)
        sets = classifier.predict_set(graph, probabilities=probabilities)
    sets[np.arange(len(sets)), classifier.decide(probabilities)] = True
    return sets


def number_intervals(
    regressor: NewtonNetRegressor, graph: Graph, predicted: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """The intervals of all nodes; None for a model without held-out predictions to calibrate them."""
    held: OutOfFold | None = regressor.out_of_fold_
    if held is None:
        return None
    with warnings.catch_warnings():  # the page and the documentation say where intervals are doubtful
        warnings.simplefilter("ignore", UserWarning)
        return regressor.predict_interval(graph, predictions=predicted)


def explain_nodes(
    estimator: GraphEstimator, graph: Graph, nodes: Sequence[int | str], answers: NDArray[np.float64]
) -> list[Explanation]:
    """Why each of some nodes has its class or its number, given the answers for all, ``(n, C)``."""
    if isinstance(estimator, NewtonNetClassifier):
        return estimator.explain(graph, nodes, probabilities=answers)
    assert isinstance(estimator, NewtonNetRegressor)
    return estimator.explain(graph, nodes)


def explain_some(
    classifier: GraphEstimator,
    graph: Graph,
    probabilities: NDArray[np.float64],
    feature_names: Sequence[str],
    *,
    own: int,
    seconds: float,
) -> list[Mapping[str, Any]]:
    """Explanations of the first ``own`` nodes for the page: a few, then as many as the time allows, some at once."""
    began, names = time.monotonic(), feature_names or None
    found: dict[tuple[int, str], Mapping[str, Any]] = {}
    at_once = max(1, AT_ONCE // max(_bytes_of_one(graph), 1))

    def explain(most: int) -> None:
        new = [one for one in nodes_to_explain(graph, probabilities, most, own=own) if one not in found]
        for first in range(0, len(new), at_once):
            some = new[first : first + at_once]
            rows = explain_nodes(classifier, graph, [node for node, _ in some], probabilities)
            for one, row in zip(some, rows, strict=True):
                found[one] = explained_node(row, graph, probabilities, group=one[1], feature_names=names)

    explain(FIRST)
    each = (time.monotonic() - began) / len(found)
    explain(min(MOST, len(found) + int((seconds - len(found) * each) / max(each, 1e-6))))
    return [found[one] for one in sorted(found, key=lambda one: GROUPS.index(one[1]))]


def _bytes_of_one(graph: Graph) -> int:
    """What the explanation of a node takes: a gradient for every feature, and contributions of all nodes."""
    entries = graph.features.nnz if isinstance(graph.features, sp.csr_array) else graph.features.size
    return int(4 * entries + 20 * graph.nodes)


def explained_bytes(graph: Graph) -> int:
    """What the explanations for the page take, beside the networks."""
    one = _bytes_of_one(graph)
    return max(min(AT_ONCE, MOST * one), one)
