"""The laws of the band projectors on graphs whose spectra have closed forms."""

import networkx as nx
import numpy as np
import pytest

from newtonnet.graphs import from_scipy
from newtonnet_paper.frequency.training import band_projectors

TINY = ["path", "ring", "two cliques", "random"]


@pytest.fixture(scope="module")
def cube():
    """The 3-cube with shuffled nodes: frequencies 0, 2/3 and 4/3 three times each, 2; two of them on a band's edge."""

    def build(seed):
        adjacency = nx.to_scipy_sparse_array(nx.hypercube_graph(3), format="csr")
        order = np.random.default_rng(seed).permutation(8)
        return from_scipy(adjacency[order][:, order], np.ones((8, 1)))

    return build


@pytest.mark.parametrize("name", TINY)
def test_projectors_sum_over_the_eigenvectors_of_their_band(name, tiny_graphs, dense_laplacian):
    frequencies, vectors = np.linalg.eigh(dense_laplacian(tiny_graphs[name]))
    expected = [np.zeros((len(vectors), len(vectors))) for _ in range(3)]
    for frequency, vector in zip(frequencies, vectors.T, strict=True):
        # Cliques have frequencies on an edge: those belong to the band above.
        band = 0 if frequency < 2 / 3 - 1e-12 else 1 if frequency < 4 / 3 - 1e-12 else 2
        expected[band] += np.outer(vector, vector)
    np.testing.assert_allclose(band_projectors(tiny_graphs[name]), expected, atol=1e-12)


@pytest.mark.parametrize("name", TINY)
def test_projectors_are_idempotent(name, tiny_graphs):
    for projector in band_projectors(tiny_graphs[name]):
        np.testing.assert_allclose(projector @ projector, projector, atol=1e-12)


@pytest.mark.parametrize("name", TINY)
def test_projectors_are_symmetric(name, tiny_graphs):
    for projector in band_projectors(tiny_graphs[name]):
        np.testing.assert_allclose(projector, projector.T, atol=1e-14)


@pytest.mark.parametrize("name", TINY)
def test_projectors_are_orthogonal_to_each_other(name, tiny_graphs):
    low, middle, high = band_projectors(tiny_graphs[name])
    for product in (low @ middle, middle @ high, high @ low):
        np.testing.assert_allclose(product, 0, atol=1e-12)


@pytest.mark.parametrize("name", TINY)
def test_projectors_sum_to_the_identity(name, tiny_graphs):
    np.testing.assert_allclose(sum(band_projectors(tiny_graphs[name])), np.eye(tiny_graphs[name].nodes), atol=1e-12)


@pytest.mark.parametrize("name", TINY)
def test_projectors_commute_with_the_laplacian(name, tiny_graphs, dense_laplacian):
    laplacian = dense_laplacian(tiny_graphs[name])
    for projector in band_projectors(tiny_graphs[name]):
        np.testing.assert_allclose(projector @ laplacian, laplacian @ projector, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "ranks"), [("path", [1, 1, 1]), ("ring", [3, 2, 3]), ("two cliques", [2, 0, 6])], ids=str
)
def test_bands_hold_as_many_frequencies_as_the_closed_form(name, ranks, tiny_graphs):
    traces = [np.trace(projector) for projector in band_projectors(tiny_graphs[name])]
    np.testing.assert_allclose(traces, ranks, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_eigenspace_on_a_bands_edge_is_not_split(seed, cube):
    traces = [np.trace(projector) for projector in band_projectors(cube(seed))]
    np.testing.assert_allclose(traces, [1, 3, 4], atol=1e-12)


def test_isolated_node_belongs_to_the_middle_band(random_graph):
    isolated = np.flatnonzero(random_graph.adjacency.toarray().sum(axis=1) == 0)
    _, middle, _ = band_projectors(random_graph)
    np.testing.assert_allclose(middle[isolated], np.eye(40)[isolated], atol=1e-12)
