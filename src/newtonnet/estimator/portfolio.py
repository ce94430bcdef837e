"""The portfolio: settings that suit many graphs, trained within the time limit, the best few of them averaged."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.nn import find_model
from newtonnet.training import Config, Progress, Setting, override

from .members import Candidate, Ensemble, Member, Trainer, group_by_shape
from .scoring import Shares, best_temperature, likelihood, score

MOST = 24
"""Number of settings tried for a model other than NewtonNet."""
FLAT = 1e-9
"""A learning rate at which the filter keeps its start g = 1, so that the model is an MLP."""
FINALISTS = 6
"""Number of settings that are trained on all folds."""
SCAN = 0.6
"""Share of the time in which all settings are tried."""
SMALL = 400
"""Number of labelled nodes below which settings are compared on more than one fold."""
ROUNDS = 8
"""Maximum number of times that a setting is added to the average."""

Changes = dict[str, Any]
TrainedMembers = dict[int, dict[int, Member]]
"""Members by candidate and fold, as far as time allowed."""

ProgressCallback = Callable[[str, float, float], None]
"""Called with the current step, its completed share, and the best setting's mean validation score so far."""


@dataclass(frozen=True)
class Deadline:
    """When to stop.

    Attributes:
        end: a time of the monotonic clock, infinite without a limit.
        asked: whether to stop before that.
    """

    end: float
    asked: Callable[[], bool]

    def over(self) -> bool:
        """Whether to stop now."""
        return time.monotonic() >= self.end or self.asked()

    def part(self, share: float) -> "Deadline":
        """A deadline after a share of the remaining time."""
        now = time.monotonic()
        return Deadline(now + max(self.end - now, 0.0) * share if math.isfinite(self.end) else self.end, self.asked)


def deadline_in(seconds: float | None, asked: Callable[[], bool] | None = None) -> Deadline:
    """A deadline so many seconds from now; None: no limit."""
    return Deadline(math.inf if seconds is None else time.monotonic() + seconds, asked or (lambda: False))


@dataclass(frozen=True, eq=False)
class PortfolioEntry:
    """A candidate and its part in the average.

    Attributes:
        candidate: a model and its setting.
        members: the candidate trained on each fold.
        weight: its share of the average; 0 for one that is shown but not part of it.
    """

    candidate: Candidate
    members: Sequence[Member]
    weight: float

    @property
    def spectral(self) -> bool:
        """Whether it has a filter."""
        return bool(self.members[0].record.outcome.response)


@dataclass(frozen=True, eq=False)
class Portfolio:
    """The result of tuning.

    Attributes:
        chosen: the settings that are averaged, by descending weight.
        shown: the heaviest of them with a filter, else the best setting tried that has a filter.
        tried: number of settings tried.
        validation: score of the average on the validation nodes.
        temperature: calibrates its probabilities.
        complete: whether there was time for everything.
    """

    chosen: Sequence[PortfolioEntry]
    shown: PortfolioEntry
    tried: int
    validation: float
    temperature: float
    complete: bool

    def ensemble(self, class_names: tuple[str, ...]) -> Ensemble:
        """The members of the chosen settings; the folds of a setting share its weight equally."""
        members = [member for entry in self.chosen for member in entry.members]
        weights = [entry.weight / len(entry.members) for entry in self.chosen for _ in entry.members]
        return Ensemble(members, weights, class_names, self.temperature)


def candidates(model: str, fixed: Mapping[str, Any], *, transductive: bool) -> list[Candidate]:
    """The settings to try for a model, without duplicates, the most useful first.

    For NewtonNet they cover its family: the filter alone, with an adjacency branch, and as a layer of a residual stack.

    Args:
        model: name in the zoo.
        fixed: options and training fields chosen by the user; they hold in every setting.
        transductive: also try NewtonNet with an adjacency branch, which ties it to the training graph.
    """
    listed = [(model, changes) for changes in (_newtonnet(transductive) if model == "newtonnet" else _drawn(model))]
    if model == "newtonnet" and not set(fixed) - _stack_names():
        listed += [("newton-stack", changes) for changes in _stacks()]
    tried = [Candidate(name, override(default_setting(name), {**changes, **fixed})) for name, changes in listed]
    return list({repr(candidate): candidate for candidate in tried}.values())


