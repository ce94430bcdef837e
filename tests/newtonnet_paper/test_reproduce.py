import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import newtonnet_paper
from newtonnet.cli import seconds
from newtonnet_paper.cli import app
from newtonnet_paper.cli import run_command as run


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_claim_is_worked_out_stored_and_drawn(capsys, tmp_path):
    assert run(app, ["reproduce", "interpolation", "--out", "docs", "--json"]) == 0
    value = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert value["claim"] == "interpolation"
    assert value["left"] == 0
    assert [finding["verdict"] for finding in value["findings"]] == ["holds", "holds"]
    assert len((tmp_path / "results/interpolation/lines.jsonl").read_text().splitlines()) == 3
    assert len(list((tmp_path / "docs/figures").iterdir())) == 8


def test_stored_results_are_shown_without_any_work(capsys, tmp_path):
    assert run(app, ["reproduce", "interpolation"]) == 0
    capsys.readouterr()
    stored = (tmp_path / "results/interpolation/lines.jsonl").read_bytes()
    assert run(app, ["reproduce", "interpolation", "--no-run"]) == 0
    captured = capsys.readouterr()
    assert "59.8" in captured.out  # the largest error of equispaced points at K = 20
    assert captured.err == ""
    assert (tmp_path / "results/interpolation/lines.jsonl").read_bytes() == stored


