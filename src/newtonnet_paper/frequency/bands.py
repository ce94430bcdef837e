"""The 216 candidate filters of the frequency study: one amplitude for each third of the spectrum."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.graphs import Graph, band_projectors

AMPLITUDES = (0.0, 0.4, 0.8, 1.2, 1.6, 2.0)


def candidate_filters() -> NDArray[np.float64]:
    """All combinations of low, middle and high amplitude, shape ``(216, 3)``.

    >>> candidate_filters()[[0, 1, 215]].tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.4], [2.0, 2.0, 2.0]]
    """
    return np.array(list(product(AMPLITUDES, repeat=3)))


def projector_stack(graph: Graph) -> Tensor:
    """Projectors onto the three bands from one eigendecomposition, float32, ``(3, n, n)``."""
    return torch.from_numpy(np.stack(band_projectors(graph))).float()


def apply_filters(projectors: Tensor, amplitudes: Tensor, x: Tensor) -> Tensor:
    r"""Each member's own filter on its own signals, at some or all nodes.

    .. math:: Z_p = \sum_b g_{b,p}\, P_b\, X_p

    Args:
        projectors: rows of :math:`P_b`, ``(3, m, n)``: training needs those of the labelled nodes alone.
        amplitudes: :math:`g_{b,p}`, ``(P, 3)``.
        x: signals, ``(n, P, d)``.

    Returns:
        Shape ``(m, P, d)``.
    """
    filtered = (projectors @ x.flatten(1)).view(3, -1, *x.shape[1:])
    return (filtered * amplitudes.T[:, None, :, None]).sum(dim=0)


def importances(scores: NDArray[np.float64], filters: NDArray[np.float64], *, share: float = 0.05) -> Sequence[float]:
    r"""How much of each band the best filters pass.

    .. math:: I^b = \frac{1}{|\mathcal F|} \sum_{i \in \mathcal F} g^i_b

    with :math:`\mathcal F` the best 5% of the filters, 11 of 216. Filters that tie for the last places share them.

    Returns:
        Importance of the low, the middle and the high band.

    >>> importances(np.array([0.9, 0.5, 0.5]), np.array([[2.0, 1, 0], [1, 1, 0], [0, 1, 1]]), share=0.6)
    [1.25, 1.0, 0.25]

    References:
        Xu et al., Shape-aware Graph Spectral Learning, 2024, Eq. (3).
    """
    count = round(share * len(scores))
    last = np.sort(scores)[-count]
    weight = (scores > last).astype(np.float64)
    tied = scores == last
    weight[tied] = (count - weight.sum()) / tied.sum()
    return [float(value) for value in weight @ filters / count]
