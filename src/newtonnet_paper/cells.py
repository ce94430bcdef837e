"""The searches that a claim rests on: one model on one graph each, what they lack, and how that is searched."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from newtonnet.datasets import CATALOGUE
from newtonnet.nn import find_model
from newtonnet.search import (
    BusyError,
    Executor,
    Space,
    Store,
    Study,
    Trial,
    first_trials,
    free,
    make_study,
    model_space,
    open_store,
    read_study,
    read_trials,
    store_path,
    sweep_all,
    write_best,
)
from newtonnet.search.settings import first_settings
from newtonnet.training import Config, Setting, override

from .stored import SPLITS, read_stored


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
        return self._named.name

    @property
    def _named(self) -> Study:
        return Study(self.dataset, "", self.model, label=self.label, protocol=self.protocol)

    @property
    def wanted(self) -> int:
        """Settings to try: what is asked for, or all there are of a smaller space.

        >>> Cell("cora", "mlp", 40).wanted, Cell("cora", "mlp", 40, space={}).wanted
        (36, 1)
        """
        return min(self.trials, math.prod(len(values) for values in self._space.values()))

    @property
    def _space(self) -> Space:
        return free(model_space(self.model) if self.space is None else self.space, self.fixed)

    @property
    def _first(self) -> list[Setting]:
        if not self.source:
            return first_settings(self.dataset, self.model)
        entry = find_model(self.model)
        return [override(Setting(self.source, entry.options, Config(**entry.training)), self.fixed)]

    def path(self, results: Path) -> Path:
        """Its file below the folder of results."""
        return store_path(results, self._named)

    def make(self) -> Study:
        """The study itself; loads the graph."""
        return make_study(
            self.dataset,
            self.model,
            first=self._first,
            label=self.label,
            space=self.space,
            fixed=self.fixed,
            protocol=self.protocol,
            patience=self.patience,
        )

    def bare(self, checksum: str, splits: int = SPLITS) -> Study:
        """The study on a graph that is not loaded: with this checksum, and so many splits."""
        study = replace(
            self._named,
            checksum=checksum,
            space=self._space,
            fixed=self.fixed,
            splits=splits,
            patience=self.patience,
            metric=CATALOGUE[self.dataset].metric,
        )
        return replace(study, first=first_trials(study, self._first))

    def stored_study(self, results: Path) -> Study | None:
        """The study as its file has it; None where there is none or another, which opening it will refuse.

        The graph is taken to be the one that the file tells of.
        """
        stored = read_study(self.path(results))
        if stored is None:
            return None
        study = self.bare(stored["checksum"], stored["splits"] if self.protocol == "fixed" else SPLITS)
        return study if study.describe() == stored else None

    def trials_of(self, results: Path) -> list[Trial]:
        """Its stored trials; none where the file holds another study."""
        return [] if self.stored_study(results) is None else read_trials(self.path(results))


def missing(cells: Sequence[Cell], results: Path) -> list[tuple[Cell, int]]:
    """The cells that lack trials, and how many each; only files are looked at."""
    counts = []
    for cell in cells:
        numbers = {trial.number for trial in cell.trials_of(results)}
        counts.append((cell, sum(number not in numbers for number in range(cell.wanted))))
    return [(cell, count) for cell, count in counts if count]


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
    own = cell.trials_of(results)
    searched = read_stored(results, cell.dataset, cell.model)
    there = own or (list(searched.trials) if searched is not None else [])
    return sum(trial.seconds for trial in there) / len(there) if there else None


def mend_best(cells: Sequence[Cell], results: Path) -> None:
    """Bring the table of best settings up to what is stored: a crash may have come between the two."""
    for cell in cells:
        study = None if cell.source else cell.stored_study(results)
        trials = [] if study is None else read_trials(cell.path(results))
        if study is not None and trials:
            write_best(results, study, trials)


def sweep_cells(
    cells: Sequence[Cell],
    results: Path,
    *,
    executor: Executor | None = None,
    stop: Callable[[float], bool] | None = None,
) -> Iterator[tuple[Cell, Trial]]:
    """Search what the cells lack, in their order; yields every new trial when it is stored.

    Args:
        cells: what is wanted; those that are done are not opened, and those that another process has are left to it.
        results: folder of all results.
        executor: where tasks run.
        stop: told how long a task is expected to take, whether to leave it.
    """
    with ExitStack() as stack:
        known: dict[str, Cell] = {}
        stores: list[tuple[Study, Store, int]] = []
        for cell, _ in missing(cells, results):
            study = cell.make()
            try:
                stores.append((study, stack.enter_context(open_store(results, study)), cell.trials))
            except BusyError as busy:
                warnings.warn(f"{busy}; it is left out here", stacklevel=2)
                continue
            known[study.key] = cell
        own = {study.key: store for study, store, _ in stores}
        for study, trial in sweep_all(stores, executor=executor, stop=stop):
            if not known[study.key].source:  # a repeated setting is no search's best
                write_best(results, study, own[study.key].trials())
            yield known[study.key], trial
