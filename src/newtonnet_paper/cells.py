"""The studies that claims are based on: one model on one graph each, what is stored, and how the rest is tried."""

import json
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from newtonnet import search
from newtonnet.datasets import CATALOGUE
from newtonnet.datasets import summarise as describe
from newtonnet.nn import find_model
from newtonnet.search import Executor, Space, Store, Study, Trial
from newtonnet.training import Config, Setting, override

from .claim import Request
from .lists import Choices, earlier_trials, list_length, list_name, make_list, stored_list

HERO = "newtonnet"
SPLITS = 10
"""Number of splits of every claim; of published splits, all there are."""

QUICK = 4
"""Settings for each cell in the quick profile, the first of its list."""


def trials_of(profile: str, dataset: str) -> int:
    """Settings that a cell tries: the whole list of the graph, or 4 in the quick profile.

    >>> trials_of("paper", "cora"), trials_of("paper", "pubmed"), trials_of("quick", "cora")
    (12, 8, 4)
    """
    return QUICK if profile == "quick" else list_length(dataset)


def chosen_datasets(request: Request, datasets: Sequence[str]) -> list[str]:
    """The graphs that a request names, or all that are available if it names none."""
    named = request.options.get("datasets")
    if named is None:
        return [name for name in datasets if describe(name).available]
    for name in named:
        if name not in datasets:
            raise ValueError(f"unknown graph {name!r} for this claim; available: {', '.join(datasets)}")
    return list(dict.fromkeys(named))


@dataclass(frozen=True)
class StoredSearch:
    """The stored trials of one study, in the order of their numbers, at least one."""

    dataset: str
    model: str
    label: str
    protocol: str
    study: Mapping[str, Any]
    """The study's description."""
    trials: tuple[Trial, ...]

    @property
    def length(self) -> int:
        """Settings before the first missing one: a search that was stopped inside a batch leaves gaps."""
        return next((i for i, trial in enumerate(self.trials) if trial.number != i), len(self.trials))

    @property
    def exhausted(self) -> bool:
        """Whether all settings of the space were tried, so that a longer search would find no other."""
        return len(self.trials) >= math.prod(len(values) for values in self.study["space"].values())

    @property
    def repeated(self) -> tuple[str, dict[str, Any]]:
        """The source of the setting that all trials share, and the setting."""
        return str(self.study["first"][0][0]), dict(self.study["fixed"])

    def value(self, trial: Trial, name: str) -> Any:
        """The value of a field in a trial: its own, or the one that all trials of the study share."""
        return trial.setting[name] if name in trial.setting else self.study["defaults"][name]

    def identity(self, trial: Trial) -> str:
        """The same text for two trials, also of different studies, that train the same model in the same way."""
        default = search.find_setting(self.dataset, self.model, "default")
        return search.identity(override(default, {**self.study["fixed"], **trial.setting}))

    def first(self, count: int) -> "StoredSearch":
        """The same study after its first ``count`` settings."""
        return replace(self, trials=tuple(trial for trial in self.trials if trial.number < count))

    def repeats(self, setting: Mapping[str, Any]) -> bool:
        """Whether the study has this setting for the fields that it does not vary."""
        return bool(self.study["fixed"] == json.loads(json.dumps(setting)))


def read_stored(
    results: Path,
    dataset: str,
    model: str,
    *,
    label: str = "",
    protocol: str = "random",
    patience: int | None = Study.patience,
    repeats: bool = False,
) -> StoredSearch | None:
    """What is stored of a list of settings, or of a study that ``repeats`` one; None where there is no trial.

    Trials with another name, or with other splits, epochs, patience or metric than the claim needs, are ignored with a
    warning: they belong to a search with another purpose.
    """
    label = label if repeats else list_name(label)
    path = search.store_path(results, Study(dataset, "", model, label=label, protocol=protocol))
    study, trials = search.read_study(path), search.read_trials(path)
    if study is None or not trials:
        return None
    usual = {
        "dataset": dataset,
        "model": model,
        "label": label,
        "protocol": protocol,
        "splits": study["splits"] if protocol == "fixed" else SPLITS,
        "max_epochs": Study.max_epochs,
        "patience": patience,
        "metric": CATALOGUE[dataset].metric,
    }
    other = [f"{name} {study[name]} instead of {value}" for name, value in usual.items() if study[name] != value]
    if other:
        warnings.warn(f"{path} is ignored: {', '.join(other)}", stacklevel=2)
        return None
    ordered = tuple(sorted(trials, key=lambda trial: trial.number))
    return StoredSearch(dataset, model, label, protocol, study, ordered)


