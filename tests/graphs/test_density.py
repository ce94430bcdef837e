import numpy as np
import pytest
import torch

from newtonnet.datasets import csbm
from newtonnet.graphs import (
    chebyshev_moments,
    energy_density,
    from_edges,
    normalised_operator,
    spectral_density,
    spectrum,
)


@pytest.fixture(scope="module")
def graph():
    return csbm(0.3, nodes=800, features=2, degree=6.0, seed=1)


@pytest.mark.parametrize("self_loops", [False, True])
def test_cumulative_density_is_near_the_exact_one(graph, self_loops):
    exact, _ = spectrum(graph, self_loops=self_loops)
    density = spectral_density(graph, moments=120, probes=32, self_loops=self_loops)
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
    with pytest.raises(ValueError, match="no energy"):
        energy_density(graph, 0 * signals)
    with pytest.raises(ValueError, match=r"shape \(800, d\), got \(5,\)"):
        energy_density(graph, np.ones(5))
