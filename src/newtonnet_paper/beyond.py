"""The comparison on graphs that the paper lacks: without leaked duplicates, with mended data, and larger ones."""

from collections.abc import Sequence
from pathlib import Path

from newtonnet.datasets import CATALOGUE

from .cells import Cell
from .claim import Claim, Request
from .effort import effort_table
from .exhibit import OPEN, Finding, Report
from .results import Line
from .score_tables import HERO, RAISED, Cells, as_json, graph_table, newtonnet_table, overview, standing
from .scores import NAMES, how_made
from .table1 import by_cell, chosen_datasets, full_search, stored_lines, trials_of

GRAPHS = {
    "chameleon-filtered": "fixed",
    "squirrel-filtered": "fixed",
    "cornell-corrected": "random",
    "minesweeper": "random",
    "amazon-computers": "random",
    "amazon-photo": "random",
    "johnshopkins55": "random",
    "cornell5": "random",
}
"""Each with its protocol: the filtered graphs are compared on their published splits."""


def cells(request: Request, results: Path) -> list[Cell]:
    """Every method on every graph that is asked for."""
    return [
        Cell(dataset, model, trials_of(request.profile, dataset), protocol=GRAPHS[dataset])
        for dataset in chosen_datasets(request, list(GRAPHS))
        for model in (HERO, *(model for model in NAMES if model != HERO))
    ]


def load(results: Path) -> list[Line]:
    """What is stored of every cell."""
    return stored_lines(results, list(GRAPHS.items()))


def summarise(lines: Sequence[Line]) -> Report:
    """The same tables as for the paper's graphs; there is nothing published to stand beside them."""
    there = by_cell(lines)
    if not there:
        return Report((Finding(_STATEMENT, "nothing stored", "not tested", OPEN),), data={}, bare=True)
    done = [dataset for dataset in GRAPHS if any(name == dataset for name, _ in there)]
    notes = (
        f"Test score in percent by the paper's selection{' (ROC-AUC on minesweeper)' * ('minesweeper' in done)}. "
        + f"{RAISED} A dash: not searched; the command below does it. "
        + how_made(list(there.values())),
        *(f"{name}: {'; '.join(CATALOGUE[name].warnings)}." for name in done if CATALOGUE[name].warnings),
        "Command: `newtonnet reproduce beyond --profile paper`",
    )
    remarks = {name: f"{protocol} splits" if name in done else "not searched" for name, protocol in GRAPHS.items()}
    matrix = overview(there, list(GRAPHS), title="Graphs that the paper lacks", remarks=remarks, notes=notes)
    tables = (graph_table(there, name, command=_command(name)) for name in done)
    effort = effort_table(there, list(GRAPHS), full_search, command="newtonnet reproduce beyond --profile paper")
    return Report(
        findings=(_finding(there, done),),
        tables=(matrix, newtonnet_table(there, done), effort, *(table for table in tables if table is not None)),
        data=as_json(there),
        bare=True,
        headline=matrix,
    )


_STATEMENT = "NewtonNet also leads on graphs that the paper lacks (nested selection)"


def _finding(there: Cells, done: Sequence[str]) -> Finding:
    found = standing(there, done)
    ours = str(found) if found.compared else "too few trials"
    return Finding(_STATEMENT, ours, "not tested", found.verdict(found.whole))


def _command(dataset: str) -> str:
    return f"newtonnet reproduce beyond --profile paper --datasets {dataset}"


BEYOND = Claim(
    name="beyond",
    statement="The comparison of Table 1 on graphs that the paper does not have.",
    place="not in the paper",
    units=lambda request: (),
    summarise=summarise,
    options=frozenset({"datasets"}),
    load=load,
    cells=cells,
)
