"""Proposals, the tasks that train them, and trials: one setting on all splits of a study, stored as one JSON line."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache, partial
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.datasets import Split
from newtonnet.files import parse_json
from newtonnet.graphs import Graph
from newtonnet.kernels import use_threads
from newtonnet.nn import build
from newtonnet.training import SHARED, OnEpoch, Record, Rung, Setting, fit

from .study import Study, load_data

SplitScores = tuple[float | None, ...]
"""One number for each split; None where training failed."""

LATER = {"rungs", "dropped"}
"""Fields of a trial that its line has only in a study with rungs."""


@dataclass(frozen=True)
class Proposal:
    """A setting to try: its trial number, its source, and how it differs from the study's base."""

    number: int
    source: str
    setting: Mapping[str, Any]


@dataclass(frozen=True)
class Task:
    """Settings of one batch with the same shape: the unit of work, as plain data that any process can run."""

    study: Study
    proposals: tuple[Proposal, ...]
    cutoffs: tuple[float, ...] = ()
    """The objective that a setting needs at each rung of the study to train on; none where all train to the end."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the trials it gives."""
        return tuple(proposal.number for proposal in self.proposals)

    def __str__(self) -> str:
        return f"{self.study.name} on {self.study.dataset}, trials {', '.join(map(str, self.numbers))}"