def default_setting(model: str) -> Setting:
    """The model's defaults."""
    entry = find_model(model)
    return Setting("default", entry.options, Config(**entry.training))


def _stack_names() -> set[str]:
    """Options and training fields that apply to a stack, which has no single filter to regularise."""
    kinds = (find_model("newton-stack").options, Config)
    shaping = {"gammas", "ceiling", "variant", "penalty", "pivot", "homophily_interval"}
    return {field.name for kind in kinds for field in fields(kind)} - shaping


def _newtonnet(transductive: bool) -> list[Changes]:
    """Filters with and without the penalty, strong and weak decay and dropout, an MLP, and the adjacency branch."""
    steady: Changes = {"filter_weight_decay": 0.0}
    free, shaped = {"gammas": (0.0, 0.0, 0.0)}, {"gammas": (1.0, 1.0, 1.0)}
    both = (free, shaped)
    flat = {**free, "filter_learning_rate": FLAT}
    wide = {**steady, "points": "chebyshev", "degree": 10, "propagation_dropout": 0.0}
    bare = {**steady, "dropout": 0.0, "propagation_dropout": 0.0}
    branch = {**steady, **free, "branch": 64, "branch_learning_rate": 0.003}
    settings = [
        {**steady, **gammas, "learning_rate": rate, "weight_decay": decay}
        for rate, decay, gammas in product((0.01, 0.05), (5e-4, 5e-3), both)
    ]
    settings += [{**steady, **flat, "weight_decay": decay} for decay in (5e-4, 5e-3)]
    settings += [{**wide, **gammas, "weight_decay": decay} for gammas, decay in product(both, (5e-4, 5e-3))]
    settings += [{**bare, **gammas, "learning_rate": rate} for gammas, rate in product(both, (0.01, 0.05))]
    if transductive:
        settings += [{**branch, "weight_decay": decay} for decay in (5e-4, 5e-3)]
        settings += [{**branch, **flat}, {**branch, "per_channel": True}]
    return settings


def _stacks() -> list[Changes]:
    """Deep stacks, for graphs whose structure is more informative than their features."""
    deep: Changes = {"hidden": 64, "degree": 2, "residual": True, "norm": "layer", "dropout": 0.2, "weight_decay": 0.0}
    return [{**deep, "layers": layers, "learning_rate": 0.005} for layers in (3, 6)]


def _drawn(model: str) -> list[Changes]:
    """The defaults, then random settings from the model's search space."""
    space = find_model(model).space
    rng = np.random.default_rng(0)
    drawn = [{name: values[rng.integers(len(values))] for name, values in space.items()} for _ in range(MOST - 1)]
    return [{}, *drawn]


def tune(
    graph: Graph,
    tried: Sequence[Candidate],
    folds: Sequence[Split],
    train: Trainer,
    *,
    deadline: Deadline,
    progress: ProgressCallback | None = None,
) -> Portfolio:
    """Try all settings on some folds, train the best on all folds, and average the best few, before the deadline.

    Args:
        graph: the graph with its labels.
        tried: settings to try, the most useful first: if time runs out the last ones are not tried.
        folds: inner splits; every labelled node is a validation node of at most one of them.
        train: trains settings of one shape.
        deadline: when to stop.
        progress: called while training.

    Returns:
        The settings to average, and what they reached.
    """
    trained: TrainedMembers = {}
    first = len(folds) if len(tried) == 1 else min(len(folds), 3 if len(graph.labelled) <= SMALL else 1)
    scan = deadline.part(SCAN) if first < len(folds) else deadline
    step = _Step(graph, tried, folds, train, progress or (lambda what, share, best: None))
    what = "trying settings" if len(tried) > 1 else "training"
    complete = step.run(trained, range(len(tried)), range(first), scan, what)
    ranked = sorted(trained, key=lambda i: -mean_score(trained[i], range(first)))
    if not ranked:
        raise ValueError("every setting failed: its loss was not finite; scale the features, or lower learning_rate")
    finalists = ranked[:FINALISTS]
    complete &= step.run(trained, finalists, range(first, len(folds)), deadline, "training the best settings")
    whole = [i for i in finalists if len(trained[i]) == len(folds)] or finalists[:1]

    common = sorted(set.intersection(*(set(trained[i]) for i in whole)))
    truth = graph.labels[np.concatenate([folds[fold].validation for fold in common])]
    held = {i: np.concatenate([trained[i][fold].held for fold in common]) for i in whole}
    metric = tried[0].setting.config.metric
    weights, shares = average(held, truth, metric=metric)
    entries = [PortfolioEntry(tried[i], list(trained[i].values()), weights.get(i, 0.0)) for i in ranked]
    chosen = sorted((entry for entry in entries if entry.weight), key=lambda entry: -entry.weight)
    shown = next((entry for entry in (*chosen, *entries) if entry.spectral), chosen[0])
    temperature = best_temperature(shares, truth)
    return Portfolio(chosen, shown, len(trained), score(metric, shares, truth), temperature, complete)


