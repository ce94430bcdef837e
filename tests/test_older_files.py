"""Models and run folders that an earlier 0.x wrote are read, and predict what they predicted then."""

import json
from pathlib import Path

import numpy as np
import pytest

from newtonnet import Analysis, NewtonNetClassifier, NewtonNetRegressor
from newtonnet.tables import load_tables

RELEASES = sorted(path for path in (Path(__file__).parent / "data").iterdir() if (path / "nodes.csv").is_file())
MODELS = [(place, path.stem) for place in RELEASES for path in sorted(place.glob("*.safetensors"))]


def test_there_is_one_of_each_family_and_all_are_small():
    assert {name for _, name in MODELS} == {"boosting", "newton-stack", "newtonnet", "regressor", "ridge"}
    sizes = [path.stat().st_size for place in RELEASES for path in place.rglob("*") if path.is_file()]
    assert sum(sizes) < 200_000 * len(RELEASES)


@pytest.mark.parametrize(("place", "name"), MODELS, ids=lambda one: getattr(one, "name", one))
def test_a_model_predicts_what_it_predicted_when_it_was_written(place, name):
    numbers = name == "regressor"
    columns = {"target_column": "size", "ignore": ("kind",)} if numbers else {"label_column": "kind"}
    graph = load_tables(place / "nodes.csv", place / "edges.csv", **columns)
    expected = json.loads((place / "probabilities.json").read_text())[name]
    path = place / f"{name}.safetensors"
    found = (
        NewtonNetRegressor.load(path).predict(graph) if numbers else NewtonNetClassifier.load(path).predict_proba(graph)
    )
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize("place", RELEASES, ids=lambda path: path.name)
def test_a_run_predicts_what_it_predicted_when_it_was_written(place):
    analysis = Analysis.load(place / "run")
    before = analysis.predictions
    now = analysis.predict(place / "nodes.csv", place / "edges.csv").predictions
    assert now["node"].tolist() == before["node"].tolist()
    np.testing.assert_allclose(now["probability"], before["probability"], atol=2e-5)
    assert analysis.run.finished
    assert analysis.summary["labelled"] == before["known"].notna().sum()
    (why,) = analysis.explain(["C-000"], place / "nodes.csv", place / "edges.csv").describe()
    assert why["node"] == "C-000"
