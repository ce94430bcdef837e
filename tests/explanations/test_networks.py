"""Explanations are complete, exact, deterministic, independent of the nodes' order, and find planted truths."""

import os
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from newtonnet.datasets import Split
from newtonnet.explanations import combine, describe, explain, gradients
from newtonnet.graphs import BANDS, from_edges, from_scipy, spectrum
from newtonnet.nn import DegreeOptions, FeatureMatrix, NewtonStackOptions, Options, TunedGCNOptions, build
from newtonnet.training import Config, fit

CASES = int(os.environ.get("NEWTONNET_CASES", "3"))
"""Random graphs for each kind of model; set it to 1000 for the long variant."""

KINDS = {
    "newtonnet": Options(hidden=8),
    "newtonnet per class": Options(hidden=8, per_channel=True, nonnegative=False),
    "newtonnet with branch": Options(hidden=8, branch=4),
    "mlp": None,
    "appnp": None,
    "bernnet": DegreeOptions(hidden=8, degree=4),
    "jacobiconv": None,
    "gcn": None,
    "mixhop": None,
    "chebnet": None,
    "linkx": None,
    "tuned-gcn": TunedGCNOptions(hidden=8, norm="batch", residual=True),
    "newton-stack": NewtonStackOptions(hidden=8, layers=3),
    "newton-stack that reads labels": NewtonStackOptions(hidden=8, layers=2, labels=0.5, projection=True),
    "newton-stack along and against arrows": NewtonStackOptions(hidden=8, layers=2, directed=True, jumping=True),
}
INTEGRATED = {"glognn++": None, "newton-stack": NewtonStackOptions(hidden=8, layers=2, norm="layer")}


def random_graph(rng, *, directed=False, sparse=None, weighted=None):
    n, features, classes = (int(rng.integers(low, high)) for low, high in ((6, 40), (1, 9), (2, 5)))
    dense = rng.random((n, n)) < rng.uniform(0.02, 0.4)
    weights = rng.uniform(0.2, 3, (n, n)) if (rng.random() < 0.3 if weighted is None else weighted) else np.ones((n, n))
    adjacency = sp.csr_array(np.triu(dense * weights, 1) if not directed else dense * weights * (1 - np.eye(n)))
    x = rng.normal(size=(n, features)) * (rng.random((n, features)) < 0.5)
    if rng.random() < 0.5 if sparse is None else sparse:
        x = sp.csr_array(np.hstack([x, np.zeros((n, 20))]))
    labels = rng.integers(0, classes, n)
    labels[:2] = 0, classes - 1
    return from_scipy(adjacency, x, labels=labels, directed=directed)


