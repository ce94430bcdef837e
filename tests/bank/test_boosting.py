"""Trees as arrays give what scikit-learn's gradient boosting gives."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from newtonnet.bank.boosting import BoostingOptions, make_trees, train_boosting
from newtonnet.datasets import Split


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_trees_as_arrays_predict_like_scikit_learn(rng, classes, missing):
    x = rng.normal(size=(400, 6)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] * x[:, 2] > rng.normal(size=400)) + (classes > 2) * (x[:, 3] > 0) * 2
    if missing:
        x[rng.random(x.shape) < 0.2] = np.nan
    model = HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=9).fit(x, y)
    trees = make_trees([tree for row in model._predictors for tree in row])
    fresh = rng.normal(size=(300, 6)).astype(np.float32)
    fresh[rng.random(fresh.shape) < 0.1] = np.nan
    sums = trees.leaf_values(fresh).reshape(300, 20, -1).sum(axis=1) + model._baseline_prediction
    np.testing.assert_allclose(sums.squeeze(), model.decision_function(fresh), atol=1e-9)


def test_rounds_give_the_trees_of_one_fit(make_graph, make_split, monkeypatch):
    graph = make_graph()
    options = BoostingOptions(max_iterations=20, patience=100)
    states = []
    for longest in (3, 100):
        monkeypatch.setattr("newtonnet.bank.boosting.LONGEST_ROUND", longest)
        states.append(train_boosting(graph, make_split(graph), options, seed=0).state)
    assert len(states[0]["trees.roots"]) == len(states[1]["trees.roots"])
    np.testing.assert_allclose(states[0]["trees.value"], states[1]["trees.value"], atol=1e-9)


def test_boosting_that_was_stopped_goes_on_as_if_it_had_not_been(make_graph, make_split, monkeypatch):
    monkeypatch.setattr("newtonnet.bank.boosting.LONGEST_ROUND", 3)
    graph = make_graph()
    options, split = BoostingOptions(max_iterations=20, patience=100, eigenvectors=4), make_split(graph)
    whole = train_boosting(graph, split, options, seed=0)
    part, seen = None, []
    while part is None or part.paused is not None:
        known = {} if part is None else {"paused": part.paused, "eigenvectors": part.state["eigenvectors"]}
        part = train_boosting(graph, split, options, seed=0, stop=lambda: bool(seen.append(1)) or True, **known)
    assert len(seen) == 7, "one look at the clock for each three trees"
    assert whole.ended
    assert whole.paused is None
    assert part.state.keys() == whole.state.keys()
    for name, array in whole.state.items():
        np.testing.assert_array_equal(part.state[name], array, err_msg=name)
    np.testing.assert_array_equal(part.held, whole.held)


def test_patience_ends_training_on_noise(make_graph, rng):
    graph = make_graph(nodes=200)
    noise = graph.relabelled(rng.integers(3, size=200))
    nodes = rng.permutation(200)
    seen = []
    train_boosting(
        noise,
        Split(nodes[:100], nodes[100:180], nodes[180:]),
        BoostingOptions(max_iterations=1000, patience=5),
        seed=0,
        stop=lambda: bool(seen.append(1)),
    )
    assert len(seen) < 4
