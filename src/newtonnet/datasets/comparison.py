"""Measured statistics beside the published ones, as a page of documentation."""

from collections.abc import Sequence

from .entry import Entry, Published
from .raw_files import RawFile
from .summary import Summary

FIELDS = ("nodes", "edges", "features", "classes", "homophily")


def compare(summary: Summary, published: Published) -> tuple[str, ...]:
    """The statistics that differ; homophily is compared to two digits, as it is printed.

    >>> compare(Summary("x", True, 3, 2, 1, 2, 0.504, "accuracy"), Published(3, 4, 1, 2, 0.5, "a paper"))
    ('edges',)
    """
    return tuple(
        field
        for field in FIELDS
        if getattr(published, field) is not None
        and _as_printed(getattr(summary, field)) != _as_printed(getattr(published, field))
    )


def comparison_page(rows: Sequence[tuple[Entry, Summary, Sequence[RawFile]]]) -> str:
    """A page in Markdown with a row for every data set that is there, and a line for every difference."""
    lines = [
        "# Data sets: measured against published",
        "",
        "Made by `newtonnet datasets --table docs/datasets.md`; do not edit. Measured are the graphs as",
        "`newtonnet.load` gives them: undirected, every edge once, no self-loops; homophily is the share of edges that",
        "join equal labels, among those with two labelled ends. Where they differ from the published numbers, these",
        "follow in brackets, and the reason is given below.",
        "",
        "| data set | nodes | edges | features | classes | homophily | metric | files | published by |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- | --- | --- |",
    ]
    here = [row for row in rows if row[1].available]
    lines += [_row(*row) for row in here]
    lines += ["", "## Why they differ", ""]
    lines += [_explanation(entry, summary) for entry, summary, _ in here if _differs(entry, summary)]
    lines += ["", "## What to beware of", ""]
    lines += [f"- **{entry.name}**: {warning}." for entry, _, _ in rows for warning in entry.warnings]
    lines += [
        "",
        "## Where they come from",
        "",
        "| data set | what it is | source | licence |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {e.name} | {e.about} | {e.source} | {e.licence} |" for e, _, _ in rows]
    absent = [entry.name for entry, summary, _ in rows if not summary.available]
    if absent:
        lines += ["", f"Not measured, because their files were not there: {', '.join(absent)}."]
    return "\n".join(lines) + "\n"


def _row(entry: Entry, summary: Summary, files: Sequence[RawFile]) -> str:
    differing = _differs(entry, summary)
    cells = [entry.name]
    for field in FIELDS:
        measured = _as_printed(getattr(summary, field))
        cells.append(
            f"*{measured}* ({_as_printed(getattr(entry.published, field))})" if field in differing else measured
        )
    status = ", ".join(sorted({file.status for file in files})) or "generated"
    return f"| {' | '.join([*cells, summary.metric, status, entry.published.citation if entry.published else '–'])} |"


def _differs(entry: Entry, summary: Summary) -> tuple[str, ...]:
    return compare(summary, entry.published) if entry.published else ()


def _explanation(entry: Entry, summary: Summary) -> str:
    reason = entry.differences or "NOT EXPLAINED"
    return f"- **{entry.name}** ({', '.join(_differs(entry, summary))}): {reason}."


def _as_printed(value: float) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)
