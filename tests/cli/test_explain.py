"""``newtonnet explain``: tables in the terminal, JSON whose parts sum up, a page, and mistakes in one line."""

import csv
import json
from contextlib import redirect_stdout
from io import StringIO

import pytest

from newtonnet.cli import app, run

pytestmark = pytest.mark.usefixtures("two_folds")
FAST = ["--no-tune", "--max-epochs", "25", "--threads", "1", "--folds", "0"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, write):
    folder = tmp_path_factory.mktemp("explained")
    tables = write(folder / "tables")
    with redirect_stdout(StringIO()):
        assert run(app, ["fit", *tables.arguments, "--label-column", "kind", "--out", str(folder / "run"), *FAST]) == 0
    return tables, folder / "run"


def test_json_names_nodes_and_features_and_sums_to_the_total(fitted, capsys):
    tables, folder = fitted
    assert (
        run(app, ["explain", str(folder), "--node", tables.ids[0], "--node", tables.ids[4], "--top", "2", "--json"])
        == 0
    )
    first, second = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (first["node"], second["node"]) == (tables.ids[0], tables.ids[4])
    for one in (first, second):
        rest = one["bias"] + one["remainder"]
        assert len(one["nodes"]) <= 2
        assert sum(row["contribution"] for row in one["nodes"]) + one["other_nodes"] + rest == pytest.approx(
            one["total"]
        )
        assert sum(row["contribution"] for row in one["features"]) + one["other_features"] + rest == pytest.approx(
            one["total"]
        )
        assert sum(one["bands"].values()) + rest == pytest.approx(one["total"])
        assert {one["class"], one["against"]} == {"cat", "dog, big"}
        assert one["probability"] >= 0.5


def test_the_terminal_shows_tables(fitted, capsys):
    tables, folder = fitted
    assert run(app, ["explain", str(folder), "--node", tables.ids[2]]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{tables.ids[2]}: ")
    for word in ("rather than", "contributions sum to", "all other nodes", "feature", "frequencies", "bias"):
        assert word in shown


def test_a_page_is_written(fitted, tmp_path, capsys):
    tables, folder = fitted
    assert run(app, ["explain", str(folder), "--node", tables.ids[1], "--out", str(tmp_path / "why.html")]) == 0
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert 'id="why-data"' in page
    assert len(page) < 100_000
    assert "why.html written" in capsys.readouterr().err


def test_other_tables_are_explained_too(fitted, capsys):
    tables, folder = fitted
    names = ["--nodes", str(tables.folder / "nodes.csv"), "--edges", str(tables.folder / "edges.csv")]
    rows = []
    for given in ([], names):
        assert run(app, ["explain", str(folder), "--node", tables.ids[0], "--json", *given]) == 0
        rows.append(json.loads(capsys.readouterr().out.splitlines()[-1]))
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--node", "nobody"], "no node is called 'nobody'"),
        (["--node", "007", "--nodes", "nodes.csv"], "belong together"),
        (["--out", "why.html"], "a page needs a node"),
    ],
)
def test_mistakes_are_told_in_one_line(fitted, one_line, arguments, message):
    assert run(app, ["explain", str(fitted[1]), *arguments]) == 2
    one_line(message)


def test_without_a_node_columns_are_shuffled_and_edges_removed(fitted, capsys):
    _, folder = fitted
    assert run(app, ["explain", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    names = [row["name"] for row in found["effects"]]
    assert names[-3:] == ["all features shuffled", "without edges", "edges shuffled"]
    assert len(set(names[:-3])) == len(names) - 3 > 0
    for row in found["effects"]:
        low, high = row["interval"]
        assert low <= row["drop"] <= high
    assert run(app, ["explain", str(folder), "--top", "1"]) == 0
    shown = capsys.readouterr().out
    assert "held-out nodes" in shown
    assert "without edges" in shown


def test_every_row_of_the_predictions_has_a_set_with_its_label(fitted):
    with (fitted[1] / "predictions.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        assert row["label"] == row["prediction_set"].split("|")[0]
