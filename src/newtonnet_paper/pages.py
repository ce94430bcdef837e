"""Findings and tables as text for a terminal and as markdown, and the page of all results."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple
from pathlib import Path

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table as Grid
from rich.text import Text

from .claim import Claim, load_lines
from .exhibit import Report, Table, Value, Verdict

COLOURS = {Verdict.HOLDS: "green", Verdict.PARTLY: "yellow", Verdict.UNSURE: "yellow", Verdict.FAILS: "red"}
Shown = tuple[Claim, Report | None]
"""A claim and the report of its stored results; None where nothing is stored."""
COMMAND = "newtonnet-paper reproduce all --no-run --out docs"

READING = (
    "How to read the results: every method of a comparison tries equally many settings, a list that was drawn before "
    "any score was seen. *Nested* selection takes for each split the setting that is best on that split's own "
    "validation nodes; with lists, and only with them, it never sees what it is tested on. Intervals and tests are "
    "over the splits of one list with one seed. They do not "
    "include the randomness of the list itself, nor that of rounding, which on chameleon changes one setting's mean "
    "by up to 0.6 points from one population to another ([searching.md](searching.md)). They use the t distribution "
    "and may exceed 100. Where several settings have the same validation score, the earliest is chosen: on texas and "
    "cornell, with 36 validation nodes, many do, and another rule would change nested scores there by about a point."
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
    parts += ["## The paper, part by part", table_markdown(coverage(shown), titled=False)]
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


def coverage(shown: Sequence[Shown]) -> Table:
    """Every figure, table, theorem and protocol statement of the paper: reproduced, different, or not to be had."""
    reports = {claim.name: report for claim, report in shown}
    rows = []
    for part in tomllib.loads(Path(__file__).with_name("parts.toml").read_text(encoding="utf-8"))["part"]:
        name = part.get("claim")
        report = reports.get(name) if name else None
        outcome = part.get("outcome") or _outcome(report, part.get("about", ""))
        rows.append((part["name"], f"[{name}](#{name})" if name else None, outcome, part.get("note")))
    return Table("The paper, part by part", ("the paper", "claim", "outcome", "note"), tuple(rows))


def _outcome(report: Report | None, about: str) -> str:
    """In one phrase, by the verdicts on the statements that contain ``about``."""
    found = [one.verdict for one in (() if report is None else report.findings) if about in one.statement]
    if not found or set(found) == {Verdict.OPEN}:
        return "not run yet"
    if set(found) == {Verdict.HOLDS}:
        return "reproduced"
    counts = Counter(str(verdict) for verdict in found)
    return "differs (" + ", ".join(f"{verdict}: {count}" for verdict, count in counts.items()) + ")"


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

    ``<!-- findings CLAIM CLAIM ... -->`` gets a list of the findings instead. A marker whose claim has nothing stored,
    or no such table, keeps its contents.
    """
    tables = {claim.name: report.headline for claim, report in shown if report is not None}

    def make(name: str) -> str | None:
        table = tables.get(name)
        return None if table is None else table_markdown(table, titled=False)

    def tell(names: str) -> str:
        known = {claim.name: () if report is None else report.findings for claim, report in shown}
        found = [(name, finding) for name in names.split() for finding in known.get(name, ())]
        open_ = [name for name in names.split() if not known.get(name)]
        lines = [f"- **{one.statement}: {one.verdict}** ({name}). Here: {one.ours}." for name, one in found]
        return "\n".join([*lines, *[f"- Nothing is stored yet: {', '.join(open_)}."] * bool(open_)])

    return fill_marked(fill_marked(text, "results", make), "findings", tell)


def fill_marked(text: str, word: str, make: Callable[[str], str | None]) -> str:
    """Replace the text between the markers ``<!-- WORD ... -->`` and ``<!-- end -->`` of a page.

    Args:
        text: the page.
        word: the first word of its markers.
        make: from the rest of a marker to its text; None keeps the present text.

    Returns:
        The page with the new text.

    >>> print(fill_marked("<!-- sum 1 2 -->old<!-- end -->", "sum", lambda rest: str(sum(map(int, rest.split())))))
    <!-- sum 1 2 -->
    <BLANKLINE>
    3
    <BLANKLINE>
    <!-- end -->
    """

    def fill(match: re.Match[str]) -> str:
        body = make(match["rest"])
        return match[0] if body is None else f"<!-- {word} {match['rest']} -->\n\n{body}\n\n<!-- end -->"

    return re.sub(rf"<!-- {re.escape(word)} (?P<rest>[^\n]+?) -->.*?<!-- end -->", fill, text, flags=re.DOTALL)