def read_all(results: Path, graphs: Mapping[str, str], models: Iterable[str]) -> list[dict[str, Any]]:
    """Lines with what is stored of some models on some graphs, each graph with its protocol."""
    found = [
        read_stored(results, dataset, model, protocol=protocol)
        for dataset, protocol in graphs.items()
        for model in models
    ]
    return [{"stored": one} for one in found if one is not None]


def chosen_setting(
    results: Path,
    dataset: str,
    model: str,
    *,
    label: str = "",
    protocol: str = "random",
    tried: int | None = None,
) -> tuple[str, dict[str, Any]]:
    """The best setting of a list, among its first ``tried`` ones, else the published one, else the default.

    Returns:
        The source, ``searched``, ``published`` or ``default``, and the fields that differ from the model's defaults.
    """
    stored = read_stored(results, dataset, model, label=label, protocol=protocol)
    if stored is not None:
        among = stored.trials if tried is None else stored.first(tried).trials
        return "searched", {**stored.study["fixed"], **search.best_trial(among).setting}
    setting = search.find_setting(dataset, model)
    return setting.source, search.difference(setting, search.find_setting(dataset, model, "default"))


@dataclass(frozen=True)
class Cell:
    """One study of a claim and the number of settings to try."""

    dataset: str
    model: str
    trials: int
    label: str = ""
    """Distinguishes several studies of one model on one graph; that of a list ends in ``list``."""
    protocol: str = "random"
    fixed: Mapping[str, Any] = field(default_factory=dict)
    space: Space | None = None
    """The values to vary; the model's own space if not given."""
    source: str = ""
    """Where the fixed fields come from, for cells that repeat a setting or fill a grid instead of trying a list."""
    patience: int | None = 200
    """Epochs without a better validation score; None: never stop."""

    @property
    def name(self) -> str:
        """Model, label and protocol, as in file names."""
        return self._named.name

    @property
    def _named(self) -> Study:
        label = self.label if self.source else list_name(self.label)
        return Study(self.dataset, "", self.model, label=label, protocol=self.protocol)

    def earlier(self, results: Path) -> Path:
        """The file of the search that came before the list."""
        return search.store_path(results, replace(self._named, label=self.label))

    @property
    def wanted(self) -> int:
        """Settings to try: the requested number, or the whole list or space if it is smaller.

        >>> Cell("cora", "mlp", 40).wanted, Cell("cora", "mlp", 40, space={}).wanted
        (12, 1)
        """
        there = math.prod(len(values) for values in self._space.values())
        return min(self.trials, there if self.source else min(there, list_length(self.dataset)))

    @property
    def _space(self) -> Space:
        return search.free(search.model_space(self.model) if self.space is None else self.space, self.fixed)

    def _with_first(self, study: Study, results: Path) -> Study:
        """The study and the settings that it tries: the repeated one, or the list that is stored, or else a new one."""
        if self.source:
            entry = find_model(self.model)
            repeated = override(Setting(self.source, entry.options, Config(**entry.training)), self.fixed)
            return replace(study, first=search.first_trials(study, [repeated]))
        choices: Choices = stored_list(self.path(results)) or make_list(study, self.earlier(results))
        return replace(study, first=choices)

    def path(self, results: Path) -> Path:
        """The file of the study in the folder of results."""
        return search.store_path(results, self._named)

    def make(self, results: Path) -> Study:
        """The study itself; loads the graph."""
        study = search.make_study(
            self.dataset,
            self.model,
            label=self._named.label,
            space=self.space,
            fixed=self.fixed,
            protocol=self.protocol,
            patience=self.patience,
        )
        return self._with_first(study, results)

    def bare(self, checksum: str, results: Path, splits: int = SPLITS) -> Study:
        """The study without loading the graph, whose checksum is given."""
        study = replace(
            self._named,
            checksum=checksum,
            space=self._space,
            fixed=self.fixed,
            splits=splits,
            patience=self.patience,
            metric=CATALOGUE[self.dataset].metric,
        )
        return self._with_first(study, results)

    def stored_study(self, results: Path) -> Study | None:
        """The study as stored, with the stored graph's checksum; None where the file is missing or another study's."""
        stored = search.read_study(self.path(results))
        if stored is None:
            return None
        study = self.bare(stored["checksum"], results, stored["splits"] if self.protocol == "fixed" else SPLITS)
        return study if study.describe() == stored else None

    def trials_of(self, results: Path) -> list[Trial]:
        """The stored trials; none where the file is another study's."""
        return [] if self.stored_study(results) is None else search.read_trials(self.path(results))


