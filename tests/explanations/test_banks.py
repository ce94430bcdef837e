"""Ridge and boosting on a filter bank: Shapley values by brute force, complete sums, exact parts of nodes."""

import os
from itertools import combinations
from math import factorial

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from newtonnet.bank import BoostingOptions, RidgeOptions, predict_bank, train_boosting, train_ridge
from newtonnet.bank.boosting import make_trees
from newtonnet.datasets import Split
from newtonnet.explanations import explain_bank, hop_distances
from newtonnet.explanations.trees import make_leaves
from newtonnet.graphs import from_edges

CASES = int(os.environ.get("NEWTONNET_CASES", "3"))
"""Random graphs for each kind of model; set it to 1000 for the long variant."""
RIDGE = {
    "plain": RidgeOptions(hops=2),
    "mean": RidgeOptions(filter="mean", hops=2, label_hops=3),
    "components": RidgeOptions(components=3),
    "without labels": RidgeOptions(label_hops=0, structure=False, walks=0),
}
BOOSTING = {
    "plain": BoostingOptions(max_iterations=10),
    "chebyshev": BoostingOptions(filter="chebyshev", max_iterations=10),
    "components": BoostingOptions(components=3, max_iterations=10),
}


def random_graph(rng, classes=3, n=80, features=6):
    labels = np.concatenate([np.arange(classes), rng.integers(classes, size=n - classes)])
    x = rng.normal(size=(n, features)) + 0.5 * labels[:, None]
    return from_edges(rng.integers(0, n - 2, (2, 2 * n)), x, labels=labels)


def trained(rng, options, classes=3):
    graph = random_graph(rng, classes)
    nodes = np.concatenate([np.arange(classes), classes + rng.permutation(graph.nodes - classes)])
    split = Split(nodes[:50], nodes[50:65], nodes[65:])
    train = train_ridge if isinstance(options, RidgeOptions) else train_boosting
    shown = np.full(graph.nodes, -1)
    shown[split.train] = graph.labels[split.train]
    return graph, train(graph, split, options, seed=0).state, shown


def explained(graph, state, options, shown, nodes, pairs):
    return explain_bank(state, options, graph, shown, nodes, pairs, [hop_distances(graph, node) for node in nodes])


def expectation(nodes, at, row, known):
    """The value of a tree where only some columns are known: others follow the shares of the training nodes."""
    node = nodes[at]
    if node["is_leaf"]:
        return node["value"]
    left, right = int(node["left"]), int(node["right"])
    if node["feature_idx"] in known:
        x = row[node["feature_idx"]]
        goes_left = node["missing_go_to_left"] if np.isnan(x) else x <= node["num_threshold"]
        return expectation(nodes, left if goes_left else right, row, known)
    share = nodes[left]["count"] / node["count"]
    both = [expectation(nodes, child, row, known) for child in (left, right)]
    return share * both[0] + (1 - share) * both[1]


