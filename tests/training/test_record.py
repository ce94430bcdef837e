import json
from dataclasses import replace

import pytest

from newtonnet import kernels
from newtonnet.datasets import Split, csbm, make_splits
from newtonnet.nn import Options, build
from newtonnet.training import Config, Record, fit, summarise
from newtonnet.training.record import record_id


@pytest.fixture(scope="module")
def graph():
    return csbm(0.2, nodes=60, features=8)


@pytest.fixture(scope="module")
def record(graph):
    return fit(build("newtonnet", graph), graph, make_splits(graph, count=1), [Config(max_epochs=20)])[0]


def test_records_survive_json_both_ways(record):
    line = record.to_json()
    assert "\n" not in line
    again = Record.from_json(line)
    assert again.to_json() == line
    assert again.outcome == record.outcome


def test_numbers_that_are_not_finite_become_null(record):
    broken = replace(record, outcome=replace(record.outcome, test=float("nan"), largest_value=float("inf")))
    data = json.loads(broken.to_json())
    assert data["outcome"]["test"] is None
    assert data["outcome"]["largest_value"] is None


@pytest.mark.parametrize("line", ["", "nonsense", "[1]", "{}", '{"id": "x", "outcome": {"status": "done"}}'])
def test_lines_that_are_no_records_are_refused(line):
    with pytest.raises(ValueError, match="not a record"):
        Record.from_json(line)


def test_a_name_in_a_record_cannot_break_the_line_of_its_refusal(record):
    for change in ({"a\nb": 1}, {"outcome": {"a\nb": 1}}):
        with pytest.raises(ValueError, match=r"\Anot a record [^\n]*'a b'\Z"):
            Record.from_json(json.dumps(json.loads(record.to_json()) | change))


def test_ids_change_with_all_that_decides_a_result_and_with_nothing_else(graph):
    model, split, config = build("newtonnet", graph), make_splits(graph, count=2), Config()
    base = record_id(model, graph, split[0], config)
    assert base == record_id(build("newtonnet", graph), graph, make_splits(graph, count=1)[0], Config())
    assert base == record_id(model, graph, split[0], replace(config, history_interval=1))
    assert base == record_id(model, graph, split[0], replace(config, gammas=(0, 0, 0)))
    others = [
        record_id(build("newtonnet", graph, Options(degree=4)), graph, split[0], config),
        record_id(model, csbm(0.2, nodes=60, features=8, seed=1), split[0], config),
        record_id(model, graph, split[1], config),
        record_id(model, graph, split[0], replace(config, seed=1)),
        record_id(model, graph, split[0], replace(config, gammas=(1.0, 0.0, 0.0))),
    ]
    assert len({base, *others}) == 6


def test_settings_that_came_later_leave_older_ids_as_they_were(path, monkeypatch):
    """The ids are those that runs had before there was an adjacency branch."""
    monkeypatch.setattr("newtonnet.training.record.NUMERICS", 1)
    split, branched = Split([0], [1], [2]), build("newtonnet", path, Options(branch=4))
    assert record_id(build("newtonnet", path), path, split, Config()) == "bd3b9aa047b30317"
    assert record_id(build("gcn", path), path, split, Config(learning_rate=0.05)) == "3772b0b1d44c0ffc"
    ids = [
        "bd3b9aa047b30317",
        record_id(branched, path, split, Config()),
        record_id(branched, path, split, Config(branch_learning_rate=0.003)),
        record_id(build("newtonnet", path, Options(branch=4, branch_dropout=0.5)), path, split, Config()),
    ]
    assert len(set(ids)) == 4


def test_summaries_leave_failed_runs_out_and_say_so(record):
    good = [replace(record, outcome=replace(record.outcome, test=score)) for score in (0.5, 0.7)]
    bad = replace(record, outcome=replace(record.outcome, status="failed", reason="NaN", test=0.0))
    summary = summarise([*good, bad])
    assert (summary.mean, summary.std, summary.failed) == (pytest.approx(0.6), pytest.approx(0.1), 1)
    with pytest.raises(ValueError, match="every run failed: NaN"):
        summarise([bad])


def test_an_accuracy_of_zero_counts_and_a_missing_one_does_not(record):
    def scored(*values):
        return [replace(record, outcome=replace(record.outcome, test=v, test_accuracy=v)) for v in values]

    assert summarise(scored(0.0, 0.5)).accuracy == pytest.approx(0.25)
    without_test = summarise(scored(None))
    assert (without_test.mean, without_test.std, without_test.accuracy) == (None, None, None)
    assert without_test.score() == "none"
    assert summarise(scored(0.5, 0.7)).score(digits=1) == "60.0 ± 10.0"


def test_a_record_says_how_it_was_computed_beside_its_id(record, graph, monkeypatch):
    assert record.machine == {"kernels": kernels.kind(), "threads": kernels.thread_count()}
    monkeypatch.setattr(kernels, "kind", lambda: "other")
    again = fit(build("newtonnet", graph), graph, make_splits(graph, count=1), [Config(max_epochs=20)], threads=3)[0]
    assert again.machine == {"kernels": "other", "threads": 3}  # not torch's number
    assert again.id == record.id


def test_a_line_from_before_records_said_how_they_were_computed_is_read(record):
    data = json.loads(record.to_json())
    del data["machine"]
    old = Record.from_json(json.dumps(data))
    assert old.machine is None
    assert old.to_json() == json.dumps(data)
