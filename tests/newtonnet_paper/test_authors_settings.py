import pytest

from newtonnet_paper.authors_settings import PUBLISHED
from newtonnet_paper.claim import Request, load_lines, wanted_cells


def test_the_authors_settings_stand_beside_the_paper_and_the_authors_code(store, scores, tmp_path):
    store("texas", "newtonnet", [(0.9, scores(0.86))], label="released", source="published", patience=None)
    store("cora", "newtonnet", [(0.9, scores(0.6))], label="released", source="published", patience=None)
    report = PUBLISHED.summarise(load_lines(PUBLISHED, tmp_path / "results"))
    rows = {row[0]: row for row in report.headline.rows}
    assert rows["texas"][1] == "86.00 ± 1.00"
    assert rows["texas"][3:] == ("87.11 ± 3.8", "85.00 ± 5.65", "0.80", 0.12)
    assert rows["cora"][4] is None
    assert report.findings[0].ours.startswith("reached on 1 of 2 graphs (texas); short on 1: cora (60.00")
    assert report.findings[0].verdict == "holds in part"
    assert report.data["texas"]["code"] == pytest.approx(85.0)


def test_nothing_stored_is_said(tmp_path):
    assert PUBLISHED.summarise(load_lines(PUBLISHED, tmp_path)).findings[0].verdict == "not measured yet"


def test_the_runs_have_the_authors_settings_and_never_stop_early(tmp_path):
    (cell,) = wanted_cells(PUBLISHED, Request("paper", {"datasets": ["texas"]}), tmp_path)
    study = cell.bare("sum", tmp_path)
    assert study.patience is None
    assert study.first == (("published", {}),)
    assert study.base().config.gammas == (0, 5, 3)
    assert study.base().config.variant == "released"
    assert study.base().options.propagation_dropout == 0
    assert (cell.name, cell.wanted) == ("newtonnet-released", 1)