@pytest.mark.parametrize("seed", range(4))
def test_contributions_of_trees_are_shapley_values_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 5))
    x[rng.random(x.shape) < 0.2] = np.nan
    y = (np.nan_to_num(x[:, 0]) * np.nan_to_num(x[:, 1]) + np.nan_to_num(x[:, 2]) > 0).astype(int) + (seed % 2) * (
        np.nan_to_num(x[:, 3]) > 1
    )
    model = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=12, min_samples_leaf=3).fit(x, y)
    predictors = [tree for row in model._predictors for tree in row]
    outputs = len(model._predictors[0])
    leaves = make_leaves(make_trees(predictors))
    row = x[seed]
    expected = np.zeros((outputs, 5))
    for t, tree in enumerate(predictors):
        for column in range(5):
            rest = [c for c in range(5) if c != column]
            for size in range(5):
                weight = factorial(size) * factorial(4 - size) / factorial(5)
                for known in combinations(rest, size):
                    gain = expectation(tree.nodes, 0, row, {*known, column}) - expectation(
                        tree.nodes, 0, row, set(known)
                    )
                    expected[t % outputs, column] += weight * gain
    np.testing.assert_allclose(leaves.contributions(row, outputs), expected, atol=1e-10)
    means = [expectation(tree.nodes, 0, row, set()) for tree in predictors]
    np.testing.assert_allclose(leaves.expected, means, atol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("options", [*RIDGE.values(), *BOOSTING.values()], ids=str)
def test_contributions_sum_to_the_difference_of_the_logits(options, classes, rng):
    for _ in range(CASES):
        graph, state, shown = trained(rng, options, classes)
        logits = np.log(predict_bank(state, options, graph, shown))
        nodes = [0, 1, int(graph.nodes - 1)]  # the last has no edge
        pairs = [(0, 1), (1, 0), (classes - 1, 0)]
        for explanation, (a, b) in zip(explained(graph, state, options, shown, nodes, pairs), pairs, strict=True):
            total = logits[explanation.node, a] - logits[explanation.node, b]
            rest = explanation.bias + explanation.remainder
            assert abs(explanation.remainder) < 1e-4
            for parts in (explanation.contributions, explanation.features, list(explanation.bands.values())):
                assert np.sum(parts) + rest == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("name", RIDGE)
def test_a_node_contributes_to_ridge_what_its_features_change(name, rng):
    """Linear: without labels and structure, removing a node's features takes away what it contributed."""
    options = RIDGE[name]
    graph, state, shown = trained(rng, options)
    (whole,) = explained(graph, state, options, shown, [4], [(2, 1)])
    logits = np.log(predict_bank(state, options, graph, shown))[4]
    neighbour = int(graph.adjacency.indices[graph.adjacency.indptr[4]])
    features = graph.features.copy()
    features[neighbour] = 0
    removed = from_edges(graph.pairs, features, labels=graph.labels)
    after = np.log(predict_bank(state, options, removed, shown))[4]
    (rest,) = explained(removed, state, options, shown, [4], [(2, 1)])
    lost = (logits[2] - logits[1]) - (after[2] - after[1])
    own, left = (dict(zip(e.nodes.tolist(), e.contributions, strict=True)).get(neighbour, 0.0) for e in (whole, rest))
    assert own - left == pytest.approx(lost, abs=1e-4)


def test_ridge_has_bands_and_boosting_has_none(rng):
    for options, bands in ((RIDGE["without labels"], ["low", "middle", "high"]), (BOOSTING["plain"], ["unresolved"])):
        graph, state, shown = trained(rng, options)
        (explanation,) = explained(graph, state, options, shown, [3], [(0, 1)])
        assert list(explanation.bands) == bands


def test_structure_contributes_to_ridge_by_its_difference_from_the_mean_node(rng):
    graph, state, shown = trained(rng, RIDGE["plain"])
    found = explained(graph, state, RIDGE["plain"], shown, list(range(graph.nodes)), [(0, 1)] * graph.nodes)
    place = 6 + found[0].inputs.index("log degree")
    assert np.mean([one.features[place] for one in found]) == pytest.approx(0, abs=1e-6)
    degree = np.log1p(np.diff(graph.adjacency.indptr))
    values = np.array([one.features[place] for one in found])
    assert abs(np.corrcoef(degree, values)[0, 1]) == pytest.approx(1, abs=1e-4)


def test_labels_and_structure_are_named(rng):
    graph, state, shown = trained(rng, BOOSTING["plain"])
    (explanation,) = explained(graph, state, BOOSTING["plain"], shown, [3], [(0, 1)])
    assert explanation.inputs == (
        "log degree",
        "PageRank",
        "return after 2 steps",
        *(f"known label {c}" for c in range(3)),
        "labelled",
    )
    assert len(explanation.features) == 6 + 7


@pytest.mark.parametrize("train", [train_ridge, train_boosting])
def test_the_feature_that_decides_comes_first(train, rng):
    features = rng.normal(size=(300, 6))
    graph = from_edges(rng.integers(0, 300, (2, 600)), features, labels=(features[:, 4] > 0).astype(int))
    options = RidgeOptions() if train is train_ridge else BoostingOptions(max_iterations=60)
    nodes = rng.permutation(300)
    state = train(graph, Split(nodes[:200], nodes[200:250], nodes[250:]), options, seed=0).state
    held = [int(node) for node in nodes[250:] if abs(features[node, 4]) > 0.5]
    shown = np.full(300, -1)
    found = explained(graph, state, options, shown, held, [(1, 0)] * len(held))
    assert np.mean([explanation.top_features(1)[0][0] == 4 for explanation in found]) > 0.95


@pytest.mark.parametrize("options", [RIDGE["plain"], RIDGE["components"], BOOSTING["plain"]], ids=str)
def test_an_explanation_is_the_same_again_and_in_another_order_of_the_nodes(options, rng):
    graph, state, shown = trained(rng, options)
    first, again = (explained(graph, state, options, shown, [4], [(2, 1)])[0] for _ in range(2))
    assert first.contributions.tobytes() == again.contributions.tobytes()
    assert first.features.tobytes() == again.features.tobytes()
    order = rng.permutation(graph.nodes)
    place = np.argsort(order)
    moved = from_edges(place[graph.pairs], graph.features[order], labels=graph.labels[order])
    (other,) = explained(moved, state, options, shown[order], [int(place[4])], [(2, 1)])
    own, theirs = np.zeros((2, graph.nodes))
    own[first.nodes], theirs[order[other.nodes]] = first.contributions, other.contributions
    np.testing.assert_allclose(theirs, own, atol=1e-4)
    np.testing.assert_allclose(other.features, first.features, atol=1e-4)
