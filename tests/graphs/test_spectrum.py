"""Spectra with closed forms, and the laws of the band projectors."""

import networkx as nx
import numpy as np
import pytest

from newtonnet.graphs import band_projectors, from_edges, from_scipy, spectrum

TINY = ["path", "ring", "two cliques", "random"]


@pytest.fixture(scope="module")
def cube():
    """The 3-cube with shuffled nodes: frequencies 0, 2/3 and 4/3 three times each, 2; two of them on a band's edge."""

    def build(seed):
        adjacency = nx.to_scipy_sparse_array(nx.hypercube_graph(3), format="csr")
        order = np.random.default_rng(seed).permutation(8)
        return from_scipy(adjacency[order][:, order], np.ones((8, 1)))

    return build


@pytest.mark.parametrize(
    ("name", "self_loops", "expected"),
    [
        ("path", False, [0, 1, 2]),
        ("path", True, [0, 1 / 2, 7 / 6]),
        ("ring", False, np.sort(1 - np.cos(np.pi * np.arange(8) / 4))),
        ("ring", True, np.sort(2 / 3 * (1 - np.cos(np.pi * np.arange(8) / 4)))),
        ("two cliques", False, [0, 0] + [4 / 3] * 6),
        ("two cliques", True, [0, 0] + [1] * 6),
    ],
)
def test_spectrum_has_its_closed_form(name, self_loops, expected, tiny_graphs):
    frequencies, _ = spectrum(tiny_graphs[name], self_loops=self_loops)
    np.testing.assert_allclose(frequencies, expected, atol=1e-13)


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("name", TINY)
def test_spectrum_rebuilds_the_dense_laplacian(name, self_loops, tiny_graphs, dense_laplacian):
    frequencies, vectors = spectrum(tiny_graphs[name], self_loops=self_loops)
    expected = dense_laplacian(tiny_graphs[name], self_loops=self_loops)
    np.testing.assert_allclose(vectors @ np.diag(frequencies) @ vectors.T, expected, atol=1e-13)


@pytest.mark.parametrize("name", TINY)
def test_eigenvectors_are_orthonormal(name, tiny_graphs):
    _, vectors = spectrum(tiny_graphs[name])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(vectors)), atol=1e-13)


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("name", TINY)
def test_frequencies_ascend_within_0_and_2_without_rounding_outside(name, self_loops, tiny_graphs):
    frequencies, _ = spectrum(tiny_graphs[name], self_loops=self_loops)
    assert frequencies.min() >= 0
    assert frequencies.max() <= 2
    assert (np.diff(frequencies) >= 0).all()


def test_multiplicity_of_frequency_zero_counts_the_components(random_graph):
    frequencies, _ = spectrum(random_graph)
    components = nx.connected_components(nx.from_scipy_sparse_array(random_graph.adjacency))
    # An isolated node has frequency 1, so it is not counted.
    assert int((frequencies < 1e-9).sum()) == sum(len(component) > 1 for component in components)


def test_directed_graph_has_no_spectrum(arrows):
    with pytest.raises(ValueError, match="symmetrise"):
        spectrum(arrows)


def test_graph_beyond_the_limit_is_refused():
    with pytest.raises(ValueError, match="at most 6000"):
        spectrum(from_edges(np.zeros((2, 0), dtype=np.int64), np.ones((6001, 1))))


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("name", TINY)
def test_projectors_sum_over_the_eigenvectors_of_their_band(name, self_loops, tiny_graphs, dense_laplacian):
    frequencies, vectors = np.linalg.eigh(dense_laplacian(tiny_graphs[name], self_loops=self_loops))
    expected = [np.zeros((len(vectors), len(vectors))) for _ in range(3)]
    for frequency, vector in zip(frequencies, vectors.T, strict=True):
        # Ring with self-loops and cliques have frequencies on an edge: those belong to the band above.
        band = 0 if frequency < 2 / 3 - 1e-12 else 1 if frequency < 4 / 3 - 1e-12 else 2
        expected[band] += np.outer(vector, vector)
    np.testing.assert_allclose(band_projectors(tiny_graphs[name], self_loops=self_loops), expected, atol=1e-12)


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
