import pytest

from newtonnet_paper.authors_settings import PUBLISHED
from newtonnet_paper.claim import Request, load_lines, wanted_cells


def test_both_loops_stand_beside_the_paper(store, scores, tmp_path):
    store("texas", "newtonnet", [(0.9, scores(0.86))], label="published", source="published", patience=None)
    store("texas", "newtonnet", [(0.9, scores(0.83))], source="published")
    store("cora", "newtonnet", [(0.9, scores(0.6))], label="published", source="published", patience=None)
    store("cora", "newtonnet", [(0.9, scores(0.5))])  # a search that did not begin with the published setting
    report = PUBLISHED.summarise(load_lines(PUBLISHED, tmp_path / "results"))
    rows = {row[0]: row for row in report.headline.rows}
    assert rows["texas"][1] == "86.00 ± 1.00"
    assert rows["texas"][3:] == ("87.11 ± 3.8", "83.00 ± 1.00", "+3.00 [+3.00, +3.00]", "0.80")
    assert rows["cora"][4:6] == (None, None)
    assert report.findings[0].ours.startswith("reached on 1 of 2 graphs (texas); short on 1: cora (60.00")
    assert report.findings[0].verdict == "holds in part"
    assert report.data["texas"]["stopped"] == pytest.approx(83.0)


def test_nothing_stored_is_said(tmp_path):
    assert PUBLISHED.summarise(load_lines(PUBLISHED, tmp_path)).findings[0].verdict == "not measured yet"


def test_the_runs_have_the_authors_settings_and_never_stop_early(tmp_path, monkeypatch):
    (cell,) = wanted_cells(PUBLISHED, Request("paper", {"datasets": ["texas"]}), tmp_path)
    asked = {}
    monkeypatch.setattr("newtonnet.search.make_study", lambda *names, **given: asked.update(given))
    cell.make()
    (first,) = asked["first"]
    assert asked["patience"] is None
    assert first.source == "published"
    assert first.config.gammas == (0, 5, 3)
    assert first.config.variant == "code"
    assert first.options.propagation_dropout == 0
    assert (cell.name, cell.wanted) == ("newtonnet-published", 1)
