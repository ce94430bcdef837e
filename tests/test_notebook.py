"""The notebook runs from top to bottom, and shows what it would show."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent.parent / "examples" / "first_ten_minutes.ipynb"
CELLS = json.loads(NOTEBOOK.read_text())["cells"]
pytestmark = pytest.mark.usefixtures("two_folds", "few_trees")
CODE = [cell for cell in CELLS if cell["cell_type"] == "code"]


def test_the_notebook_runs_and_its_model_knows_that_neighbours_differ(capsys, monkeypatch):
    monkeypatch.setattr("newtonnet.estimator.portfolio.FINALISTS", 2)
    space: dict[str, object] = {}
    for cell in CODE:
        source = "".join(cell["source"])
        assert "time_limit" not in source or "time_limit=20" in source or "time_limit=5" in source
        quick = source.replace("time_limit=20", "time_limit=3").replace("time_limit=5", "time_limit=0.5")
        exec(compile(quick, str(NOTEBOOK), "exec"), space)
    assert "accuracy on the hidden half" in capsys.readouterr().out
    assert space["model"].homophily_ < 0.3
    assert space["result"].mean < 0.9, "the last of the three, GCN, has no way to tell"


def test_it_begins_with_tables():
    first, second = ("".join(cell["source"]) for cell in CODE[:2])
    assert "pd.DataFrame" in first
    assert "newtonnet.analyse(nodes, edges" in second


@pytest.mark.parametrize("cell", CODE, ids=lambda c: c["id"])
def test_every_cell_shows_what_it_prints(cell):
    last = ast.parse("".join(cell["source"])).body[-1]
    assert bool(cell["outputs"]) == isinstance(last, ast.Expr | ast.For)


def test_the_analysis_the_filter_and_the_explanation_are_shown_as_pictures_and_tables():
    shown = {"".join(cell["source"]).splitlines()[-1]: cell["outputs"][-1].get("data", {}) for cell in CODE}
    assert "<svg" in "".join(shown["analysis"]["text/html"])
    assert "<svg" in "".join(shown["model.filter_"]["text/html"])
    assert "rather than" in "".join(shown['analysis.explain(["C-002"], nodes, edges)']["text/html"])
    assert "<table" in "".join(shown["graph"]["text/html"])
