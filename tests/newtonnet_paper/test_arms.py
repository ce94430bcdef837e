from itertools import product

import pytest

from newtonnet_paper.arms import FACTORIAL, FACTORS, FEW_LABELS, MECHANISM, STACK, WIDE
from newtonnet_paper.claim import Request, load_lines, wanted_cells
from newtonnet_paper.scores import split_ratio


def cells(claim, results, dataset, profile="paper"):
    return wanted_cells(claim, Request(profile, {"datasets": [dataset]}), results)


def test_every_arm_has_a_file_of_its_own_and_the_same_number_of_settings(tmp_path):
    for claim, dataset in ((WIDE, "cora"), (MECHANISM, "citeseer"), (FEW_LABELS, "cora"), (STACK, "minesweeper")):
        made = cells(claim, tmp_path, dataset)
        assert len({cell.path(tmp_path) for cell in made}) == len(made)
        assert len({cell.wanted for cell in made}) == 1
    assert {cell.wanted for cell in cells(FEW_LABELS, tmp_path, "cora")} == {6}


def test_few_labels_are_tried_at_three_places_and_told_apart(store, scores, tmp_path):
    assert {cell.protocol for cell in cells(FEW_LABELS, tmp_path, "cora")} == {"few-5", "few-20", "weak-0.05"}
    for protocol, better in (("few-5", 0.02), ("few-20", 0.0)):
        for model, label in (("newtonnet", ""), ("newtonnet", "unregularised"), *((m, "") for m in OTHERS)):
            mean = 0.6 + better * (model == "newtonnet" and not label)
            store("cora", model, [(0.5, scores(mean))] * 4, label=label, protocol=protocol, settings=[{}] * 4)
    report = FEW_LABELS.summarise(load_lines(FEW_LABELS, tmp_path / "results"))
    assert [row[0] for row in report.tables[0].rows] == ["cora few-5", "cora few-20"]
    assert report.findings[0].ours == "cora few-5 +2.00 [+2.00, +2.00]; cora few-20 +0.00 [+0.00, +0.00]"
    assert "NewtonNet, the paper" not in report.tables[0].columns  # another protocol


OTHERS = ("gcn", "gprgnn", "chebnetii")


@pytest.mark.parametrize(
    ("protocol", "ratio"),
    [("few-5", 543 / 35), ("few-20", 543 / 140), ("weak-0.05", 543 / 135), ("random", 543 / 1624)],
)
def test_test_nodes_for_each_training_node(protocol, ratio):
    assert split_ratio("cora", protocol) == ratio


def test_the_factorial_gives_the_main_effect_of_each_factor(store, scores, tmp_path):
    grid = [dict(zip(FACTORS, values, strict=True)) for values in product(*FACTORS.values())]
    gain = {"points": 0.0, "degree": 0.02, "nonnegative": -0.01, "gammas": 0.04}

    def mean(setting):
        return 0.5 + sum(gain[name] for name, values in FACTORS.items() if setting[name] == values[1])

    trials = [(0.5, scores(mean(setting))) for setting in grid]
    store("citeseer", "newtonnet", trials, settings=grid, label="vary-factors", source="searched")
    report = FACTORIAL.summarise(load_lines(FACTORIAL, tmp_path / "results"))
    (row,) = report.tables[0].rows
    assert [cell.split(" ")[0] for cell in row] == ["citeseer", "+0.00", "+2.00", "-1.00", "+4.00"]
    assert [str(finding.verdict) for finding in report.findings][1:] == ["holds", "does not hold", "holds"]


def test_the_factorial_is_sixteen_combinations_around_the_chosen_setting(store, scores, tmp_path):
    chosen = {"dropout": 0.1, "gammas": [0.0, 3.0, 0.0]}
    results = store("citeseer", "newtonnet", [(0.9, scores(0.7))], settings=[chosen])
    (cell,) = cells(FACTORIAL, results, "citeseer")
    assert (cell.wanted, cell.fixed, cell.source) == (16, {"dropout": 0.1}, "searched")
