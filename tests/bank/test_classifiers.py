"""Boosting and ridge regression on a bank: no leak, any graph, any order of nodes."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from newtonnet.bank import BoostingOptions, RidgeOptions, predict_bank, train_boosting, train_ridge
from newtonnet.datasets import Split
from newtonnet.graphs import from_edges, from_scipy

BOTH = [
    pytest.param(train_boosting, BoostingOptions(max_iterations=12), id="boosting"),
    pytest.param(train_ridge, RidgeOptions(), id="ridge"),
]
both = pytest.mark.parametrize(("train", "options"), BOTH)


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@both
def test_it_learns_and_predicts_what_it_reported(make_graph, make_split, shown_labels, train, options):
    graph = make_graph(nodes=300, edges=1500)
    split = make_split(graph)
    trained = train(graph, split, options, seed=0)
    found = predict_bank(trained.state, options, graph, shown_labels(graph, split))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found[split.validation], trained.held, atol=1e-6)
    assert trained.validation["accuracy"] == (trained.held.argmax(axis=1) == graph.labels[split.validation]).mean()
    assert (found.argmax(axis=1) == graph.labels)[split.test].mean() > 0.7
    assert trained.seconds > 0


@both
def test_test_labels_change_no_bit(make_graph, make_split, shown_labels, train, options):
    graph = make_graph()
    split = make_split(graph)
    labels = graph.labels.copy()
    labels[split.test] = (labels[split.test] + 1) % 3
    other = graph.relabelled(labels)
    one, two = (train(g, split, options, seed=3) for g in (graph, other))
    assert same(one.state, two.state)
    assert np.array_equal(one.held, two.held)
    predicted = [predict_bank(one.state, options, g, shown_labels(g, split)) for g in (graph, other)]
    assert np.array_equal(*predicted)


def test_validation_labels_change_only_the_scores_of_ridge(make_graph, make_split):
    graph = make_graph()
    split = make_split(graph)
    labels = graph.labels.copy()
    labels[split.validation] = (labels[split.validation] + 1) % 3
    one, two = (train_ridge(g, split, RidgeOptions()) for g in (graph, graph.relabelled(labels)))
    assert same(one.state, two.state)
    assert np.array_equal(one.held, two.held)
    assert one.validation != two.validation


def test_validation_labels_only_choose_the_number_of_trees(make_graph, make_split):
    graph = make_graph()
    split = make_split(graph)
    labels = graph.labels.copy()
    labels[split.validation] = (labels[split.validation] + 1) % 3
    options = BoostingOptions(max_iterations=30)
    one, two = (train_boosting(g, split, options, seed=0).state for g in (graph, graph.relabelled(labels)))
    few, many = sorted((one, two), key=lambda state: len(state["trees.roots"]))
    assert len(few["trees.roots"]) < len(many["trees.roots"])
    assert torch.equal(many["trees.value"][: len(few["trees.value"])], few["trees.value"])


@both
@pytest.mark.parametrize("seed", range(3))
def test_a_nodes_own_label_never_moves_its_own_probabilities(
    make_graph, make_split, shown_labels, train, options, seed
):
    graph = make_graph(seed, nodes=40, edges=120)
    split = make_split(graph, seed)
    state = train(graph, split, options, seed=0).state
    shown = shown_labels(graph, split)
    before = predict_bank(state, options, graph, shown)
    for node in range(graph.nodes):
        other = shown.copy()
        other[node] = (other[node] + 1) % 3
        np.testing.assert_allclose(predict_bank(state, options, graph, other)[node], before[node], atol=1e-7)


@both
def test_the_order_of_nodes_makes_no_difference(make_graph, make_split, shown_labels, rng, train, options):
    graph = make_graph()
    split = make_split(graph)
    order = rng.permutation(graph.nodes)
    place = np.argsort(order)
    adjacency = graph.adjacency[order][:, order]
    turned = from_scipy(adjacency, graph.features[order], labels=graph.labels[order])
    other = Split(place[split.train], place[split.validation], place[split.test])
    expected, found = (
        predict_bank(train(g, s, options, seed=0).state, options, g, shown_labels(g, s))
        for g, s in ((graph, split), (turned, other))
    )
    np.testing.assert_allclose(found, expected[order], atol=1e-4)


def odd_graphs():
    rng = np.random.default_rng(0)
    labels = np.tile([0, 1, 2], 20)
    edges = rng.integers(50, size=(2, 150))
    words = (rng.random((60, 300)) < 0.05).astype(np.float32)
    words[:, :3] = np.eye(3)[labels]
    return {
        "no features": from_edges(edges, np.ones((60, 1)), labels=labels),
        "three features": from_edges(edges, rng.normal(size=(60, 3)), labels=labels),
        "no edges": from_edges([[], []], rng.normal(size=(60, 3)), labels=labels),
        "directed": from_edges(edges, rng.normal(size=(60, 3)), labels=labels, directed=True),
        "bag of words": from_edges(edges, words, labels=labels),
        "features far from 1": from_edges(edges, rng.normal(size=(60, 3)) * [1, 1e6, 1e-6], labels=labels),
    }


@both
@pytest.mark.parametrize("kind", list(odd_graphs()))
@pytest.mark.parametrize("labels", ["few", "half"])
def test_every_kind_of_graph_gives_probabilities(shown_labels, train, options, kind, labels):
    graph = odd_graphs()[kind]
    nodes = np.arange(graph.nodes)
    split = Split(nodes[:3], nodes[3:6], nodes[6:]) if labels == "few" else Split(nodes[:30], nodes[30:45], nodes[45:])
    trained = train(graph, split, options, seed=0)
    found = predict_bank(trained.state, options, graph, shown_labels(graph, split))
    assert found.shape == (60, 3)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)


@both
def test_a_class_without_training_nodes_is_improbable(make_graph, make_split, shown_labels, train, options):
    graph = make_graph()
    split = make_split(graph)
    split = Split(split.train[graph.labels[split.train] != 1], split.validation, split.test)
    trained = train(graph, split, options, seed=0)
    found = predict_bank(trained.state, options, graph, shown_labels(graph, split))
    assert (found.argmax(axis=1) != 1).all()


@both
def test_state_and_options_survive_a_file(make_graph, make_split, shown_labels, train, options):
    graph = make_graph(features=300)
    split = make_split(graph)
    trained = train(graph, split, options, seed=0)
    state = load(save(dict(trained.state)))
    again = type(options)(**json.loads(json.dumps(asdict(options))))
    expected, found = (
        predict_bank(s, o, graph, shown_labels(graph, split)) for s, o in ((trained.state, options), (state, again))
    )
    assert np.array_equal(found, expected)


@both
def test_another_graph_with_the_same_features_can_be_predicted(make_graph, make_split, train, options):
    graph, other = make_graph(0), make_graph(1, nodes=80)
    state = train(graph, make_split(graph), options, seed=0).state
    unknown = np.full(other.nodes, -1, dtype=np.int64)
    assert (predict_bank(state, options, other, unknown).argmax(axis=1) == other.labels).mean() > 0.5
    with pytest.raises(ValueError, match="features"):
        predict_bank(state, options, make_graph(1, features=7), unknown)
    with pytest.raises(ValueError, match="shown labels"):
        predict_bank(state, options, other, unknown[:-1])


@both
def test_it_stops_when_asked_with_a_usable_model(make_graph, make_split, train, options):
    graph = make_graph()
    long = replace(options, max_iterations=500) if isinstance(options, BoostingOptions) else options
    asked = []
    trained = train(graph, make_split(graph), long, seed=0, stop=lambda: asked.append(1) or True)
    assert len(asked) == 1
    assert trained.validation["accuracy"] > 0.5


@both
def test_two_classes_have_an_auc_and_threads_are_put_back(make_graph, make_split, train, options):
    graph = make_graph(classes=2)
    before = torch.get_num_threads()
    trained = train(graph, make_split(graph), options, seed=0, threads=1)
    assert trained.validation["roc_auc"] > 0.6
    assert torch.get_num_threads() == before


@both
def test_eigenvectors_tie_a_model_to_its_graph(make_graph, make_split, shown_labels, train, options):
    graph, options = make_graph(), replace(options, eigenvectors=4)
    split = make_split(graph)
    trained = train(graph, split, options, seed=0)
    found = predict_bank(load(save(dict(trained.state))), options, graph, shown_labels(graph, split))
    np.testing.assert_allclose(found[split.validation], trained.held, atol=1e-6)
    with pytest.raises(ValueError, match="transductive"):
        predict_bank(trained.state, options, make_graph(1), shown_labels(graph, split))


@both
def test_a_class_that_counts_more_is_predicted_more_often(make_graph, make_split, train, options):
    graph = make_graph(nodes=400, features=1, edges=10)
    split = make_split(graph)
    plain, equal, first = (
        train(graph, split, options, seed=0, class_weight=weights).held.argmax(axis=1)
        for weights in (None, (2.0, 2.0, 2.0), (8.0, 1.0, 1.0))
    )
    assert (plain == equal).all()
    assert (first == 0).sum() > (plain == 0).sum() + 5
