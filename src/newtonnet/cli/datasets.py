"""``newtonnet datasets``: what is available, and what one should know about a graph before training on it."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from newtonnet.datasets import (
    CATALOGUE,
    ChangedFileWarning,
    Dataset,
    DatasetSummary,
    Statistics,
    absent,
    comparison_page,
    data_roots,
    describe,
    load_dataset,
    summarise,
)
from newtonnet.files import write_whole

from .app import app, print_json, talk
from .dataset_sheet import sheet
from .options import DataRoot


@app.command("datasets")
def datasets_command(
    name: Annotated[str | None, typer.Argument(help="One data set, for its statistics and provenance.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value instead of tables.")] = False,
    data_root: DataRoot = None,
    table: Annotated[
        Path | None, typer.Option(help="Write measured against published statistics to this Markdown file.")
    ] = None,
) -> None:
    """List the data sets, or describe one.

    Example: newtonnet datasets chameleon
    """
    if table is not None and name is not None:
        raise typer.BadParameter("--table is about all data sets; leave NAME out")
    if name is not None:
        with _one_line_warnings():
            dataset = load_dataset(name, data_root=data_root)
        statistics = describe(dataset.graph)
        if as_json:
            print_json(_as_object(dataset, statistics))
        else:
            Console().print(sheet(dataset, statistics))
        return
    summaries = _summaries(data_root)
    if table is not None:
        with _one_line_warnings():
            rows = [
                (CATALOGUE[s.name], s, load_dataset(s.name, data_root=data_root).files if s.available else ())
                for s in summaries
            ]
        write_whole(table, comparison_page(rows))
        talk.print(f"wrote {table}")
    if as_json:
        print_json([asdict(summary) for summary in summaries])
    elif table is None:
        Console().print(_list(summaries))
        talk.print(_hint(summaries))


def _summaries(data_root: Path | None) -> list[DatasetSummary]:
    """Every data set; one that cannot be read is not available, and a line says why."""
    data_roots(data_root)  # a folder that is not there is the caller's mistake, and not one of each data set
    found = []
    with _one_line_warnings(), talk.status("looking") as status:
        for name, entry in CATALOGUE.items():
            status.update(f"looking at {name}")
            try:
                found.append(summarise(name, data_root=data_root))
            except (ValueError, OSError) as reason:
                _remark(f"{name} is not available: {reason}")
                found.append(absent(entry))
    return found


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Say each warning in a line of its own, without the place in the code that gave it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ChangedFileWarning)
        yield
    for warning in caught:
        _remark(str(warning.message))


def _remark(text: str) -> None:
    talk.print(f"newtonnet: {' '.join(text.split())}", soft_wrap=True)


def _list(summaries: Sequence[DatasetSummary]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column("data set")
    for column in ("nodes", "edges", "features", "classes", "homophily"):
        grid.add_column(column, justify="right")
    grid.add_column("metric")
    for s in summaries:
        numbers = [_count(number) for number in (s.nodes, s.edges, s.features, s.classes)]
        cells = [*numbers, "–" if s.homophily is None else f"{s.homophily:.2f}", s.metric]
        grid.add_row(s.name, *cells, style=None if s.available else "dim")
    return grid


def _hint(summaries: Sequence[DatasetSummary]) -> str:
    absent = sum(not summary.available for summary in summaries)
    more = f"{absent} are not here (dim): training on one downloads it, or name their folder with --data-root. "
    return f"{more if absent else ''}One data set in detail: newtonnet datasets NAME"


def _count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def _as_object(dataset: Dataset, statistics: Statistics) -> dict[str, Any]:
    entry, h = dataset.entry, asdict(statistics.homophily)
    numbers = {key: value for key, value in asdict(statistics).items() if key != "homophily"}
    return {
        "name": entry.name,
        "available": True,
        **_without_nan(numbers),
        "homophily": _without_nan(h)["edge"],
        "homophilies": _without_nan(h),
        "metric": entry.metric,
        "about": entry.about,
        "source": entry.source,
        "licence": entry.licence,
        "published": None if entry.published is None else asdict(entry.published),
        "differences": entry.differences,
        "warnings": list(entry.warnings),
        "root": None if dataset.root is None else str(dataset.root),
        "files": [asdict(file) for file in dataset.files],
        "fixed_splits": {"protocol": entry.fixed, "count": len(dataset.splits)} if dataset.splits else None,
    }


def _without_nan(numbers: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(value, float) and value != value else value for key, value in numbers.items()}
