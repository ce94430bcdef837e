"""The notebook runs from top to bottom, and shows what it would show."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent.parent / "examples" / "first_ten_minutes.ipynb"
CELLS = json.loads(NOTEBOOK.read_text())["cells"]


def test_the_notebook_runs_and_its_model_knows_that_neighbours_differ(capsys, monkeypatch):
    monkeypatch.setattr("newtonnet.estimator.portfolio.FINALISTS", 2)
    space: dict[str, object] = {}
    for cell in CELLS:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), space)
    assert "accuracy on the hidden half" in capsys.readouterr().out
    assert space["model"].homophily_ < 0.3
    assert space["result"].mean < 0.9, "the last of the three, GCN, has no way to tell"


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell["cell_type"] == "code"], ids=lambda c: c["id"])
def test_every_cell_shows_what_it_prints(cell):
    last = ast.parse("".join(cell["source"])).body[-1]
    assert bool(cell["outputs"]) == isinstance(last, ast.Expr | ast.For)
