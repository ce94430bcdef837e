"""What a model relies on: a planted feature, planted edges, intervals, groups, and the time limit."""

from copy import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from newtonnet.estimator import NewtonNetClassifier, NewtonNetRegressor, describe_importance
from newtonnet.estimator.importance import ALL_FEATURES, NO_EDGES, NO_LABELS, NO_NUMBERS, OTHER_EDGES
from newtonnet.graphs import from_edges


def feature_graph(*, sparse=False, n=400, seed=0):
    """Only feature 2 matters, and edges are noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5)).astype(np.float32)
    labels = np.where(rng.random(n) < 0.7, x[:, 2] > 0, -1)
    features = sp.csr_array(np.hstack([x, np.zeros((n, 8))])) if sparse else x
    return from_edges(rng.integers(0, n, (2, n)), features, labels=labels)


def edge_graph(n=400, seed=0):
    """A node has the class of its neighbours, and features say little."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    ends = rng.integers(0, n, (2, 10 * n))
    ends = ends[:, truth[ends[0]] == truth[ends[1]]]
    x = 0.3 * truth[:, None] + rng.normal(size=(n, 3))
    return from_edges(ends, x, labels=np.where(rng.random(n) < 0.6, truth, -1))


def fitted(graph, model="newtonnet", **changes):
    return NewtonNetClassifier(model, tune="off", max_epochs=40, folds=3, threads=1, **changes).fit(graph)


@cache
def of_features(model="ridge", *, sparse=False):
    """A graph where one feature decides, and a model of it; not to be changed."""
    graph = feature_graph(sparse=sparse)
    return graph, fitted(graph, model)


@pytest.mark.parametrize("model", ["newtonnet", "ridge"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_feature_that_decides_is_first_and_the_others_are_within_noise(model, sparse):
    graph, fit = of_features(model, sparse=sparse)
    found = fit.importance(graph, repeats=3)
    first, *others = found.of("feature")
    assert first.name == "feature 2"
    assert first.interval[0] > 0.25
    assert found.nodes == len(graph.labelled)
    assert max(other.drop for other in others) < 0.06
    assert np.mean([other.interval[0] <= 0 <= other.interval[1] for other in others]) >= 0.75


def test_edges_that_decide_are_missed_where_they_are_removed_or_shuffled():
    graph = edge_graph()
    found = {one.name: one for one in fitted(graph, "ridge").importance(graph, time_limit=0.0).of("structure")}
    assert list(found) == [ALL_FEATURES, NO_EDGES, OTHER_EDGES, NO_LABELS]
    assert found[NO_EDGES].interval[0] > 0.1
    assert found[OTHER_EDGES].interval[0] > 0.1
    noise, fit = of_features()
    harmless = {one.name: one for one in fit.importance(noise, time_limit=0.0).of("structure")}
    assert harmless[OTHER_EDGES].drop < 0.06 < harmless[ALL_FEATURES].interval[0]


def test_the_unchanged_score_is_that_of_members_on_nodes_they_did_not_see():
    graph = edge_graph()
    model = fitted(graph, "newton-stack", settings={"layers": 2, "labels": 0.5})
    found = model.importance(graph, repeats=1)
    assert found.score == pytest.approx(model.validation_score_, abs=0.01)
    loud = graph.relabelled(np.where(graph.labels >= 0, 1 - graph.labels, -1))  # the graph's labels are not read
    assert model.importance(loud, repeats=1) == found


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("model", ["newtonnet", "ridge"])
def test_the_feature_that_decides_a_number_is_first(model, loss):
    graph = feature_graph()
    number = np.where(graph.labels >= 0, 300 + 40 * graph.features[:, 2], np.nan)
    regressor = NewtonNetRegressor(model, tune="off", max_epochs=40, folds=3, threads=1, loss=loss).fit(graph, number)
    found = regressor.importance(graph, repeats=3)
    first, *others = found.of("feature")
    assert found.metric == {"squared": "r2", "absolute": "d2_absolute_error"}[loss]
    assert found.score == pytest.approx(regressor.validation_score_, abs=0.02)
    assert first.name == "feature 2"
    assert first.interval[0] > 0.25
    assert max(other.drop for other in others) < 0.1


def test_a_model_of_numbers_misses_the_edges_and_the_known_numbers_of_neighbours():
    graph = edge_graph()
    number = np.where(graph.labels >= 0, 100.0 * graph.labels, np.nan)
    regressor = NewtonNetRegressor("ridge", tune="off", folds=3, threads=1).fit(graph, number)
    found = {one.name: one for one in regressor.importance(graph, time_limit=0.0).of("structure")}
    assert list(found) == [ALL_FEATURES, NO_EDGES, OTHER_EDGES, NO_NUMBERS]
    assert min(found[name].interval[0] for name in (NO_EDGES, OTHER_EDGES, NO_NUMBERS)) > 0.1


def test_of_many_features_of_numbers_those_that_contribute_are_tested(monkeypatch):
    monkeypatch.setattr("newtonnet.estimator.importance.MOST_TESTED", 2)
    graph = feature_graph()
    number = np.where(graph.labels >= 0, graph.features[:, 2], np.nan)
    found = NewtonNetRegressor("ridge", tune="off", folds=3, threads=1).fit(graph, number).importance(graph, repeats=1)
    assert found.of("feature")[0].name == "feature 2"
    assert (len(found.of("feature")), found.untested) == (2, 3)


def test_features_of_one_column_are_shuffled_together():
    graph, model = of_features()
    found = model.importance(graph, groups={"both": [1, 2], "rest": [0, 3, 4]}, repeats=3)
    assert [(one.name, one.features) for one in found.of("feature")] == [("both", 2), ("rest", 3)]
    assert found.of("feature")[0].interval[0] > 0.25


def test_a_saved_model_has_the_same_importance_and_a_transductive_one_can_lose_its_edges(tmp_path):
    graph = edge_graph()
    model = fitted(graph, settings={"branch": 8})
    assert model.ensemble_.members[0].bound is not None
    found = model.importance(graph, repeats=1)
    model.save(tmp_path / "model")
    assert NewtonNetClassifier.load(tmp_path / "model").importance(graph, repeats=1) == found
    described = describe_importance(found)
    assert described["effects"][-1]["name"] in (NO_EDGES, OTHER_EDGES)


def test_without_time_only_structure_is_measured_and_the_rest_is_counted():
    graph, model = of_features()
    found = model.importance(graph, time_limit=0.0)
    assert found.of("feature") == []
    assert found.untested == 5
    assert len(found.of("structure")) == 4


def test_of_many_features_those_that_contribute_are_tested(monkeypatch):
    monkeypatch.setattr("newtonnet.estimator.importance.MOST_TESTED", 2)
    graph, model = of_features()
    found = model.importance(graph, repeats=1)
    assert found.of("feature")[0].name == "feature 2"
    assert (len(found.of("feature")), found.untested) == (2, 3)


def test_known_labels_of_another_number_of_nodes_are_refused():
    graph, model = of_features()
    model = copy(model)
    model.ensemble_ = replace(model.ensemble_, labels=model.ensemble_.labels[:-1])
    with pytest.raises(ValueError, match="expected labels of 400 nodes in the model, got 399"):
        model.predict_set(graph)


def test_another_graph_is_refused():
    with pytest.raises(ValueError, match="importance needs the graph that the model was fitted on"):
        of_features()[1].importance(feature_graph(seed=1))