@dataclass(frozen=True)
class Trial:
    """A setting and its scores; tuples have one entry for each split."""

    study: str
    """The study's key."""
    number: int
    source: str
    """``published``, ``default`` or ``proposed``."""
    setting: Mapping[str, Any]
    """How it differs from the study's base."""
    beside: tuple[int, ...]
    """The trials that trained in the same population, including this one."""
    train: SplitScores
    validation: SplitScores
    test: SplitScores
    accuracy: SplitScores
    """Test accuracy, for any metric."""
    epochs: tuple[int, ...]
    best_epoch: tuple[int, ...]
    homophily: SplitScores
    largest: SplitScores
    """Largest magnitude of a raw filter parameter at any epoch."""
    points: tuple[float, ...]
    values: tuple[SplitScores, ...]
    """The learned filter at its points."""
    response: tuple[SplitScores, ...]
    """The learned filter at the frequencies of a record."""
    records: tuple[str, ...]
    """Ids of the runs."""
    seconds: float
    """Training time of its population, divided by the trials in it."""
    rungs: tuple[float, ...] = ()
    """The objective at each rung of the study that it has reached."""
    dropped: bool = False
    """Whether it was dropped at the last of these rungs, so that its scores are those up to there."""

    @property
    def failed(self) -> int:
        """Number of splits on which the loss was not finite."""
        return sum(score is None for score in self.validation)

    @property
    def objective(self) -> float:
        """What a search maximises: the mean validation score over the splits, with 0 for a failed split."""
        return sum(score or 0.0 for score in self.validation) / len(self.validation)

    def to_json(self) -> str:
        """One line of JSON; without rungs as it was before there were any."""
        data = {name: value for name, value in asdict(self).items() if name not in LATER or self.rungs}
        return json.dumps(data, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> "Trial":
        """Read a line back; an error if it is not a trial of this version."""
        try:
            data = parse_json(line)
            names = {field.name for field in fields(cls)}
            if set(data) not in (names, names - LATER):
                raise ValueError(f"fields {sorted(set(data) ^ names)}")
            _check_line(data)
            return cls(**{name: value if name == "setting" else _as_tuples(value) for name, value in data.items()})
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a trial of newtonnet: {error}") from error


_BY_SPLIT = ("train", "validation", "test", "accuracy", "epochs", "best_epoch", "homophily", "values", "records")
_SINGLE: dict[str, Any] = {
    "study": str,
    "number": int,
    "source": str,
    "setting": dict,
    "seconds": (int, float),
    "dropped": bool,
}
_NUMBER = (float, int, NoneType)


def _check_line(data: Mapping[str, Any]) -> None:
    """Check the type of every field, and that all have the same number of splits."""
    for name, value in data.items():
        if name in _SINGLE:
            fits = isinstance(value, _SINGLE[name])
        elif name in ("values", "response"):
            fits = isinstance(value, list) and all(_is_list(row, _NUMBER) for row in value)
        else:
            fits = _is_list(value, {"records": str, "rungs": (float, int)}.get(name, _NUMBER))
        if not fits:
            raise ValueError(f"{name} {value!r:.60}")
    if data["number"] not in data["beside"]:
        raise ValueError(f"trial {data['number']} is not in its own population, beside {data['beside']!r:.60}")
    lengths = {len(data[name]) for name in _BY_SPLIT}
    if len(lengths) > 1:
        raise ValueError(f"columns of {min(lengths)} to {max(lengths)} splits")


def _is_list(value: Any, kind: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(item) for item in value) if isinstance(value, list) else value


def shape_key(setting: Setting) -> str:
    """The same text for settings of a model that can train in one population; rates, decays and gammas may differ."""
    return repr((setting.options, *(getattr(setting.config, name) for name in SHARED)))


def group(study: Study, proposals: Sequence[Proposal], cutoffs: tuple[float, ...] = ()) -> list[Task]:
    """Proposals of the same shape put together, in order, into populations no larger than the study allows."""
    shapes: dict[str, list[Proposal]] = {}
    for proposal in proposals:
        shapes.setdefault(shape_key(study.setting(proposal.setting)), []).append(proposal)
    size = max(1, study.max_population // study.splits)
    tasks = [
        Task(study, tuple(alike[start : start + size]), cutoffs)
        for alike in shapes.values()
        for start in range(0, len(alike), size)
    ]
    return sorted(tasks, key=lambda task: task.numbers)


def run_task(task: Task, graph: Graph, splits: Sequence[Split], *, on_epoch: OnEpoch | None = None) -> list[Trial]:
    """Train the task's settings on every split as one population, on one thread.

    One thread, so that results do not depend on the number of cores. Split i trains with seed i, as in
    ``newtonnet train``. ``on_epoch`` is called after every epoch. At a rung, all splits of a setting are dropped or
    none, by the mean of their scores.
    """
    settings = [task.study.setting(proposal.setting) for proposal in task.proposals]
    configs = [replace(setting.config, seed=split.index) for setting in settings for split in splits]
    reached: list[list[float]] = [[] for _ in settings]
    dropped = np.zeros(len(settings), dtype=np.bool_)

    def keep(rung: Rung) -> NDArray[np.bool_]:
        scores = np.nan_to_num(rung.validation).reshape(len(settings), -1).mean(axis=1).round(6)
        for i in np.flatnonzero(~dropped):
            reached[i].append(float(scores[i]))
        training = rung.training.reshape(len(settings), -1).any(axis=1)  # one that has ended is complete
        if task.cutoffs:
            dropped[~dropped & training & (scores < task.cutoffs[task.study.rungs.index(rung.epoch)])] = True
        return np.repeat(~dropped, len(splits))

    with use_threads(1):
        population = build(task.study.model, graph, settings[0].options, seeds=[config.seed for config in configs])
        records = fit(
            population,
            graph,
            [*splits] * len(settings),
            configs,
            on_epoch=on_epoch,
            rungs=task.study.rungs,
            keep=keep,
        )
    trials = [
        make_trial(task, proposal, records[i * len(splits) : (i + 1) * len(splits)])
        for i, proposal in enumerate(task.proposals)
    ]
    return [
        replace(trial, rungs=tuple(scores), dropped=bool(gone))
        for trial, scores, gone in zip(trials, reached, dropped, strict=True)
    ]


def make_trial(task: Task, proposal: Proposal, records: Sequence[Record]) -> Trial:
    """The trial of these records, one for each split in order; filters are rounded to four digits."""
    outcomes = [record.outcome for record in records]

    def scores(name: str) -> SplitScores:
        return tuple(getattr(outcome, name) if outcome.status == "done" else None for outcome in outcomes)

    return Trial(
        study=task.study.key,
        number=proposal.number,
        source=proposal.source,
        setting=proposal.setting,
        beside=task.numbers,
        train=scores("train"),
        validation=scores("validation"),
        test=scores("test"),
        accuracy=scores("test_accuracy"),
        epochs=tuple(outcome.epochs for outcome in outcomes),
        best_epoch=tuple(outcome.best_epoch for outcome in outcomes),
        homophily=_rounded(scores("homophily")),
        largest=_rounded(scores("largest_value")),
        points=tuple(value or 0.0 for value in _rounded(outcomes[0].points)),
        values=tuple(_rounded(outcome.values) for outcome in outcomes),
        response=tuple(_rounded(outcome.response) for outcome in outcomes),
        records=tuple(record.id for record in records),
        seconds=round(sum(outcome.seconds for outcome in outcomes), 3),
    )


def _rounded(values: SplitScores) -> SplitScores:
    """Four digits; None for what is not finite."""
    return tuple(None if v is None or not abs(v) < float("inf") else float(f"{v:.4g}") for v in values)


def make_runner(
    data_root: str | Path | None = None, *, on_epoch: OnEpoch | None = None
) -> Callable[[Task], list[Trial]]:
    """A function that runs tasks one after another and caches the graphs it loads."""
    load = lru_cache(maxsize=4)(partial(load_data, data_root=data_root))
    return lambda task: run_task(task, *load(*task.study.data), on_epoch=on_epoch)
