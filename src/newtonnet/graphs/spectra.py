"""The spectrum of a graph: exact for a small one, as a density for any size, and the energy of signals over it."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .graph import Graph
from .operators import normalised_operator
from .propagation import chebyshev_moments

BANDS = (2 / 3, 4 / 3)
"""Edges between low, middle and high frequencies, the thirds of [0, 2]."""

LARGEST = 6000
"""Maximum number of nodes for an exact spectrum."""


def spectrum(graph: Graph, *, self_loops: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Eigendecomposition :math:`L = U \Lambda U^\top` of the normalised Laplacian.

    Args:
        graph: an undirected graph of at most 6000 nodes (the cost is cubic).
        self_loops: use the Laplacian with self-loops.

    Returns:
        Frequencies :math:`\lambda_1 \le \dots \le \lambda_n`, shape ``(n,)``, and eigenvectors as columns, ``(n, n)``.
    """
    if graph.directed:
        raise ValueError("a directed graph has no orthogonal spectrum; symmetrise it first")
    if graph.nodes > LARGEST:
        raise ValueError(
            f"an exact spectrum is for graphs of at most {LARGEST} nodes, got {graph.nodes}; use spectral_density"
        )
    operator = normalised_operator(graph, self_loops=self_loops, dtype=torch.float64)
    frequencies, vectors = np.linalg.eigh(np.eye(graph.nodes) - operator.matrix.to_dense().numpy())
    # Rounding may put the ends of the spectrum slightly outside [0, 2].
    return frequencies.clip(0, 2), vectors


def band_coefficients(degree: int = 64) -> Tensor:
    r"""Three polynomials that take a signal's low, middle and high frequencies, without an eigendecomposition.

    .. math:: p_b(\lambda) = \sum_{k=0}^{K} c_{b,k}\, T_k(\lambda - 1), \qquad
              p_{low} + p_{mid} + p_{high} = 1 \text{ for every } \lambda

    The outer two are the Chebyshev series of a band's indicator with Jackson's factors, so that their values lie in
    [0, 1]; the middle one is what they leave. A frequency within about 4 / degree of an edge belongs to two bands.

    Args:
        degree: :math:`K`, the number of sparse products that a split takes.

    Returns:
        Chebyshev coefficients on L - I of the three, float64, shape ``(3, degree + 1)``.

    >>> band_coefficients(2).sum(dim=0).abs().round(decimals=9)
    tensor([1., 0., 0.], dtype=torch.float64)
    """
    k = np.arange(1, degree + 1)
    first, second = (float(np.arccos(edge - 1)) for edge in BANDS)  # frequency = 1 + cos(angle): the first is larger
    low = np.concatenate([[np.pi - first], -2 * np.sin(k * first) / k]) / np.pi
    high = np.concatenate([[second], 2 * np.sin(k * second) / k]) / np.pi
    outer = np.stack([low, high]) * _jackson(degree)
    middle = np.eye(1, degree + 1)[0] - outer.sum(axis=0)
    return torch.tensor(np.stack([outer[0], middle, outer[1]]))


@dataclass(frozen=True, eq=False)
class Density:
    """Distribution of the frequencies of a graph, or of the energy of a signal, over [0, 2].

    Attributes:
        frequencies: an equispaced grid from 0 to 2, shape ``(401,)``.
        density: share per unit of frequency, shape ``(401,)``.
        cumulative: share up to each frequency of the grid, from 0 to 1, shape ``(401,)``.
    """

    frequencies: NDArray[np.float64]
    density: NDArray[np.float64]
    cumulative: NDArray[np.float64]


