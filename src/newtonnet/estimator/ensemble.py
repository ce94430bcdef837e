"""The ensemble: which members are averaged with which weights, one temperature, and out-of-fold predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.graphs import Graph
from newtonnet.metrics import NUMBER_METRICS, Truth

from .families import family_of
from .members import Member, TrainingOptions
from .scoring import Shares, best_temperature, calibration_error, matching_temperature, merit, score, sharpened

ROUNDS = 12
"""Number of times that a setting is added to the average."""
MOST = 10_000
"""Number of validation nodes that are enough to choose weights by."""
FEW, BAGS, LEAST = 2_000, 20, 0.02
"""Up to so many validation nodes, weights are means over so many random halves of the settings; smaller ones than the
last are left out."""
PARTS = 5
"""Parts of the validation nodes for cross-fitting where there are no folds."""


@dataclass(frozen=True, eq=False)
class Ensemble:
    """A weighted average of members, as plain data; the networks are built for the graph to predict."""

    members: Sequence[Member]
    weights: Sequence[float]
    """They sum to 1."""
    class_names: tuple[str, ...]
    """The one name of a number as target."""
    temperature: float
    """Calibrates the averaged probabilities."""
    labels: NDArray[Any] | None = None
    """The labels known at fit, shape ``(n,)``, shown to members that read labels; of numbers NaN where unknown."""
    structure: str | None = None
    """Checksum of the edges of the graph they belong to."""

    def probabilities(self, graph: Graph, options: TrainingOptions) -> NDArray[np.float64]:
        """Calibrated probability of each class for every node, shape ``(n, C)``; of numbers predictions, ``(n, 1)``."""
        return self.calibrated(self.average(graph, options))

    def calibrated(self, average: NDArray[np.float64]) -> NDArray[np.float64]:
        """Averaged probabilities at the temperature; numbers as they are."""
        return average if self.numbers else sharpened(average, self.temperature)

    @property
    def numbers(self) -> bool:
        """Whether it predicts a number, not classes."""
        return len(self.class_names) == 1

    @property
    def unknown(self) -> float:
        """What stands for a label, or a number, that is not shown."""
        return np.nan if self.numbers else -1

    def average(self, graph: Graph, options: TrainingOptions) -> NDArray[np.float64]:
        """Weighted mean of the members' probabilities, shape ``(n, C)``; the labels of the graph are not read."""
        shown = self.shown(graph)
        total = np.zeros((graph.nodes, len(self.class_names)))
        for places in grouped(self.members):
            members = [self.members[i] for i in places]
            rows = family_of(members[0].model).predict(members, shown, options)
            for i, shares in zip(places, rows, strict=True):
                total += self.weights[i] * shares
        return total

    def shown(self, graph: Graph) -> Graph:
        """The graph with the labels that members may read: those known at fit, or none on another graph."""
        same = self.labels is not None and len(self.labels) == graph.nodes and graph.structure == self.structure
        known = np.full(graph.nodes, self.unknown)
        known = self.labels if same and self.labels is not None else known
        if self.numbers:
            return graph.with_targets(known.astype(np.float64), self.class_names[0])
        return graph.relabelled(known.astype(np.int64), self.class_names)


def grouped(members: Sequence[Member]) -> list[list[int]]:
    """The numbers of members that have the same model and options, in the order of their first."""
    groups: dict[str, list[int]] = {}
    for i, member in enumerate(members):
        groups.setdefault(repr((member.model, member.options)), []).append(i)
    return list(groups.values())


