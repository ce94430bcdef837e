"""Which settings to keep: all are tried on some folds, the best on all of them, and the best few are averaged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.training import Progress

from .averaging import average
from .candidates import Candidate
from .clock import Clock
from .members import Loop, Member, shapes, train
from .scoring import best_temperature, score

FINALISTS = 6
"""Settings that are trained on all folds."""
SCAN = 0.6
"""Share of the time that trying all settings may take."""
SMALL = 400
"""Labelled nodes below which one fold is too few to tell settings apart."""

Tell = Callable[[str, float, float], None]
"""Told what is being done, the share of it that is done, and the best setting's mean validation score so far."""

Trained = dict[int, dict[int, Member]]
"""Members by setting and fold, as far as there was time for them."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """A setting and its part in the average.

    Attributes:
        candidate: a model and its setting.
        members: it, trained on each fold.
        weight: its share of the average; 0 for one that is shown but not part of it.
    """

    candidate: Candidate
    members: Sequence[Member]
    weight: float

    @property
    def spectral(self) -> bool:
        """Whether it has a filter to look at."""
        return bool(self.members[0].record.outcome.response)


@dataclass(frozen=True, eq=False)
class Tuned:
    """What tuning ended with.

    Attributes:
        chosen: the settings that are averaged, the heaviest first.
        shown: the heaviest of them that has a filter, or else the best one that was tried and has a filter.
        tried: how many settings were tried.
        validation: score of the average on the labels held back.
        temperature: what makes its probabilities honest.
        complete: whether there was time for everything.
    """

    chosen: Sequence[Chosen]
    shown: Chosen
    tried: int
    validation: float
    temperature: float
    complete: bool


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
    trained: Trained = {}
    first = len(folds) if len(tried) == 1 else min(len(folds), 3 if len(graph.labelled) <= SMALL else 1)
    scan = clock.part(SCAN) if first < len(folds) else clock
    step = _Step(graph, tried, folds, loop, tell or (lambda what, share, best: None))
    complete = step.run(trained, range(len(tried)), range(first), scan, "trying settings")
    ranked = sorted(trained, key=lambda place: -mean_score(trained[place], range(first)))
    if not ranked:
        raise ValueError("every setting failed: its loss was not a number; scale the features, or lower learning_rate")
    finalists = ranked[:FINALISTS]
    complete &= step.run(trained, finalists, range(first, len(folds)), clock, "training the best ones")
    whole = [place for place in finalists if len(trained[place]) == len(folds)] or finalists[:1]

    common = sorted(set.intersection(*(set(trained[place]) for place in whole)))
    truth = graph.labels[np.concatenate([folds[fold].validation for fold in common])]
    held = {place: np.concatenate([trained[place][fold].held for fold in common]) for place in whole}
    metric = tried[0].setting.config.metric
    weights, shares = average(held, truth, metric=metric)
    parts = [Chosen(tried[place], list(trained[place].values()), weights.get(place, 0.0)) for place in ranked]
    chosen = sorted((part for part in parts if part.weight), key=lambda part: -part.weight)
    shown = next((part for part in (*chosen, *parts) if part.spectral), chosen[0])
    return Tuned(chosen, shown, len(trained), score(metric, shares, truth), best_temperature(shares, truth), complete)


def mean_score(members: dict[int, Member], folds: Sequence[int]) -> float:
    """Mean validation score of a setting over these folds; one on which it failed counts as 0."""
    return sum(members[fold].validation for fold in folds if fold in members) / len(folds)


@dataclass(frozen=True, eq=False)
class _Step:
    """What every step of tuning works with."""

    graph: Graph
    tried: Sequence[Candidate]
    folds: Sequence[Split]
    loop: Loop
    tell: Tell

    def run(self, trained: Trained, places: Sequence[int], folds: Sequence[int], clock: Clock, what: str) -> bool:
        """Train these settings on these folds, shape by shape; whether all of them came to their end."""
        groups = [[places[i] for i in group] for group in shapes([self.tried[place] for place in places])]
        done, total = 0, len(places)
        complete = True
        for group in groups if folds else []:
            if clock.over() and trained:
                return False
            own = clock.part(len(group) / (total - done))
            rows = train(
                self.graph,
                [self.tried[place] for place in group],
                [self.folds[fold] for fold in folds],
                self.loop,
                stop=own.over,
                progress=self._show(trained, what, done / total, len(group) / total),
            )
            for place, row in zip(group, rows, strict=True):
                fine = {fold: member for fold, member in zip(folds, row, strict=True) if member.sound}
                if fine:
                    trained[place] = {**trained.get(place, {}), **fine}
            complete &= not own.over()
            done += len(group)
        return complete

    def _show(self, trained: Trained, what: str, before: float, share: float) -> Callable[[Progress], None]:
        best = max((mean_score(members, list(members)) for members in trained.values()), default=0.0)

        def show(state: Progress) -> None:
            running = 0.0 if np.isnan(state.validation) or trained else state.validation
            self.tell(what, before + share * state.epoch / state.max_epochs, max(best, running))

        return show
