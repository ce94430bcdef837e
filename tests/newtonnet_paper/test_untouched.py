import pytest

from newtonnet.datasets import csbm, make_splits
from newtonnet_paper import untouched
from newtonnet_paper.claim import Request
from newtonnet_paper.untouched import MODELS, UNTOUCHED, summarise, units


def line(dataset, model, split, test, budget=12.0):
    key = {"dataset": dataset, "model": model, "split": split, "protocol": "fixed", "budget": budget}
    return {"key": key, "test": test}


def stored(ours, mlp, gcn, **rest):
    return [
        line("actor", model, split, score, **rest)
        for model, scores in zip(MODELS, (ours, mlp, gcn), strict=True)
        for split, score in enumerate(scores)
    ]


def test_every_model_gets_the_same_splits_and_the_same_time():
    work = units(Request("paper"))
    assert len(work) == len(UNTOUCHED) * 10 * 3
    assert {unit.key["budget"] for unit in work} == {12.0}
    assert {unit.key["dataset"] for unit in work} == set(UNTOUCHED)
    assert len(units(Request("paper", {"datasets": ("actor",)}))) == 30
    with pytest.raises(ValueError, match="cora is not one of the untouched graphs"):
        units(Request("paper", {"datasets": ("cora",)}))


def test_the_difference_is_paired_and_to_the_better_rival():
    report = summarise(stored([0.5, 0.7], [0.1, 0.2], [0.6, 0.7]))
    (row,) = report.tables[0].rows
    # Differences -0.1 and 0: mean -0.05, standard error 0.0707 / sqrt(2) = 0.05.
    assert row[-2] == "-5.00 ± 5.00 (GCN)"
    # Corrected for splits of 48% and 20%: 12.706 * sqrt((1/2 + 20/48) * 0.005) = 0.860.
    assert row[-1] == "[-91.02, +81.02]"
    assert row[:2] == ("actor", 2)
    assert report.findings[0].verdict == "holds"


def test_a_clear_loss_does_not_hold():
    report = summarise(stored([0.5, 0.6], [0.1, 0.2], [0.6, 0.71]))
    assert report.findings[0].verdict == "does not hold"


def test_a_split_that_one_model_lacks_is_left_out():
    lines = [*stored([0.5, 0.7], [0.1, 0.2], [0.6, 0.7]), line("actor", "gcn", 2, 0.99)]
    assert summarise(lines).tables[0].rows[0][1] == 2


def test_runs_with_less_time_do_not_mix_in():
    lines = [*stored([0.5, 0.7], [0.1, 0.2], [0.6, 0.7]), *stored([0.0, 0.0], [1.0, 1.0], [1.0, 1.0], budget=2.0)]
    assert summarise(lines).tables[0].rows[0][-2] == "-5.00 ± 5.00 (GCN)"


def test_graphs_that_are_tuned_on_now_leave_the_table():
    (row,) = summarise([*stored([0.5, 0.7], [0.1, 0.2], [0.6, 0.7]), line("tolokers", "gcn", 0, 0.7)]).tables[0].rows
    assert row[0] == "actor"
    assert "tolokers" not in UNTOUCHED


def test_nothing_stored_is_said():
    assert summarise([]).findings[0].ours == "nothing stored"


def test_a_fit_is_scored_on_its_test_nodes_alone(monkeypatch):
    graph = csbm(0.1, nodes=150, features=40)
    split = make_splits(graph, count=1)[0]
    entry = type("Entry", (), {"metric": "accuracy"})
    monkeypatch.setattr(untouched, "load_dataset", lambda name: type("Loaded", (), {"graph": graph, "entry": entry}))
    monkeypatch.setattr(untouched, "load_splits", lambda name, protocol, count: [split] * count)
    line = untouched._fit("actor", "mlp", 0, 2.0)
    assert line["test"] * len(split.test) == pytest.approx(round(line["test"] * len(split.test)))
    assert line["tried"] >= 1
