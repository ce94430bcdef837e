"""The model card says what was fitted, how, how well, and what it is not for, from the model's own facts."""

import numpy as np
import pytest

from newtonnet import Analysis, NewtonNetClassifier, analyse
from newtonnet.datasets import csbm
from newtonnet.estimator import model_card

QUICK = {"max_epochs": 15, "threads": 1}
SECTIONS = ["Model", "Data", "Protocol", "Metrics", "Limits", "Intended use"]


@pytest.fixture(scope="module")
def fitted():
    graph = csbm(0.9, nodes=120, features=6, seed=0)
    names = np.array(["no|thing", "<b>yes</b>"])[graph.labels]
    return NewtonNetClassifier(tune="off", settings={"branch": 4}, threshold="f1", **QUICK).fit(graph, names)


def test_the_card_has_six_sections(fitted):
    text = model_card(fitted)
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == SECTIONS


def test_the_table_of_classes_has_the_shares_found_out_of_fold(fitted):
    _, shares, truth = fitted.out_of_fold_.whole
    predicted = fitted.decide(shares)
    (row,) = [line for line in model_card(fitted).splitlines() if line.startswith("| no\\|thing |")]
    place = fitted.classes_.tolist().index("no|thing")
    own, called = truth == place, predicted == place
    found, right = (f"{(own & called).sum() / part.sum():.0%}" for part in (own, called))
    assert row == f"| no\\|thing | {own.sum()} | {found} | {right} |"


def test_names_are_no_markup(fitted):
    assert "<b>" not in model_card(fitted)


def test_a_model_that_is_tied_to_its_graph_says_so(fitted):
    assert "tied to the training graph" in model_card(fitted)
    graph = csbm(0.9, nodes=60, features=6, seed=0)
    assert "tied to the training graph" not in model_card(NewtonNetClassifier(tune="off", **QUICK).fit(graph))


def test_the_threshold_is_given_with_what_it_reached(fitted):
    assert f"from a probability of {fitted.threshold_.value:.3f} on (f1)" in model_card(fitted)


def test_it_is_written_beside_the_model(fitted, tmp_path):
    fitted.save(tmp_path / "churn.safetensors")
    assert (tmp_path / "churn_card.md").read_text(encoding="utf-8") == model_card(fitted)
    assert model_card(NewtonNetClassifier.load(tmp_path / "churn.safetensors")) == model_card(fitted)


def test_a_run_has_a_card_with_its_tables_and_held_out_scores(tmp_path, write):
    tables = write(tmp_path / "tables")
    files = (tables.folder / "nodes.csv", tables.folder / "edges.csv")
    model = NewtonNetClassifier(tune="off", **QUICK)
    found = analyse(*files, label_column="kind", classifier=model, folds=2, compare=False, folder=tmp_path / "run")
    text = (tmp_path / "run" / "model_card.md").read_text(encoding="utf-8")
    assert f"| this model | {found.summary['cross_validation']['mean']:.3f} |" in text
    assert text.startswith("# Model card: kind (cat, dog, big)\n")
    assert "The table of nodes is nodes.csv (sha256 " in text
    assert "Features: size, colour=green, colour=red." in text
    assert f"Evaluation: {found.summary['method']}" in text
    assert "Fitting and evaluation had a time limit of 240 s, and " in text, "the whole run's, not the model's share"
    assert Analysis.load(tmp_path / "run").card == text == found.card
