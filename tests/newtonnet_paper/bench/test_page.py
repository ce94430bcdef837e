import json

import pytest

from newtonnet_paper.bench import read_results, tables, update_page

RESULT = {
    "profile": "full",
    "seconds": 12.0,
    "machine": {"cpu": "a machine", "caches": {"L1": "32K", "L2": "1024K"}},
    "notes": ["something is missing"],
    "epoch_ratio": {"cora": 25.04},
    "population_ratio": {"cora": 40.0},
    "reference": {"cora": {"reference_ms": 75.12, "ours_ms": {"1": 3.0, "64": 1.878}}},
    "kernels_off": {"cora": {"on_ms": 3.0, "off_ms": 7.5, "ratio": 2.5}},
    "stacks": {"m": {"ms": 250.0, "plain_ms": 500.0, "ratio": 2.0, "gflops": 40.0, "plain_gflops": 20.0}},
    "rivals": {"cora": {"a/b@5": 1.0}, "chameleon": {"a/b@5": 1.21}},
    "rivals_ratio": {"a/b@5": 1.1},
}


def test_tables_hold_the_figures_and_what_was_not_measured_has_no_table():
    made = tables(RESULT)
    assert list(made) == ["machine", "headline", "kernels", "stacks", "rivals"]
    assert made["kernels"].rows == (("cora", "3", "7.5", "2.50×"),)
    assert made["stacks"].rows == (("m", "500", "20", "250", "40", "2.00×"),)
    assert made["headline"].rows == (("cora", "75.1", "3", "25.0×", "1.88", "40.0×"),)
    assert made["rivals"].columns == ("pair @ K", "cora", "chameleon", "mean")
    assert made["rivals"].rows == (("a/b@5", "1.00", "1.21", "1.10"),)
    assert ("caches", "L1 32K, L2 1024K") in made["machine"].rows
    assert ("note", "something is missing") in made["machine"].rows


def test_a_page_is_filled_between_its_markers_and_only_there():
    page = (
        "before\n<!-- bench full rivals -->\nold\n<!-- end -->\nafter\n<!-- bench quick all -->\nkept\n<!-- end -->\n"
    )
    new = update_page(page, {"full": RESULT})
    assert "old" not in new
    assert "| a/b@5 | 1.00 | 1.21 | 1.10 |" in new
    assert new.startswith("before\n<!-- bench full rivals -->\n\n| pair @ K |")
    assert new.endswith("<!-- end -->\nafter\n<!-- bench quick all -->\nkept\n<!-- end -->\n")
    assert update_page(new, {"full": RESULT}) == new


def test_all_tables_stand_under_their_titles():
    new = update_page("<!-- bench full all -->\n<!-- end -->", {"full": RESULT})
    assert new.index("### The machine") < new.index("### One epoch of NewtonNet and of plain PyTorch Geometric")


@pytest.mark.parametrize("profile", ["quick", "full"])
def test_saved_runs_are_found_by_their_profile(profile, tmp_path):
    (tmp_path / f"{profile}.json").write_text(json.dumps(RESULT))
    assert read_results(tmp_path) == {profile: RESULT}
