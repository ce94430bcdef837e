"""Where a graph's frequencies lie, and where its signals live among them, without an eigendecomposition."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .graph import Graph
from .operators import normalised_operator
from .propagate import chebyshev_moments


@dataclass(frozen=True, eq=False)
class Density:
    """How the frequencies of a graph, or the energy of a signal, are spread over [0, 2].

    Attributes:
        frequencies: an even grid, shape ``(m,)``.
        density: share per unit of frequency, shape ``(m,)``.
        cumulative: share up to each point of the grid, from 0 to 1, shape ``(m,)``.
    """

    frequencies: NDArray[np.float64]
    density: NDArray[np.float64]
    cumulative: NDArray[np.float64]


def spectral_density(
    graph: Graph,
    *,
    moments: int = 80,
    probes: int = 16,
    resolution: int = 401,
    self_loops: bool = False,
    seed: int = 0,
) -> Density:
    r"""Kernel polynomial estimate of the Laplacian's density from random probes.

    .. math::
        \mu_k = \frac1{n} \mathbb E\, z^\top T_k(L - I) z, \qquad
        \rho(\lambda) \propto \frac{1}{\sqrt{1 - x^2}} \Big(\mu_0 + 2 \sum_k J_k \mu_k T_k(x)\Big), \; x = \lambda - 1

    with signs :math:`z` at random and Jackson's factors :math:`J_k`, which keep the estimate non-negative.

    Args:
        graph: any undirected graph; the cost is ``moments`` sparse products with ``probes`` columns.
        moments: how fine the estimate is: peaks are about 6 / moments wide.
        probes: number of random vectors; their error falls as 1 / sqrt(n probes).
        resolution: points of the grid.
        self_loops: of the Laplacian with self-loops.
        seed: of the probes.

    References:
        Weiße, Wellein, Alvermann, Fehske, The kernel polynomial method, 2006, Eq. (25), (71) and (80).
    """
    signs = np.random.default_rng(seed).integers(0, 2, size=(graph.nodes, probes)) * 2.0 - 1.0
    measured = _moments(graph, signs, moments, self_loops=self_loops)
    return _density(measured.mean(dim=1).numpy(), graph.nodes, resolution)


def energy_density(
    graph: Graph,
    signals: NDArray[np.floating],
    *,
    moments: int = 80,
    resolution: int = 401,
    self_loops: bool = False,
) -> Density:
    r"""How the energy of signals on the nodes is spread over the frequencies, by the same method.

    .. math:: \mu_k = \sum_p x_p^\top T_k(L - I)\, x_p \Big/ \sum_p x_p^\top x_p

    Args:
        graph: any undirected graph.
        signals: shape ``(n, d)``, not all 0; the energies of the columns are added.
        moments: how fine the estimate is.
        resolution: points of the grid.
        self_loops: of the Laplacian with self-loops.

    >>> from newtonnet.graphs import from_edges
    >>> pair = from_edges([[0], [1]], np.eye(2))
    >>> [round(float(energy_density(pair, np.array([[1.0], [sign]])).cumulative[200]), 3) for sign in (1, -1)]
    [1.0, 0.0]
    """
    if signals.ndim != 2 or len(signals) != graph.nodes:
        raise ValueError(f"signals must have shape ({graph.nodes}, d), got {signals.shape}")
    measured = _moments(graph, signals, moments, self_loops=self_loops).sum(dim=1).numpy()
    if not measured[0] > 0:
        raise ValueError("signals that are 0 everywhere have no energy to spread")
    return _density(measured, float(measured[0]), resolution)


def _moments(graph: Graph, signals: NDArray[np.floating], count: int, *, self_loops: bool) -> Tensor:
    """Chebyshev moments of each column, shape ``(count + 1, d)``."""
    if graph.directed:
        raise ValueError("a directed graph has no real spectrum; symmetrise it first")
    operator = normalised_operator(graph, self_loops=self_loops)
    columns = torch.tensor(signals[:, :, None], dtype=torch.float32)
    return chebyshev_moments(operator, columns, count).double()


def _density(measured: NDArray[np.float64], total: float, resolution: int) -> Density:
    """The density with these moments, shape ``(K+1,)``, in units of ``total``; Jackson's kernel smooths it."""
    moments = len(measured) - 1
    k = np.arange(moments + 1)
    step = np.pi / (moments + 2)
    jackson = ((moments + 2 - k) * np.cos(k * step) + np.sin(k * step) / np.tan(step)) / (moments + 2)
    weights = (2 - (k == 0)) * jackson * measured / total
    # In the angle, where frequency = 1 - cos(angle), the density is a plain cosine series and has no singular ends.
    cells = 8 * (moments + 1)
    centres = (np.arange(cells) + 0.5) * np.pi / cells
    mass = np.maximum(np.cos(np.outer(np.pi - centres, k)) @ weights, 0)
    shares = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
    grid = np.linspace(0, 2, resolution)
    edges = np.concatenate([[0.0], (grid[1:] + grid[:-1]) / 2, [2.0]])
    known = 1 - np.cos(np.arange(cells + 1) * np.pi / cells)
    density = np.diff(np.interp(edges, known, shares)) / np.diff(edges)
    return Density(grid, density, np.interp(grid, known, shares))
