"""What ``newtonnet datasets NAME`` prints: a sheet about one graph."""

from collections.abc import Sequence
from pathlib import Path

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from newtonnet.datasets import Dataset, RawFile, Statistics


def sheet(dataset: Dataset, statistics: Statistics) -> Group:
    """Counts, homophilies, classes, degrees, where the files come from, and what to beware of."""
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
        first = dataset.splits[0]
        sizes = " / ".join(str(len(part)) for part in (first.train, first.validation, first.test))
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
