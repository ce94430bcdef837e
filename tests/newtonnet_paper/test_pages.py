import io

import pytest
from rich.console import Console

from newtonnet_paper.claim import Claim
from newtonnet_paper.drawings import draw, save_figure
from newtonnet_paper.exhibit import Arrow, Curves, Figure, Finding, Report, Series, Table
from newtonnet_paper.pages import print_report, report_markdown, table_markdown

CLAIM = Claim("squares", "Squares [grow].", "Section 9", units=lambda request: [], summarise=lambda lines: REPORT)
TABLE = Table("Numbers", ("name", "value"), (("a|b", 1.5), ("c", None)), ("A note.",))
PANEL = Curves(
    "Panel",
    "λ",
    "g",
    (
        Series("line", (0.0, 1.0, 2.0), (1.0, 0.5, 0.0), spread=(0.1, 0.1, 0.1), role="low"),
        Series("points", (0.0, 2.0), (1.0, 0.0), kind="points", role="second"),
        Series("", (0.0, 2.0), (1.0, 1.0), kind="dashed", role="quiet"),
    ),
    bands=True,
    upright=((0.5, "1/C"),),
    arrows=(Arrow(0.0, 1.0, 0.5), Arrow(1.0, 0.0, 0.0, "encouraged")),
)
FIGURE = Figure("shape", "A caption.", (PANEL, PANEL))
REPORT = Report((Finding("they grow", "yes", "yes", "holds"),), (TABLE,), (FIGURE,), text="## Why\n\nBecause.")


def test_markdown_escapes_bars_and_marks_missing_cells():
    assert table_markdown(TABLE).splitlines()[-4:] == ["| a\\|b | 1.5 |", "| c | – |", "", "A note."]


def test_the_page_holds_statement_findings_text_tables_and_figures():
    page = report_markdown(CLAIM, REPORT, command="newtonnet-paper reproduce squares --out docs")
    for part in (
        "# Squares",
        "| they grow | yes | yes | holds |",
        "## Why",
        "### Numbers",
        "figures/squares-shape.svg",
    ):
        assert part in page
    assert "`newtonnet-paper reproduce squares --out docs`" in page


def test_the_terminal_shows_brackets_as_they_are():
    out = io.StringIO()
    print_report(CLAIM, REPORT, Console(file=out, width=100))
    assert "Squares [grow]." in out.getvalue()
    assert "they grow" in out.getvalue()
    assert "a|b" in out.getvalue()


def test_every_panel_is_drawn_with_its_series_and_labels():
    axes = draw(FIGURE).axes
    assert [a.get_title() for a in axes] == ["Panel", "Panel"]
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["line", "points"]
    words = {text.get_text() for text in axes[0].texts}
    assert {"low", "middle", "high", "1/C", "encouraged"} <= words
    line = axes[0].get_lines()[0]
    assert list(line.get_ydata()) == [1.0, 0.5, 0.0]


def test_equal_figures_give_equal_files(tmp_path):
    first = [path.read_bytes() for path in save_figure(FIGURE, tmp_path / "a")]
    second = [path.read_bytes() for path in save_figure(FIGURE, tmp_path / "b")]
    assert first == second
    assert first[0].startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "a.svg", "b.png", "b.svg"]


@pytest.mark.parametrize(("rows", "dots"), [(2, 160), (3, 80)])
def test_a_figure_of_many_rows_has_half_the_dots(rows, dots, tmp_path):
    png, _ = save_figure(Figure("tall", "A caption.", (PANEL,) * 3 * rows), tmp_path / "tall")
    width = int.from_bytes(png.read_bytes()[16:20])  # as the header of a PNG has it
    assert width == pytest.approx(3 * 4.5 * dots, rel=0.05)


def test_exhibits_of_uneven_lengths_are_refused():
    with pytest.raises(ValueError, match="2 columns, but a row of 1 values"):
        Table("t", ("a", "b"), (("x",),))
    with pytest.raises(ValueError, match="2 abscissas, 1 values"):
        Series("s", (0.0, 1.0), (0.0,))