def select(held: Mapping[int, Shares], truth: Truth, *, metric: str) -> dict[int, float]:
    """Weights of the settings whose average predicts best.

    Few validation nodes make some settings look better than they are. So the weights are then means over random halves
    of the settings, and an average has more settings and depends less on the best of them.

    Args:
        held: for each setting the probabilities of the same validation nodes, shape ``(v, C)``.
        truth: the nodes' classes, ``(v,)``.
        metric: what averages are compared by.

    References:
        Caruana, Niculescu-Mizil, Crew, Ksikes, Ensemble Selection from Libraries of Models, 2004.
    """
    rng = np.random.default_rng(0)
    if len(truth) > MOST:
        some = rng.choice(len(truth), MOST, replace=False)
        held, truth = {i: shares[some] for i, shares in held.items()}, truth[some]
    if len(truth) > FEW or len(held) < 4:
        return _greedy(held, truth, metric)
    weights = dict.fromkeys(held, 0.0)
    for _ in range(BAGS):
        bag = rng.choice(list(held), (len(held) + 1) // 2, replace=False).tolist()
        for i, weight in _greedy({i: held[i] for i in bag}, truth, metric).items():
            weights[i] += weight / BAGS
    kept = {i: weight for i, weight in weights.items() if weight >= LEAST}
    return {i: weight / sum(kept.values()) for i, weight in kept.items()}


def _greedy(held: Mapping[int, Shares], truth: Truth, metric: str) -> dict[int, float]:
    """Add settings one by one, with repetition, and take the best of the averages on the way.

    Of averages whose scores are equal to a tenth of a point, the one with the best likelihood (of numbers, the best
    score) is taken.
    """
    picked: list[int] = []
    total = np.zeros_like(next(iter(held.values())), dtype=np.float64)
    reached: list[tuple[float, float]] = []
    for _ in range(ROUNDS if len(held) > 1 else 1):
        means = {i: (total + shares) / (len(picked) + 1) for i, shares in held.items()}
        gains = {i: merit(metric, mean, truth) for i, mean in means.items()}
        picked.append(max(gains, key=lambda i: gains[i]))
        reached.append(gains[picked[-1]])
        total = total + held[picked[-1]]
    kept = picked[: reached.index(max(reached)) + 1]
    return {i: kept.count(i) / len(kept) for i in dict.fromkeys(kept)}


def mix(held: Mapping[int, Shares], weights: Mapping[int, float]) -> NDArray[np.float64]:
    """The weighted average of probabilities."""
    return np.asarray(sum(weight * np.asarray(held[i], dtype=np.float64) for i, weight in weights.items()))


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Labelled nodes as predicted by the members that were not trained on them.

    The weights and the temperature for the nodes of a fold are those that the other folds choose, so that a node has no
    part in its own prediction, except that training stopped at the epoch that was best for its fold. Where the caller
    gave validation nodes there is one fold, and they choose everything.

    Attributes:
        nodes: the validation nodes of each fold.
        probabilities: their calibrated probabilities, shape ``(v, C)`` for each fold; of numbers predictions.
        scores: the score of each fold.
        calibration: expected calibration error over all these nodes, before and after calibration; 0 of numbers.
        truth: classes, or numbers, of the nodes of each fold, shape ``(v,)``.
        structure: checksum of the edges of the graph that the nodes belong to.
    """

    nodes: Sequence[NDArray[np.int64]]
    probabilities: Sequence[NDArray[np.float64]]
    scores: Sequence[float]
    calibration: tuple[float, float]
    truth: Sequence[NDArray[Any]]
    structure: str = ""

    @property
    def whole(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[Any]]:
        """Nodes, probabilities and classes of all folds, one after another."""
        nodes, shares, truth = (np.concatenate(list(part)) for part in (self.nodes, self.probabilities, self.truth))
        return nodes, shares, truth


@dataclass(frozen=True, eq=False)
class HeldOutFold:
    """The members of an ensemble that were not trained on some nodes.

    Attributes:
        members: they are not bound to their training graph here, so that its edges can be changed.
        weights: they sum to 1.
        nodes: the nodes.
        truth: their classes, or numbers.
        shown: labels that members may read, ``(n,)``: the known ones, without those of the nodes (-1, or NaN).
    """

    members: Sequence[Member]
    weights: Sequence[float]
    nodes: NDArray[np.int64]
    truth: NDArray[Any]
    shown: NDArray[Any]

    def probabilities(
        self, graph: Graph, class_names: tuple[str, ...], options: TrainingOptions
    ) -> NDArray[np.float64]:
        """Of all nodes by these members, ``(n, C)``, not calibrated; the labels of the graph are not read."""
        alone = Ensemble(self.members, self.weights, class_names, 1.0, self.shown, graph.structure)
        return alone.average(graph, options)


def held_out_folds(ensemble: Ensemble, held: OutOfFold, nodes: int) -> list[HeldOutFold]:
    """The members by the nodes that they were not trained on, in the order of the out-of-fold predictions.

    Args:
        ensemble: whose members are divided.
        held: the nodes of each fold.
        nodes: number of nodes n of the training graph.
    """
    numbers = [int(member.record.split["index"]) for member in ensemble.members]
    found = sorted(set(numbers))
    if len(found) != len(held.nodes):
        raise ValueError(f"expected members of {len(held.nodes)} folds, got {len(found)}; fit the model again")
    known = np.full(nodes, ensemble.unknown) if ensemble.labels is None else ensemble.labels
    if len(known) != nodes:
        raise ValueError(f"expected labels of {nodes} nodes in the model, got {len(known)}; fit the model again")
    folds = []
    for number, inside, truth in zip(found, held.nodes, held.truth, strict=True):
        places = [i for i, one in enumerate(numbers) if one == number]
        whole = sum(ensemble.weights[i] for i in places)
        members = [_unbound(ensemble.members[i]) for i in places]
        shown = known.copy()
        shown[inside] = ensemble.unknown
        folds.append(HeldOutFold(members, [ensemble.weights[i] / whole for i in places], inside, truth, shown))
    return folds


def _unbound(member: Member) -> Member:
    state = {name: value for name, value in member.state.items() if name != "structure"}
    return replace(member, bound=None, state=state)


def cross_fit(
    held: Mapping[int, Shares], nodes: Sequence[NDArray[np.int64]], labels: Truth, *, metric: str
) -> OutOfFold:
    """Predict each fold with the weights and the temperature that the other folds choose.

    Args:
        held: for each setting the probabilities of the validation nodes, fold after fold, shape ``(v, C)``.
        nodes: the validation nodes of each fold; of a single fold, only the calibration error is cross-fitted.
        labels: classes, or numbers, of all nodes, shape ``(n,)``; numbers have no temperature.
        metric: what the weights are chosen by.
    """
    every = np.concatenate(list(nodes))
    truth = labels[every]
    place = np.repeat(np.arange(len(nodes)), [len(fold) for fold in nodes])
    single, numbers = len(nodes) == 1, metric in NUMBER_METRICS
    if single:
        place = np.random.default_rng(0).permutation(len(truth)) % PARTS
        kept = select(held, truth, metric=metric)
    before, after = np.zeros((2, *next(iter(held.values())).shape))
    for part in np.unique(place):
        inside, outside = place == part, place != part
        if not outside.any() or len(np.unique(truth[outside])) < 2:
            outside = np.ones_like(inside)
        others = {i: shares[outside] for i, shares in held.items()}
        weights = kept if single else select(others, truth[outside], metric=metric)
        before[inside] = mix({i: held[i][inside] for i in weights}, weights)
        if numbers:
            continue
        temperature = best_temperature(mix(others, weights), truth[outside])
        after[inside] = sharpened(before[inside], temperature)
    calibration = (0.0, 0.0)
    if numbers:
        after = before
    else:
        calibration = (calibration_error(before, truth), calibration_error(after, truth))
    if single and not numbers:  # probabilities of parts with temperatures of their own cannot be compared
        after = sharpened(before, best_temperature(before, truth))
    rows = np.split(after, np.cumsum([len(fold) for fold in nodes])[:-1])
    scores = [score(metric, shares, labels[fold]) for shares, fold in zip(rows, nodes, strict=True)]
    return OutOfFold(nodes, rows, scores, calibration, [labels[fold] for fold in nodes])


def final_temperature(alone: float, singles: Sequence[Shares], average: Shares) -> float:
    """The temperature of the final average.

    A held-out node is predicted by the members of one fold, any other node by the average over all folds, which is
    less confident; with the temperature of the first, its confidence would be below its accuracy. So the average gets
    the temperature at which it is as confident, on nodes without a label, as the calibrated members of single folds.

    Args:
        alone: the temperature of the members of single folds.
        singles: for each fold, the probabilities of its members on a sample of unlabelled nodes, shape ``(u, C)``.
        average: the final average's on the same nodes.
    """
    if alone == 1.0 or not len(average):
        return alone
    confidence = float(np.mean([sharpened(shares, alone).max(axis=1).mean() for shares in singles]))
    return matching_temperature(average, confidence)
