"""Generated data that need no file: block models, scikit-learn's digits as a graph, and tables of customers."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from newtonnet.graphs import Graph, from_edges

if TYPE_CHECKING:
    import pyarrow as pa

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
    if not 0 <= neighbours < len(images):
        raise ValueError(f"neighbours must be from 0 to {len(images) - 1}, got {neighbours}")
    # Pixels are whole numbers, so the ranks are exact; ties go to the first image on every machine.
    squares = (images**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * images @ images.T
    np.fill_diagonal(distances, np.inf)
    ranks = len(images) * distances + np.arange(len(images))
    nearest = np.argpartition(ranks, neighbours - 1, axis=1)[:, :neighbours]
    edges = np.stack([np.repeat(np.arange(len(images)), neighbours), nearest.ravel()])
    return from_edges(edges, images / 16, labels=labels, name="digits")


def customers(
    count: int = 1000, *, leaving: float = 0.25, labelled: float = 0.5, seed: int = 0
) -> tuple["pa.Table", "pa.Table"]:
    """Tables of customers and of who calls whom, with the usual dirt, to try :func:`~newtonnet.analyse` on.

    Customers belong to circles of eight who mostly call each other. Circles are more or less satisfied, and so their
    members tend to leave together and, less reliably, to complain; a cheap plan, few years with the company and chance
    do the rest.

    Args:
        count: number of customers.
        leaving: share of them who leave.
        labelled: share of them whose status, ``left`` or ``stayed``, is known; it is missing for the others.
        seed: seed of the random generator; tables of different seeds have no id in common.

    Returns:
        Nodes with the columns id, age, plan, city, bill (a tenth is missing), complaints, joined (a date) and status;
        edges with the columns source and target.
    """
    if count < 16 or not 0 < leaving < 1 or not 0 < labelled <= 1:
        raise ValueError(
            "expected count >= 16, leaving between 0 and 1, and labelled above 0 and at most 1, "
            f"got count={count}, leaving={leaving}, labelled={labelled}"
        )
    import pyarrow as pa  # slow to import

    rng = np.random.default_rng(seed)
    circle = rng.permutation(count) // 8
    plan = rng.choice(["basic", "family", "premium"], count, p=[0.5, 0.3, 0.2])
    years = rng.exponential(4, count).clip(0, 30)
    bill = np.array([15, 40, 60])[np.unique(plan, return_inverse=True)[1]] + rng.normal(0, 8, count)
    anger = rng.standard_normal(circle.max() + 1)[circle]
    wish = 1.6 * anger + (plan == "basic") - 0.1 * years
    left = np.argsort(np.argsort(-(wish + 0.7 * rng.standard_normal(count)))) < round(leaving * count)
    known, paid = rng.random(count) < labelled, rng.random(count) < 0.9
    nodes = pa.table(
        {
            "id": [f"C-{seed * count + i:05d}" for i in range(count)],
            "age": (20 + 60 * rng.beta(2, 3, count)).astype(np.int64),
            "plan": plan.tolist(),
            "city": rng.choice(["Aachen", "Bonn", "Essen", "Köln"], count).tolist(),
            "bill": [round(float(one), 2) if there else None for one, there in zip(bill, paid, strict=True)],
            "complaints": rng.poisson(np.exp(0.7 * anger - 0.7)),
            "joined": (np.datetime64("2026-01-01") - (365 * years).astype(np.int64)).tolist(),
            "status": [
                ("left" if one else "stayed") if there else None for one, there in zip(left, known, strict=True)
            ],
        }
    )
    members = [np.flatnonzero(circle == one) for one in range(circle.max() + 1)]
    inside = [some[_pairs_inside(rng, len(some), 0.5)] for some in members]
    ends = np.concatenate([*inside, rng.integers(0, count, (2, count // 2))], axis=1)
    source, target = (nodes["id"].take(end) for end in ends)
    return nodes, pa.table({"source": source, "target": target})


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
