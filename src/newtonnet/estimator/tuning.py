"""Which settings to keep: all are tried on some folds, the best on all of them, and the best few are averaged."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.metrics import roc_auc_score

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.training import Progress

from .candidates import Candidate
from .members import Loop, Member, shapes, train

FINALISTS = 6
"""Settings that are trained on all folds."""
ROUNDS = 8
"""Times that a setting is added to the average, at most."""
SCAN = 0.6
"""Share of the time that trying all settings may take."""
ENOUGH = 50
"""Held-back labels from which on a temperature can be told."""
SMALL = 400
"""Labelled nodes below which one fold is too few to tell settings apart."""

Tell = Callable[[str, float, float], None]
"""Told what is being done, the share of it that is done, and the best validation score so far (that of a population
which still trains is its members' mean)."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """What was kept.

    Attributes:
        candidate: a model and its setting.
        members: it, trained on each fold.
        weight: its share of the average.
    """

    candidate: Candidate
    members: Sequence[Member]
    weight: float


@dataclass(frozen=True, eq=False)
class Tuned:
    """What tuning ended with: the settings that were kept, the best one first, and how it got there."""

    chosen: Sequence[Chosen]
    tried: int
    validation: float
    """Score of their average on the labelled nodes, each judged by members that had not seen its label."""
    temperature: float
    """What makes their average's probabilities honest; see :func:`sharpened`."""
    complete: bool
    """Whether there was time for everything."""


class Clock:
    """Time that is left, and whether somebody asked to stop."""

    def __init__(self, seconds: float | None, asked: Callable[[], bool] | None) -> None:
        self.end = np.inf if seconds is None else time.monotonic() + seconds
        self.asked = asked or (lambda: False)

    def over(self) -> bool:
        """Whether to stop now."""
        return time.monotonic() >= self.end or self.asked()

    def part(self, share: float) -> "Clock":
        """A clock for a share of the time that is left."""
        left = self.end - time.monotonic()
        return Clock(None if np.isinf(left) else max(left, 0.0) * share, self.asked)


def tune(
    graph: Graph,
    tried: Sequence[Candidate],
    folds: Sequence[Split],
    loop: Loop,
    *,
    clock: Clock,
    tell: Tell | None = None,
) -> Tuned:
    """Try the settings and keep the best average of a few, within the time there is.

    Args:
        graph: the graph with its labels.
        tried: what to try, the most useful first: where time runs out the last ones are left.
        folds: inner splits; every labelled node validates one of them at most.
        loop: how to train.
        clock: when to stop.
        tell: hears how far it is.
    """
    tell = tell or (lambda what, share, best: None)
    work = _Work(graph, tried, folds, loop, tell)
    first = len(folds) if len(tried) == 1 else min(len(folds), 3 if len(graph.labelled) <= SMALL else 1)
    places = range(len(tried))
    complete = work.run(places, range(first), clock.part(SCAN if first < len(folds) else 1.0), "trying settings")
    begun = work.begun()
    ranked = sorted(begun, key=lambda place: -work.score(place, range(first)))[:FINALISTS]
    complete &= work.run(ranked, range(first, len(folds)), clock, "training the best ones")
    whole = [place for place in ranked if work.count(place) == len(folds)] or ranked[:1]
    weights, held, truth = average(work, whole, graph)
    chosen = [
        Chosen(tried[place], list(work.members[place].values()), weight)
        for place, weight in sorted(weights.items(), key=lambda item: -item[1])
    ]
    validation = judge(tried[0].setting.config.metric, held, truth)[0]
    return Tuned(chosen, len(begun), validation, best_temperature(held, truth), complete)


class _Work:
    """Members by candidate and fold, as far as there was time for them."""

    def __init__(
        self, graph: Graph, tried: Sequence[Candidate], folds: Sequence[Split], loop: Loop, tell: Tell
    ) -> None:
        self.graph, self.candidates, self.folds, self.loop, self.tell = graph, tried, folds, loop, tell
        self.members: list[dict[int, Member]] = [{} for _ in tried]

    def run(self, places: Sequence[int], folds: Sequence[int], clock: Clock, what: str) -> bool:
        """Train these settings on these folds, shape by shape; whether all of them came to their end."""
        groups = [[places[i] for i in group] for group in shapes([self.candidates[place] for place in places])]
        complete = True
        for done, group in enumerate(groups if folds else []):
            if clock.over() and self.begun():
                return False
            own = clock.part(1 / (len(groups) - done))

            def show(state: Progress, done: int = done) -> None:
                inside = state.epoch / state.max_epochs
                mean = 0.0 if np.isnan(state.validation) else state.validation
                self.tell(what, (done + inside) / len(groups), max(self.best(), mean))

            trained = train(
                self.graph,
                [self.candidates[place] for place in group],
                [self.folds[fold] for fold in folds],
                self.loop,
                stop=own.over,
                progress=show,
            )
            for place, row in zip(group, trained, strict=True):
                self.members[place] |= {
                    fold: member for fold, member in zip(folds, row, strict=True) if member.validation >= 0
                }
            complete &= not own.over()
        return complete

    def begun(self) -> list[int]:
        """Candidates that have a member."""
        return [place for place, own in enumerate(self.members) if own]

    def count(self, place: int) -> int:
        """Folds on which a setting was trained."""
        return len(self.members[place])

    def score(self, place: int, folds: Sequence[int]) -> float:
        """Mean validation score of a setting over these folds; a fold on which it failed counts as 0."""
        own = self.members[place]
        return sum(own[fold].validation for fold in folds if fold in own) / len(folds)

    def best(self) -> float:
        """The best score of any member so far."""
        return max((member.validation for own in self.members for member in own.values()), default=0.0)


def average(
    work: _Work, places: Sequence[int], graph: Graph
) -> tuple[dict[int, float], NDArray[np.float64], NDArray[np.int64]]:
    """Weights of the settings whose average predicts the labels held back best, its probabilities there, the labels.

    One setting after another is added, with repetition, as long as the average gains (Caruana et al., Ensemble
    Selection from Libraries of Models, 2004): by score, and by log-likelihood where scores are equal.
    """
    if not places:
        raise ValueError("every setting failed: its loss was not a number; scale the features, or lower learning_rate")
    metric = work.candidates[0].setting.config.metric
    common = sorted(set.intersection(*(set(work.members[place]) for place in places)))
    truth = graph.labels[np.concatenate([work.folds[fold].validation for fold in common])]
    held = {place: np.concatenate([work.members[place][fold].held for fold in common]) for place in places}
    picked: list[int] = []
    total = np.zeros_like(held[places[0]])
    reached = (-1.0, -np.inf)
    for _ in range(ROUNDS):
        gains = {place: judge(metric, (total + held[place]) / (len(picked) + 1), truth) for place in places}
        place = max(places, key=lambda candidate: gains[candidate])
        if gains[place] <= reached:
            break
        picked.append(place)
        total, reached = total + held[place], gains[place]
    weights = {place: picked.count(place) / len(picked) for place in dict.fromkeys(picked)}
    return weights, total / len(picked), truth


def best_temperature(shares: NDArray[np.floating[Any]], truth: NDArray[np.int64]) -> float:
    """The temperature at which held-back labels are most likely; 1 where there are too few to tell.

    Members that overfit are too sure of themselves, averages of many are not sure enough; one number mends most of it.

    References:
        Guo, Pleiss, Sun, Weinberger, On Calibration of Modern Neural Networks, 2017, Section 4.2.
    """
    if len(truth) < ENOUGH:
        return 1.0

    def surprise(logarithm: float) -> float:
        return -judge("accuracy", sharpened(shares, float(np.exp(logarithm))), truth)[1]

    return float(np.exp(minimize_scalar(surprise, bounds=(-2.0, 2.0), method="bounded").x))


def sharpened(shares: NDArray[np.floating[Any]], temperature: float) -> NDArray[np.float64]:
    """Probabilities to the power 1/T, made to sum to 1 again: the order of the classes stays.

    >>> sharpened(np.array([[0.6, 0.4]]), 0.5).round(3)
    array([[0.692, 0.308]])
    """
    logarithms = np.log(np.maximum(np.asarray(shares, dtype=np.float64), 1e-12)) / temperature
    powers = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def judge(metric: str, shares: NDArray[np.floating[Any]], truth: NDArray[np.int64]) -> tuple[float, float]:
    """Score and mean log-likelihood of probabilities ``(v, C)`` for these classes."""
    likelihood = float(np.log(np.maximum(shares[np.arange(len(truth)), truth], 1e-7)).mean())
    if metric == "roc_auc" and len(np.unique(truth)) == 2:
        return float(roc_auc_score(truth, shares[:, 1])), likelihood
    return float((shares.argmax(axis=1) == truth).mean()), likelihood
