"""The page of all results, and the marked tables of other pages: made from stored results, never by hand."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from newtonnet.files import fill_marked
from newtonnet_paper.claim import Claim, load_lines
from newtonnet_paper.exhibit import Report, Table

from .exhibits import claim_sections, table_markdown

COMMAND = "newtonnet reproduce all --no-run --out docs"

READING = (
    "How to read it: intervals and tests are over the splits of one search with one seed. They do not hold the chance "
    "of the search itself, nor that of rounding, which on chameleon moves one setting's mean by up to 0.6 points "
    "from one population to another ([search.md](search.md)). They are by the t distribution and may reach beyond "
    "100. Where several settings validate alike, the earliest is taken: on texas and cornell, with 36 validation "
    "nodes, many do, and another rule would move nested scores there by about a point."
)


@dataclass(frozen=True)
class Shown:
    """A claim and what its stored results show; no report where nothing is stored."""

    claim: Claim
    report: Report | None


def show_stored(claims: Iterable[Claim], results: Path) -> list[Shown]:
    """Claims from what is stored below a folder of results; nothing is trained."""
    lines = [(claim, load_lines(claim, results)) for claim in claims]
    return [Shown(claim, claim.summarise(own) if own else None) for claim, own in lines]


def results_page(shown: Sequence[Shown]) -> str:
    """Every claim with its findings, tables and figures; one line for a claim without stored results."""
    parts = ["# Results", f"This page is written by `{COMMAND}` from stored results; do not edit it by hand."]
    parts += ["## In short", table_markdown(verdicts(shown), titled=False), READING]
    for one in shown:
        parts.append(f"## {one.claim.name}")
        parts.append(f"{one.claim.statement} ({one.claim.place}.)")
        if one.report is None:
            parts.append(f"Nothing is stored yet; `newtonnet reproduce {one.claim.name} --profile paper` does it.")
        elif one.report.page:
            page = f"[{one.report.page}.md]({one.report.page}.md)"
            parts += [*claim_sections(one.claim, one.report, brief=True), f"Tables and derivations: {page}."]
        else:
            parts += claim_sections(one.claim, one.report)
            if not any("Command: " in note for table in one.report.tables for note in table.notes):
                parts.append(f"Command: `newtonnet reproduce {one.claim.name} --profile paper`")
    return "\n\n".join(parts) + "\n"


def verdicts(shown: Sequence[Shown]) -> Table:
    """Every statement that was looked at, and whether it holds here; claims link to their place on the page."""
    rows = tuple(
        (f"[{one.claim.name}](#{one.claim.name})", finding.statement, finding.verdict)
        for one in shown
        if one.report is not None
        for finding in one.report.findings
    )
    return Table("In short", ("claim", "statement", "verdict"), rows)


def fill_results(text: str, shown: Sequence[Shown]) -> str:
    """Put headline tables between ``<!-- results CLAIM -->`` and ``<!-- end -->``.

    A marker whose claim has nothing stored, or no such table, keeps what it encloses.
    """
    tables = {one.claim.name: one.report.headline for one in shown if one.report is not None}

    def make(name: str) -> str | None:
        table = tables.get(name)
        return None if table is None else table_markdown(table, titled=False)

    return fill_marked(text, "results", make)
