"""Generated graphs that need no file: contextual stochastic block models, and scikit-learn's digits as a graph."""

import math

import numpy as np
from numpy.typing import NDArray

from newtonnet.graphs import Graph, from_edges

NEVER = 1e-5
"""Homophily 0 and 1 stand for this and for one minus this, as in the released code."""


def csbm(
    homophily: float,
    *,
    nodes: int = 3000,
    features: int = 3000,
    degree: float = 5.0,
    mu: float = 1.0,
    per_class: bool = False,
    seed: int = 0,
) -> Graph:
    r"""Contextual stochastic block model with two equal classes and a chosen homophily.

    .. math::
        P(A_{ij} = 1) = \frac1n (d \pm \sigma\sqrt d), \qquad
        x_i = \sqrt{\mu / n}\; v_i u + w_i / \sqrt F, \qquad \sigma = \sqrt d\,(2h - 1)

    with + for equal classes, :math:`v_i = \pm 1` the class, :math:`u \sim N(0, I_F / F)`, :math:`w_i \sim N(0, I_F)`.
    Edges are drawn by their exact number and place, so the cost is in the edges, not in the pairs of nodes.

    Args:
        homophily: expected share h of edges that join equal classes, 0 to 1.
        nodes: number of nodes in all.
        features: number of features F.
        degree: :math:`d`.
        mu: strength of the features' signal.
        per_class: read n in both formulas as the nodes of ONE class, as the paper's text says; the mean degree is then
            2d. By default n is the number of all nodes, as in the released code, and the mean degree is d.
        seed: seed of the random generator.

    References:
        Xu et al., Shape-aware Graph Spectral Learning, 2024, Appendix D.1, Eq. (27).
    """
    if not 0 <= homophily <= 1:
        raise ValueError(f"homophily must be between 0 and 1, got {homophily}")
    if nodes < 2 or features < 1 or degree <= 0 or mu < 0:
        raise ValueError(
            "expected nodes >= 2, features >= 1, degree > 0 and mu >= 0, "
            f"got nodes={nodes}, features={features}, degree={degree}, mu={mu}"
        )
    h = min(max(homophily, NEVER), 1 - NEVER)
    n = nodes / 2 if per_class else nodes
    inside, across = 2 * degree * h / n, 2 * degree * (1 - h) / n
    if max(inside, across) > 1:
        raise ValueError(f"degree {degree} is too large for {nodes} nodes at homophily {homophily}")
    rng = np.random.default_rng(seed)
    first = nodes // 2
    labels = (np.arange(nodes) >= first).astype(np.int64)
    edges = np.concatenate(
        [
            _pairs_inside(rng, first, inside),
            _pairs_inside(rng, nodes - first, inside) + first,
            _pairs_across(rng, first, nodes - first, across) + np.array([[0], [first]]),
        ],
        axis=1,
    )
    direction = rng.standard_normal(features) / math.sqrt(features)
    x = rng.standard_normal((nodes, features), dtype=np.float32) / np.float32(math.sqrt(features))
    x += (math.sqrt(mu / n) * (2.0 * labels - 1)[:, None] * direction).astype(np.float32)
    return from_edges(edges, x, labels=labels, name=f"csbm-{homophily:g}")


def digits(*, neighbours: int = 5) -> Graph:
    """Scikit-learn's 1797 hand-written digits, each joined to its nearest images; 10 classes, highly homophilous."""
    from sklearn.datasets import load_digits  # slow to import

    images, labels = load_digits(return_X_y=True)
    # Pixels are whole numbers, so these distances are exact and ties go to the first image on every machine.
    squares = (images**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * images @ images.T
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :neighbours]
    edges = np.stack([np.repeat(np.arange(len(images)), neighbours), nearest.ravel()])
    return from_edges(edges, images / 16, labels=labels, name="digits")


def _pairs_inside(rng: np.random.Generator, size: int, probability: float) -> NDArray[np.int64]:
    """Each unordered pair of ``size`` nodes with this probability, shape ``(2, E)``."""
    chosen = _sample(rng, size * (size - 1) // 2, probability)
    # Pair number k = i (i - 1) / 2 + j with j < i; the root may be off by one in floating point.
    i = ((1 + np.sqrt(1 + 8 * chosen.astype(np.float64))) / 2).astype(np.int64)
    i -= i * (i - 1) // 2 > chosen
    i += (i + 1) * i // 2 <= chosen
    return np.stack([i, chosen - i * (i - 1) // 2])


def _pairs_across(rng: np.random.Generator, left: int, right: int, probability: float) -> NDArray[np.int64]:
    """Each pair of a left and a right node with this probability, shape ``(2, E)``."""
    return np.stack(np.divmod(_sample(rng, left * right, probability), right))


def _sample(rng: np.random.Generator, total: int, probability: float) -> NDArray[np.int64]:
    """Numbers below ``total``, each with this probability: their count is binomial, their places distinct."""
    count = int(rng.binomial(total, probability))
    if 4 * count > total:
        return np.sort(rng.choice(total, count, replace=False))
    chosen = np.unique(rng.integers(0, total, count))
    while len(chosen) < count:
        chosen = np.union1d(chosen, rng.integers(0, total, count - len(chosen)))
    return chosen