def test_nothing_stored_says_so_and_does_nothing(capsys, tmp_path):
    assert run(app, ["reproduce", "frequency", "--no-run", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["left"] == 21
    assert json.loads(captured.out)["findings"][0]["verdict"] == "not measured yet"
    assert "21 pieces of work left" in captured.err
    assert "there is no folder results" in captured.err
    assert run(app, ["reproduce", "all", "--results", "nowhere"]) == 0
    assert "there is no folder nowhere" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_all_claims_are_listed(capsys):
    assert run(app, ["reproduce", "--list"]) == 0
    out = capsys.readouterr().out
    assert "theory: " in out
    assert "--homophilies" in out
    assert run(app, ["reproduce", "--list", "--json"]) == 0
    assert "frequency" in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a claim: "),
        (["gravity"], "unknown claim 'gravity'"),
        (["theory", "--profile", "slow"], "unknown profile 'slow'; available: quick, paper"),
        (["theory", "--time-limit", "soon"], "takes a time such as 90s"),
        (["theory", "--time-limit", "0m"], "takes a time such as 90s"),
        (["theory", "--nodes", "100"], "theory does not accept --nodes; it accepts no options of its own"),
        (["frequency", "--datasets", "cora"], "frequency does not accept --datasets"),
        (["frequency", "--nodes", "10"], "at least 400 nodes"),
        (["frequency", "--homophilies", "0.1,x"], "--homophilies expects a count or numbers"),
        (["frequency", "--homophilies", "0.1,1.5"], "between 0 and 1, got 1.5"),
        (["theory", "--results", "/dev/null"], "is a file"),
        (["theory", "--out", "/dev/null"], "is a file"),
        (["theory", "--nonsense"], "--nonsense"),
        (["table1", "--executor", "moon"], "'moon' is not one of 'local', 'ray'"),
        (["table1", "--address", "auto"], "ray"),
        (["table1", "--workers", "0"], "--workers': Input should be greater than or equal to 1"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(arguments, message, capsys, tmp_path):
    assert run(app, ["reproduce", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line for line in captured.err.splitlines() if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith("newtonnet: ")
    assert message in lines[0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("text", "expected"), [("90s", 90), ("1.5m", 90), ("2h", 7200), ("1h30m", 5400)])
def test_times_are_read_as_people_write_them(text, expected):
    assert seconds(text) == expected


def test_all_claims_become_one_page_and_the_marked_table(capsys, tmp_path, monkeypatch):
    drawn = []  # how figures are drawn is for the tests above
    monkeypatch.setattr("newtonnet_paper.drawings.save_figure", lambda _, path: drawn.append(path.name) or [])
    page = "before\n<!-- results table1 -->\nkept\n<!-- end -->\nafter\n"
    (tmp_path / "README.md").write_text(page)
    assert run(app, ["reproduce", "interpolation"]) == 0
    assert run(app, ["reproduce", "all", "--no-run", "--out", "docs"]) == 0
    out = capsys.readouterr().out
    assert "table1: nothing stored" in out
    results = (tmp_path / "docs/results.md").read_text()
    assert "## table1" in results
    assert "Nothing is stored yet; run `newtonnet-paper reproduce table1 --profile paper`" in results
    assert "figures/interpolation-" in results
    assert len(drawn) == 4
    assert all(name.startswith("interpolation-") for name in drawn)
    assert (tmp_path / "README.md").read_text() == page  # nothing to put there yet
    first = (tmp_path / "docs/results.md").read_bytes()
    assert run(app, ["reproduce", "all", "--out", "docs"]) == 0
    assert (tmp_path / "docs/results.md").read_bytes() == first


def only_digits(monkeypatch, graphs):
    """Leave one small embedded graph in place of eleven."""
    for name in reversed(list(graphs)):  # undone in the opposite order, so that the graphs keep theirs
        monkeypatch.delitem(graphs, name)
    monkeypatch.setitem(graphs, "digits", "random")


@pytest.mark.filterwarnings("default")  # a patience that is not the claim's, to be quick
def test_missing_cells_are_planned_then_searched_and_the_table_is_stored(capsys, tmp_path, monkeypatch):
    from newtonnet_paper import table1
    from newtonnet_paper.cells import Cell

    # One cell of a small embedded graph in place of a hundred.
    monkeypatch.setattr(table1, "NAMES", {"mlp": "MLP"})
    only_digits(monkeypatch, table1.PAPER_GRAPHS)
    cells = [Cell("digits", "mlp", 2, patience=1)]
    monkeypatch.setattr("newtonnet_paper.cli.wanted_cells", lambda *_: cells)
    assert run(app, ["reproduce", "table1", "--workers", "1"]) == 0
    captured = capsys.readouterr()
    assert "mlp-list on digits: 2 of 2 settings to try" in captured.err
    assert (tmp_path / "results/search/digits/mlp-list.jsonl").exists()
    stored = (tmp_path / "results/search/digits/mlp-list.jsonl").read_bytes()
    assert run(app, ["reproduce", "table1", "--workers", "1"]) == 0
    assert "settings to try" not in capsys.readouterr().err
    assert (tmp_path / "results/search/digits/mlp-list.jsonl").read_bytes() == stored


def test_graphs_are_checked_and_picked_where_nothing_is_trained(capsys):
    assert run(app, ["reproduce", "table1", "--json", "--datasets", "nonsense"]) == 2
    assert "unknown graph 'nonsense'" in capsys.readouterr().err


def test_only_the_page_beside_the_folder_of_pages_is_filled(tmp_path, monkeypatch):
    monkeypatch.setattr("newtonnet_paper.pages.fill_results", lambda text, shown: f"{text} filled")
    for folder in (tmp_path, tmp_path / "there"):
        folder.mkdir(exist_ok=True)
        (folder / "README.md").write_text("page")
    assert run(app, ["reproduce", "all", "--out", "there/docs"]) == 0
    assert (tmp_path / "README.md").read_text() == "page"
    assert (tmp_path / "there/README.md").read_text() == "page filled"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["all", "--datasets", "cora"], "all shows what is stored"),
        (["all", "--time-limit", "soon"], "all shows what is stored"),
        (["table1", "--json", "--datasets", ""], "unknown graph ''"),
        (["tabel1"], "theory, untouched, usual, weak-supervision, wide, all"),
    ],
)
def test_what_would_be_ignored_is_refused(capsys, arguments, message):
    assert run(app, ["reproduce", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{}", "[]", "{", '{"rivals": {}}'])
def test_figures_of_no_benchmark_are_named(capsys, tmp_path, text):
    (tmp_path / "results/bench").mkdir(parents=True)
    (tmp_path / "results/bench/full.json").write_text(text)
    assert run(app, ["reproduce", "cost"]) == 2
    assert "full.json" in capsys.readouterr().err


def test_the_command_imports_no_claim_before_it_is_used():
    code = "import sys, newtonnet_paper.cli; print(sorted(name for name in sys.modules if 'newtonnet_paper.' in name))"
    where = {**os.environ, "PYTHONPATH": str(Path(newtonnet_paper.__file__).resolve().parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=where)
    loaded = ["newtonnet_paper.claim", "newtonnet_paper.cli", "newtonnet_paper.exhibit"]
    assert done.stdout.strip() == str(loaded)


@pytest.mark.parametrize("command", ["reproduce", "bench", "scale"])
def test_the_help_of_every_command_has_an_example(command, capsys):
    assert run(app, [command, "--help"]) == 0
    assert f"Example: newtonnet-paper {command}" in capsys.readouterr().out
