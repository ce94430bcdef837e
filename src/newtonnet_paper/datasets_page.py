"""The page that compares the measured statistics of the data sets with the published ones."""

from collections.abc import Sequence
from pathlib import Path

from newtonnet.datasets import (
    CATALOGUE,
    DatasetEntry,
    DatasetSummary,
    Published,
    RawFile,
    load_dataset,
    summarise,
)

FIELDS = ("nodes", "edges", "features", "classes", "homophily")
"""Statistics that are compared with the published ones."""

Row = tuple[DatasetEntry, DatasetSummary, Sequence[RawFile]]


def measured_rows(data_root: Path | None = None) -> list[Row]:
    """Every data set of the catalogue with its summary and its raw files; nothing is downloaded."""
    summaries = [summarise(name, data_root=data_root) for name in CATALOGUE]
    return [
        (CATALOGUE[s.name], s, load_dataset(s.name, data_root=data_root).files if s.available else ())
        for s in summaries
    ]


def compare(summary: DatasetSummary, published: Published | None) -> tuple[str, ...]:
    """The statistics that differ from published ones; homophily is compared to two digits, as it is printed.

    >>> compare(DatasetSummary("x", True, 3, 2, 1, 2, 0.504, "accuracy"), Published(3, 4, 1, 2, "a paper", 0.5))
    ('edges',)
    """
    known = [field for field in FIELDS if getattr(published, field, None) is not None]
    return tuple(field for field in known if _printed(summary, field) != _printed(published, field))


def comparison_page(rows: Sequence[Row]) -> str:
    """A page in Markdown with a row for every data set that is there, and a line for every difference."""
    here = [row for row in rows if row[1].available]
    differing = [(e, fields) for e, summary, _ in here if (fields := compare(summary, e.published))]
    reasons = [f"- **{e.name}** ({', '.join(fields)}): {e.differences or 'NOT EXPLAINED'}." for e, fields in differing]
    absent = ", ".join(entry.name for entry, summary, _ in rows if not summary.available)
    return _PAGE.format(
        measured="\n".join(_row(*row) for row in here),
        reasons="\n".join(reasons),
        warnings="\n".join(f"- **{entry.name}**: {warning}." for entry, _, _ in rows for warning in entry.warnings),
        sources="\n".join(f"| {e.name} | {e.about} | {e.source} | {e.licence} |" for e, _, _ in rows),
        absent=f"\nNot measured, because their files were not there: {absent}.\n" if absent else "",
    )


_PAGE = """\
# Data sets: measured against published

Written by `newtonnet-paper datasets --out docs/datasets.md`; do not edit. The measured graphs are those that
`newtonnet.load` returns: undirected, every edge once, no self-loops. Homophily is the share of edges that
join equal labels, among edges with two labelled ends. Published numbers that differ follow in brackets; the
reasons are given below.

| data set | nodes | edges | features | classes | homophily | metric | files | published by |
| --- | ---: | ---: | ---: | ---: | ---: | --- | --- | --- |
{measured}

## Why they differ

{reasons}

## Warnings

{warnings}

## Where they come from

| data set | what it is | source | licence |
| --- | --- | --- | --- |
{sources}
{absent}"""


def _row(entry: DatasetEntry, summary: DatasetSummary, files: Sequence[RawFile]) -> str:
    cells = {field: _printed(summary, field) for field in FIELDS}
    for field in compare(summary, entry.published):
        cells[field] = f"*{cells[field]}* ({_printed(entry.published, field)})"
    status = ", ".join(sorted({file.status for file in files})) or "generated"
    citation = entry.published.citation if entry.published else "–"
    return f"| {' | '.join([entry.name, *cells.values(), summary.metric, status, citation])} |"


def _printed(statistics: DatasetSummary | Published | None, field: str) -> str:
    value = getattr(statistics, field)
    return f"{value:.2f}" if isinstance(value, float) else str(value)
