"""``newtonnet datasets``: which data sets are available, and what to know about a graph before training on it."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from newtonnet.meaning import counted
from newtonnet.progress import console

from .app import app, print_json
from .options import DataRoot, Json

if TYPE_CHECKING:
    from rich.table import Table

    from newtonnet.datasets import Dataset, DatasetSummary, Statistics

STATUS = {
    "original": "checksums match the original files",
    "remade": "known remakes, not the original bytes",
    "unverified": "no checksum is known; recorded as",
    "changed": "no checksum is known, and the bytes are not those of the first load",
}
"""Meaning of the status of a raw file."""


@app.command("datasets")
def datasets_command(
    name: Annotated[str | None, typer.Argument(help="Name of a data set, to print its statistics and origin.")] = None,
    json: Json = False,
    data_root: DataRoot = None,
) -> None:
    """List the data sets, or describe one.

    Example: newtonnet datasets chameleon
    """
    from newtonnet.datasets import ChangedFileWarning, describe, load_dataset

    warnings.simplefilter("always", ChangedFileWarning)  # until the end of the command
    if name is not None:
        dataset = load_dataset(name, data_root=data_root)
        statistics = describe(dataset.graph)
        if json:
            print_json(_as_object(dataset, statistics))
        else:
            _print_sheet(dataset, statistics)
        return
    summaries = _summaries(data_root)
    if json:
        print_json([asdict(summary) for summary in summaries])
    else:
        Console().print(_list(summaries))
        absent = sum(not summary.available for summary in summaries)
        if absent:
            console.print(f"{absent} are not here (dim): training on one downloads it, or give --data-root.")
        console.print("Describe one data set: newtonnet datasets NAME")


def _summaries(data_root: Path | None) -> "list[DatasetSummary]":
    """All data sets; one that cannot be read is not available, and a message says why."""
    from newtonnet.datasets import CATALOGUE, absent, data_roots, summarise

    data_roots(data_root)  # a missing folder is one mistake, not one for each data set
    found = []
    with console.status("looking") as status:
        for name, entry in CATALOGUE.items():
            status.update(f"looking at {name}")
            try:
                found.append(summarise(name, data_root=data_root))
            except (ValueError, OSError) as reason:
                console.print(f"newtonnet: {name} is not available: {' '.join(str(reason).split())}", soft_wrap=True)
                found.append(absent(entry))
    return found


def _list(summaries: "Sequence[DatasetSummary]") -> "Table":
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column("data set")
    for column in ("nodes", "edges", "features", "classes", "homophily"):
        grid.add_column(column, justify="right")
    grid.add_column("metric")
    for s in summaries:
        numbers = ["–" if number is None else f"{number:,}" for number in (s.nodes, s.edges, s.features, s.classes)]
        share = "–" if s.homophily is None else f"{s.homophily:.2f}"
        grid.add_row(s.name, *numbers, share, s.metric, style=None if s.available else "dim")
    return grid


def _as_object(dataset: "Dataset", statistics: "Statistics") -> dict[str, Any]:
    entry, numbers = dataset.entry, asdict(statistics)
    return {
        "name": entry.name,
        "available": True,
        **numbers,
        "homophily": numbers["homophily"]["edge"],
        "homophilies": numbers["homophily"],
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


def _print_sheet(dataset: "Dataset", s: "Statistics") -> None:
    """Print counts, homophily, classes, degrees, origin of the files, and warnings."""
    degrees = [(str(low) if low == high else f"{low}–{high}", count) for low, high, count in s.degrees]
    _print_rows(dataset.entry.name, [("", dataset.entry.about), *_counts(dataset, s)])
    _print_rows("Homophily", _homophilies(s))
    _print_rows("Classes (labelled nodes)", _bars(list(zip(s.class_names, s.class_counts, strict=True))))
    _print_rows("Degrees (nodes)", _bars(degrees))
    _print_rows("Origin", _origin(dataset))
    if dataset.entry.warnings:
        _print_rows("Warnings", [("•", warning) for warning in dataset.entry.warnings])


def _print_rows(title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Print a heading and labelled values, long ones indented over several lines."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2), pad_edge=False)
    grid.add_column(no_wrap=True)
    for label, value in rows:
        grid.add_row(label, value)
    Console(markup=False, emoji=False, highlight=False).print(f"\n{title}", grid, sep="\n")


def _bars(rows: Sequence[tuple[str, int]]) -> list[tuple[str, str]]:
    """Counts with bars of at most 40 characters."""
    most = max((count for _, count in rows), default=1)
    digits = len(f"{most:,}")
    return [(label, f"{count:>{digits},}  {'█' * round(40 * count / most)}") for label, count in rows]


def _counts(dataset: "Dataset", s: "Statistics") -> list[tuple[str, str]]:
    labelled = "" if s.labelled == s.nodes else f", {s.labelled:,} of them labelled"
    without = f"; {counted(s.featureless, 'node')} without any" if s.featureless else ""
    isolated = f"; {counted(s.isolated, 'isolated node')}" if s.isolated else ""
    return [
        ("nodes", f"{s.nodes:,}{labelled}"),
        ("edges", f"{s.edges:,}, mean degree {s.mean_degree:.1f}, largest {s.largest_degree:,}"),
        ("features", f"{s.features:,}, {s.density:.2%} nonzero{without}"),
        ("classes", str(s.classes)),
        ("components", f"{s.components:,}, the largest has {s.largest:,} nodes{isolated}"),
        ("metric", dataset.entry.metric),
    ]


def _homophilies(s: "Statistics") -> list[tuple[str, str]]:
    h = s.homophily
    kind = "above" if h.edge > s.adjusted_pivot else "below"
    rows = [
        ("edge", h.edge, "share of edges between nodes of the same class"),
        ("node", h.node, "the same, averaged over nodes"),
        ("class-insensitive", h.class_insensitive, "excess over each class's share of the nodes"),
        ("adjusted", h.adjusted, "0 is chance, 1 is perfect"),
        ("pivot 1/C", s.uniform_pivot, "the paper's reference"),
        ("adjusted pivot", s.adjusted_pivot, f"chance with these classes and degrees: the graph is {kind} it"),
    ]
    return [(label, f"{value:6.3f}  {meaning}") for label, value, meaning in rows]


def _origin(dataset: "Dataset") -> list[tuple[str, str]]:
    entry = dataset.entry
    rows = [("source", entry.source), ("licence", entry.licence)]
    for status, meaning in STATUS.items():
        files = [file for file in dataset.files if file.status == status]
        if not files:
            continue
        lines = [f"{status}: {meaning}"]
        for file in files if status != "original" else ():
            first = "" if file.first_sha256 is None else f", at first {file.first_sha256}"
            lines.append(f"{Path(file.path).name} sha256 {file.sha256}{first}")
        rows.append((counted(len(files), "file"), "\n".join(lines)))
    if dataset.files and dataset.root is None:
        rows.append(("from the cache", "the files are not here; the graph was parsed from them earlier"))
    if dataset.splits:
        first_split = dataset.splits[0]
        sizes = " / ".join(str(len(part)) for part in (first_split.train, first_split.validation, first_split.test))
        rows.append(("fixed splits", f"{len(dataset.splits)} of protocol {entry.fixed}, the first {sizes}"))
    if entry.published is not None:
        p = entry.published
        h = "" if p.homophily is None else f", homophily {p.homophily:.2f}"
        numbers = f"{p.nodes:,} nodes, {p.edges:,} edges, {p.features:,} features, {p.classes} classes{h}"
        differences = f"; {entry.differences}" if entry.differences else ""
        rows.append(("published", f"{numbers} ({p.citation}){differences}"))
    return rows
