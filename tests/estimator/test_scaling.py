import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm
from newtonnet.estimator.scaling import learn_scaling
from newtonnet.graphs import from_edges

QUICK = {"tune": "off", "max_epochs": 40, "patience": 15, "threads": 1, "time_limit": None}


def with_features(features):
    return from_edges([[0], [1]], features)


@pytest.fixture(scope="module")
def noisy():
    """A graph with one more column, which is pure noise around a million."""
    graph = csbm(0.1, nodes=200, features=60, seed=4)
    noise = 1e6 + 1e5 * np.random.default_rng(0).normal(size=(200, 1))
    return graph, np.hstack([graph.features, noise]).astype(np.float32)


def test_noise_on_another_scale_does_no_harm_through_any_door(noisy):
    graph, x = noisy
    y = np.where(np.arange(200) % 2, graph.labels, -1)
    friends = nx.Graph()
    friends.add_nodes_from((i, {"x": x[i]}) for i in range(200))
    friends.add_edges_from(graph.pairs.T.tolist())
    data = Data(x=torch.tensor(x), edge_index=torch.tensor(graph.pairs).long())
    found = []
    for door in ((graph.adjacency, x), data, friends, from_edges(graph.pairs, x)):
        model = NewtonNetClassifier(**QUICK).fit(door, y)
        assert model.notes_ == ["61 numeric features of unequal scale standardised to mean 0 and standard deviation 1."]
        found.append(model.predict_proba(door))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    hidden = np.where(y < 0, graph.labels, -1)
    assert model.score(from_edges(graph.pairs, x), hidden) > 0.8
    assert NewtonNetClassifier(standardise="off", **QUICK).fit(door, y).score(door, hidden) < 0.7


def test_a_loaded_model_scales_another_graph_by_the_numbers_of_the_first(noisy, tmp_path):
    graph, x = noisy
    door = from_edges(graph.pairs, x, labels=graph.labels)
    model = NewtonNetClassifier(**QUICK).fit(door)
    model.save(tmp_path / "model")
    loaded = NewtonNetClassifier.load(tmp_path / "model")
    other = from_edges(graph.pairs, 2 * x)
    assert loaded.notes_ == model.notes_
    np.testing.assert_array_equal(loaded.predict_proba(door), model.predict_proba(door))
    np.testing.assert_array_equal(loaded.predict_proba(other), model.predict_proba(other))
    assert np.abs(model.predict_proba(other) - model.predict_proba(door)).max() > 0.01


def test_standardised_columns_have_mean_0_and_deviation_1_and_others_stay(rng):
    x = np.stack(
        [rng.integers(0, 2, 50), 1e4 + rng.normal(size=50), 0.01 * rng.normal(size=50), np.full(50, 7)], axis=1
    )
    scaling = learn_scaling(with_features(x))
    assert scaling.columns.tolist() == [1, 2, 3]
    scaled = scaling(with_features(x)).features
    np.testing.assert_array_equal(scaled[:, 0], x[:, 0])
    np.testing.assert_allclose(scaled[:, 1:].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(scaled[:, 1:].std(axis=0), [1, 1, 0], atol=1e-3)


def test_sparse_features_are_scaled_like_dense_ones(rng):
    x = np.hstack([rng.random((60, 40)) < 0.05, 1e3 * rng.normal(size=(60, 1)), rng.random((60, 3)) < 0.05])
    sparse = with_features(sp.csr_array(x.astype(np.float32)))
    assert isinstance(sparse.features, sp.csr_array)
    scaling = learn_scaling(sparse)
    assert scaling.columns.tolist() == [40]
    expected = x.copy()
    expected[:, 40] = (x[:, 40] - x[:, 40].mean()) / x[:, 40].std()
    found = scaling(sparse).features
    np.testing.assert_allclose(found.toarray() if sp.issparse(found) else found, expected, atol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: rng.integers(0, 2, (80, 9)),  # binary
        lambda rng: rng.poisson(0.2, (80, 9)) * rng.integers(1, 50, 9),  # a bag of words, some words often repeated
        lambda rng: 0.05 * rng.normal(size=(80, 9)),  # an embedding
        lambda rng: np.eye(80),
    ],
)
def test_binary_features_bags_of_words_and_equal_scales_are_left_alone(rng, make):
    assert learn_scaling(with_features(make(rng))) is None