def random_model(rng, name, options, graph, dtype=torch.float64):
    """A model with weights as after training: none at its start value, so that nothing cancels by chance."""
    model = build(name.split()[0], graph, options, seeds=[int(rng.integers(1000))], dtype=dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.from_numpy(rng.uniform(-0.5, 0.5, parameter.shape)).to(dtype)
            parameter.add_(noise.abs() if not parameter.requires_grad else noise)
    return model


def prepared(model, graph):
    """The graph as the model reads it; one that reads labels is shown those of every other node."""
    return model.prepare(graph).show(torch.where(torch.arange(graph.nodes) % 2 == 0, torch.tensor(graph.labels), -1))


def explained(model, graph, nodes, pairs=None):
    return explain(model, graph, nodes, pairs, inputs=prepared(model, graph))


def difference(model, graph, explanation):
    a, b = explanation.classes
    with torch.no_grad():
        logits = model(prepared(model, graph))[explanation.node, 0]
    return float(logits[a] - logits[b])


def assert_complete(explanation, total, tolerance=1e-4):
    rest = explanation.bias + explanation.remainder
    for parts in (explanation.contributions, explanation.features, list(explanation.bands.values())):
        assert np.sum(parts) + rest == pytest.approx(total, abs=tolerance)
    assert sum(explanation.by_hops.values()) + rest == pytest.approx(total, abs=tolerance)


@pytest.mark.parametrize("kind", [*KINDS, *(f"{name} integrated" for name in INTEGRATED)])
def test_contributions_sum_to_the_difference_of_the_logits(kind, rng):
    options = KINDS[kind] if kind in KINDS else INTEGRATED[kind.removesuffix(" integrated")]
    for case in range(CASES):
        graph = random_graph(rng, directed=case % 3 == 2 and "gcn" not in kind)
        model = random_model(rng, kind, options, graph)
        nodes = rng.integers(0, graph.nodes, 2 if kind in KINDS else 1).tolist()
        for explanation in explained(model, graph, nodes):
            assert_complete(explanation, difference(model, graph, explanation))
            if kind in KINDS:
                assert abs(explanation.remainder) < 1e-8


@pytest.mark.parametrize("kind", ["newtonnet", "newton-stack"])
def test_contributions_are_complete_in_float32_too(kind, rng):
    for _ in range(CASES):
        graph = random_graph(rng)
        model = random_model(rng, kind, KINDS[kind], graph, dtype=torch.float32)
        (explanation,) = explained(model, graph, [0])
        assert_complete(explanation, difference(model, graph, explanation), tolerance=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_contribution_is_what_a_small_change_of_the_features_says(kind, rng):
    """A finite difference: scale one node's features, or one feature, by 1 + epsilon."""
    graph = random_graph(rng, sparse=False)
    model = random_model(rng, kind, KINDS[kind], graph)
    (explanation,) = explained(model, graph, [1])
    step = 1e-6

    def slope(scale):
        moved = [replace(prepared(model, graph), features=scaled(graph, 1 + sign * step * scale)) for sign in (1, -1)]
        with torch.no_grad():
            ends = [model(inputs)[1, 0, list(explanation.classes)] for inputs in moved]
        return float((ends[0][0] - ends[0][1] - ends[1][0] + ends[1][1]) / (2 * step))

    def scaled(graph, factors):
        return FeatureMatrix(torch.tensor(graph.features.astype(np.float64) * factors))

    own = np.zeros(graph.nodes)
    own[explanation.nodes] = explanation.contributions
    if explanation.inputs:  # links, degrees and labels are inputs too, and are not scaled here
        own = None
    for node in rng.integers(0, graph.nodes, 3).tolist() if own is not None else []:
        assert slope(np.eye(graph.nodes)[node][:, None]) == pytest.approx(own[node], abs=1e-5)
    for feature in range(graph.features.shape[1]):
        unit = np.eye(graph.features.shape[1])[feature]
        assert slope(unit) == pytest.approx(explanation.features[feature], abs=1e-5)


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if "gcn" in kind or "stack" in kind or kind in ("mixhop", "chebnet", "linkx")]
)
def test_the_bias_is_the_answer_to_no_features_with_the_same_relu_pattern(kind, rng, monkeypatch):
    graph = random_graph(rng, sparse=False)
    model = random_model(rng, kind, KINDS[kind], graph)
    (explanation,) = explained(model, graph, [2])
    monkeypatch.setattr("newtonnet.nn.activation.is_native", lambda _: False)  # the fused ReLU cannot be listened to
    masks, relu = [], torch.relu
    monkeypatch.setattr(torch, "relu", lambda x: masks.append(x > 0) or relu(x))
    inputs = prepared(model, graph)
    if kind.startswith("newton-stack"):
        inputs = replace(inputs, extra=model.extra_columns(inputs))
    with torch.no_grad():
        model(inputs)
        monkeypatch.setattr(torch, "relu", lambda x: x * masks.pop(0))
        adjacency = None if inputs.adjacency is None else FeatureMatrix(torch.zeros(graph.nodes, graph.nodes).double())
        features = FeatureMatrix(torch.zeros(graph.features.shape).double())
        extra = None if inputs.extra is None else torch.zeros_like(inputs.extra)
        empty = replace(inputs, features=features, adjacency=adjacency, extra=extra)
        logits = model(empty)[2, 0]
    a, b = explanation.classes
    assert explanation.bias == pytest.approx(float(logits[a] - logits[b]), abs=1e-9)


def test_bands_are_those_of_the_exact_projectors_where_no_frequency_is_near_an_edge(ring, rng):
    graph = from_edges(ring.pairs, rng.normal(size=(8, 3)), labels=ring.labels)
    model = random_model(rng, "jacobiconv", None, graph)
    (explanation,) = explained(model, graph, [3])
    a, b = explanation.classes

    def answer(x):
        with torch.no_grad():
            logits = model(replace(prepared(model, graph), features=FeatureMatrix(torch.tensor(x))))[3, 0]
        return float(logits[a] - logits[b])

    frequencies, vectors = spectrum(graph)
    bands = [vectors[:, np.searchsorted(BANDS, frequencies) == band] for band in range(3)]
    parts = [answer(inside @ (inside.T @ graph.features)) - explanation.bias for inside in bands]
    assert list(explanation.bands) == ["low", "middle", "high"]
    assert list(explanation.bands.values()) == pytest.approx(parts, abs=0.02 * np.abs(parts).max())


