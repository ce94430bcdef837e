"""``newtonnet datasets``: what is available, and what one should know about a graph before training on it."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.bar import Bar
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from newtonnet.datasets import (
    CATALOGUE,
    ChangedFileWarning,
    Dataset,
    Statistics,
    Summary,
    describe,
    load_dataset,
    summarise,
)
from newtonnet.datasets.comparison import comparison_page
from newtonnet.datasets.raw_files import RawFile, data_roots
from newtonnet.datasets.summary import absent
from newtonnet.files import write_whole

from .app import app, print_json, talk


@app.command("datasets")
def datasets_command(
    name: Annotated[str | None, typer.Argument(help="One data set, for its statistics and provenance.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value instead of tables.")] = False,
    data_root: Annotated[
        Path | None, typer.Option(help="Folder of raw files, only read; $NEWTONNET_DATA if not given.")
    ] = None,
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
            Console().print(_sheet(dataset, statistics))
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


def _summaries(data_root: Path | None) -> list[Summary]:
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
    talk.print(f"newtonnet: {' '.join(text.split())}", soft_wrap=True, markup=False, highlight=False)


def _list(summaries: Sequence[Summary]) -> Table:
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


def _hint(summaries: Sequence[Summary]) -> str:
    absent = sum(not summary.available for summary in summaries)
    more = f"{absent} are not here (dim): training on one downloads it, or name their folder with --data-root. "
    return f"{more if absent else ''}One data set in detail: newtonnet datasets NAME"


def _sheet(dataset: Dataset, statistics: Statistics) -> Group:
    entry = dataset.entry
    blocks: list[RenderableType] = [
        Text.assemble((entry.name, "bold"), "  ", entry.about),
        Text(),
        _pairs(_counts(dataset, statistics)),
        Text("\nHomophily", style="bold"),
        _pairs(_homophilies(statistics)),
        Text("\nClasses (labelled nodes)", style="bold"),
        _bars(list(zip(statistics.class_names, statistics.class_counts, strict=True))),
        Text("\nDegrees (nodes)", style="bold"),
        _bars([(str(a) if a == b else f"{a}–{b}", count) for a, b, count in statistics.degrees]),
        Text("\nProvenance", style="bold"),
        _pairs(_provenance(dataset)),
    ]
    if entry.warnings:
        listed = Text("\n".join(f"• {warning}" for warning in entry.warnings))
        blocks += [Text(), Panel(listed, title="beware", title_align="left", border_style="yellow")]
    return Group(*blocks)


def _counts(dataset: Dataset, s: Statistics) -> list[tuple[str, str]]:
    return [
        ("nodes", f"{s.nodes:,}" + ("" if s.labelled == s.nodes else f", {s.labelled:,} of them labelled")),
        ("edges", f"{s.edges:,}, mean degree {s.mean_degree:.1f}, largest {s.largest_degree:,}"),
        ("features", f"{s.features:,}, {s.density:.2%} not zero" + _also(s.featureless, "node", "without any")),
        ("classes", str(s.classes)),
        (
            "components",
            f"{s.components:,}, the largest has {s.largest:,} nodes" + _also(s.isolated, "node", "isolated"),
        ),
        ("metric", dataset.entry.metric),
    ]


def _also(count: int, noun: str, what: str) -> str:
    return f"; {count:,} {noun}{'' if count == 1 else 's'} {what}" if count else ""


def _homophilies(s: Statistics) -> list[tuple[str, str]]:
    h = s.homophily
    kind = "above" if h.edge > s.adjusted_pivot else "below"
    rows = [
        ("edge", h.edge, "share of edges that join equal classes"),
        ("node", h.node, "the same, averaged over nodes"),
        ("class-insensitive", h.class_insensitive, "beyond each class's share of the nodes"),
        ("adjusted", h.adjusted, "0 is chance, 1 is all"),
        ("pivot 1/C", s.uniform_pivot, "what the paper compares with"),
        ("adjusted pivot", s.adjusted_pivot, f"chance with these classes: the graph is {kind} it"),
    ]
    return [(label, f"{value:6.3f}  {meaning}") for label, value, meaning in rows]


def _provenance(dataset: Dataset) -> list[tuple[str, str]]:
    entry = dataset.entry
    rows = [("source", entry.source), ("licence", entry.licence)]
    for status, meaning in (
        ("original", "checksums are those of the original files"),
        ("remade", "known remakes, not the original bytes"),
        ("unverified", "no checksum is known; recorded as"),
        ("changed", "no checksum is known, and the bytes are not those of the first load"),
    ):
        files = [file for file in dataset.files if file.status == status]
        if files:
            sums = "" if status == "original" else "".join(f"\n{_sum(file)}" for file in files)
            rows.append((f"{len(files)} file{'' if len(files) == 1 else 's'}", f"{status}: {meaning}{sums}"))
    if dataset.files and dataset.root is None:
        rows.append(("from the cache", "the files are not here now; this is the graph that was parsed from them last"))
    if dataset.splits:
        sizes = " / ".join(str(len(part)) for part in _parts(dataset))
        rows.append(("fixed splits", f"{len(dataset.splits)} of protocol {entry.fixed}, the first {sizes}"))
    if entry.published is not None:
        p = entry.published
        h = "" if p.homophily is None else f", homophily {p.homophily:.2f}"
        numbers = f"{p.nodes:,} nodes, {p.edges:,} edges, {p.features:,} features, {p.classes} classes{h}"
        rows.append(
            ("published", f"{numbers} ({p.citation})" + (f"; {entry.differences}" if entry.differences else ""))
        )
    return rows


def _sum(file: RawFile) -> str:
    first = "" if file.first_sha256 is None else f", at first {file.first_sha256}"
    return f"{Path(file.path).name} sha256 {file.sha256}{first}"


def _parts(dataset: Dataset) -> tuple[Any, ...]:
    first = dataset.splits[0]
    return first.train, first.validation, first.test


def _pairs(rows: Sequence[tuple[str, str]]) -> Table:
    grid = Table(box=None, show_header=False, pad_edge=False)
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column()
    for label, value in rows:
        grid.add_row(label, Text(value))
    return grid


def _bars(rows: Sequence[tuple[str, int]]) -> Table:
    grid = Table(box=None, show_header=False, pad_edge=False)
    grid.add_column(justify="right", style="cyan", no_wrap=True)
    grid.add_column(justify="right")
    grid.add_column()
    most = max((count for _, count in rows), default=1)
    for label, count in rows:
        grid.add_row(label, f"{count:,}", Bar(size=most, begin=0, end=count, width=40))
    return grid


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
