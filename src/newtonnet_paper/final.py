"""The last step of Table 1: every cell's chosen setting trained to the end, as the paper does, with several seeds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from newtonnet.datasets import load_dataset, make_splits
from newtonnet.kernels import use_threads
from newtonnet.nn import build
from newtonnet.search import best_trial, default_setting, published
from newtonnet.training import Record, estimate, fit, override

from .cells import SPLITS, Cell, StoredSearch, read_stored
from .claim import Line, Unit
from .lists import list_length
from .scores import NAMES, SplitScores, split_ratio

EPOCHS = 2000

SEEDS = {"texas": 5, "cornell": 5, "cora": 2, "citeseer": 2, "chameleon": 2}
"""Trainings of each chosen setting; one elsewhere."""

ROUNDED = ("texas", "cornell")
"""Small graphs, where the first training is repeated with a learning rate that differs by rounding alone."""
ROUNDING = 2e-7
"""Relative change of the learning rate, less than two units in the last place of float32."""


def seeds_of(dataset: str) -> int:
    """Number of trainings with different seeds.

    >>> seeds_of("texas"), seeds_of("pubmed")
    (5, 1)
    """
    return SEEDS.get(dataset, 1)


def runs_of(dataset: str) -> list[tuple[int, bool]]:
    """Every training of a cell: its seed, and whether it repeats this seed with other rounding.

    >>> runs_of("cora")
    [(0, False), (1, False)]
    """
    return [(seed, False) for seed in range(seeds_of(dataset))] + [(0, True)] * (dataset in ROUNDED)


def final_units(datasets: Iterable[str], results: Path) -> list[Unit]:
    """The trainings of every cell whose list is complete."""
    units = []
    for dataset in datasets:
        for model in NAMES:
            stored = read_stored(results, dataset, model)
            if stored is None or not is_complete(stored):
                continue
            setting = {**stored.study["fixed"], **best_trial(stored.trials).setting}
            for seed, rounded in runs_of(dataset):
                key = {"dataset": dataset, "model": model, "setting": setting, "seed": seed, "rounded": rounded}
                units.append(Unit(key, partial(train_final, dataset, model, setting, seed, rounded=rounded)))
    return units


def is_complete(stored: StoredSearch) -> bool:
    """Whether all settings of a list are tried."""
    return len(stored.trials) >= Cell(stored.dataset, stored.model, list_length(stored.dataset)).wanted


def final_hours(datasets: Iterable[str], done: Sequence[Line], results: Path) -> tuple[int, float]:
    """Trainings that are left, those of unfinished lists included, and their hours of one core where known."""
    there = {
        (line["key"]["dataset"], line["key"]["model"], line["key"]["seed"], line["key"]["rounded"]) for line in done
    }
    count, hours = 0, 0.0
    for dataset in datasets:
        for model in NAMES:
            left = [run for run in runs_of(dataset) if (dataset, model, *run) not in there]
            count += len(left)
            stored = read_stored(results, dataset, model)
            if stored is not None:
                rates = [trial.seconds * len(trial.epochs) / max(sum(trial.epochs), 1) for trial in stored.trials]
                hours += len(left) * float(np.mean(rates)) * EPOCHS / 3600
    return count, hours


def train_final(dataset: str, model: str, changes: Mapping[str, Any], seed: int, *, rounded: bool) -> dict[str, Any]:
    """Train a setting on all splits for all epochs, on one thread; seed 0 is that of the list."""
    loaded = load_dataset(dataset)
    splits = make_splits(loaded.graph, "random", count=SPLITS)
    loop = {"max_epochs": EPOCHS, "patience": None, "metric": loaded.entry.metric, "history_interval": 0}
    setting = override(default_setting(model), {**changes, **loop})
    config = replace(setting.config, run_seed=seed)
    if rounded:
        config = replace(config, learning_rate=config.learning_rate * (1 + ROUNDING))
    configs = [replace(config, seed=100 * seed + split.index) for split in splits]
    with use_threads(1):
        population = build(model, loaded.graph, setting.options, seeds=[one.seed for one in configs])
        records = fit(population, loaded.graph, splits, configs)
    return {
        **{name: [_done(record, name) for record in records] for name in ("validation", "test", "homophily")},
        "best_epoch": [record.outcome.best_epoch for record in records],
        "points": list(records[0].outcome.points),
        "values": [[float(f"{value:.4g}") for value in record.outcome.values] for record in records],
        "records": [record.id for record in records],
    }


def _done(record: Record, name: str) -> float | None:
    """A number of an outcome; None where the training failed."""
    value: float | None = getattr(record.outcome, name)
    return None if record.outcome.status != "done" or value is None else round(value, 6)


@dataclass(frozen=True)
class Final:
    """The trainings of one cell's chosen setting.

    Attributes:
        seeds: number of seeds.
        scores: of every split the mean over the seeds, in percent; its ``std`` is that of one training over the splits.
        shares: how much of the variance of one training is the split, the seed and rounding; None for one seed, and
            the last where no training was repeated.
    """

    seeds: int
    scores: SplitScores
    shares: tuple[float, float, float | None] | None


def read_finals(
    lines: Sequence[Line], chosen: Mapping[tuple[str, str], Mapping[str, Any]]
) -> dict[tuple[str, str], Final]:
    """The cells whose trainings are all stored, for the settings that are chosen."""
    groups: dict[tuple[str, str], dict[tuple[int, bool], list[float]]] = {}
    for line in lines:
        key = line["key"]
        cell = key["dataset"], key["model"]
        if key["setting"] == chosen.get(cell) and None not in line["test"]:
            groups.setdefault(cell, {})[key["seed"], key["rounded"]] = [100 * score for score in line["test"]]
    found = {cell: _final(cell[0], runs) for cell, runs in groups.items() if len(runs) == len(runs_of(cell[0]))}
    return {cell: final for cell, final in found.items() if final is not None}


def _final(dataset: str, runs: Mapping[tuple[int, bool], list[float]]) -> Final | None:
    table = np.array([runs[seed, False] for seed in range(seeds_of(dataset))])
    each = tuple(float(value) for value in table.mean(axis=0))
    found = estimate(each, split_ratio(dataset, "random"))
    if found is None:
        return None
    std = float(np.sqrt(table.var(axis=1).mean()))
    scores = SplitScores(each, float(table.mean()), std, found.low, found.high)
    twin = runs.get((0, True))
    return Final(len(table), scores, None if len(table) < 2 else variance_shares(table, twin))


def variance_shares(
    table: np.ndarray[Any, np.dtype[np.float64]], twin: Sequence[float] | None = None
) -> tuple[float, float, float | None]:
    r"""Shares of split, seed and rounding in the variance of one training's score.

    With :math:`y_{si}` the score of seed s on split i, the variance within splits is that over the seeds, and the
    variance between splits that of their means less what the seeds add to it. A repetition that differs by rounding
    alone gives that part of the variance within, :math:`\tfrac12 \overline{(y_{0i} - y'_{0i})^2}`.

    Args:
        table: scores, shape ``(seeds, splits)``, at least 2 of each.
        twin: scores of the first seed with other rounding.

    >>> variance_shares(np.array([[1.0, 3.0], [1.0, 3.0]]))
    (1.0, 0.0, None)
    """
    within = float(table.var(axis=0, ddof=1).mean())
    between = max(float(table.mean(axis=0).var(ddof=1)) - within / len(table), 0.0)
    total = within + between
    if total == 0:
        return 0.0, 0.0, None if twin is None else 0.0
    if twin is None:
        return between / total, within / total, None
    rounding = min(float(np.mean((table[0] - np.asarray(twin)) ** 2)) / 2, within)
    return between / total, (within - rounding) / total, rounding / total


def chosen_settings(searches: Mapping[tuple[str, str], StoredSearch]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """The setting of each complete list with the best mean validation score."""
    return {
        cell: {**stored.study["fixed"], **best_trial(stored.trials).setting}
        for cell, stored in searches.items()
        if cell[0] in published.DATASETS and is_complete(stored)
    }