def mean_score(members: dict[int, Member], folds: Sequence[int]) -> float:
    """Mean validation score of a setting over these folds, with 0 for a fold on which it failed."""
    return sum(members[fold].validation for fold in folds if fold in members) / len(folds)


@dataclass(frozen=True, eq=False)
class _Step:
    """Trains some of the settings on some of the folds."""

    graph: Graph
    tried: Sequence[Candidate]
    folds: Sequence[Split]
    train: Trainer
    progress: ProgressCallback

    def run(
        self, trained: TrainedMembers, chosen: Sequence[int], folds: Sequence[int], deadline: Deadline, what: str
    ) -> bool:
        """Train the settings on the folds, shape by shape, and add them to ``trained``; whether all could finish."""
        groups = [[chosen[i] for i in group] for group in group_by_shape([self.tried[i] for i in chosen])]
        done, total = 0, len(chosen)
        complete = True
        for group in groups if folds else []:
            if deadline.over() and trained:
                return False
            own = deadline.part(len(group) / (total - done))
            rows = self.train(
                self.graph,
                [self.tried[i] for i in group],
                [self.folds[fold] for fold in folds],
                stop=own.over,
                progress=self._report(trained, what, done / total, len(group) / total),
            )
            for i, row in zip(group, rows, strict=True):
                fine = {fold: member for fold, member in zip(folds, row, strict=True) if member.sound}
                if fine:
                    trained[i] = {**trained.get(i, {}), **fine}
            complete &= not own.over()
            done += len(group)
        return complete

    def _report(self, trained: TrainedMembers, what: str, before: float, share: float) -> Callable[[Progress], None]:
        best = max((mean_score(members, list(members)) for members in trained.values()), default=0.0)

        def report(state: Progress) -> None:
            running = 0.0 if np.isnan(state.validation) or trained else state.validation
            self.progress(what, before + share * state.epoch / state.max_epochs, max(best, running))

        return report


def average(held: Mapping[int, Shares], truth: NDArray[np.int64], *, metric: str) -> tuple[dict[int, float], Shares]:
    """Weights of the settings whose average predicts best, and its probabilities.

    Settings are added one by one, with repetition, while the average improves: in score, or in likelihood at equal
    score.

    Args:
        held: for each setting the probabilities of the same validation nodes, shape ``(v, C)``.
        truth: the nodes' classes, shape ``(v,)``.
        metric: the score to improve.

    References:
        Caruana, Niculescu-Mizil, Crew, Ksikes, Ensemble Selection from Libraries of Models, 2004.
    """
    picked: list[int] = []
    total = np.zeros_like(next(iter(held.values())))
    reached = (-1.0, -np.inf)
    for _ in range(ROUNDS):
        means = {i: (total + shares) / (len(picked) + 1) for i, shares in held.items()}
        gains = {i: (score(metric, mean, truth), likelihood(mean, truth)) for i, mean in means.items()}
        best = max(gains, key=lambda i: gains[i])
        if gains[best] <= reached:
            break
        picked.append(best)
        total, reached = total + held[best], gains[best]
    return {i: picked.count(i) / len(picked) for i in dict.fromkeys(picked)}, total / len(picked)
