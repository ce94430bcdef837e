"""Findings and tables as text for a terminal and as markdown for a page."""

from collections.abc import Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table as Grid
from rich.text import Text

from newtonnet_paper.claim import Claim
from newtonnet_paper.exhibit import FAILS, HOLDS, PARTLY, UNSURE, Cell, Finding, Report, Table

COLOURS = {HOLDS: "green", PARTLY: "yellow", UNSURE: "yellow", FAILS: "red"}


def print_report(claim: Claim, report: Report, console: Console) -> None:
    """The claim, what was found beside it, and the tables."""
    console.print(f"[bold]{escape(claim.name)}[/]: {escape(claim.statement)}")
    console.print(f"[dim]{escape(claim.place)}[/]\n")
    console.print(_findings_grid(report.findings))
    for table in report.tables:
        console.print()
        console.print(_grid(table))


def report_markdown(claim: Claim, report: Report, *, command: str, pictures: str = "figures") -> str:
    """The page of a claim: statement, findings, text, tables and figures.

    Args:
        claim: the claim.
        report: what it shows.
        command: the command that makes the page.
        pictures: folder of the figures, seen from the page.
    """
    parts = [
        f"# {claim.name.capitalize()}",
        f"{claim.statement} ({claim.place}.)",
        f"This page is written by `{command}` from stored results; do not edit it by hand.",
        *claim_sections(claim, report, pictures=pictures),
    ]
    return "\n\n".join(parts) + "\n"


def claim_sections(claim: Claim, report: Report, *, pictures: str = "figures", brief: bool = False) -> list[str]:
    """Findings, text, tables and figures of a claim as paragraphs of markdown; the findings alone if brief."""
    found = Table("What was found", ("statement", "here", "the paper", "verdict"), _rows(report.findings))
    parts = [table_markdown(found)]
    if brief:
        return parts
    if report.text:
        parts.append(report.text.strip())
    parts += [table_markdown(table) for table in report.tables]
    for figure in report.figures:
        name = f"{pictures}/{claim.name}-{figure.name}.svg"
        parts.append(f"![{figure.caption}]({name})\n\n*{figure.caption}*")
    return parts


def table_markdown(table: Table, *, titled: bool = True) -> str:
    """A table under its title, with its notes below.

    >>> print(table_markdown(Table("Squares", ("x", "x²"), ((1, 1), (2, None)))))
    ### Squares
    <BLANKLINE>
    | x | x² |
    | --- | --- |
    | 1 | 1 |
    | 2 | – |
    """
    title = [f"### {table.title}", ""] if titled else []
    lines = [*title, _line(table.columns), _line(["---"] * len(table.columns))]
    lines += [_line([_text(cell) for cell in row]) for row in table.rows]
    if table.notes:
        lines += [line for note in table.notes for line in ("", note)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _text(cell: Cell) -> str:
    return "–" if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell)


def _rows(findings: Sequence[Finding]) -> tuple[tuple[Cell, ...], ...]:
    return tuple((finding.statement, finding.ours, finding.published, finding.verdict) for finding in findings)


def _findings_grid(findings: Sequence[Finding]) -> RenderableType:
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False)
    for column in ("statement", "here", "the paper", "verdict"):
        grid.add_column(column, overflow="fold")
    for finding in findings:
        verdict = Text(finding.verdict, style=COLOURS.get(finding.verdict, "dim"))
        grid.add_row(escape(finding.statement), escape(finding.ours), escape(finding.published), verdict)
    return grid


def _grid(table: Table) -> RenderableType:
    grid = Grid(title=escape(table.title), box=box.SIMPLE_HEAD, title_justify="left", show_edge=False)
    for i, column in enumerate(table.columns):
        numeric = all(isinstance(row[i], int | float | None) for row in table.rows)
        grid.add_column(escape(column), justify="right" if numeric else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*(escape(_text(cell)) for cell in row))
    return Group(grid, *(Text(note, style="dim") for note in table.notes))
