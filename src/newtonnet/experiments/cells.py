"""The searches that a claim rests on: one model on one graph each, as they are wanted and as they are stored."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from newtonnet.nn import find_model
from newtonnet.search import (
    Executor,
    Study,
    Trial,
    best_trial,
    difference,
    make_study,
    model_space,
    open_store,
    read_study,
    read_trials,
    store_path,
    sweep_all,
    write_best,
)
from newtonnet.search.space import Space
from newtonnet.training import Config, Setting, override

from .settings import find_setting, first_settings


@dataclass(frozen=True)
class Cell:
    """One study of a claim and how many settings it shall try."""

    dataset: str
    model: str
    trials: int
    label: str = ""
    """Tells it apart from the search of the same model on the same graph that ``newtonnet search`` does."""
    protocol: str = "random"
    fixed: Mapping[str, Any] = field(default_factory=dict)
    space: Space | None = None
    """What is varied; the model's own space if not given."""
    source: str = ""
    """Where the fixed fields come from, for cells that do not search but repeat a setting."""
    patience: int | None = 200
    """Epochs without a better validation score; None: never stop."""

    @property
    def name(self) -> str:
        """Model, label and protocol, as files call it."""
        return self._bare.name

    @property
    def _bare(self) -> Study:
        return Study(self.dataset, "", self.model, label=self.label, protocol=self.protocol)

    @property
    def wanted(self) -> int:
        """Settings to try: what is asked for, or all there are of a smaller space.

        >>> Cell("cora", "mlp", 40).wanted, Cell("cora", "mlp", 40, space={}).wanted
        (36, 1)
        """
        covered = set(self.fixed) | ({"gamma1", "gamma2", "gamma3"} if "gammas" in self.fixed else set())
        space = model_space(self.model) if self.space is None else self.space
        return min(self.trials, math.prod(len(values) for name, values in space.items() if name not in covered))

    def path(self, results: Path) -> Path:
        """Its file below the folder of results."""
        return store_path(results, self._bare)

    def make(self) -> Study:
        """The study itself; loads the graph."""
        first = first_settings(self.dataset, self.model)
        if self.source:
            entry = find_model(self.model)
            first = [override(Setting(self.source, entry.options, Config(**entry.training)), self.fixed)]
        return make_study(
            self.dataset,
            self.model,
            first=first,
            label=self.label,
            space=self.space,
            fixed=self.fixed,
            protocol=self.protocol,
            patience=self.patience,
        )


@dataclass(frozen=True)
class Stored:
    """The trials of one study that are at hand, in the order of their numbers, at least one."""

    dataset: str
    model: str
    label: str
    protocol: str
    study: Mapping[str, Any]
    """The study's description."""
    trials: tuple[Trial, ...]

    @property
    def exhausted(self) -> bool:
        """Whether all settings of its space were tried, so that a longer search would find no other."""
        return len(self.trials) >= math.prod(len(values) for values in self.study["space"].values())

    def value(self, trial: Trial, name: str) -> Any:
        """What a trial has for a field: its own, or what all trials of the study share."""
        return trial.setting[name] if name in trial.setting else self.study["defaults"][name]

    def first(self, count: int) -> "Stored":
        """The same study when so many settings had been tried."""
        return replace(self, trials=self.trials[:count])


def read_stored(results: Path, dataset: str, model: str, *, label: str = "", protocol: str = "random") -> Stored | None:
    """What is stored of one study; None where there is no trial."""
    path = store_path(results, Study(dataset, "", model, label=label, protocol=protocol))
    if not path.exists():
        return None
    study, trials = read_study(path), read_trials(path)
    if study is None or not trials:
        return None
    ordered = tuple(sorted(trials, key=lambda trial: trial.number))
    return Stored(dataset, model, label, protocol, study, ordered)


def repeats(stored: Stored, setting: Mapping[str, Any]) -> bool:
    """Whether a stored study has this setting for what it does not vary."""
    return bool(stored.study["fixed"] == json.loads(json.dumps(setting)))


def chosen_setting(
    results: Path, dataset: str, model: str, *, label: str = "", tried: int | None = None
) -> tuple[str, dict[str, Any]]:
    """The setting that the search on random splits selects, else the published one, else none: its source and fields.

    Args:
        results: folder of all results.
        dataset: the graph.
        model: the method.
        label: of the search.
        tried: select among so many settings, the search's first; among all if not given.

    Returns:
        ``searched``, ``published`` or ``default``, and how the setting differs from the model's defaults.
    """
    stored = read_stored(results, dataset, model, label=label)
    if stored is not None:
        among = stored.trials if tried is None else stored.first(tried).trials
        return "searched", {**stored.study["fixed"], **best_trial(among).setting}
    setting = find_setting(dataset, model)
    return setting.source, difference(setting, find_setting(dataset, model, "default"))


def missing(cells: Sequence[Cell], results: Path) -> list[tuple[Cell, int]]:
    """The cells that lack trials, and how many each; only files are looked at."""
    counts = [(cell, cell.wanted - len(read_trials(cell.path(results)))) for cell in cells]
    return [(cell, count) for cell, count in counts if count > 0]


def plan(cells: Sequence[Cell], results: Path) -> list[str]:
    """One line for each cell that lacks trials, with the hours that its stored trials tell of, and their sum."""
    lines, hours, unknown = [], 0.0, 0
    for cell, count in missing(cells, results):
        line = f"{cell.name} on {cell.dataset}: {count} of {cell.wanted} settings to try"
        if (seconds := _seconds(cell, results)) is not None:
            share = count * seconds / 3600
            hours += share
            line += f", about {share:.2f} h of one core"
        else:
            unknown += 1
        lines.append(line)
    if lines:
        known = [f"about {hours:.2f} h of one core for {len(lines) - unknown}"] * (unknown < len(lines))
        other = [f"{unknown} of unknown length (newtonnet search --plan measures)"] * (unknown > 0)
        lines.append(f"{len(lines)} cells: {', '.join([*known, *other])}")
    return lines


def _seconds(cell: Cell, results: Path) -> float | None:
    """The mean time of a trial of the cell, or else of the search of its model on its graph; None if unknown."""
    own = read_trials(cell.path(results))
    searched = read_stored(results, cell.dataset, cell.model)
    there = own or (list(searched.trials) if searched is not None else [])
    return sum(trial.seconds for trial in there) / len(there) if there else None


def sweep_cells(
    cells: Sequence[Cell],
    results: Path,
    *,
    executor: Executor | None = None,
    stop: Callable[[float], bool] | None = None,
) -> Iterator[tuple[Cell, Trial]]:
    """Search what the cells lack, in their order; yields every new trial when it is stored.

    Args:
        cells: what is wanted; those that are done are not opened.
        results: folder of all results.
        executor: where tasks run.
        stop: told how long a task is expected to take, whether to leave it.
    """
    lacking = [cell for cell, _ in missing(cells, results)]
    for trials in dict.fromkeys(cell.trials for cell in lacking):
        with ExitStack() as stack:
            known: dict[str, Cell] = {}
            pairs = []
            for cell in (cell for cell in lacking if cell.trials == trials):
                study = cell.make()
                known[study.key] = cell
                pairs.append((study, stack.enter_context(open_store(results, study))))
            stores = {study.key: store for study, store in pairs}
            for study, trial in sweep_all(pairs, executor=executor, trials=trials, stop=stop):
                if not known[study.key].source:  # a repeated setting is no search's best
                    write_best(results, study, stores[study.key].trials())
                yield known[study.key], trial
