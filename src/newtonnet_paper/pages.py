"""Findings and tables as text for a terminal and as markdown, and the page of all results."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple
from pathlib import Path

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table as Grid
from rich.text import Text

from newtonnet.files import fill_marked

from .claim import Claim, load_lines
from .exhibit import Report, Table, Value, Verdict

COLOURS = {Verdict.HOLDS: "green", Verdict.PARTLY: "yellow", Verdict.UNSURE: "yellow", Verdict.FAILS: "red"}
Shown = tuple[Claim, Report | None]
"""A claim and the report of its stored results; None where nothing is stored."""
COMMAND = "newtonnet-paper reproduce all --no-run --out docs"

READING = (
    "How to read the results: intervals and tests are over the splits of one search with one seed. They do not include "
    "the randomness of the search itself, nor that of rounding, which on chameleon changes one setting's mean by up to "
    "0.6 points from one population to another ([search.md](search.md)). They use the t distribution and may exceed "
    "100. Where several settings have the same validation score, the earliest is chosen: on texas and cornell, with 36 "
    "validation nodes, many do, and another rule would change nested scores there by about a point."
)


def print_report(claim: Claim, report: Report, console: Console) -> None:
    """Print the claim, its findings and its tables."""
    console.print(f"[bold]{escape(claim.name)}[/]: {escape(claim.statement)}")
    console.print(f"[dim]{escape(claim.place)}[/]\n")
    console.print(table_grid(_findings(report), titled=False))
    for table in report.tables:
        console.print()
        console.print(table_grid(table))


def table_grid(table: Table, *, titled: bool = True) -> RenderableType:
    """A table for the terminal, with its notes below; verdicts are coloured, numbers aligned to the right."""
    title = escape(table.title) if titled else None
    grid = Grid(title=title, box=box.SIMPLE_HEAD, title_justify="left", show_edge=False)
    for i, column in enumerate(table.columns):
        numeric = all(isinstance(row[i], int | float | None) for row in table.rows)
        grid.add_column(escape(column), justify="right" if numeric else "left", overflow="fold")
    for row in table.rows:
        texts = [_text(value) for value in row]
        grid.add_row(*(Text(text, style=COLOURS[Verdict(text)]) if text in COLOURS else escape(text) for text in texts))
    return Group(grid, *(Text(note, style="dim") for note in table.notes))


def table_markdown(table: Table, *, titled: bool = True, align: str = "---") -> str:
    """A table under its title, with its notes below; ``align`` is the rule of all columns but the first.

    >>> print(table_markdown(Table("Squares", ("x", "x²"), ((1, 1), (2, None)))))
    ### Squares
    <BLANKLINE>
    | x | x² |
    | --- | --- |
    | 1 | 1 |
    | 2 | – |
    """
    rules = ["---", *[align] * (len(table.columns) - 1)]
    lines = [_line(table.columns), _line(rules), *(_line([_text(value) for value in row]) for row in table.rows)]
    notes = [line for note in table.notes for line in ("", note)]
    return "\n".join([*([f"### {table.title}", ""] * titled), *lines, *notes])


def _line(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"


def _text(value: Value) -> str:
    return "–" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _findings(report: Report) -> Table:
    columns = ("statement", "here", "the paper", "verdict")
    return Table("Findings", columns, tuple(astuple(finding) for finding in report.findings))


def report_markdown(claim: Claim, report: Report, *, command: str) -> str:
    """The page of a claim, which ``command`` writes: statement, findings, text, tables and figures."""
    parts = [
        f"# {claim.name.capitalize()}",
        f"{claim.statement} ({claim.place}.)",
        f"This page is written by `{command}` from stored results; do not edit it by hand.",
        *claim_sections(claim, report),
    ]
    return "\n\n".join(parts) + "\n"


def claim_sections(claim: Claim, report: Report, *, brief: bool = False) -> list[str]:
    """Findings, text, tables and figures of a claim as paragraphs of markdown; only the findings if brief."""
    parts = [table_markdown(_findings(report))]
    if brief:
        return parts
    parts += [report.text.strip()] * bool(report.text)
    parts += [table_markdown(table) for table in report.tables]
    for figure in report.figures:
        parts.append(f"![{figure.caption}](figures/{claim.name}-{figure.name}.svg)\n\n*{figure.caption}*")
    return parts


def show_stored(claims: Iterable[Claim], results: Path) -> list[Shown]:
    """Claims from what is stored in a folder of results; nothing is trained."""
    return [(claim, claim.summarise(lines) if (lines := load_lines(claim, results)) else None) for claim in claims]


def results_page(shown: Sequence[Shown]) -> str:
    """Every claim with its findings, tables and figures; one line for a claim without stored results."""
    parts = ["# Results", f"This page is written by `{COMMAND}` from stored results; do not edit it by hand."]
    parts += ["## Summary", table_markdown(verdicts(shown), titled=False), READING]
    for claim, report in shown:
        parts += [f"## {claim.name}", f"{claim.statement} ({claim.place}.)"]
        command = f"`newtonnet-paper reproduce {claim.name} --profile paper`"
        if report is None:
            parts.append(f"Nothing is stored yet; run {command}.")
        elif report.page:
            page = f"[{report.page}.md]({report.page}.md)"
            parts += [*claim_sections(claim, report, brief=True), f"Tables and derivations: {page}."]
        else:
            parts += claim_sections(claim, report)
            if not any("Command: " in note for table in report.tables for note in table.notes):
                parts.append(f"Command: {command}")
    return "\n\n".join(parts) + "\n"


def verdicts(shown: Sequence[Shown]) -> Table:
    """Every statement that was tested, and whether it holds here; claims link to their section of the page."""
    rows = tuple(
        (f"[{claim.name}](#{claim.name})", finding.statement, finding.verdict)
        for claim, report in shown
        if report is not None
        for finding in report.findings
    )
    return Table("Summary", ("claim", "statement", "verdict"), rows)


def fill_results(text: str, shown: Sequence[Shown]) -> str:
    """Put headline tables between ``<!-- results CLAIM -->`` and ``<!-- end -->``.

    A marker whose claim has nothing stored, or no such table, keeps its contents.
    """
    tables = {claim.name: report.headline for claim, report in shown if report is not None}

    def make(name: str) -> str | None:
        table = tables.get(name)
        return None if table is None else table_markdown(table, titled=False)

    return fill_marked(text, "results", make)