def take_over(cells: Sequence[Cell], results: Path) -> None:
    """Begin lists with what an earlier search has tried of them before it had seen a score."""
    for cell in cells:
        earlier = None if cell.source else search.read_study(cell.earlier(results))
        if earlier is None or cell.path(results).exists():
            continue
        study = cell.bare(earlier["checksum"], results, earlier["splits"])
        trials = earlier_trials(study, cell.earlier(results))
        if trials:
            with search.open_store(results, study) as store:
                store.append(trials)


def model_cells(graphs: Mapping[str, str], models: Iterable[str], request: Request, results: Path) -> list[Cell]:
    """The list of every model on every requested graph, each graph with its protocol."""
    return [
        Cell(dataset, model, trials_of(request.profile, dataset), protocol=graphs[dataset])
        for dataset in chosen_datasets(request, list(graphs))
        for model in models
    ]


def missing(cells: Sequence[Cell], results: Path) -> list[tuple[Cell, int]]:
    """The cells that lack trials, and how many each lacks; reads stored files only."""
    counts = []
    for cell in cells:
        numbers = {trial.number for trial in cell.trials_of(results)}
        counts.append((cell, sum(number not in numbers for number in range(cell.wanted))))
    return [(cell, count) for cell, count in counts if count]


def plan(cells: Sequence[Cell], results: Path) -> list[str]:
    """One line for each cell that lacks trials, with the hours estimated from stored trials, and their sum."""
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
        other = [f"{unknown} of unknown length (newtonnet search --plan measures it)"] * (unknown > 0)
        lines.append(f"{len(lines)} cells: {', '.join([*known, *other])}")
    return lines


def _seconds(cell: Cell, results: Path) -> float | None:
    """The mean time of a trial of the cell, or else of its model on its graph; None if unknown."""
    own = cell.trials_of(results)
    usual = "fixed" if cell.protocol == "fixed" else "random"
    listed = read_stored(results, cell.dataset, cell.model, protocol=usual)
    there = own or (list(listed.trials) if listed is not None else search.read_trials(cell.earlier(results)))
    return sum(trial.seconds for trial in there) / len(there) if there else None


def sweep_cells(
    cells: Sequence[Cell],
    results: Path,
    *,
    executor: Executor | None = None,
    stop: Callable[[float], bool] | None = None,
) -> Iterator[tuple[Cell, Trial]]:
    """Search what the cells lack and yield every new trial; ``stop``, given a task's seconds, skips it."""
    with ExitStack() as stack:
        known: dict[str, Cell] = {}
        stores: list[tuple[Study, Store, int]] = []
        for cell, _ in missing(cells, results):
            study = cell.make(results)
            try:
                stores.append((study, stack.enter_context(search.open_store(results, study)), cell.wanted))
            except search.BusyError as busy:
                warnings.warn(f"{busy}; it is skipped here", stacklevel=2)
                continue
            known[study.key] = cell
        for study, trial in search.sweep_all(stores, executor=executor, stop=stop):
            yield known[study.key], trial
