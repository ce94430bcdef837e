from pathlib import Path

import pytest

from newtonnet_paper.claim import Claim, all_claims
from newtonnet_paper.exhibit import Figure, Finding, Report, Table, Verdict
from newtonnet_paper.pages import coverage, fill_results, results_page, show_stored

PROJECT = Path(__file__).parents[2]

TABLE = Table("Numbers", ("name", "value"), (("a", 1.5),), ("A note.", "Another."))
REPORT = Report(
    (Finding("they grow", "yes", "yes", "holds"),), (TABLE,), (Figure("shape", "A caption.", ()),), headline=TABLE
)


def claim(name):
    return Claim(name, "Squares grow.", "Section 9", units=lambda request: [], summarise=lambda lines: REPORT)


def test_the_page_holds_every_claim_and_one_line_for_what_is_not_stored():
    page = results_page([(claim("squares"), REPORT), (claim("cubes"), None)])
    squares, cubes = page.split("## cubes")
    assert "## Summary\n\n| claim | statement | verdict |\n" in squares
    assert "| [squares](#squares) | they grow | holds |" in squares
    for part in (
        "## squares",
        "| they grow | yes | yes | holds |",
        "| a | 1.5 |",
        "A note.\n\nAnother.",
        "figures/squares-shape.svg",
    ):
        assert part in squares
    assert "Nothing is stored yet; run `newtonnet-paper reproduce cubes --profile paper`." in cubes
    assert "`newtonnet-paper reproduce all --no-run --out docs`" in page


@pytest.fixture(scope="module")
def shown():
    return show_stored(all_claims(), PROJECT / "results")


def test_the_pages_say_what_is_stored(shown):
    """If this fails: newtonnet-paper reproduce all --no-run --out docs."""
    assert results_page(shown) == (PROJECT / "docs/results.md").read_text(encoding="utf-8")
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    assert fill_results(readme, shown) == readme


def test_a_claim_with_a_page_of_its_own_shows_only_findings():
    report = Report(REPORT.findings, REPORT.tables, page="squares")
    page = results_page([(claim("squares"), report)])
    assert "they grow" in page
    assert "Numbers" not in page
    assert "[squares.md](squares.md)" in page


def test_marked_places_are_filled_and_others_kept():
    text = "x\n<!-- results squares -->\nold\n<!-- end -->\ny\n<!-- results cubes -->\nkept\n<!-- end -->\n"
    new = fill_results(text, [(claim("squares"), REPORT), (claim("cubes"), None)])
    assert "old\n" not in new
    assert "<!-- results squares -->\n\n| name | value |" in new
    assert new.endswith("y\n<!-- results cubes -->\nkept\n<!-- end -->\n")
    assert fill_results(new, [(claim("squares"), REPORT)]) == new


def test_every_part_of_the_paper_has_a_row_with_an_outcome():
    found = Report(
        (
            Finding("Lemma 1: a", "", "", Verdict.HOLDS),
            Finding("Theorem 1: b", "", "", Verdict.HOLDS),
            Finding("Theorem 1: c", "", "", Verdict.FAILS),
        )
    )
    rows = {row[0]: row[1:3] for row in coverage([(claim("theory"), found), (claim("cost"), None)]).rows}
    outcomes = {name.split(":")[0]: outcome for name, (_, outcome) in rows.items()}
    assert outcomes["Lemma 3.1"] == "reproduced"
    assert outcomes["Theorem 3.2"] == "differs (holds: 1, does not hold: 1)"
    assert outcomes["Theorem 3.3"] == outcomes["Tables 2 to 4"] == "not run yet"
    assert all(
        outcome.startswith(("reproduced", "differs", "not available", "not run")) for _, outcome in rows.values()
    )
    claims = {link.strip("[").split("]")[0] for link, _ in rows.values() if link}
    assert claims <= {one.name for one in all_claims()}
    assert {one.name for one in all_claims() if "not in the paper" not in one.place} == claims


def test_the_parts_name_findings_that_exist(shown):
    table = coverage(shown)
    assert all(
        row[2] != "not run yet" for row in table.rows if row[1] in ("[theory](#theory)", "[frequency](#frequency)")
    )


def test_marked_lists_of_findings_are_filled():
    text = "<!-- findings squares cubes -->\nold\n<!-- end -->\n"
    new = fill_results(text, [(claim("squares"), REPORT), (claim("cubes"), None)])
    assert "- **they grow: holds** (squares). Here: yes.\n- Nothing is stored yet: cubes." in new
    assert "old\n" not in new
