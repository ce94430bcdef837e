import json

import pytest

from newtonnet_paper import usual
from newtonnet_paper.claim import Request
from newtonnet_paper.usual import OURS, SCRIPTS, graphs, summarise, units


def line(dataset, split, method, test):
    return {"key": {"dataset": dataset, "split": split, "method": method, "budget": 60.0}, "test": test}


def test_every_graph_split_and_method_is_a_piece_of_work():
    work = [unit.key for unit in units(Request("paper"))]
    assert len(work) == len(graphs()) * 5 * 3
    assert len({tuple(key.items()) for key in work}) == len(work)
    assert {"actor", "wisconsin", "reed98", "amherst41"} <= set(graphs())
    assert {key["split"] for key in (unit.key for unit in units(Request("quick")))} == {0}
    with pytest.raises(ValueError, match="penn94 is not in the comparison"):
        units(Request("paper", {"datasets": ("penn94",)}))


def test_only_splits_that_all_methods_have_count_and_graphs_nothing_was_chosen_on_are_not_required():
    stored = [line("cora", 0, method, test) for method, test in zip((OURS, *SCRIPTS), (0.80, 0.82, 0.7), strict=True)]
    stored += [line("cora", 1, OURS, 0.1)]
    stored += [
        line("texas", 0, method, test) for method, test in zip((OURS, *SCRIPTS), (0.80, 0.7, 0.808), strict=True)
    ]
    stored += [line("actor", 0, method, test) for method, test in zip((OURS, *SCRIPTS), (0.3, 0.5, 0.5), strict=True)]
    report = summarise(stored)
    rows = {row[0]: row[1:] for row in report.tables[0].rows}
    assert rows["cora"] == (1, "80.00", "82.00", "70.00", "-2.00")
    assert rows["texas"][-1] == "-0.80"
    assert rows["actor (reported only)"][-1] == "-20.00"
    assert report.findings[0].ours == "true on 1 of 2 (not on cora)"
    assert summarise([]).findings[0].ours == "nothing stored"


@pytest.mark.parametrize("method", list(SCRIPTS))
def test_the_scripts_run_as_they_are_and_give_their_scores(method, monkeypatch):
    monkeypatch.setattr(usual, "SECONDS", 0.5)
    monkeypatch.setattr(usual, "protocol", lambda _: "random")
    found = usual._run("csbm-heterophilous", 0, method)
    assert 0.3 < found["test"] <= 1
    assert 0.3 < found["validation"] <= 1
    json.dumps(found)
