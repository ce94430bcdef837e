"""What the searches behind a table of scores have taken, and what is left of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .cells import Cell
from .exhibit import Cell as Entry
from .exhibit import Table
from .score_tables import Cells
from .scores import NAMES


def effort_table(there: Cells, datasets: Sequence[str], settings: Callable[[str], int], *, command: str) -> Table:
    """Settings tried of those that are wanted, and hours of one core, graph by graph.

    Args:
        there: what is stored.
        datasets: the rows.
        settings: how many settings every method is to try on a graph.
        command: does what is left.
    """
    found = {dataset: _effort(there, dataset, settings(dataset)) for dataset in datasets}
    rows = [
        (dataset, *one.row, "all" if len(one.idle) == len(NAMES) else ", ".join(one.idle))
        for dataset, one in found.items()
    ]
    idle = tuple(name for one in found.values() for name in one.idle)
    total = _Effort(
        sum(one.tried for one in found.values()),
        sum(one.wanted for one in found.values()),
        sum(one.spent for one in found.values()),
        sum(one.left for one in found.values()),
        idle,
    )
    return Table(
        "What the searches took",
        ("graph", "settings tried", "hours of one core", "hours left", "not begun"),
        (*rows, ("together", *total.row, f"{len(idle)} in all" if idle else "")),
        (
            "A setting is trained on all splits. Hours left: settings that begun searches lack, each as long as the "
            "mean of those tried; searches that have not begun are not counted (`newtonnet search --plan` measures).",
            f"Command: `{command}`",
        ),
    )


@dataclass(frozen=True)
class _Effort:
    """Settings tried and wanted, hours of one core spent and left, and the methods whose search has not begun."""

    tried: int
    wanted: int
    spent: float
    left: float
    idle: tuple[str, ...]

    @property
    def row(self) -> tuple[Entry, ...]:
        return f"{self.tried} of {self.wanted}", f"{self.spent:.1f}", f"{self.left:.1f}" if self.left else "–"


def _effort(there: Cells, dataset: str, settings: int) -> _Effort:
    tried, wanted, spent, left = 0, 0, 0.0, 0.0
    for model in NAMES:
        cell, stored = Cell(dataset, model, settings), there.get((dataset, model))
        wanted += cell.wanted
        if stored is not None:
            done = min(len(stored.trials), cell.wanted)
            hours = sum(trial.seconds for trial in stored.trials) / 3600
            tried, spent = tried + done, spent + hours
            left += (cell.wanted - done) * hours / len(stored.trials)
    return _Effort(
        tried, wanted, spent, left, tuple(name for model, name in NAMES.items() if (dataset, model) not in there)
    )
