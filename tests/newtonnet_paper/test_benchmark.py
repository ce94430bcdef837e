import numpy as np
import pytest

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm, make_splits
from newtonnet_paper import benchmark
from newtonnet_paper.benchmark import LONG, SHORT, split_of, summarise, units
from newtonnet_paper.claim import Request


def line(dataset, split, test, *, minutes=5, labels=True):
    key = {"dataset": dataset, "minutes": minutes, "labels": labels, "split": split}
    return {"key": key, "test": test, "fit_seconds": 300.0, "kept": [{"model": "newton-stack", "weight": 1.0}]}


def test_the_work_has_the_splits_and_times_that_were_announced():
    work = [unit.key for unit in units(Request("paper"))]
    assert len({tuple(key.items()) for key in work}) == len(work)
    count = {
        minutes: [sum(1 for key in work if key["minutes"] == minutes and key["dataset"] == name) for name in LONG]
        for minutes in (1, 5, 20)
    }
    assert count == {1: [10, 10, 20, 20, 10, 10], 5: [5, 5, 10, 10, 5, 5], 20: [1] * 6}
    assert {key["minutes"] for key in work if key["dataset"] in SHORT} == {1}
    assert all(key["labels"] for key in work if key["minutes"] > 1)
    first = work[: len(LONG) + len(SHORT) + len(LONG)]
    assert {(key["split"], key["labels"]) for key in first} == {(0, True)}, "a part of the work covers all graphs"
    assert [key["minutes"] for key in first] == [1] * 15 + [5] * 6
    assert [key["minutes"] for key in work[-len(LONG) :]] == [20] * 6
    assert {unit.key["minutes"] for unit in units(Request("quick"))} == {1}
    assert {unit.key["dataset"] for unit in units(Request("paper", {"datasets": ("cora",)}))} == {"cora"}
    with pytest.raises(ValueError, match="penn94 is not in the benchmark"):
        units(Request("paper", {"datasets": ("penn94",)}))


def test_the_mean_over_splits_stands_beside_the_best_published_number():
    report = summarise([line("minesweeper", 0, 0.99), line("minesweeper", 1, 0.97), line("tolokers", 0, 0.85)])
    first, second = report.tables[0].rows
    assert first[:5] == ("minesweeper", 5, "yes", 2, "98.00")
    assert "97.86 (tuned GCN)" in first
    assert second[:5] == ("tolokers", 5, "yes", 1, "85.00")
    assert report.findings[0].ours == "true on 1 of 2 (minesweeper)"
    assert summarise([]).findings[0].ours == "nothing stored"


def test_validation_labels_choose_but_are_never_shown_and_test_labels_change_nothing(monkeypatch):
    graph = csbm(0.1, nodes=200, features=30, seed=1)
    (split,) = make_splits(graph, "random", count=1)
    seen = []

    class Watched(NewtonNetClassifier):
        def fit(self, graph, **options):
            super().fit(graph, **options)
            seen.append((np.flatnonzero(self.ensemble_.labels >= 0), np.flatnonzero(graph.labels >= 0)))
            return self

    class Loaded:
        entry = type("Entry", (), {"metric": "accuracy"})

    def quick(**options):
        options |= {"time_limit": None, "tune": "off", "max_epochs": 20, "threads": 1}
        return Watched("newton-stack", settings={"labels": 0.5, "layers": 2, "hidden": 8}, **options)

    monkeypatch.setattr(benchmark, "NewtonNetClassifier", quick)
    monkeypatch.setattr(benchmark, "load_splits", lambda *_: [split])
    changed = np.where(np.isin(np.arange(200), split.test), 1 - graph.labels, graph.labels)
    found = []
    for labels in (graph.labels, changed):
        Loaded.graph = graph.relabelled(labels)
        monkeypatch.setattr(benchmark, "load_dataset", lambda _: Loaded)
        found.append(benchmark.fit_classifier("cora", "random", 0, seconds=60.0))
    assert found[0]["validation"] == found[1]["validation"]
    assert found[0]["test"] == pytest.approx(1 - found[1]["test"])
    for shown, known in seen:
        assert sorted(shown.tolist()) == sorted(split.train.tolist())
        assert sorted(known.tolist()) == sorted([*split.train.tolist(), *split.validation.tolist()])


def test_the_amazon_graphs_begin_with_their_published_split():
    assert [split_of("amazon-photo", index) for index in range(3)] == [("fixed", 0), ("random", 0), ("random", 1)]
    assert split_of("tolokers", 3) == ("fixed", 3)
    assert split_of("cora", 3) == ("random", 3)