def test_a_directed_graph_has_no_bands_and_signals_follow_its_arrows(rng):
    graph = from_edges([[0, 1, 2], [1, 2, 3]], np.ones((4, 1)), labels=[0, 1, 0, 1], directed=True)
    model = random_model(rng, "newtonnet", KINDS["newtonnet"], graph)
    first, last = explained(model, graph, [0, 2])
    assert list(first.bands) == ["unresolved"]
    assert first.nodes.tolist() == [0]
    assert 1 in last.nodes


def test_a_filter_of_degree_k_reaches_k_hops(rng):
    n = 12
    graph = from_edges([range(n - 1), range(1, n)], rng.normal(size=(n, 2)), labels=np.arange(n) % 2)
    model = random_model(rng, "newtonnet", Options(hidden=8, degree=3), graph)
    (explanation,) = explained(model, graph, [0])
    assert explanation.nodes.tolist() == [0, 1, 2, 3]
    assert explanation.hops.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", ["newtonnet per class", "newton-stack", "newton-stack integrated"])
def test_an_explanation_is_the_same_again_and_in_another_order_of_the_nodes(kind, rng):
    graph = random_graph(rng)
    options = KINDS[kind] if kind in KINDS else INTEGRATED["newton-stack"]
    model = random_model(rng, kind, options, graph)
    again = [explained(model, graph, [4, 0], [(0, 1), (1, 0)])[0] for _ in range(2)]
    assert again[0].contributions.tobytes() == again[1].contributions.tobytes()
    assert again[0].features.tobytes() == again[1].features.tobytes()
    order = rng.permutation(graph.nodes)
    place = np.argsort(order)
    moved = from_scipy(graph.adjacency[order][:, order], graph.features[order], labels=graph.labels[order])
    (other,) = explained(model, moved, [int(place[4])], [(0, 1)])
    assert np.sort(order[other.nodes]).tolist() == again[0].nodes.tolist()
    np.testing.assert_allclose(other.contributions[np.argsort(order[other.nodes])], again[0].contributions, atol=1e-10)
    np.testing.assert_allclose(other.features, again[0].features, atol=1e-10)
    assert other.bands == pytest.approx(again[0].bands, abs=1e-10)


def test_a_combination_is_complete_for_the_weighted_sum(rng):
    graph = random_graph(rng)
    models = [random_model(rng, kind, KINDS[kind], graph) for kind in ("newtonnet", "newtonnet with branch", "gcn")]
    parts = [explained(model, graph, [3], [(0, 1)])[0] for model in models]
    whole = combine(parts, [0.5, 0.3, 0.2])
    expected = sum(w * difference(model, graph, whole) for w, model in zip([0.5, 0.3, 0.2], models, strict=True))
    assert_complete(whole, expected)
    assert whole.inputs == ("links",)
    assert len(whole.method.split("; ")) == 2


def test_a_description_names_nodes_classes_and_features_and_keeps_the_sums(rng):
    names = [f"C-{i}" for i in range(5)]
    graph = from_edges(
        [[0, 1, 2, 3], [1, 2, 3, 4]],
        rng.normal(size=(5, 3)),
        labels=[0, 1, 0, 1, 0],
        class_names=["ok", "fraud"],
        node_names=names,
    )
    model = random_model(rng, "newtonnet", KINDS["newtonnet"], graph)
    (explanation,) = explained(model, graph, [1])
    told = describe(explanation, graph, feature_names=["age", "sum", "days"], top=2)
    assert told["node"] == "C-1"
    assert {told["class"], told["against"]} == {"ok", "fraud"}
    assert {row["feature"] for row in told["features"]} <= {"age", "sum", "days"}
    named = sum(row["contribution"] for row in told["nodes"]) + told["other_nodes"]
    assert named + told["bias"] + told["remainder"] == pytest.approx(explanation.total)
    with pytest.raises(ValueError, match="expected 3 feature names, got 1"):
        describe(explanation, graph, feature_names=["age"])


def test_only_one_member_and_nodes_of_the_graph_are_explained(ring):
    with pytest.raises(ValueError, match="one member is explained at a time"):
        explain(build("mlp", ring, seeds=[0, 1]), ring, [0])
    with pytest.raises(ValueError, match=r"node 8 is not in the graph, whose nodes are 0\.\.7"):
        explain(build("mlp", ring), ring, [8])


