"""The columns of a bank: closed forms on dense matrices, and no node sees its own label."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.polynomial.chebyshev import chebval

from newtonnet.bank.features import (
    BankLayout,
    feature_basis,
    feature_columns,
    label_columns,
    leading_eigenvectors,
    return_probabilities,
    surroundings,
)
from newtonnet.graphs import from_edges

HOPS = [1, 2, 3, 4]


def dense(graph):
    """Weights, the random walk's matrix and the normalised adjacency, symmetrised, as dense matrices."""
    weights = graph.adjacency.toarray().astype(np.float64)
    weights = np.maximum(weights, weights.T)
    degree = weights.sum(axis=1)
    inverse = np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)
    return weights, inverse[:, None] * weights, np.sqrt(inverse[:, None] * inverse) * weights


def matrix_of(graph, kind, degree):
    _, walk, normal = dense(graph)
    if kind == "mean":
        return np.linalg.matrix_power(walk, degree)
    values, vectors = np.linalg.eigh(normal)
    return vectors @ np.diag(chebval(-values, [0] * degree + [1])) @ vectors.T


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", ["mean", "chebyshev"])
def test_filtered_features_equal_dense_matrix_products(make_graph, kind, directed):
    graph = make_graph(directed=directed)
    layout = BankLayout(filter=kind, hops=3)
    values, columns = feature_columns(graph, surroundings(graph, 3), layout, None)
    for degree in range(4):
        block = values[:, [column.signal == "feature" and column.degree == degree for column in columns]]
        np.testing.assert_allclose(block, matrix_of(graph, kind, degree) @ graph.features, atol=2e-5)


def test_every_column_says_what_it_is(make_graph):
    graph = make_graph(classes=2, features=1)
    around, layout = surroundings(graph, 2), BankLayout(hops=1, walks=2, label_hops=1)
    values, columns = feature_columns(graph, around, layout, None)
    assert values.shape == (graph.nodes, len(columns))
    named = [column.name for column in columns]
    assert named == ["feature 1", "feature 1, mean over 1 step", "log degree", "PageRank", "return after 2 steps"]
    values, columns = label_columns(around, layout, graph.labels, 2)
    assert values.shape == (graph.nodes, len(columns))
    assert [(column.signal, column.place, column.degree) for column in columns] == [
        ("label", 0, 1),
        ("label", 1, 1),
        ("reached", 0, 1),
    ]


def test_return_probabilities_are_the_diagonals_of_the_walk(make_graph):
    graph = make_graph()
    _, walk, _ = dense(graph)
    found = return_probabilities(graph.adjacency, 4)
    for k in HOPS:
        np.testing.assert_allclose(found[k - 1], np.diag(np.linalg.matrix_power(walk, k)), atol=1e-12)


@pytest.mark.parametrize("degree", HOPS)
@pytest.mark.parametrize("kind", ["mean", "chebyshev"])
def test_label_columns_are_the_filter_without_its_diagonal(make_graph, kind, degree):
    graph = make_graph()
    shown = np.where(np.arange(graph.nodes) % 3 > 0, graph.labels, -1)
    own = np.eye(3)[shown] * (shown >= 0)[:, None]
    matrix = matrix_of(graph, kind, degree)
    expected = (matrix - np.diag(np.diag(matrix))) @ own
    values, columns = label_columns(surroundings(graph, 4), BankLayout(filter=kind, label_hops=degree), shown, 3)
    block = values[:, [column.signal == "label" and column.degree == degree for column in columns]]
    if kind == "mean":
        reached = values[:, [column.signal == "reached" and column.degree == degree for column in columns]]
        np.testing.assert_allclose(reached[:, 0], expected.sum(axis=1), atol=1e-6)
        block = np.nan_to_num(block) * reached
    np.testing.assert_allclose(block, expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["mean", "chebyshev"])
@pytest.mark.parametrize("seed", range(8))
def test_a_nodes_own_label_never_moves_its_own_row(make_graph, kind, seed):
    rng = np.random.default_rng(seed)
    graph = make_graph(seed, nodes=25, edges=int(rng.integers(5, 120)), directed=bool(seed % 2), weighted=seed % 3 > 0)
    around, layout = surroundings(graph, 4), BankLayout(filter=kind, label_hops=4)
    shown = np.where(rng.random(graph.nodes) < 0.7, graph.labels, -1)
    before, _ = label_columns(around, layout, shown, 3)
    for node in range(graph.nodes):
        for label in (-1, 1):
            other = shown.copy()
            other[node] = label
            after, _ = label_columns(around, layout, other, 3)
            np.testing.assert_allclose(after[node], before[node], rtol=1e-6, atol=1e-12)