def spectral_density(graph: Graph, *, moments: int = 80, probes: int = 16, seed: int = 0) -> Density:
    r"""Kernel polynomial estimate of the Laplacian's density from random probes.

    .. math::
        \mu_k = \frac1{n} \mathbb E\, z^\top T_k(L - I) z, \qquad
        \rho(\lambda) \propto \frac{1}{\sqrt{1 - x^2}} \Big(\mu_0 + 2 \sum_k J_k \mu_k T_k(x)\Big), \; x = \lambda - 1

    with random signs :math:`z` and Jackson's factors :math:`J_k`, which keep the estimate non-negative.

    Args:
        graph: an undirected graph; the cost is ``moments`` sparse products with ``probes`` columns.
        moments: resolution of the estimate; peaks are about 6 / moments wide.
        probes: number of random vectors; the error falls as 1 / sqrt(n probes).
        seed: random seed of the probes.

    References:
        Weiße, Wellein, Alvermann, Fehske, The kernel polynomial method, 2006, Eq. (25), (71) and (80).
    """
    signs = np.random.default_rng(seed).integers(0, 2, size=(graph.nodes, probes)) * 2.0 - 1.0
    return _density(_moments(graph, signs, moments).mean(dim=1).numpy(), graph.nodes)


def energy_density(graph: Graph, signals: NDArray[np.floating], *, moments: int = 80) -> Density:
    r"""Distribution of the energy of signals over the frequencies, by the same method.

    .. math:: \mu_k = \sum_p x_p^\top T_k(L - I)\, x_p \Big/ \sum_p x_p^\top x_p

    Args:
        graph: an undirected graph.
        signals: shape ``(n, d)``, not all 0; the energies of the columns are added.
        moments: resolution of the estimate.

    >>> from newtonnet.graphs import from_edges
    >>> pair = from_edges([[0], [1]], np.eye(2))
    >>> [round(float(energy_density(pair, np.array([[1.0], [sign]])).cumulative[200]), 3) for sign in (1, -1)]
    [1.0, 0.0]
    """
    if signals.ndim != 2 or len(signals) != graph.nodes:
        raise ValueError(f"signals must have shape ({graph.nodes}, d), got {signals.shape}")
    measured = _moments(graph, signals, moments).sum(dim=1).numpy()
    if not measured[0] > 0:
        raise ValueError("signals must not be 0 everywhere")
    return _density(measured, float(measured[0]))


def _moments(graph: Graph, signals: NDArray[np.floating], count: int) -> Tensor:
    """Chebyshev moments of each column, shape ``(count + 1, d)``."""
    if graph.directed:
        raise ValueError("a directed graph has no real spectrum; symmetrise it first")
    columns = torch.tensor(signals[:, :, None], dtype=torch.float32)
    return chebyshev_moments(normalised_operator(graph), columns, count).double()


def _density(measured: NDArray[np.float64], total: float) -> Density:
    """The density with these moments, shape ``(K+1,)``, in units of ``total``; Jackson's kernel smooths it."""
    moments = len(measured) - 1
    k = np.arange(moments + 1)
    weights = (2 - (k == 0)) * _jackson(moments) * measured / total
    # As a function of the angle, frequency = 1 - cos(angle), the density is a cosine series without singular ends.
    cells = 8 * (moments + 1)
    centres = (np.arange(cells) + 0.5) * np.pi / cells
    mass = np.maximum(np.cos(np.outer(np.pi - centres, k)) @ weights, 0)
    shares = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
    grid = np.linspace(0, 2, 401)
    edges = np.concatenate([[0.0], (grid[1:] + grid[:-1]) / 2, [2.0]])
    known = 1 - np.cos(np.arange(cells + 1) * np.pi / cells)
    density = np.diff(np.interp(edges, known, shares)) / np.diff(edges)
    return Density(grid, density, np.interp(grid, known, shares))


def _jackson(degree: int) -> NDArray[np.float64]:
    """Jackson's factors, ``(degree + 1,)``: with them, a Chebyshev series stays within the bounds of its function."""
    k, step = np.arange(degree + 1), np.pi / (degree + 2)
    return np.asarray(((degree + 2 - k) * np.cos(k * step) + np.sin(k * step) / np.tan(step)) / (degree + 2))