def test_only_two_hop_neighbours_of_one_class_matter_and_get_the_weight():
    """A client is a fraud if a bridge joins it to a marked source; other sources, bridges and clients are noise."""
    rng = np.random.default_rng(1)
    clients, bridges, sources = 300, 300, 300
    marked = rng.random(sources) < 0.5
    of_bridge = rng.integers(0, sources, bridges)
    of_client = rng.integers(0, bridges, clients)
    ends = np.concatenate(
        [
            [np.arange(clients), clients + of_client],
            [clients + np.arange(bridges), clients + bridges + of_bridge],
        ],
        axis=1,
    )
    kinds = np.zeros((clients + bridges + sources, 2))
    kinds[clients + bridges :, 0], kinds[clients + bridges :, 1] = marked, ~marked
    features = np.hstack([kinds, 0.2 * rng.normal(size=(len(kinds), 3))])
    fraud = marked[of_bridge[of_client]]
    labels = np.full(len(kinds), -1)
    labels[:clients] = fraud
    graph = from_edges(ends, features, labels=labels)
    train, held = np.arange(200), np.arange(200, clients)
    model = build("newtonnet", graph, Options(hidden=16, nonnegative=False, dropout=0.2, propagation_dropout=0.2))
    split = Split(train[:150], train[150:], held, "planted", 0)
    (record,) = fit(model, graph, [split], [Config(max_epochs=200, weight_decay=5e-3, learning_rate=0.02)])
    assert record.outcome.test > 0.95
    with torch.no_grad():
        found = held[(model(prepared(model, graph))[held, 0].argmax(dim=1) == 1).numpy() & fraud[held]]
    at_source, everywhere = 0.0, 0.0
    for explanation in explained(model, graph, found[:20].tolist()):
        gains = np.maximum(explanation.contributions, 0)
        right = (explanation.hops == 2) & (features[explanation.nodes, 0] == 1)
        at_source, everywhere = at_source + gains[right].sum(), everywhere + gains.sum()
    assert at_source / everywhere >= 0.9


def test_the_feature_that_decides_comes_first():
    rng = np.random.default_rng(2)
    features = rng.normal(size=(300, 8))
    ends = rng.integers(0, 300, (2, 900))
    graph = from_edges(ends, features, labels=(features[:, 5] > 0).astype(int))
    nodes = rng.permutation(300)
    split = Split(nodes[:150], nodes[150:200], nodes[200:], "planted", 0)
    for name, options in (("newtonnet", Options(hidden=16)), ("newton-stack", NewtonStackOptions(hidden=16, layers=2))):
        model = build(name, graph, options)
        (record,) = fit(model, graph, [split], [Config(max_epochs=150)])
        assert record.outcome.test > 0.9
        held = split.test[np.abs(features[split.test, 5]) > 0.5][:30]
        first = [explanation.top_features(1)[0][0] for explanation in explained(model, graph, held.tolist())]
        assert np.mean(np.array(first) == 5) > 0.95


@pytest.mark.parametrize("name", INTEGRATED)
def test_integrated_gradients_leave_little(name, rng):
    for _ in range(CASES):
        graph = random_graph(rng)
        model = random_model(rng, name, INTEGRATED[name], graph)
        for explanation in explained(model, graph, [0]):
            assert "integrated" in explanation.method
            moved = np.abs(explanation.contributions).sum()
            assert abs(explanation.remainder) < 0.04 * moved + 1e-6


def test_without_steps_the_remainder_shows_what_is_missing(rng, monkeypatch):
    graph = random_graph(np.random.default_rng(3))
    model = random_model(rng, "newton-stack", INTEGRATED["newton-stack"], graph)
    (whole,) = explained(model, graph, [0])
    monkeypatch.setattr(gradients, "MOST_STEPS", 0)
    monkeypatch.setattr(gradients, "PIECES", (0.0, 1.0))
    (rough,) = explained(model, graph, [0])
    assert rough.total == pytest.approx(whole.total)
    assert abs(rough.remainder) > 5 * abs(whole.remainder)
    assert_complete(rough, difference(model, graph, rough))


def test_integrated_gradients_are_those_of_many_small_steps(rng):
    """Against a plain sum over a path cut finely near its start."""
    graph = random_graph(np.random.default_rng(5), sparse=False)
    model = random_model(
        rng, "newton-stack", NewtonStackOptions(hidden=8, layers=2, norm="layer", log_degree=False), graph
    )
    (explanation,) = explained(model, graph, [2])
    a, b = explanation.classes
    ends = np.concatenate([[0], np.geomspace(1e-6, 1, 301)])
    inputs, total = prepared(model, graph), torch.zeros(graph.features.shape, dtype=torch.float64)
    for low, high in pairwise(ends):
        x = (torch.tensor(graph.features).double() * (low + high) / 2).requires_grad_()
        logits = model(replace(inputs, features=FeatureMatrix(x)))[2, 0]
        total += torch.autograd.grad(logits[a] - logits[b], x)[0] * (high - low)
    expected = (total * torch.tensor(graph.features)).sum(dim=0).numpy()
    np.testing.assert_allclose(explanation.features, expected, atol=0.03 * np.abs(expected).sum())