def test_a_star_shows_leaves_each_other_and_the_centre_nothing_of_itself():
    star = from_edges([[0, 0, 0], [1, 2, 3]], np.ones((4, 1)), labels=[0, 1, 0, 0])
    values, _ = label_columns(surroundings(star, 2), BankLayout(label_hops=2), star.labels, 2)
    np.testing.assert_allclose(values[0, 3:], [np.nan, np.nan, 0])  # two steps lead from the centre only to itself
    np.testing.assert_allclose(values[1], [1, 0, 1, 1, 0, 2 / 3], atol=1e-6)
    np.testing.assert_allclose(values[2], [1, 0, 1, 0.5, 0.5, 2 / 3], atol=1e-6)


@pytest.mark.parametrize("weight", [0.1, 1.0, 1 / 3, 7e5])
def test_rounding_leaves_nothing_of_a_label_that_only_its_own_node_could_see(weight):
    pairs = from_edges([[0, 2], [1, 3]], np.ones((4, 1)), labels=[0, 1, 1, 0], weights=[weight, 3 * weight])
    values, columns = label_columns(surroundings(pairs, 4), BankLayout(label_hops=4), pairs.labels, 2)
    even = [column.degree % 2 == 0 for column in columns]
    assert not np.nan_to_num(values[:, even]).any()


def test_the_basis_spans_the_leading_singular_vectors_and_ignores_the_order_of_nodes(rng):
    low = rng.normal(size=(60, 5)) @ (rng.normal(size=(5, 40)) * 3) + 0.01 * rng.normal(size=(60, 40))
    features = sp.csr_array(low.astype(np.float32))
    basis = feature_basis(features, 5).numpy()
    _, _, exact = np.linalg.svd(low)
    np.testing.assert_allclose(np.abs(np.sum(basis * exact[:5].T, axis=0)), 1, atol=1e-3)
    turned = feature_basis(features[rng.permutation(60)], 5).numpy()
    np.testing.assert_allclose(turned, basis, atol=1e-4)
    assert (basis[np.abs(basis).argmax(axis=0), range(5)] > 0).all()
    assert feature_basis(features, 40) is None


@pytest.mark.parametrize(
    ("changes", "message"), [({"filter": "sum"}, "filter"), ({"walks": 5}, "walks"), ({"components": 0}, "components")]
)
def test_an_impossible_layout_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        BankLayout(**changes)


@pytest.mark.parametrize("nodes", [40, 400])
def test_eigenvectors_are_those_of_the_random_walk(make_graph, nodes):
    graph = make_graph(nodes=nodes, edges=4 * nodes)
    _, walk, normal = dense(graph)
    exact = np.sort(np.linalg.eigvalsh(normal))[::-1]
    found = leading_eigenvectors(surroundings(graph, 2), 6).numpy()
    for k in range(1, 6):
        np.testing.assert_allclose(walk @ found[:, k], exact[k] * found[:, k], atol=1e-5)
        assert np.abs(found[:, k]).max() == found[:, k].max() > 0


def cycles(count, nodes):
    """The edges of so many rings of so many nodes."""
    ring = np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes])
    return (ring[:, None] + nodes * np.arange(count)[:, None]).reshape(2, -1)


HARD = {
    "equal parts": cycles(1_000, 4),
    "a star": np.stack([np.zeros(3_999, dtype=int), np.arange(1, 4_000)]),
    "a triangle": cycles(1, 3),
}


@pytest.mark.parametrize("name", HARD)
def test_eigenvectors_are_the_same_in_every_call(name):
    """Many eigenvalues are equal or 0, and the numbers that the iteration starts with decide on the eigenvectors."""
    around = surroundings(from_edges(HARD[name], np.ones((4_000, 1))), 2)
    first, second = leading_eigenvectors(around, 8), leading_eigenvectors(around, 8)
    assert torch.equal(first, second)
    assert not first[np.asarray(around.degree) == 0].any()
    assert first.abs().max(dim=0).values.gt(1e-6).eq(first.any(dim=0)).all(), "a column is an eigenvector or 0"


def test_eigenvectors_that_are_hard_to_find_are_given_up_soon():
    around = surroundings(from_edges(cycles(1, 20_000), np.ones((20_000, 1))), 2)
    begun = time.process_time()
    found = leading_eigenvectors(around, 32)
    assert time.process_time() - begun < 15
    assert not found.any()


@pytest.mark.parametrize("nodes", [4, 500])
def test_a_graph_without_edges_has_no_eigenvectors(nodes):
    empty = from_edges([[], []], np.ones((nodes, 1)))
    assert not leading_eigenvectors(surroundings(empty, 2), 6).any()
