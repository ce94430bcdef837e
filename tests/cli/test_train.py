import errno
import html
import json
import os
import re
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

from newtonnet.cli import app, run
from newtonnet.tables import load_tables
from newtonnet.training import Record, Run

pytestmark = pytest.mark.usefixtures("generated_once")
FAST = ["--splits", "2", "--max-epochs", "30"]
BRIEF = ["--splits", "2", "--max-epochs", "4"]
"""Where nothing need be learned."""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", [["train", "digits", *FAST, "--out"], ["report", "r.jsonl", "--out"]])
def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(command, capsys, monkeypatch):
    """As on a file system that is read-only, which permissions do not tell of, least of all to root."""

    def refuse(**where):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("newtonnet.files.tempfile.TemporaryFile", refuse)
    monkeypatch.setattr("newtonnet.datasets.load_dataset", None)
    assert run(app, [*command, "there/out.html"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "nothing can be written to " in line
    assert "(Read-only file system); name another place" in line
    assert not os.path.exists("there")


def test_train_prints_one_json_object_with_all_that_was_learned(capsys, tmp_path):
    assert run(app, ["train", "digits", *FAST, "--gamma", "1", "1", "1", "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    result = json.loads(lines[0])
    assert (result["dataset"], result["model"], result["protocol"]) == ("digits", "newtonnet", "random")
    assert result["mean"] == pytest.approx(np.mean(result["splits"]))
    assert result["std"] == pytest.approx(np.std(result["splits"]))
    assert len(result["splits"]) == 2
    assert result["mean"] > 0.6
    assert abs(result["homophily"]["learned"] - result["homophily"]["true"]) < 0.3
    assert len(result["points"]) == len(result["values"]) == 6
    assert result["settings"]["gammas"] == [1.0, 1.0, 1.0]
    (path,) = (tmp_path / "out/records").glob("digits-newtonnet-random-*.jsonl")
    records = path.read_text().splitlines()
    assert [Record.from_json(line).outcome.test for line in records] == result["splits"]


def test_train_prints_words_and_a_picture_on_standard_output(capsys):
    assert run(app, ["train", "digits", *BRIEF, "--protocol", "per-class", "--out", "r.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "newtonnet on digits: accuracy" in out
    assert "over 2 per-class splits" in out
    assert "learned values at the points" in out
    assert "low" in out


def test_seed_and_options_reach_the_model(capsys):
    def train(*more):
        assert run(app, ["train", "digits", *BRIEF, "--json", *more]) == 0
        return json.loads(capsys.readouterr().out)

    first, again, other = train("--seed", "1"), train("--seed", "1"), train("--seed", "5")
    assert first["splits"] == again["splits"]
    assert first["values"] != other["values"]
    assert (first["settings"]["run_seed"], other["settings"]["run_seed"]) == (1, 5)
    shaped = train("--points", "chebyshev", "--degree", "8", "--signed", "--hidden", "8", "--dropout", "0.1")
    assert len(shaped["points"]) == 9
    assert shaped["settings"]["nonnegative"] is False
    assert train("--points", "0,0.3,2")["points"] == [0, 0.3, 2]


def test_threads_and_memory_allowed_do_not_change_the_result(capsys):
    def train(*extra):
        assert run(app, ["train", "digits", "--splits", "3", "--max-epochs", "6", "--json", *extra]) == 0
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    plain, cut = train("--threads", "1"), train("--threads", "2", "--max-memory", "30MB")
    assert cut["mean"] == pytest.approx(plain["mean"], abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "nowhere"], "unknown dataset 'nowhere'"),
        (["train", "digits", "--model", "gtn"], "unknown model 'gtn'"),
        (["train", "digits", "--gamma", "1", "-1", "0"], "gammas must be three numbers of at least 0"),
        (["train", "digits", "--gamma", "1", "1"], "gamma"),
        (["train", "digits", "--degree", "0"], "degree K must be at least 1"),
        (["train", "digits", "--points", "0,1,1"], "distinct"),
        (["train", "digits", "--points", "0,3"], "[0, 2]"),
        (["train", "digits", "--points", "0,x"], "--points takes"),
        (["train", "digits", "--protocol", "mine"], "unknown protocol 'mine'"),
        (["train", "digits", "--splits", "0"], "at least 1 split"),
        (["train", "digits", "--settings", "published"], "no published settings"),
        (["train", "digits", "--settings", "searched"], "no search"),
        (["train", "digits", "--settings", "magic"], "unknown settings 'magic'"),
        (["train", "digits", "--variant", "mine"], "variant must be"),
        (["train", "digits", "--learning-rate", "0"], "learning_rate must be above 0"),
        (["train", "digits", "--dropout", "1"], "dropout rate"),
        (["train", "digits", "--max-epochs", "many"], "--max-epochs"),
        (["train", "digits", "--device", "nowhere"], "use cpu"),
        (["train", "digits", "--threads", "0"], "--threads': Input should be greater than or equal to 1"),
        (["train", "digits", "--max-memory", "much"], "--max-memory takes an amount such as 500MB"),
        (["train", "digits", "--max-memory", "1KB"], "allow more, or train fewer members"),
        (["train", "digits", "--hidden", "100000000000"], "not enough memory"),
        (["train", "digits", "--out", "/"], "is a folder"),
        (["train", "digits", "--out", "/dev/null/x.jsonl"], "is a file"),
        (["train", "digits", "--set", "degree"], "--set takes NAME=VALUE"),
        (["train", "digits", "--set", "hidden=abc"], "hidden must be a whole number, got 'abc'"),
        (["train", "digits", "--set", "hidden=8.5"], "hidden must be a whole number"),
        (["train", "digits", "--set", "dropout=yes"], "dropout must be a number"),
        (["train", "digits", "--set", "dropout=NaN"], "dropout must be a number"),
        (["train", "digits", "--set", "nonnegative=no"], "nonnegative must be true or false, got 'no'"),
        (["train", "digits", "--set", "points=3"], "points must be a name or numbers"),
        (["train", "digits", "--set", "gammas=1"], "gammas must be numbers"),
        (["train", "digits", "--set", "gamma1=x"], "gamma1 must be a number"),
        (["train", "digits", "--set", "max_epochs=3"], "use --max-epochs"),
        (["train", "digits", "--set", "seed=3"], "use --seed"),
        (["train", "digits", "--set", "nonsense=3"], "no option 'nonsense'"),
        (["train", "digits", "--model", "mlp", "--degree", "3"], "no option 'degree'"),
        (["train", "digits", "--model", "mlp", "--gamma", "1", "1", "1"], "learns no spectral filter"),
        (["train", "digits", "--protocol", "fixed"], "no published splits"),
        (["train"], "Missing argument"),
        (["train", "digits", "--nonsense"], "--nonsense"),
        (["fly"], "fly"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(arguments, message, capsys, tmp_path):
    assert run(app, arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line for line in captured.err.splitlines() if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith("newtonnet: ")
    assert message in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_demo_trains_both_graphs_and_writes_the_page(capsys, tmp_path):
    assert run(app, ["demo", "--splits", "2", "--max-epochs", "100", "--out", "my demo"]) == 0
    out = capsys.readouterr().out
    assert "learned filter: digits" in out
    page = (tmp_path / "my demo/report.html").read_text()
    assert html.escape("newtonnet demo --splits 2 --max-epochs 100 --out 'my demo'") in page
    assert re.search(r"The graph is \w+ homophilous", page)
    assert re.search(r"The graph is \w+ heterophilous", page)
    records = [Record.from_json(line) for line in (tmp_path / "my demo/records.jsonl").read_text().splitlines()]
    homophilous = np.mean([r.outcome.values for r in records[:2]], axis=0)
    heterophilous = np.mean([r.outcome.values for r in records[2:]], axis=0)
    assert homophilous[:2].mean() > homophilous[4:].mean()
    assert heterophilous[4:].mean() > heterophilous[:2].mean()
    tables = [tmp_path / "my demo" / name for name in ("nodes.csv", "edges.csv")]
    assert load_tables(*tables, label_column="status").class_names == ("left", "stayed")


def test_the_installed_command_answers_with_its_version_and_help():
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for arguments, expected in ((["--version"], "newtonnet 0."), (["--help"], "train"), ([], "Usage")):
        result = subprocess.run(
            [sys.executable, "-m", "newtonnet.cli", *arguments],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
        )
        assert expected in result.stdout


def test_a_run_with_other_settings_does_not_overwrite_the_first_ones_records(capsys, tmp_path):
    for more in ([], ["--seed", "3"], ["--set", "ceiling=1.5"]):
        assert run(app, ["train", "digits", "--splits", "1", "--max-epochs", "1", *more]) == 0
    assert len(list((tmp_path / "out/records").iterdir())) == 3


def test_a_setting_can_be_taken_away(capsys):
    assert run(app, ["train", "digits", *BRIEF, "--set", "ceiling=1.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["ceiling"] == 1.5
    assert run(app, ["train", "digits", *BRIEF, "--set", "filter_learning_rate=null", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["settings"]["source"] == "default, changed"
    assert result["settings"]["filter_learning_rate"] is None
    assert run(app, ["train", "digits", *BRIEF, "--set", "dropout=null"]) == 2


def test_points_decide_the_degree(capsys):
    assert run(app, ["train", "digits", *BRIEF, "--points", "0,1,2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["degree"] == 2
    assert run(app, ["train", "digits", *BRIEF, "--points", "0,1,2", "--degree", "3"]) == 2
    assert "3 points give a filter of degree 2, got --degree 3" in capsys.readouterr().err


def test_a_file_that_holds_no_records_is_left_alone(capsys, tmp_path):
    (tmp_path / "mine.csv").write_text("id,label\n")
    assert run(app, ["train", "digits", *FAST, "--out", "mine.csv"]) == 2
    assert "mine.csv holds something other than records" in capsys.readouterr().err
    assert (tmp_path / "mine.csv").read_text() == "id,label\n"
    for _ in range(2):  # records are written over, an empty file as well
        assert run(app, ["train", "digits", "--splits", "1", "--max-epochs", "2", "--out", "r.jsonl"]) == 0


def test_changed_settings_say_so(capsys):
    assert run(app, ["train", "digits", *BRIEF, "--set", "weight_decay=0", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["settings"]["source"] == "default, changed"
    assert result["settings"]["weight_decay"] == 0


def test_an_interrupted_run_exits_with_130_and_resumes_from_its_checkpoint(capsys, tmp_path, monkeypatch):
    arguments = ["train", "digits", *BRIEF, "--json", "--checkpoint", "run.safetensors"]
    assert run(app, [*arguments[:-2]]) == 0
    unbroken = json.loads(capsys.readouterr().out)
    step = Run.step

    def interrupted(self):
        step(self)
        if self.epoch == 2:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "step", interrupted)
        assert run(app, arguments) == 130
    told = capsys.readouterr().err
    assert "saved to run.safetensors; run the same command to resume" in told
    assert "stopped" in told
    assert (tmp_path / "run.safetensors").exists()
    assert run(app, arguments) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert resumed["splits"] == unbroken["splits"]
    assert resumed["values"] == unbroken["values"]
    assert not (tmp_path / "run.safetensors").exists()


def test_a_warning_is_one_line_on_standard_error(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert run(app, ["train", "digits", "--splits", "1", "--max-epochs", "2", "--degree", "20"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("newtonnet: the newton filter") and "amplifies rounding" in line for line in lines)


def test_the_out_of_core_regime_trains_from_disk_and_gives_the_same_again(tmp_path, capsys):
    arguments = ["train", "digits", "--regime", "out-of-core", "--store", str(tmp_path / "features"), "--batch", "300"]
    arguments += ["--splits", "2", "--max-epochs", "12", "--threads", "1", "--out", "r.jsonl", "--json"]
    assert run(app, arguments) == 0
    first = json.loads(capsys.readouterr().out)
    records = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [record["model"] for record in records] == ["newtonnet-precomputed"] * 2  # the stored name
    assert {record["options"]["batch"] for record in records} == {300}
    assert run(app, arguments) == 0
    assert json.loads(capsys.readouterr().out)["splits"] == first["splits"]
    assert first["mean"] > 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--regime", "disk"], "'disk' is not one of 'memory', 'out-of-core'"),
        (["--batch", "10"], "--batch belongs to --regime out-of-core"),
        (["--store", "features"], "--store belongs to --regime out-of-core"),
        (["--regime", "out-of-core", "--model", "mlp"], "trains newtonnet only, got --model mlp"),
        (["--regime", "out-of-core", "--device", "cuda"], "runs on the cpu"),
        (["--executor", "ray"], "--executor and --workers belong to --regime out-of-core"),
        (["--regime", "out-of-core", "--workers", "2"], "add --executor ray"),
        (["--regime", "out-of-core", "--batch", "0"], "batch must be a whole number"),
        (["--regime", "out-of-core", "--set", "branch=8"], "has no meaning"),
        (["--on", "ray"], "--on is now --executor"),
    ],
)
def test_options_that_do_not_go_together_are_one_line(arguments, message, capsys):
    assert run(app, ["train", "digits", *arguments, "--splits", "1", "--max-epochs", "1"]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line
