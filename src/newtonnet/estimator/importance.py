"""What a fitted model relies on: how much worse held-out nodes are predicted without a feature, or without edges."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from newtonnet.bank import is_shown
from newtonnet.graphs import Features, Graph

from .ensemble import Ensemble, HeldOutFold, OutOfFold, held_out_folds
from .explaining import explain_ensemble
from .members import TrainingOptions
from .scoring import Shares, influence, score

MOST_TESTED = 40
"""Features or columns that are shuffled; of more, those that contribute most to explanations of some nodes."""
SCREENED, SCREENING = 16, 0.25
"""Nodes that are explained to choose them, and the share of the time for it."""
REACH = 1.959964
"""Standard errors to each side of a 95% interval."""

ALL_FEATURES, NO_EDGES, OTHER_EDGES, NO_LABELS, NO_NUMBERS = (
    "all features shuffled",
    "without edges",
    "edges shuffled",
    "known labels hidden",
    "known numbers hidden",
)


@dataclass(frozen=True)
class Effect:
    """How much worse held-out nodes are predicted after one change of the graph.

    Attributes:
        name: the column or feature whose values were shuffled among the nodes, or what was changed.
        kind: ``feature``, or ``structure`` for changes of edges, labels or all features.
        drop: score of the unchanged graph less that of the changed one, mean over the repeats.
        interval: its 95% interval, over nodes and repeats.
        features: number of features that were shuffled together.
        repeats: number of random changes.
    """

    name: str
    kind: Literal["feature", "structure"]
    drop: float
    interval: tuple[float, float]
    features: int
    repeats: int


@dataclass(frozen=True)
class Importance:
    """What a model relies on, measured on nodes that the predicting members were not trained on.

    Attributes:
        metric: of the scores.
        score: on the unchanged graph, mean over the folds.
        nodes: number of held-out nodes.
        effects: of features, the largest drop first, then those of structure.
        untested: number of features or columns that were not shuffled.
    """

    metric: str
    score: float
    nodes: int
    effects: tuple[Effect, ...]
    untested: int

    def of(self, kind: Literal["feature", "structure"]) -> list[Effect]:
        """The effects of one kind."""
        return [effect for effect in self.effects if effect.kind == kind]


def measure_importance(
    ensemble: Ensemble,
    held: OutOfFold,
    graph: Graph,
    options: TrainingOptions,
    *,
    metric: str,
    groups: Mapping[str, Sequence[int]],
    repeats: int,
    time_limit: float | None,
    seed: int = 0,
) -> Importance:
    """Change the graph in one respect after another and predict the held-out nodes again; nothing is trained.

    Shuffling a feature moves its values among all nodes, so that neither a node's own value nor its neighbours' say
    anything. Features that say the same replace each other: each of them may have a small effect. Shuffled edges keep
    all degrees; a graph without edges is unlike what the members were trained on, and may lose more than edges add.

    Args:
        ensemble: of members in memory.
        held: the nodes that were held out from its members.
        graph: that of the fit, with features as the members read them.
        options: how to predict.
        metric: of the scores.
        groups: features that are shuffled together, by name.
        repeats: number of shuffles of each.
        time_limit: seconds after which no further shuffle begins, except that of everything once; None: no limit.
        seed: of the shuffles.

    References:
        Breiman, Random Forests, 2001, Section 10; Fisher, Rudin, Dominici, All Models are Wrong, but Many are Useful,
        2019, for groups of features.
    """
    end = np.inf if time_limit is None else time.monotonic() + time_limit
    folds = held_out_folds(ensemble, held, graph.nodes)
    before = _held_out(folds, graph, ensemble.class_names, options)
    measure = _Measure(folds, before, ensemble.class_names, options, metric)
    labelled = any(is_shown(fold.shown).any() for fold in folds)
    every = list(range(graph.features.shape[1]))
    changes: dict[str, Callable[[np.random.Generator], Graph]] = {
        ALL_FEATURES: lambda rng: _shuffled(graph, every, rng),
        NO_EDGES: lambda _: replace(graph, adjacency=sp.csr_array(graph.adjacency.shape, dtype=np.float32), rows=None),
        OTHER_EDGES: lambda rng: _rewired(graph, rng),
    }
    if not graph.edges:
        changes = {ALL_FEATURES: changes[ALL_FEATURES]}
    structure = [
        measure.effect(name, "structure", change, len(every) if name == ALL_FEATURES else 0, 1, [seed, place])
        for place, (name, change) in enumerate(changes.items())
    ]
    if labelled:
        hidden = [replace(fold, shown=np.full_like(fold.shown, ensemble.unknown)) for fold in folds]
        name = NO_NUMBERS if ensemble.numbers else NO_LABELS
        structure.append(replace(measure, folds=hidden).effect(name, "structure", lambda _: graph, 0, 1, [seed]))
    chosen = list(groups) if len(groups) > 1 else []
    if len(chosen) > MOST_TESTED:
        spare = None if time_limit is None else SCREENING * time_limit
        chosen = _screened(ensemble, held, graph, groups, spare)[:MOST_TESTED]
    shuffles: dict[str, list[_Shuffle]] = {name: [] for name in chosen}
    for number in count():
        if number == repeats or (time.monotonic() >= end and number):
            break
        for place, name in enumerate(chosen):
            if time.monotonic() >= end:
                break
            rng = np.random.default_rng([seed, len(changes) + place, number])
            shuffles[name].append(measure.after(_shuffled(graph, groups[name], rng)))
    tested = {name: rows for name, rows in shuffles.items() if rows}
    features = [measure.summary(name, "feature", rows, len(groups[name])) for name, rows in tested.items()]
    features.sort(key=lambda effect: -effect.drop)
    nodes = sum(len(fold.nodes) for fold in folds)
    untested = len(groups) - len(tested) if len(groups) > 1 else 0
    return Importance(metric, measure.score, nodes, (*features, *structure), untested)


_Shuffle = tuple[float, list[NDArray[np.float64]]]
"""A score, and how much every node moves it, fold by fold."""


@dataclass(frozen=True, eq=False)
class _Measure:
    """Scores held-out nodes on changed graphs, and compares with the unchanged one."""

    folds: Sequence[HeldOutFold]
    before: Sequence[Shares]
    class_names: tuple[str, ...]
    options: TrainingOptions
    metric: str

    @property
    def score(self) -> float:
        return self._scored(self.before)[0]

    def after(self, graph: Graph) -> _Shuffle:
        return self._scored(_held_out(self.folds, graph, self.class_names, self.options))

    def effect(
        self,
        name: str,
        kind: Literal["feature", "structure"],
        change: Callable[[np.random.Generator], Graph],
        features: int,
        repeats: int,
        seed: Sequence[int],
    ) -> Effect:
        rows = [self.after(change(np.random.default_rng([*seed, number]))) for number in range(repeats)]
        return self.summary(name, kind, rows, features)

    def summary(
        self, name: str, kind: Literal["feature", "structure"], rows: Sequence[_Shuffle], features: int
    ) -> Effect:
        """The mean drop; its variance is that over nodes, and that of the mean over repeats."""
        reached, moves = self._scored(self.before)
        drop = reached - float(np.mean([row[0] for row in rows]))
        variance = 0.0
        for place, own in enumerate(moves):
            rest = own - np.mean([row[1][place] for row in rows], axis=0)
            variance += float((rest**2).sum()) / len(own) ** 2 / len(moves) ** 2
        if len(rows) > 1:
            variance += float(np.var([row[0] for row in rows], ddof=1)) / len(rows)
        reach = REACH * variance**0.5
        return Effect(name, kind, drop, (drop - reach, drop + reach), features, len(rows))

    def _scored(self, shares: Sequence[Shares]) -> _Shuffle:
        pairs = [(part, fold.truth) for part, fold in zip(shares, self.folds, strict=True)]
        reached = float(np.mean([score(self.metric, part, truth) for part, truth in pairs]))
        return reached, [influence(self.metric, part, truth) for part, truth in pairs]


def _held_out(
    folds: Sequence[HeldOutFold], graph: Graph, class_names: tuple[str, ...], options: TrainingOptions
) -> list[Shares]:
    """Probabilities of every fold's nodes, by its own members, ``(v, C)`` each."""
    return [fold.probabilities(graph, class_names, options)[fold.nodes] for fold in folds]


