"""The portfolio: settings that suit many graphs, trained within the time limit, the best few of them averaged."""

import math
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.nn import find_model
from newtonnet.search import default_setting
from newtonnet.training import Config, Progress, override

from .members import Candidate, Ensemble, Member, Trainer, group_by_shape
from .scoring import Shares, best_temperature, likelihood, score

MOST = 24
"""Number of settings tried for a model other than NewtonNet."""
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
    """When to stop: at a time of the monotonic clock, infinite without a limit, or earlier if asked to."""

    end: float
    asked: Callable[[], bool]

    def over(self) -> bool:
        """Whether to stop now."""
        return time.monotonic() >= self.end or self.asked()

    def part(self, share: float) -> "Deadline":
        """A deadline after a share of the remaining time."""
        now = time.monotonic()
        return Deadline(now + max(self.end - now, 0.0) * share, self.asked)


def deadline_in(seconds: float | None, asked: Callable[[], bool] | None = None) -> Deadline:
    """A deadline so many seconds from now; None: no limit."""
    return Deadline(math.inf if seconds is None else time.monotonic() + seconds, asked or (lambda: False))


@dataclass(frozen=True, eq=False)
class PortfolioEntry:
    """A candidate, its members on the folds, and its share of the average, 0 if it is shown but not part of it."""

    candidate: Candidate
    members: Sequence[Member]
    weight: float


@dataclass(frozen=True, eq=False)
class Portfolio:
    """The result of tuning."""

    ensemble: Ensemble
    chosen: Sequence[PortfolioEntry]
    """The settings that are averaged, by descending weight."""
    shown: PortfolioEntry
    """The heaviest of them with a filter, else the best setting tried that has a filter."""
    tried: int
    validation: float
    """Score of the average on the validation nodes."""
    complete: bool
    """Whether there was time for everything."""


def candidates(model: str, fixed: Mapping[str, Any], *, transductive: bool) -> list[Candidate]:
    """The settings to try for a model, without duplicates, the most useful first.

    For NewtonNet they cover its family: the filter alone, with an adjacency branch if transductive models are allowed,
    and as a layer of a residual stack. The fixed options and training fields hold in every setting.
    """
    if model == "newtonnet":
        listed = [(model, changes) for changes in _portfolio("newtonnet")]
        listed += [(model, changes) for changes in _portfolio("transductive") if transductive]
        listed += [("newton-stack", changes) for changes in _portfolio("stack") if not set(fixed) - _stack_names()]
    else:
        listed = [(model, changes) for changes in _drawn(model)]
    tried = [Candidate(name, override(default_setting(name), {**changes, **fixed})) for name, changes in listed]
    return list({repr(candidate): candidate for candidate in tried}.values())


def _portfolio(part: str) -> list[Changes]:
    """The settings in a part of ``portfolio.toml``."""
    text = files("newtonnet.estimator").joinpath("portfolio.toml").read_text(encoding="utf-8")
    return [group["common"] | changes for group in tomllib.loads(text)[part] for changes in group["settings"]]


def _stack_names() -> set[str]:
    """Options and training fields that apply to a stack, which has no single filter to regularise."""
    shaping = {"gammas", "ceiling", "variant", "penalty", "pivot", "homophily_interval"}
    return {field.name for kind in (find_model("newton-stack").options, Config) for field in fields(kind)} - shaping


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

    If time runs out, the last settings are not tried. A labelled node is a validation node of at most one fold.
    """
    trained: TrainedMembers = {}

    def report(what: str, before: float, share: float, state: Progress) -> None:
        running = 0.0 if np.isnan(state.validation) else state.validation
        best = max((mean_score(members, list(members)) for members in trained.values()), default=running)
        if progress is not None:
            progress(what, before + share * state.epoch / state.max_epochs, best)

    train = partial(train, graph)
    first = len(folds) if len(tried) == 1 else min(len(folds), 3 if len(graph.labelled) <= SMALL else 1)
    scan = deadline.part(SCAN) if first < len(folds) else deadline
    begun = partial(report, "trying settings" if len(tried) > 1 else "training")
    complete = _train_step(train, dict(enumerate(tried)), dict(enumerate(folds[:first])), trained, scan, begun)
    ranked = sorted(trained, key=lambda i: -mean_score(trained[i], range(first)))
    if not ranked:
        raise ValueError("every setting failed: its loss was not finite; scale the features, or lower learning_rate")
    finalists = {i: tried[i] for i in ranked[:FINALISTS]}
    others = dict(enumerate(folds[first:], first))
    complete &= _train_step(train, finalists, others, trained, deadline, partial(report, "training the best settings"))
    whole = [i for i in finalists if len(trained[i]) == len(folds)] or ranked[:1]

    common = sorted(set.intersection(*(set(trained[i]) for i in whole)))
    truth = graph.labels[np.concatenate([folds[fold].validation for fold in common])]
    held = {i: np.concatenate([trained[i][fold].held for fold in common]) for i in whole}
    metric = tried[0].setting.config.metric
    weights, shares = average(held, truth, metric=metric)
    entries = [PortfolioEntry(tried[i], list(trained[i].values()), weights.get(i, 0.0)) for i in ranked]
    chosen = sorted((entry for entry in entries if entry.weight), key=lambda entry: -entry.weight)
    shown = next((entry for entry in (*chosen, *entries) if entry.members[0].record.outcome.response), chosen[0])
    members = [member for entry in chosen for member in entry.members]
    parts = [entry.weight / len(entry.members) for entry in chosen for _ in entry.members]
    ensemble = Ensemble(members, parts, graph.class_names, best_temperature(shares, truth))
    return Portfolio(ensemble, chosen, shown, len(trained), score(metric, shares, truth), complete)


def mean_score(members: dict[int, Member], folds: Sequence[int]) -> float:
    """Mean validation score of a setting over these folds, with 0 for a fold on which it failed."""
    return sum(members[fold].validation for fold in folds if fold in members) / len(folds)


def _train_step(
    train: Trainer,
    tried: Mapping[int, Candidate],
    folds: Mapping[int, Split],
    trained: TrainedMembers,
    deadline: Deadline,
    report: Callable[[float, float, Progress], None],
) -> bool:
    """Train settings on folds, shape by shape, and add them to ``trained``; whether all could finish."""
    done, complete = 0, True
    for group in group_by_shape(tried) if folds else []:
        if deadline.over() and trained:
            return False
        own = deadline.part(len(group) / (len(tried) - done))
        progress = partial(report, done / len(tried), len(group) / len(tried))
        rows = train([tried[i] for i in group], list(folds.values()), stop=own.over, progress=progress)
        for i, row in zip(group, rows, strict=True):
            fine = {fold: member for fold, member in zip(folds, row, strict=True) if member.sound}
            if fine:
                trained[i] = {**trained.get(i, {}), **fine}
        complete &= not own.over()
        done += len(group)
    return complete


def average(held: Mapping[int, Shares], truth: NDArray[np.int64], *, metric: str) -> tuple[dict[int, float], Shares]:
    """Weights of the settings whose average predicts best, and its probabilities.

    Settings are added one by one, with repetition, while the average improves: in score, or in likelihood at equal
    score. ``held`` has for each setting the probabilities of the same validation nodes, shape ``(v, C)``, and ``truth``
    the nodes' classes, shape ``(v,)``.

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
