"""The exact spectrum of a small graph, and the projectors onto its low, middle and high frequencies."""

import numpy as np
import torch
from numpy.typing import NDArray

from .graph import Graph
from .operators import normalised_operator

BANDS = (2 / 3, 4 / 3)
"""Low, middle and high frequencies are the thirds of [0, 2]: below 2/3, below 4/3, and the rest."""

LARGEST = 6000


def spectrum(graph: Graph, *, self_loops: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Eigendecomposition :math:`L = U \Lambda U^\top` of the normalised Laplacian.

    Args:
        graph: an undirected graph of at most 6000 nodes (the cost is cubic).
        self_loops: of the Laplacian with self-loops.

    Returns:
        Frequencies :math:`\lambda_1 \le \dots \le \lambda_n`, shape ``(n,)``, and their vectors as columns, ``(n, n)``.
    """
    if graph.directed:
        raise ValueError("a directed graph has no orthogonal spectrum; symmetrise it first")
    if graph.nodes > LARGEST:
        raise ValueError(f"an exact spectrum is for graphs of at most {LARGEST} nodes, this one has {graph.nodes}")
    operator = normalised_operator(graph, self_loops=self_loops, dtype=torch.float64).matrix
    laplacian = np.eye(graph.nodes) - operator.to_dense().numpy()
    frequencies, vectors = np.linalg.eigh(laplacian)
    # Rounding may leave the ends of the spectrum a hair outside [0, 2].
    return frequencies.clip(0, 2), vectors


def band_projectors(graph: Graph, *, self_loops: bool = False) -> tuple[NDArray[np.float64], ...]:
    r"""Orthogonal projectors onto the low, middle and high frequencies, each ``(n, n)``; they sum to the identity.

    A filter with one amplitude per band is :math:`g(L) = g_{low} P_{low} + g_{mid} P_{mid} + g_{high} P_{high}`.
    """
    frequencies, vectors = spectrum(graph, self_loops=self_loops)
    # Rounding must not split an eigenspace that lies on a band's edge (the cube's frequencies are 0, 2/3, 4/3, 2).
    band = np.searchsorted(BANDS, frequencies + 1e-9, side="right")
    low, high = (vectors[:, band == b] @ vectors[:, band == b].T for b in (0, 2))
    return low, np.eye(graph.nodes) - low - high, high
