"""The classifier's explanations and prediction sets: complete, by name or number, the same after saving."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from newtonnet.estimator import NewtonNetClassifier, NewtonNetRegressor
from newtonnet.estimator.explaining import explain_ensemble
from newtonnet.estimator.families import rebuild
from newtonnet.estimator.members import TrainingOptions
from newtonnet.explanations import describe
from newtonnet.graphs import from_edges


def make_graph(seed=0, n=150, noise=0.6, known=0.6):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    ends = rng.integers(0, n, (2, 8 * n))
    ends = ends[:, (truth[ends[0]] == truth[ends[1]]) | (rng.random(8 * n) < 0.15)][:, : 2 * n]
    features = np.eye(3)[truth] + noise * rng.normal(size=(n, 3))
    names = [f"C-{i:03d}" for i in range(n)]
    labels = np.where(rng.random(n) < known, truth, -1)
    graph = from_edges(ends, features, labels=labels, class_names=("ok", "fraud", "unclear"), node_names=names)
    return graph, truth


@pytest.fixture(scope="module", params=["newtonnet", "newton-stack"])
def fitted(request):
    graph, _ = make_graph()
    return NewtonNetClassifier(request.param, tune="off", max_epochs=30, folds=3).fit(graph), graph


def test_an_ensemble_is_explained_by_the_weighted_sum_of_its_members(fitted):
    model, graph = fitted
    explanation = model.explain(graph, 4)
    shares = model.predict_proba(graph)[4]
    a, b = explanation.classes
    assert (a, b) == tuple(np.argsort(-shares)[:2])
    ensemble, scaled = model.ensemble_, graph if model.scaling_ is None else model.scaling_(graph)
    population = rebuild(ensemble.members, ensemble.shown(scaled))
    with torch.no_grad():
        logits = population(population.prepare(scaled))[4].double().numpy()
    expected = np.array(ensemble.weights) @ (logits[:, a] - logits[:, b])
    assert explanation.total == pytest.approx(expected, abs=1e-4)
    rest = explanation.bias + explanation.remainder
    for parts in (explanation.contributions, explanation.features, list(explanation.bands.values())):
        assert np.sum(parts) + rest == pytest.approx(expected, abs=1e-4)


def test_nodes_are_named_or_numbered_one_or_several(fitted):
    model, graph = fitted
    one, again = model.explain(graph, "C-007"), model.explain(graph, 7)
    assert one.contributions.tobytes() == again.contributions.tobytes()
    several = model.explain(graph, ["C-007", 3])
    assert [explanation.node for explanation in several] == [7, 3]
    np.testing.assert_allclose(several[0].contributions, one.contributions, atol=1e-9)
    with pytest.raises(ValueError, match=r"no node is called 'C-7'; did you mean 'C-\d+'\?"):
        model.explain(graph, "C-7")
    with pytest.raises(ValueError, match="node 150 is not in the graph"):
        model.explain(graph, 150)


def test_a_saved_model_explains_and_covers_as_before(fitted, tmp_path):
    model, graph = fitted
    model.save(tmp_path / "model")
    loaded = NewtonNetClassifier.load(tmp_path / "model")
    first, second = (describe(one.explain(graph, 3), graph) for one in (model, loaded))
    assert first == second
    assert (model.predict_set(graph) == loaded.predict_set(graph)).all()


def test_sets_cover_the_unlabelled_nodes():
    covered, accuracy = [], []
    for seed in range(4):
        graph, truth = make_graph(seed, n=400, noise=1.2, known=0.5)
        model = NewtonNetClassifier(tune="off", max_epochs=40, folds=3).fit(graph)
        new = graph.labels < 0
        sets = model.predict_set(graph, coverage=0.95)
        covered.append(sets[new, truth[new]].mean())
        accuracy.append((model.predict_proba(graph)[new].argmax(axis=1) == truth[new]).mean())
        assert sets.any(axis=1).all()
    assert np.mean(accuracy) < 0.93
    assert 0.92 < np.mean(covered) < 0.985


def test_labelled_nodes_have_sets_of_predictions_that_did_not_see_them():
    """Features are noise and every node is known: a model that saw the labels would be sure of them."""
    rng = np.random.default_rng(0)
    graph = from_edges([[], []], np.eye(60), labels=rng.integers(0, 2, 60))
    model = NewtonNetClassifier(tune="off", max_epochs=60, folds=3).fit(graph)
    assert model.predict_set(graph, coverage=0.9).sum(axis=1).mean() > 1.6


def test_another_graph_gets_sets_with_a_warning_and_no_locality(fitted):
    model, graph = fitted
    other, _ = make_graph(9)
    with pytest.warns(UserWarning, match="calibrated on another graph"):
        assert model.predict_set(other).shape == (150, 3)
    with pytest.raises(ValueError, match="locality needs the graph that the model was fitted on"):
        model.predict_set(other, locality=1.0)
    assert model.predict_set(graph, locality=2.0).any(axis=1).all()


def test_members_of_every_family_are_explained_together():
    """Ridge, boosting and a stack that read labels, and a filter: one explanation, complete for their sum."""
    graph, _ = make_graph()
    given = {
        "ridge": {},
        "boosting": {"max_iterations": 8},
        "newton-stack": {"labels": 0.5, "layers": 2},
        "newtonnet": {},
    }
    models = [
        NewtonNetClassifier(name, tune="off", max_epochs=20, folds=2, settings=settings or None).fit(graph)
        for name, settings in given.items()
    ]
    ensembles = [model.ensemble_ for model in models]
    members = [member for ensemble in ensembles for member in ensemble.members]
    labelled = next(ensemble for ensemble in ensembles if ensemble.labels is not None)
    whole = replace(labelled, members=members, weights=[1 / len(members)] * len(members))
    scaled = graph if models[0].scaling_ is None else models[0].scaling_(graph)
    a, b = 0, 2
    (explanation,) = explain_ensemble(whole, scaled, [11], [(a, b)])
    total = 0.0
    for member in members:
        alone = replace(whole, members=[member], weights=[1.0])
        shares = np.log(alone.average(scaled, TrainingOptions()))[11]
        total += (shares[a] - shares[b]) / len(members)
    rest = explanation.bias + explanation.remainder
    for parts in (explanation.contributions, explanation.features, list(explanation.bands.values())):
        assert np.sum(parts) + rest == pytest.approx(total, abs=1e-4)
    assert {"log degree", "known label fraud", "PageRank"} <= set(explanation.inputs)
    assert explanation.method.startswith("weighted sum of 8 members; ")
    assert len(explanation.method.split("; ")) == 5


@pytest.mark.parametrize(("kind", "column"), [(NewtonNetClassifier, "kind"), (NewtonNetRegressor, "size")])
def test_an_explanation_of_a_model_of_two_frames_is_shown_with_the_names_of_its_columns(kind, column):
    rng = np.random.default_rng(0)
    nodes = pd.DataFrame({"id": range(40), "age": rng.random(40), "size": rng.random(40), "kind": ["a", "b"] * 20})
    edges = pd.DataFrame(rng.integers(0, 40, (60, 2)), columns=["source", "target"])
    model = kind(tune="off", max_epochs=3, folds=2).fit((nodes, edges), column)
    why = model.explain((nodes, edges), "3")
    assert "age" in why._repr_html_()
    assert "age" in why.plot().to_json()
