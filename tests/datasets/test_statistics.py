import numpy as np
import pytest

from newtonnet.datasets import describe
from newtonnet.graphs import from_edges


@pytest.fixture
def star():
    """A hub with 4 leaves, a separate pair, one isolated node; labels a a a b b | b b | unknown."""
    edges = [[0, 0, 0, 0, 5], [1, 2, 3, 4, 6]]
    features = np.zeros((8, 3))
    features[0], features[1, 2] = [1, 2, 3], 5
    return from_edges(edges, features, labels=[0, 0, 0, 1, 1, 1, 1, -1], class_names=["a", "b"])


def test_counts_and_structure_of_a_star(star):
    s = describe(star)
    assert (s.nodes, s.edges, s.features, s.classes, s.labelled) == (8, 5, 3, 2, 7)
    assert s.class_counts == (3, 4)
    assert (s.components, s.largest, s.isolated) == (3, 5, 1)
    assert (s.mean_degree, s.largest_degree) == (10 / 8, 4)
    assert s.density == 4 / 24
    assert s.featureless == 6


def test_degrees_are_counted_in_bins_that_double(star):
    assert describe(star).degrees == ((0, 0, 1), (1, 1, 6), (2, 3, 0), (4, 7, 1))


def test_the_pivots_are_one_over_c_and_the_share_of_degrees(star):
    s = describe(star)
    assert s.uniform_pivot == 1 / 2
    # Degrees: class a has 4 + 1 + 1, class b has 1 + 1 + 1 + 1, of 10.
    assert s.adjusted_pivot == pytest.approx(0.6**2 + 0.4**2)
    assert s.homophily.edge == 3 / 5
    assert s.homophily.adjusted == pytest.approx((s.homophily.edge - s.adjusted_pivot) / (1 - s.adjusted_pivot))


def test_an_unlabelled_graph_has_no_homophily(star):
    s = describe(from_edges([[0], [1]], np.eye(2)))
    assert (s.classes, s.labelled, s.class_counts) == (0, 0, ())
    assert np.isnan(s.adjusted_pivot)
    assert np.isnan(s.homophily.edge)


def test_a_sparse_and_a_dense_graph_have_the_same_density(rng):
    x = np.zeros((20, 50))
    x[np.arange(20), np.arange(20)] = 1
    sparse = describe(from_edges([[0], [1]], x))
    assert sparse.density == 20 / 1000
    assert sparse.featureless == 0


def test_sinks_of_a_directed_graph_are_not_isolated(arrows):
    s = describe(arrows)
    assert s.isolated == 1
    assert s.edges == 6
