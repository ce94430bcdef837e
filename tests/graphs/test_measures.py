"""Four measures of homophily against loops over edges, PyTorch Geometric, and Lemma 1."""

import math

import numpy as np
import pytest
import torch
from torch_geometric.utils import homophily as pyg_homophily

from newtonnet.graphs import from_edges, homophily

MEASURES = ["edge", "node", "class_insensitive", "adjusted"]


def random_labelled_graph(seed, *, nodes=25, edges=60, classes=3, unlabelled=True):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1 if unlabelled else 0, classes, size=nodes)
    labels[:classes] = np.arange(classes)
    ring = np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes])
    pairs = np.concatenate([ring, rng.integers(nodes, size=(2, edges))], axis=1)
    return from_edges(pairs, np.ones((nodes, 1)), labels=labels, weights=rng.uniform(0.5, 2, size=pairs.shape[1]))


def by_hand(graph):
    """The four definitions written out over the dense adjacency matrix."""
    y, n, classes = graph.labels.tolist(), graph.nodes, graph.classes
    linked = graph.adjacency.toarray() > 0
    neighbours = {v: [u for u in range(n) if linked[v, u] and y[u] >= 0] for v in range(n) if y[v] >= 0}
    ends = [(v, u) for v in neighbours for u in neighbours[v]]
    edge = sum(y[v] == y[u] for v, u in ends) / len(ends)
    ratios = [sum(y[u] == y[v] for u in near) / len(near) for v, near in neighbours.items() if near]
    insensitive = expected = 0.0
    for k in range(classes):
        own = [(v, u) for v, u in ends if y[v] == k]
        agreement = sum(y[u] == k for _, u in own) / len(own) if own else 0.0
        insensitive += max(0.0, agreement - sum(label == k for label in y) / len(neighbours))
        expected += (len(own) / len(ends)) ** 2
    return {
        "edge": edge,
        "node": sum(ratios) / len(ratios),
        "class_insensitive": insensitive / (classes - 1),
        "adjusted": (edge - expected) / (1 - expected),
    }


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_measure_matches_its_definition_with_unlabelled_nodes(seed, classes, measure):
    graph = random_labelled_graph(seed, classes=classes)
    assert (graph.labels == -1).any()
    assert getattr(homophily(graph), measure) == pytest.approx(by_hand(graph)[measure], abs=1e-12)


@pytest.mark.parametrize(
    ("measure", "method"), [("edge", "edge"), ("node", "node"), ("class_insensitive", "edge_insensitive")]
)
@pytest.mark.parametrize("seed", range(3))
def test_measure_agrees_with_pytorch_geometric_when_every_node_has_a_label(seed, measure, method):
    graph = random_labelled_graph(seed, unlabelled=False)
    coo = graph.adjacency.tocoo()
    index = torch.tensor(np.stack([coo.row, coo.col]), dtype=torch.int64)
    expected = pyg_homophily(index, torch.tensor(graph.labels), method=method)
    assert getattr(homophily(graph), measure) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("path", {"edge": 1 / 2, "node": 1 / 2, "class_insensitive": 0.0, "adjusted": -1 / 3}),
        ("ring", {"edge": 0.0, "node": 0.0, "class_insensitive": 0.0, "adjusted": -1.0}),
        ("two cliques", {"edge": 1.0, "node": 1.0, "class_insensitive": 1.0, "adjusted": 1.0}),
    ],
    ids=["path", "ring", "two cliques"],
)
@pytest.mark.parametrize("measure", MEASURES)
def test_measure_of_a_tiny_graph_is_known(measure, name, expected, tiny_graphs):
    assert getattr(homophily(tiny_graphs[name]), measure) == pytest.approx(expected[measure], abs=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_random_edges_between_balanced_classes_have_homophily_one_over_c(classes, rng):
    # Lemma 1; a random pair of 3000 nodes agrees with probability 1/C up to 1/n.
    nodes, count = 3000, 40_000
    graph = from_edges(rng.integers(nodes, size=(2, count)), np.ones((nodes, 1)), labels=np.arange(nodes) % classes)
    p = 1 / classes
    assert homophily(graph).edge == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / graph.edges) + 1 / nodes)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_random_edges_between_unbalanced_classes_have_no_adjusted_homophily(share, rng):
    nodes, count = 3000, 40_000
    labels = (np.arange(nodes) >= share * nodes).astype(np.int64)
    measured = homophily(from_edges(rng.integers(nodes, size=(2, count)), np.ones((nodes, 1)), labels=labels))
    assert measured.edge == pytest.approx(share**2 + (1 - share) ** 2, abs=0.02)
    assert measured.adjusted == pytest.approx(0, abs=0.03)


@pytest.mark.parametrize("seed", range(4))
def test_chance_is_the_sum_of_squared_shares_of_the_degrees(seed):
    graph = random_labelled_graph(seed)
    measured = homophily(graph)
    # Written out over arrows between labelled nodes: the chance that two random ends have one label.
    coo = graph.adjacency.tocoo()
    ends = [int(graph.labels[u]) for u, v in zip(coo.row, coo.col, strict=True) if min(graph.labels[[u, v]]) >= 0]
    assert measured.chance == pytest.approx(sum((ends.count(k) / len(ends)) ** 2 for k in range(3)), abs=1e-12)
    assert measured.adjusted == pytest.approx((measured.edge - measured.chance) / (1 - measured.chance), abs=1e-12)


def test_other_labels_replace_the_graphs_own(two_cliques):
    assert homophily(two_cliques, np.arange(8) % 2).edge == pytest.approx(4 / 12)


def test_weights_do_not_count(two_cliques):
    weighted = from_edges(two_cliques.pairs, np.ones((8, 1)), labels=np.arange(8) % 2, weights=np.arange(1.0, 13.0))
    assert homophily(weighted) == homophily(two_cliques, np.arange(8) % 2)


def test_renaming_the_classes_changes_nothing():
    graph = random_labelled_graph(0)
    swapped = np.where(graph.labels >= 0, (graph.labels + 1) % 3, -1)
    for measure in MEASURES:
        assert getattr(homophily(graph, swapped), measure) == pytest.approx(getattr(homophily(graph), measure))


@pytest.mark.parametrize("labels", [[-1, -1, -1], [0, -1, 1]], ids=["no labels", "no edge between labelled nodes"])
@pytest.mark.parametrize("measure", MEASURES)
def test_measure_is_nan_where_no_edge_joins_two_labelled_nodes(measure, labels, path):
    measured = homophily(path, np.array(labels))
    assert math.isnan(getattr(measured, measure))
    assert math.isnan(measured.chance)


def test_one_class_alone_has_no_adjusted_homophily(path):
    measured = homophily(path, np.zeros(3, dtype=np.int64))
    assert measured.edge == 1.0
    assert math.isnan(measured.adjusted)


def test_arrows_count_once_each_in_a_directed_graph(arrows):
    # 0->1, 1->2, 2->0, 2->3, 3->4, 0->3 with two classes: 0->1, 2->3 and 3->4 agree.
    assert homophily(arrows, np.array([0, 0, 1, 1, 1, 0])).edge == pytest.approx(3 / 6)


def test_labels_of_another_length_are_refused(path):
    with pytest.raises(ValueError, match="expected 3 labels"):
        homophily(path, np.zeros(4, dtype=np.int64))
