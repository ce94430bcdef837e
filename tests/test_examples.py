"""Every example is short and runs; its output is what a reader would see."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_runs(path, capsys):
    assert path.read_text().count("\n") <= 40
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_the_pyg_model_learns_a_high_pass_filter(capsys):
    names = runpy.run_path(str(EXAMPLES[[path.stem for path in EXAMPLES].index("pyg_model")]))
    values = names["model"].filter.values.tolist()
    assert names["accuracy"] > 0.85
    assert sum(values[4:]) > sum(values[:2])
