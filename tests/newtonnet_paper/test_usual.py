import json

import numpy as np
import pytest

from newtonnet.datasets import load
from newtonnet_paper import usual
from newtonnet_paper.benchmark import BENCHMARK, LONG, SHORT
from newtonnet_paper.claim import Request, append_line, lines_path
from newtonnet_paper.usual import OURS, SCRIPTS, USUAL, graphs, summarise, units


def line(dataset, split, method, test):
    return {"key": {"dataset": dataset, "split": split, "method": method, "budget": 60.0}, "test": test}


def test_every_graph_split_and_method_is_a_piece_of_work():
    work = [unit.key for unit in units(Request("paper"))]
    assert len({tuple(key.items()) for key in work}) == len(work)
    assert [sum(key["method"] == method for key in work) for method in SCRIPTS] == [len(graphs()) * 5] * 2
    own = {key["dataset"] for key in work if key["method"] == OURS}
    assert own == set(graphs()) - {*LONG, *SHORT}, "the benchmark has the classifier on the others"
    assert {"actor", "wisconsin", "reed98", "amherst41"} <= set(graphs())
    assert {key["split"] for key in (unit.key for unit in units(Request("quick")))} == {0}
    with pytest.raises(ValueError, match="penn94 is not in the comparison"):
        units(Request("paper", {"datasets": ("penn94",)}))


def test_the_classifier_is_that_of_the_benchmark_with_the_same_time_and_labels(tmp_path):
    key = {"dataset": "cora", "split": 1}
    for minutes, labels, test in ((1, True, 0.9), (5, True, 0.8), (1, False, 0.7)):
        stored = {"key": {**key, "minutes": minutes, "labels": labels}, "version": BENCHMARK.version, "test": test}
        append_line(lines_path(BENCHMARK, tmp_path), stored)
    script = {"key": {**key, "method": "boosting"}, "version": USUAL.version, "test": 0.6}
    append_line(lines_path(USUAL, tmp_path), script)
    assert [(line["key"]["method"], line["test"]) for line in usual.load(tmp_path)] == [("boosting", 0.6), (OURS, 0.9)]


def test_only_splits_that_all_methods_have_count_and_graphs_nothing_was_chosen_on_are_not_required():
    stored = [line("cora", 0, method, test) for method, test in zip((OURS, *SCRIPTS), (0.80, 0.82, 0.7), strict=True)]
    stored += [line("cora", 2, method, test) for method, test in zip((OURS, *SCRIPTS), (0.76, 0.82, 0.8), strict=True)]
    stored += [line("cora", 1, OURS, 0.1)]
    stored += [
        line("texas", 0, method, test) for method, test in zip((OURS, *SCRIPTS), (0.80, 0.7, 0.808), strict=True)
    ]
    stored += [line("actor", 0, method, test) for method, test in zip((OURS, *SCRIPTS), (0.3, 0.5, 0.5), strict=True)]
    report = summarise(stored)
    rows = {row[0]: row[1:] for row in report.tables[0].rows}
    assert rows["cora"] == (2, "78.00 ± 2.00", "82.00 ± 0.00", "75.00 ± 5.00", "-4.00")
    assert rows["texas"][-1] == "-0.80"
    assert rows["actor (reported only)"][-1] == "-20.00"
    (finding,) = report.findings
    assert finding.ours.startswith("true on 1 of 2 (not on cora); ")
    assert finding.ours.endswith(" other graphs are not measured yet")
    assert finding.verdict == "holds in part"
    (good,) = summarise([one for one in stored if one["key"]["dataset"] == "texas"]).findings
    assert good.verdict == "not certain", "one graph says little about all"
    assert summarise([]).findings[0].ours == "nothing stored"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small graph in place of roman-empire, and parsed, so that the scripts need not load what parses it."""
    folder, rng = tmp_path_factory.mktemp("small"), np.random.default_rng(0)
    path = folder / "HeterophilousGraphDataset/roman_empire/raw/roman_empire.npz"
    path.parent.mkdir(parents=True)
    labels = np.arange(160) % 4
    parts = rng.permuted(np.tile(np.repeat([0, 1, 2], [96, 32, 32]), (10, 1)), axis=1)
    masks = {f"{name}_masks": parts == i for i, name in enumerate(("train", "val", "test"))}
    features = (np.eye(4)[labels] + rng.normal(scale=0.3, size=(160, 4))).astype(np.float32)
    np.savez(path, node_features=features, node_labels=labels, edges=rng.integers(0, 160, (400, 2)), **masks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEWTONNET_DATA", str(folder))
        patch.setenv("NEWTONNET_CACHE", str(folder / "cache"))
        load("roman-empire")
        yield


@pytest.mark.parametrize("method", list(SCRIPTS))
def test_the_scripts_run_as_they_are_and_give_their_scores(method, small, monkeypatch):
    monkeypatch.setattr(usual, "SECONDS", 0.5)
    found = usual._run("roman-empire", 0, method)
    assert 0.3 < found["test"] <= 1
    assert 0.3 < found["validation"] <= 1
    json.dumps(found)
