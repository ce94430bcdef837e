"""The portfolio: settings of several families, tried within the time limit; the best are trained on and averaged."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.datasets import Split
from newtonnet.files import scratch
from newtonnet.graphs import Graph
from newtonnet.metrics import Truth
from newtonnet.out_of_core import OUT_OF_CORE_MODEL
from newtonnet.training import OnEpoch, Progress

from .candidates import NEWTONNET, candidate_size, group_by_shape
from .ensemble import Ensemble, OutOfFold, cross_fit, final_temperature, mix, select
from .families import BANK, defaults_of, family_of
from .members import Candidate, Kind, Member, TrainingOptions, reads_labels, settings_of
from .scoring import Shares, best_temperature, sharpened

INSTANT = "ridge"
FINALISTS = 6
"""Number of settings that are trained on all folds."""
SMALL = 400
"""Number of labelled nodes below which settings are compared on more than one fold."""
FIRSTS, FAVOUR = 0.5, 2
"""Share of what is left of the time for trying settings that the first group of a kind may take, and how much more than
an equal share of all groups it has for itself."""
SCAN, HALVING = 0.4, 0.5
"""Share of the time in which all settings are tried, and of the time that is left then in which the best of them train
on, if other folds are to follow."""
KEEP = 3
"""Of so many groups, one trains on to the next round."""
ENOUGH = 40
"""Epochs that a try may take even if its share of the time is over; with fewer, nothing can be said about it."""
LONG = 1.0
"""Seconds of a first epoch after which no second one is needed to know how long an epoch takes."""
FIRST, FIRST_EPOCHS = 0.4, 100
"""Share of the time that the first network may take for so many epochs: a short limit gives one usable model before
anything else is tried."""
CALLERS = ("metric", "loss", "class_weight", "max_epochs", "patience", "seed", "run_seed")
"""Fields that are the same in all settings of a fit."""
SAMPLE = 2_000
"""Number of unlabelled nodes on which members are compared with their average."""


@dataclass(frozen=True)
class TriedSetting:
    """A setting that was trained.

    Attributes:
        number: its place among the settings to try.
        model: name of its model.
        settings: options and training fields by name.
        validation: mean validation score over the folds that it was trained on.
        folds: number of these folds.
        epochs: mean number of epochs over these folds.
        seconds: time that it took so far.
    """

    number: int
    model: str
    settings: Mapping[str, Any]
    validation: float
    folds: int
    epochs: float
    seconds: float


OnTrial = Callable[[TriedSetting], None]
"""Called whenever a setting was trained."""


@dataclass(frozen=True)
class Deadline:
    """When to stop: at a time of the monotonic clock, infinite without a limit, or earlier if asked to."""

    end: float
    asked: Callable[[], bool]

    def over(self, reserve: float = 0.0) -> bool:
        """Whether to stop now, or so many seconds before the time is over."""
        return time.monotonic() + reserve >= self.end or self.asked()

    def part(self, share: float) -> "Deadline":
        """A deadline after a share of the remaining time."""
        if self.end == math.inf:
            return self
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
    out_of_fold: OutOfFold
    probabilities: NDArray[np.float64]
    """Of all nodes, by the ensemble, shape ``(n, C)``; of numbers predictions, ``(n, 1)``."""
    complete: bool
    """Whether there was time for everything but the settings for spare time."""
    leaderboard: Sequence[Mapping[str, Any]]
    """Every setting that was tried: see ``leaderboard_`` of the estimators."""
    sampled: tuple[Shares, Shares]
    """Unlabelled nodes as predicted by the members of each fold, fold after fold, and by the ensemble, calibrated."""


@dataclass(eq=False)
class Watch:
    """Watches one training: how far it is, and when it has to stop.

    It stops when its share of the time is over, but not before ``enough`` epochs; and at the deadline, or at once if it
    cannot reach so many epochs before it, unless that is asked for by ``persistent``.
    """

    deadline: Deadline
    share: float
    enough: int
    persistent: bool
    reserve: float
    """Seconds to leave for predictions."""
    tell: Callable[[Progress], None]
    epochs: int = 0
    stopped: float = math.inf
    """When it had to stop."""
    hopeless: bool = False
    """Whether that was because it could not reach enough epochs in time."""

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.own = self.deadline.part(self.share)

    def progress(self, state: Progress) -> None:
        """Take note of an epoch."""
        self.epochs = state.epoch
        self.tell(state)

    def stop(self) -> bool:
        """Whether to stop now."""
        now = time.monotonic()
        spent = now - self.began
        known = self.epochs >= 2 or (self.epochs == 1 and spent > LONG)  # the first epoch may have work to do once
        late = self.began + spent / max(self.epochs, 1) * self.enough > self.deadline.end
        self.hopeless = self.hopeless or (known and late and not self.persistent)
        done = self.epochs >= self.enough and self.own.over(self.reserve)
        if self.hopeless or done or self.deadline.over(self.reserve):
            self.stopped = min(self.stopped, now)
        return self.stopped < math.inf


@dataclass(eq=False)
class Search:
    """Candidates that were trained so far, by number and fold; :meth:`train` adds to them within a time limit."""

    graph: Graph
    tried: Sequence[Candidate]
    folds: Sequence[Split]
    options: TrainingOptions
    on_epoch: OnEpoch | None = None
    on_trial: OnTrial | None = None
    trained: dict[int, dict[int, Member]] = field(default_factory=dict)
    paused: set[int] = field(default_factory=set)
    """Candidates that can train on: the time was over before they were."""
    seconds: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    """Time that each candidate took."""
    overtime: float = 0.0
    """Longest time that a training took after it had to stop, mostly for predictions."""
    slow: dict[Kind, int] = field(default_factory=dict)
    """Smallest size of each kind that could not reach enough epochs in time; larger ones are not tried."""

    def train(
        self,
        groups: Sequence[Sequence[int]],
        folds: Sequence[int],
        deadline: Deadline,
        what: str,
        *,
        enough: int = ENOUGH,
        persistent: bool = False,
        share: float | None = None,
        at_most: float = 1.0,
    ) -> None:
        """Train groups of candidates of one shape on folds, each group within its share of the time, by default equal.

        No group takes more than ``at_most`` of the time that is left, nor does ``share`` refer to more. What cannot
        begin before the deadline is not trained; ``what`` names this step, for the rest see :class:`Watch`. A member
        that was trained before is replaced by one that is at least as good.
        """
        for number, group in enumerate(groups):
            if self.trained and deadline.over(2 * self.overtime):
                self.paused |= {i for rest in groups[number:] for i in rest}
                return
            candidates, splits = [self.tried[i] for i in group], [self.folds[fold] for fold in folds]
            model, kind, size = candidates[0].model, candidates[0].kind, candidate_size(candidates[0])
            if not persistent and size >= self.slow.get(kind, math.inf):
                self.paused |= set(group)
                continue
            least = 0 if model in BANK else enough  # trees are useful after any time
            tell = partial(self._tell, what, number, len(groups))
            part = 1 / (len(groups) - number) if share is None else share
            watch = Watch(deadline.part(at_most), part, least, persistent, 2 * self.overtime, tell)
            rows = family_of(model).train(
                self.graph, candidates, splits, self.options, stop=watch.stop, progress=watch.progress
            )
            ended = time.monotonic()
            if watch.hopeless:
                self.slow[kind] = size  # smaller than one that was slow before, if there was one
            if not any(set(self.trained.get(i, ())) - set(folds) for i in group):  # it may be paused on other folds
                self.paused -= set(group)
            if watch.stopped < math.inf:
                self.paused |= set(group)
                self.overtime = max(self.overtime, ended - watch.stopped)
            for i, row in zip(group, rows, strict=True):
                self.seconds[i] += (ended - watch.began) / len(group)
                before = self.trained.get(i, {})
                fine = {
                    fold: member
                    for fold, member in zip(folds, row, strict=True)
                    if member.sound and (fold not in before or member.validation >= before[fold].validation)
                }
                if fine:
                    self.trained[i] = {**before, **fine}
                    if self.on_trial is not None:
                        self.on_trial(self.tried_setting(i))

    def tried_setting(self, number: int) -> TriedSetting:
        """A candidate that was trained, as plain data."""
        members = self.trained[number]
        epochs = float(np.mean([member.record.outcome.epochs for member in members.values()]))
        first = next(iter(members.values()))
        reached = mean_score(members, list(members))
        settings = settings_of(first.record)
        return TriedSetting(number, first.model, settings, reached, len(members), epochs, self.seconds[number])

    def ranked(self, folds: Sequence[int]) -> list[int]:
        """The candidates, the best on these folds first."""
        return sorted(self.trained, key=lambda i: -mean_score(self.trained[i], folds))

    def _tell(self, what: str, number: int, groups: int, state: Progress) -> None:
        if self.on_epoch is not None:
            scores = [mean_score(members, list(members)) for members in self.trained.values()]
            running = 0.0 if math.isnan(state.validation) else state.validation
            share = (number + state.epoch / state.max_epochs) / groups
            self.on_epoch(replace(state, step=what, share=share, best=max(scores, default=running)))


def mean_score(members: Mapping[int, Member], folds: Sequence[int]) -> float:
    """Mean validation score of a setting over these folds, with 0 for a fold on which it failed."""
    return sum(members[fold].validation for fold in folds if fold in members) / len(folds)


def tune(
    graph: Graph,
    tried: Sequence[Candidate],
    folds: Sequence[Split],
    options: TrainingOptions,
    *,
    deadline: Deadline,
    shown: NDArray[Any] | None = None,
    on_epoch: OnEpoch | None = None,
    on_trial: OnTrial | None = None,
) -> Portfolio:
    """Try all settings, train the best on, first on some folds and then on all, and average the best few, in time.

    Successive halving: every group of settings of one shape gets a try; then in each round a third of the groups
    trains on, until one is left. Time that is left then goes to the others. A labelled node is a validation node of at
    most one fold.

    Args:
        graph: the graph with the labels to learn from.
        tried: the settings, in the order in which they are tried.
        folds: training and validation nodes.
        options: how to train.
        deadline: when to be done.
        shown: labels that the final model shows to members that read labels; all of the graph if None.
        on_epoch: called after every epoch with the current step, its finished share, and the best score so far.
        on_trial: called whenever a setting was trained.
    """
    unlabelled = np.flatnonzero((graph.labels < 0) & (graph.targets is None))  # for a temperature, which numbers lack
    rng = np.random.default_rng(options.seed)
    sample = np.sort(rng.choice(unlabelled, min(SAMPLE, len(unlabelled)), replace=False))
    with scratch(None, "newtonnet-paused-") as folder:
        options = replace(options, sample=sample, paused=folder, kept={})
        search = Search(graph, tried, folds, options, on_epoch, on_trial)
        every = range(len(folds))
        first = every[: first_folds(len(folds), len(graph.labelled), several=len(tried) > 1)]
        rest = every[len(first) :]
        _halve(search, first, deadline, last=not rest)
        ranked = search.ranked(first)
        if not ranked:
            raise ValueError(
                "every setting failed: its loss was not finite; scale the features, or lower learning_rate"
            )
        cut = False
        if rest:
            paused = set(search.paused)
            finalists = _affordable(search, _finalists(search, first), len(rest) / len(first), deadline)
            groups = group_by_shape({i: tried[i] for i in finalists})
            search.train(groups, rest, deadline, "training the best settings", persistent=True)
            cut = bool(search.paused - paused)
        return _conclude(search, ranked, graph.truth if shown is None else shown, whole=not cut)


def first_folds(folds: int, labelled: int, *, several: bool) -> int:
    """Number of folds on which settings are compared; a single setting trains on all at once."""
    return min(folds, 3 if labelled <= SMALL else 1) if several else folds


def _halve(search: Search, folds: Sequence[int], deadline: Deadline, *, last: bool) -> None:
    """Give every group a try on these folds, then let a third of the groups train on, round after round.

    The instant answer and the first network come first, then one group of every kind, then the others, those of the
    best kinds first: if the time is too short for all, it goes to settings that promise most. If the rounds end before
    the time is over, the groups that were left behind train on as well, the best first, and then the settings for spare
    time do the same. A group keeps its members, so that each of its trainings goes on where the last one stopped.
    """
    usual, spare = (
        {i: candidate for i, candidate in enumerate(search.tried) if candidate.spare == late} for late in (False, True)
    )
    groups = _first_groups(usual or spare, limited=deadline.end < math.inf)
    if len(search.tried) == 1:
        search.train(groups, folds, deadline, "training", persistent=True)
        return
    _scan(search, groups, folds, deadline)
    end = deadline if last else deadline.part(HALVING)
    _train_on(search, groups, folds, end)
    if usual and spare and not search.paused:
        groups = group_by_shape(spare)
        search.train(groups, folds, end, "trying more settings")
        _train_on(search, groups, folds, end)


def _first_groups(tried: Mapping[int, Candidate], *, limited: bool) -> list[list[int]]:
    """All settings in groups of one shape: the instant ones and, if the time is limited, the first network alone."""
    alone = [i for i, candidate in tried.items() if candidate.model == INSTANT]
    network = next((i for i, candidate in tried.items() if candidate.model not in BANK), None)
    if limited and network is not None:
        alone.append(network)
    rest = group_by_shape({i: candidate for i, candidate in tried.items() if i not in alone})
    return [*([i] for i in alone), *rest]


def _scan(search: Search, groups: Sequence[Sequence[int]], folds: Sequence[int], deadline: Deadline) -> None:
    """The first try of every group, in a part of the time."""
    tried, what = search.tried, "trying settings"
    instant = [group for group in groups if tried[group[0]].model == INSTANT]
    search.train(instant, folds, deadline.part(SCAN), "a first answer")
    rest = [group for group in groups if group not in instant]
    if deadline.end < math.inf and rest and tried[rest[0][0]].model not in BANK:
        first = deadline.part(FIRST)
        search.train(rest[:1], folds, first, what, enough=FIRST_EPOCHS, persistent=True, share=0.0)
        rest = rest[1:]
    end = deadline.part(SCAN)
    seen = {tried[i].kind for i in search.trained}
    firsts = {tried[group[0]].kind: group for group in reversed(rest) if tried[group[0]].kind not in seen}
    ordered = [group for group in rest if group in firsts.values()]
    if ordered:
        share, words = min(1 / len(ordered), FAVOUR / FIRSTS / len(groups)), "trying one of each kind"
        search.train(ordered, folds, end, words, persistent=not search.trained, share=share, at_most=FIRSTS)
    best: dict[Kind, float] = {}
    for i, members in search.trained.items():
        kind = tried[i].kind
        best[kind] = max(best.get(kind, -math.inf), mean_score(members, folds))
    rest = [group for group in rest if not any(i in search.seconds for i in group)]
    rest.sort(key=lambda group: (group not in ordered, -best.get(tried[group[0]].kind, -math.inf)))
    search.train(rest, folds, end, what, persistent=not search.trained)


def _train_on(search: Search, groups: Sequence[list[int]], folds: Sequence[int], end: Deadline) -> None:
    """The rounds of the best groups, then the others."""
    best = _ranked(search, [group for group in groups if search.tried[group[0]].model != INSTANT], folds)
    what = "training the best settings on"
    while best:
        best = _ranked(search, best, folds)[: math.ceil(len(best) / KEEP)]
        rounds = math.ceil(math.log(len(best), KEEP)) + 1
        unfinished = [group for group in best if search.paused & set(group)]
        if unfinished and not end.over(search.overtime):
            search.train(unfinished, folds, end.part(1 / rounds), what, enough=1, persistent=True)
        if len(best) == 1:
            break
    paused = [group for group in groups if search.paused & set(group)]
    what = "training other settings on"  # the best were done before the time was over
    search.train(_ranked(search, paused, folds), folds, end, what, enough=1, persistent=True)
    search.slow.clear()  # there may be more time now than there was for a try
    search.train([group for group in paused if not set(group) & set(search.trained)], folds, end, what)


def _ranked(search: Search, groups: Sequence[list[int]], folds: Sequence[int]) -> list[list[int]]:
    """The groups with a member that was trained, those with the best settings first."""
    there = [group for group in groups if set(group) & set(search.trained)]
    best = {i: mean_score(members, folds) for i, members in search.trained.items()}
    return sorted(there, key=lambda group: -max(best[i] for i in group if i in best))


def _finalists(search: Search, folds: Sequence[int]) -> list[int]:
    """The settings to train on the other folds: those of the average so far by weight, then the best of the rest."""
    held, truth, _ = _held(search, search.ranked(folds))
    weights = select(held, truth, metric=search.tried[0].setting.config.metric)
    chosen = sorted(weights, key=lambda i: -weights[i])
    return [*chosen, *(i for i in search.ranked(folds) if i not in weights)][:FINALISTS]


def _affordable(search: Search, finalists: Sequence[int], times: float, deadline: Deadline) -> list[int]:
    """As many of the finalists, one at least, as can train on the other folds for as long as on the first."""
    left, kept = deadline.end - time.monotonic() - 2 * search.overtime, list[int]()
    for i in finalists:
        needed = sum(search.seconds[k] for k in (*kept, i)) * times
        if not kept or needed <= left:
            kept.append(i)
    return kept


def _held(search: Search, ranked: Sequence[int]) -> tuple[dict[int, Shares], Truth, list[int]]:
    """Probabilities of the validation nodes of some folds, the nodes' classes, and the folds.

    The folds are those of the candidate that has most of them; candidates that lack one of them are left out.
    """
    folds = sorted(search.trained[max(ranked, key=lambda i: len(search.trained[i]))])
    truth = search.graph.truth[np.concatenate([search.folds[fold].validation for fold in folds])]
    whole = [i for i in ranked if set(folds) <= set(search.trained[i])]
    return {i: np.concatenate([search.trained[i][fold].held for fold in folds]) for i in whole}, truth, folds


def _conclude(search: Search, ranked: Sequence[int], shown: NDArray[Any], *, whole: bool) -> Portfolio:
    """Choose weights and temperature out of fold, and predict all nodes; whole if the finalists had time to end."""
    graph, trained, tried = search.graph, search.trained, search.tried
    metric = tried[0].setting.config.metric
    held, truth, common = _held(search, ranked)
    nodes = [search.folds[fold].validation for fold in common]
    weights = select(held, truth, metric=metric)
    entries = [PortfolioEntry(tried[i], list(trained[i].values()), weights.get(i, 0.0)) for i in ranked]
    chosen = sorted((entry for entry in entries if entry.weight), key=lambda entry: -entry.weight)
    best = next((entry for entry in (*chosen, *entries) if entry.members[0].record.outcome.response), chosen[0])
    members = [member for entry in chosen for member in entry.members]
    parts = [entry.weight / len(entry.members) for entry in chosen for _ in entry.members]
    singles = [mix({i: trained[i][fold].sampled for i in weights}, weights) for fold in common]
    labels = shown if any(reads_labels(member.options) for member in members) else None
    ensemble = Ensemble(members, parts, graph.class_names, 1.0, labels, None if labels is None else graph.structure)
    average = ensemble.average(graph, search.options)
    alone = 1.0
    if not ensemble.numbers:
        alone = best_temperature(mix(held, weights), truth.astype(np.int64))
        ensemble = replace(ensemble, temperature=final_temperature(alone, singles, average[search.options.sample]))
    out_of_fold = replace(cross_fit(held, nodes, graph.truth, metric=metric), structure=graph.structure)
    shares = ensemble.calibrated(average)
    rows = [_row(search, i, weights.get(i, 0.0)) for i in ranked]
    rows.sort(key=lambda row: (-row["weight"], -row["score"]))
    sampled = (sharpened(np.concatenate(singles), alone), shares[search.options.sample])
    complete = whole and all(tried[i].spare for i in search.paused)
    return Portfolio(
        ensemble, chosen, best, len(trained), out_of_fold, shares, complete, leaderboard=rows, sampled=sampled
    )


def _row(search: Search, i: int, weight: float) -> dict[str, Any]:
    """What is known about a candidate: its model, how it differs from the model's defaults, score, time and weight."""
    candidate, found = search.tried[i], search.tried_setting(i)
    default = defaults_of(NEWTONNET if candidate.model == OUT_OF_CORE_MODEL else candidate.model)
    own: dict[str, Any] = {}
    for part, usual in ((candidate.setting.options, default.options), (candidate.setting.config, default.config)):
        for name in (one.name for one in fields(part)):
            value = getattr(part, name)
            if name not in CALLERS and value != getattr(usual, name):
                own[name] = list(value) if isinstance(value, tuple) else value
    return {
        "model": candidate.model,
        "setting": own,
        "score": found.validation,
        "folds": found.folds,
        "seconds": found.seconds,
        "weight": weight,
    }