def _shuffled(graph: Graph, columns: Sequence[int], rng: np.random.Generator) -> Graph:
    """The graph with the rows of some columns in another order, the same for all of them."""
    order = rng.permutation(graph.nodes)
    features: Features
    if isinstance(graph.features, sp.csr_array):
        inside = np.zeros(graph.features.shape[1], dtype=np.float32)
        inside[list(columns)] = 1
        moved, rest = (graph.features @ sp.diags_array(part) for part in (inside, 1 - inside))
        features = sp.csr_array(moved.tocsr()[order] + rest, dtype=np.float32)
        features.eliminate_zeros()
        features.sort_indices()
    else:
        features = graph.features.copy()
        features[:, columns] = features[order][:, columns]
    return replace(graph, features=features, trusted=True)


def _rewired(graph: Graph, rng: np.random.Generator) -> Graph:
    """The graph with its nodes in each other's places: edges and degrees are the same, who has them is random."""
    order = rng.permutation(graph.nodes)
    adjacency = sp.csr_array(graph.adjacency[order][:, order])
    adjacency.sort_indices()
    return replace(graph, adjacency=adjacency, rows=None, trusted=True)


def _screened(
    ensemble: Ensemble, held: OutOfFold, graph: Graph, groups: Mapping[str, Sequence[int]], seconds: float | None
) -> list[str]:
    """The groups by what they contribute to explanations of some held-out nodes, the most first."""
    nodes, shares, _ = held.whole
    some = np.random.default_rng(0).permutation(len(nodes))[:SCREENED]
    began, total = time.monotonic(), np.zeros(graph.features.shape[1])
    for i in some.tolist():
        first, *second = np.argsort(-shares[i], kind="stable")[:2].tolist()  # a number has no second
        (one,) = explain_ensemble(ensemble, graph, [int(nodes[i])], [(first, second[0] if second else None)])
        total += np.abs(one.features[: len(total)])
        if seconds is not None and time.monotonic() - began > seconds:
            break
    strength = {name: float(total[list(columns)].sum()) for name, columns in groups.items()}
    return sorted(groups, key=lambda name: -strength[name])


def describe_importance(importance: Importance) -> dict[str, Any]:
    """Plain data, as ``newtonnet explain --json`` prints it."""
    rows = [
        {
            "name": effect.name,
            "kind": effect.kind,
            "drop": effect.drop,
            "interval": list(effect.interval),
            "features": effect.features,
            "repeats": effect.repeats,
        }
        for effect in importance.effects
    ]
    return {
        "metric": importance.metric,
        "score": importance.score,
        "nodes": importance.nodes,
        "effects": rows,
        "untested": importance.untested,
    }
