import itertools
import json
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import pytest

from newtonnet.cli import app, run
from newtonnet.cli.search import _models
from newtonnet.nn import ZOO
from newtonnet.search import read_trials
from newtonnet.search.published import SCORES
from newtonnet.search.settings import UNTOUCHED

pytestmark = pytest.mark.usefixtures("generated_once")
FAST = ["--splits", "2", "--max-epochs", "2", "--workers", "1"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_search_keeps_trials_and_best_settings_that_train_uses(capsys, tmp_path):
    command = ["search", "digits", "--model", "mlp", "--model", "jacobiconv", "--trials", "5", *FAST]
    assert run(app, [*command, "--json"]) == 0
    captured = capsys.readouterr()
    (line,) = captured.out.splitlines()
    table = json.loads(line)["digits"]
    assert set(table) == {"mlp", "jacobiconv"}
    assert table["mlp"]["trials"] == 5
    assert table["mlp"]["paper"] is None
    stored = read_trials(tmp_path / "results/search/digits/mlp.jsonl")
    assert sorted(trial.number for trial in stored) == [0, 1, 2, 3, 4]
    best = json.loads((tmp_path / "results/search/best.json").read_text())["digits"]["mlp"]
    assert best["validation"] == max(trial.objective for trial in stored)
    assert run(app, [*command]) == 0
    out = capsys.readouterr().out
    assert "mlp on digits: paper selection " in out
    assert ", nested selection " in out
    assert "5 settings tried\n" in out
    assert len(read_trials(tmp_path / "results/search/digits/mlp.jsonl")) == 5
    train = ["train", "digits", "--model", "mlp", "--settings", "searched", "--splits", "2", "--max-epochs", "2"]
    assert run(app, [*train, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["settings"]["source"] == "searched"
    assert result["mean"] == pytest.approx(best["test"]["mean"], abs=0.006)


def test_a_time_limit_stops_the_search_and_the_same_command_goes_on(capsys, tmp_path, monkeypatch):
    clock = itertools.count(step=10)  # ten seconds pass whenever the time is asked for
    monkeypatch.setattr(import_module("newtonnet.cli.search"), "time", SimpleNamespace(monotonic=lambda: next(clock)))
    command = ["search", "digits", "--model", "mlp", "--trials", "12", *FAST, "--selection", "nested"]
    path = tmp_path / "results/search/digits/mlp.jsonl"
    assert run(app, [*command, "--time-limit", "45s"]) == 0
    some = len(read_trials(path))
    assert 0 < some < 12
    out = capsys.readouterr().out
    assert f"{some} settings tried of 12; run the same command to continue" in out
    assert "paper selection" not in out
    before = path.read_bytes()
    assert run(app, [*command, "--time-limit", "2h"]) == 0
    assert path.read_bytes().startswith(before)
    assert len(read_trials(path)) == 12


def test_a_space_that_is_used_up_says_so(capsys, monkeypatch):
    monkeypatch.setitem(ZOO, "mlp", replace(ZOO["mlp"], space={"weight_decay": (0.0, 0.0005, 0.005)}))
    assert run(app, ["search", "digits", "--model", "mlp", "--trials", "50", "--time-limit", "1h", *FAST]) == 0
    assert "3 settings tried of 50; the search space has no more" in capsys.readouterr().out


def test_a_plan_tells_the_hours_and_keeps_nothing(capsys, tmp_path):
    assert run(app, ["search", "digits", "--model", "mlp", "--plan", *FAST]) == 0
    assert "40 trials on 1 workers: " in capsys.readouterr().out
    assert run(app, ["search", "digits", "--model", "mlp", "--plan", "--json", *FAST]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["cells"][0]["dataset"] == "digits"
    assert plan["longest"] >= plan["likely"] > 0
    assert not (tmp_path / "results").exists()


def test_a_plan_counts_only_what_is_left_to_try(capsys, tmp_path):
    assert run(app, ["search", "digits", "--model", "mlp", "--trials", "3", *FAST]) == 0
    capsys.readouterr()
    assert run(app, ["search", "digits", "--model", "mlp", "--trials", "5", "--plan", *FAST]) == 0
    assert "2 settings left" in capsys.readouterr().out
    assert run(app, ["search", "digits", "--model", "mlp", "--trials", "3", "--plan", *FAST]) == 0
    assert "nothing left to try" in capsys.readouterr().out


def test_halving_drops_settings_and_prints_both_counts(capsys, tmp_path):
    quick = ["--splits", "2", "--max-epochs", "9", "--workers", "1", "--trials", "12", "--halving"]
    assert run(app, ["search", "digits", "--model", "mlp", *quick]) == 0
    stored = read_trials(tmp_path / "results/search/digits/mlp-halving.jsonl")
    complete = sum(not trial.dropped for trial in stored)
    assert 8 <= complete < 12
    counts = f"12 settings tried; 24 models started, {2 * complete} of them trained to the end\n"
    assert capsys.readouterr().out.endswith(counts)
    assert run(app, ["search", "digits", "--model", "mlp", *quick, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["digits"]["mlp-halving"]
    assert row["models"] == {"started": 24, "complete": 2 * complete}
    assert run(app, ["search", "digits", "--model", "mlp", *quick, "--plan"]) == 0
    assert "nothing left to try" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "unknown dataset 'nowhere'"),
        (["digits", "--model", "gtn"], "unknown model 'gtn'"),
        (["digits", "--time-limit", "soon"], "--time-limit takes a time such as 90s"),
        (["digits", "--time-limit", "0m"], "--time-limit takes a time"),
        (["digits", "--trials", "0"], "--trials': Input should be greater than or equal to 1"),
        (["digits", "--splits", "0"], "at least 1 split"),
        (["digits", "--workers", "0"], "--workers': Input should be greater than or equal to 1"),
        (["digits", "--executor", "ray", "--workers", "0"], "--workers': Input should be greater than or equal to 1"),
        (["digits", "--executor", "moon"], "'moon' is not one of 'local', 'ray'"),
        (["digits", "--address", "auto"], "add --executor ray"),
        (["digits", "--executor", "ray", "--plan"], "--plan with --executor ray needs --workers"),
        (["digits", "--protocol", "mine"], "unknown protocol 'mine'"),
        (["digits", "--protocol", "fixed"], "no published splits"),
        (["digits", "--max-epochs", "0"], "--max-epochs': Input should be greater than or equal to 1"),
        (["digits", "--patience", "-1"], "--patience': Input should be greater than or equal to 0"),
        (["digits", "--selection", "mine"], "'mine' is not one of 'paper', 'nested', 'both'"),
        (["digits", "--results", "/dev/null"], "Not a directory; name another place"),
        (["digits", "wisconsin"], "wisconsin: kept untuned"),
        (["digits", "--halving", "--trials", "8"], "--trials has to be above 8, got 8"),
        (["digits", "--halving", "--max-epochs", "2"], "--max-epochs must be at least 3, got 2"),
        ([], "Missing argument"),
        *[([name], f"{name}: kept untuned") for name in UNTOUCHED],
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(arguments, message, capsys, tmp_path):
    assert run(app, ["search", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = [line for line in captured.err.splitlines() if line.strip()]
    assert line.startswith("newtonnet: ")
    assert message in line
    assert list(tmp_path.iterdir()) == []


def test_a_search_that_was_begun_otherwise_is_refused(capsys):
    command = ["search", "digits", "--model", "mlp", "--trials", "1", *FAST]
    assert run(app, command) == 0
    assert run(app, [*command, "--max-epochs", "3"]) == 2
    assert "holds another study (max_epochs 2, here 3" in capsys.readouterr().err


def test_paper_stands_for_the_methods_of_its_table():
    assert _models(["paper"]) == list(dict.fromkeys(model for _, model in SCORES))
    assert len(_models(["paper", "mlp"])) == 11
    assert _models(None) == ["newtonnet"]
    assert "linkx" in _models(["all"])
