import json
from dataclasses import replace

import pytest

from newtonnet_paper.bench import PROFILES, fresh, suite
from newtonnet_paper.cli import app
from newtonnet_paper.cli import run_command as run

KEYS = ("epoch_ratio", "population_ratio", "rivals_ratio", "kernel_fraction", "growth_exponent", "peak_mb")


@pytest.fixture(autouse=True)
def tiny(tmp_path, tiny_profile, monkeypatch):
    """A folder of its own, the tiny profile for the quick one, and scales that take no time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PROFILES, "quick", tiny_profile)
    monkeypatch.setattr(suite, "peak_memory", lambda runs: [10.0 * (i + 1) for i in range(len(runs))])
    monkeypatch.setattr(fresh, "measure", lambda run: 2e-3 if run.kernels else 6e-3)


def test_one_run_prints_tables_and_one_json_object_and_saves_it(tmp_path, capsys):
    (tmp_path / "results").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/speed.md").write_text("<!-- bench tiny headline -->\n<!-- end -->\n")
    assert run(app, ["bench", "--quick", "--json", "--threads", "1"]) == 0
    *tables, last = capsys.readouterr().out.splitlines()
    assert any("One epoch of NewtonNet and of plain PyTorch Geometric" in line for line in tables)
    result = json.loads(last)
    assert set(KEYS) | {"machine", "throughput", "profile", "seconds", "costs", "arithmetic_fraction"} <= set(result)
    assert set(result["epoch_ratio"]) == {"tiny", "large-sized"}
    assert set(result["population_ratio"]) == {"tiny"}
    assert min(*result["epoch_ratio"].values(), *result["population_ratio"].values()) > 0
    assert set(result["rivals_ratio"]) == set(result["rivals"]["tiny"])
    assert len(result["rivals_ratio"]) == 5
    assert set(result["kernel_fraction"]["tiny"]) == set(result["arithmetic_fraction"]["tiny"]) == {"2", "8"}
    assert set(result["growth_exponent"]) == {"edges", "degree", "memory_edges"}
    assert set(result["throughput"]["tiny"]) == {"1", "64"}
    assert result["kernels_off"] == {"tiny": {"on_ms": 2.0, "off_ms": 6.0, "ratio": 3.0}}
    assert set(result["roofline"]["tiny"]) == {"NewtonNet, P = 1", "NewtonNet, P = 64", "stack of 8 units"}
    assert result["machine"]["l2_bandwidth_gb_per_s"] > 0
    assert result["peak_mb"] == {"big-sized": 10.0}
    costs = {(row["model"], row["degree"]): row for row in result["costs"]["tiny"]}
    assert [costs[label]["mb"] for label in (("mlp", None), ("gprgnn", 5), ("newtonnet", 10))] == [10.0, 40.0, 110.0]
    assert min(row["ms"] for row in costs.values()) > 0
    assert result["epochs"]["tiny"]["newtonnet"]["ratio"] == 1.0
    assert result["machine"]["threads"] == 1
    assert result["machine"]["bandwidth_gb_per_s"] > 0
    assert json.loads((tmp_path / "results/bench/tiny.json").read_text()) == result
    assert f"{result['epoch_ratio']['tiny']:.1f}×" in (tmp_path / "docs/speed.md").read_text()


def test_a_missing_reference_is_skipped_with_one_line(tmp_path, tiny_profile, capsys, monkeypatch):
    sections = ("kernels_off", "stacks", "kernel", "roofline", "memory", "costs")
    monkeypatch.setitem(PROFILES, "quick", replace(tiny_profile, **dict.fromkeys(sections, ())))
    monkeypatch.setattr("newtonnet_paper.bench.find_reference", lambda given: None)
    assert run(app, ["bench", "--quick", "--json"]) == 0
    captured = capsys.readouterr()
    assert len([line for line in captured.err.splitlines() if "no reference" in line]) == 1
    result = json.loads(captured.out.splitlines()[-1])
    assert result["epoch_ratio"] == result["population_ratio"] == {}
    assert result["throughput"]["tiny"]["64"] > 0
    assert any("no reference" in note for note in result["notes"])
    assert (tmp_path / "out/bench/tiny.json").exists()


def test_a_busy_machine_is_reported_first(capsys, monkeypatch, tiny_profile):
    monkeypatch.setattr(suite, "load", lambda: 1.7)
    lines = []
    with pytest.raises(RuntimeError, match="enough"):
        suite.run_bench(tiny_profile, say=lambda line: _stop(lines, line))
    assert "busy (load average 1.70)" in lines[0]


def _stop(lines, line):
    lines.append(line)
    raise RuntimeError("enough")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "--threads", "0"], "--threads must be at least 1"),
        (["bench", "--threads", "two"], "--threads"),
        (["bench", "--reference", "nowhere.py"], "there is no reference nowhere.py"),
        (["bench", "--out", "/"], "is a folder"),
        (["bench", "--page"], "there are no figures"),
        (["bench", "--page", "--quick"], "--page measures nothing"),
        (["bench", "--fast"], "--fast"),
        (["bench", "cora"], "cora"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(arguments, message, capsys, tmp_path):
    assert run(app, arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line for line in captured.err.splitlines() if line.strip()]
    assert len(lines) == 1
    assert message in lines[0]
    assert list(tmp_path.iterdir()) == []
