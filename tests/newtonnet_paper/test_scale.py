"""The precomputed regime on the command line: train in it, and measure it."""

import json

import pytest

from newtonnet.cli import app as library
from newtonnet_paper import scale as stages
from newtonnet_paper.cli import app
from newtonnet_paper.cli import run_command as run


def last_json(capsys):
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_train_in_the_precomputed_regime_writes_records_and_uses_its_blocks_again(tmp_path, capsys):
    arguments = ["train", "digits", "--splits", "2", "--max-epochs", "4", "--degree", "2", "--json"]
    arguments += ["--regime", "out-of-core", "--store", str(tmp_path / "s"), "--batch", "300"]
    arguments += ["--out", str(tmp_path / "r.jsonl")]
    assert run(library, arguments) == 0
    first = last_json(capsys)
    records = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [record["model"] for record in records] == ["newtonnet-precomputed"] * 2
    assert {record["options"]["batch"] for record in records} == {300}
    assert run(library, arguments) == 0
    again = last_json(capsys)
    assert again["splits"] == first["splits"]
    assert first["mean"] > 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--regime", "disk"], "--regime is memory or out-of-core"),
        (["--batch", "10"], "belong to --regime out-of-core"),
        (["--regime", "out-of-core", "--model", "mlp"], "newtonnet alone"),
        (["--regime", "out-of-core", "--device", "cuda"], "runs on the cpu"),
        (["--on", "ray"], "divide the batches of --regime out-of-core"),
        (["--regime", "out-of-core", "--workers", "2"], "add --on ray"),
        (["--regime", "out-of-core", "--batch", "0"], "batch must be a whole number"),
        (["--regime", "out-of-core", "--set", "branch=8"], "branch has no meaning"),
    ],
)
def test_what_does_not_go_together_is_one_line(tmp_path, capsys, arguments, message):
    out = ["--out", str(tmp_path / "r"), "--splits", "1", "--max-epochs", "1"]
    assert run(library, ["train", "digits", *arguments, *out]) == 2
    said = capsys.readouterr().err.strip()
    assert message in said
    assert said.count("\n") == 0


def test_a_stage_runs_in_a_process_of_its_own(tmp_path):
    stage = stages.run_stage("generate", stages.ScaleSize(400, 2000), tmp_path)
    assert stage.facts["nodes"] == 400
    assert stage.seconds > 0
    assert stage.megabytes >= stage.base > 0


def test_scale_reports_every_stage_and_compares_sizes(tmp_path, capsys, monkeypatch):
    works = {"generate": stages._generate, "precompute": stages._precompute, "train": stages._train}

    def here(name, size, folder):
        return stages._measure(name, lambda: works[name](size, folder))

    monkeypatch.setattr("newtonnet_paper.scale.run_stage", here)
    arguments = ["scale", "--nodes", "400", "--epochs", "1", "--degree", "2", "--threads", "1", "--out", str(tmp_path)]
    assert run(app, [*arguments, "--edges", "2000", "--edges", "200", "--json"]) == 0
    shown = last_json(capsys)
    assert [(size["nodes"], size["edges"]) for size in shown["runs"]] == [(40, 200), (400, 2000)]
    assert set(shown["time_per_edge"]) == {"generate", "precompute", "train"}
    assert run(app, [*arguments, "--edges", "2000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "already done" in lines[0]
    assert "µs/edge" in lines[2]
