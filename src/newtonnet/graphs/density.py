"""The spectral density of a graph of any size, estimated without an eigendecomposition."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from .graph import Graph
from .operators import normalised_operator
from .propagate import chebyshev_moments


@dataclass(frozen=True, eq=False)
class Density:
    """How the frequencies of a graph are spread over [0, 2].

    Attributes:
        frequencies: an even grid, shape ``(m,)``.
        density: share of the frequencies per unit of frequency, shape ``(m,)``.
        cumulative: share of the frequencies up to each point of the grid, from 0 to 1, shape ``(m,)``.
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
    if graph.directed:
        raise ValueError("a directed graph has no real spectrum; symmetrise it first")
    signs = np.random.default_rng(seed).integers(0, 2, size=(graph.nodes, probes, 1)) * 2.0 - 1.0
    operator = normalised_operator(graph, self_loops=self_loops)
    measured = chebyshev_moments(operator, torch.tensor(signs, dtype=torch.float32), moments)
    k = np.arange(moments + 1)
    step = np.pi / (moments + 2)
    jackson = ((moments + 2 - k) * np.cos(k * step) + np.sin(k * step) / np.tan(step)) / (moments + 2)
    weights = (2 - (k == 0)) * jackson * measured.double().mean(dim=1).numpy() / graph.nodes
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
