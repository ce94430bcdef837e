"""Spectra with closed forms and densities compared with exact spectra."""

import networkx as nx
import numpy as np
import pytest
import torch

from newtonnet.datasets import csbm
from newtonnet.graphs import (
    band_coefficients,
    energy_density,
    from_edges,
    normalised_operator,
    spectral_density,
    spectrum,
)
from newtonnet.graphs.propagation import chebyshev_moments

TINY = ["path", "ring", "two cliques", "random"]


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


@pytest.fixture(scope="module")
def graph():
    return csbm(0.3, nodes=800, features=2, degree=6.0, seed=1)


def test_cumulative_density_is_near_the_exact_one(graph):
    exact, _ = spectrum(graph)
    density = spectral_density(graph, moments=120, probes=32)
    share = np.searchsorted(exact, density.frequencies, side="right") / len(exact)
    # Compared where the kernel's width cannot matter: averaged over a tenth of the spectrum.
    window = np.ones(41) / 41
    difference = np.convolve(density.cumulative - share, window, mode="valid")
    assert np.abs(difference).max() < 0.03


def test_density_is_a_density(graph):
    density = spectral_density(graph)
    assert (density.density >= 0).all()
    assert np.trapezoid(density.density, density.frequencies) == pytest.approx(1, abs=0.02)
    assert density.cumulative[[0, -1]] == pytest.approx([0, 1])
    assert (np.diff(density.cumulative) >= 0).all()


def test_a_ring_has_its_mass_at_both_ends_and_isolated_nodes_at_one():
    nodes = np.arange(600)
    ring = spectral_density(from_edges([nodes, (nodes + 1) % 600], np.ones((600, 1))))
    # Frequencies are 1 - cos(angle) with even angles: a share acos(0.8) / pi lies below 0.2 and as much above 1.8.
    assert ring.cumulative[[40, 360]] == pytest.approx([np.arccos(0.8) / np.pi, 1 - np.arccos(0.8) / np.pi], abs=0.02)
    alone = spectral_density(from_edges([[0], [1]], np.ones((500, 1))))
    assert alone.cumulative[230] - alone.cumulative[170] > 0.9


def test_moments_are_those_of_the_exact_spectrum(graph, rng):
    frequencies, vectors = spectrum(graph)
    x = rng.standard_normal((graph.nodes, 2, 3))
    ours = chebyshev_moments(normalised_operator(graph, dtype=torch.float64), torch.tensor(x), 9).numpy()
    weights = ((vectors.T @ x.reshape(graph.nodes, 6)) ** 2).reshape(graph.nodes, 2, 3).sum(axis=2)
    exact = np.stack([(np.cos(k * np.arccos(frequencies - 1))[:, None] * weights).sum(axis=0) for k in range(10)])
    np.testing.assert_allclose(ours, exact, atol=1e-7 * np.abs(exact).max())


def test_directed_graphs_are_refused(arrows):
    with pytest.raises(ValueError, match="symmetrise"):
        spectral_density(arrows)


def test_energy_of_signals_is_near_the_exact_one(graph, rng):
    frequencies, vectors = spectrum(graph)
    frequencies = frequencies.clip(0, 1.999)  # rounding may put a pair of nodes at just above 2, in no band
    signals = vectors[:, [1, 2, -1]] * [3.0, 1.0, 2.0] + 0.02 * rng.standard_normal((graph.nodes, 3))
    exact = ((vectors.T @ signals) ** 2).sum(axis=1)
    density = energy_density(graph, signals, moments=200)
    for low, high in ((0.0, 0.8), (0.8, 1.2), (1.2, 2.0)):
        share = exact[(frequencies >= low) & (frequencies < high)].sum() / exact.sum()
        ours = np.interp([low, high], density.frequencies, density.cumulative)
        assert ours[1] - ours[0] == pytest.approx(share, abs=0.01)


def test_energy_does_not_depend_on_scale_and_needs_some(graph, rng):
    signals = rng.standard_normal((graph.nodes, 2))
    once, twice = energy_density(graph, signals), energy_density(graph, 1000 * signals)
    np.testing.assert_allclose(once.density, twice.density, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="must not be 0 everywhere"):
        energy_density(graph, 0 * signals)
    with pytest.raises(ValueError, match=r"shape \(800, d\), got \(5,\)"):
        energy_density(graph, np.ones(5))


def test_the_polynomials_of_the_bands_are_a_partition_of_unity_with_values_between_0_and_1():
    frequencies = np.linspace(0, 2, 401)
    values = np.polynomial.chebyshev.chebval(frequencies - 1, band_coefficients(64).numpy().T)
    np.testing.assert_allclose(values.sum(axis=0), 1, atol=1e-12)
    assert values.min() > -1e-9
    assert values.max() < 1 + 1e-9


def test_the_polynomials_of_the_bands_take_their_own_frequencies_and_no_others():
    centres = np.array([[0.0, 0.3, 0.55], [0.8, 1.0, 1.2], [1.45, 1.7, 2.0]])
    values = np.polynomial.chebyshev.chebval(
        centres - 1, band_coefficients(64).numpy().T
    )  # (3 polynomials, 3 bands, 3)
    for band in range(3):
        np.testing.assert_allclose(values[band], np.eye(3)[band][:, None] * np.ones(3), atol=0.03)
