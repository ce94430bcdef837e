"""The precomputed regime on the command line: train in it, and measure it."""

import json

from newtonnet_paper import scale as stages
from newtonnet_paper.cli import app
from newtonnet_paper.cli import run_command as run


def last_json(capsys):
    return json.loads(capsys.readouterr().out.splitlines()[-1])


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
