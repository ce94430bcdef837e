"""Theorem 1: which of two filters leaves connected nodes further apart."""

from typing import Any

import numpy as np

from .pairs import (
    Array,
    Eigenspaces,
    concentrated_pair,
    crossings,
    eigenspaces,
    integer_pairs,
    random_pair,
    signed_pair,
    tidy,
)
from .samples import Sample, edge_list, random_sample, small_graphs

TOLERANCE = 1e-10
"""An expectation below this share of its terms counts as not positive."""


def edge_energies(spaces: Eigenspaces, roughness: Array) -> Array:
    r"""Expected squared distance of connected nodes that a white signal has in each eigenspace.

    .. math:: s_i = \mathrm{tr}(U_i^\top R U_i), \qquad E[x^\top g(L) R\, g(L) x] = \sum_i g(\lambda_i)^2 s_i

    for :math:`E[x x^\top] = I`, with :math:`R = D - A` for plain distances. If :math:`R = L`, then
    :math:`s_i = \lambda_i` times the eigenspace's dimension.

    Args:
        spaces: of the Laplacian that the filters are functions of.
        roughness: :math:`R`, ``(n, n)``.
    """
    return spaces.sums((spaces.vectors * (roughness @ spaces.vectors)).sum(axis=0))


def expected_gap(g1: Array, g2: Array, energies: Array) -> tuple[float, bool]:
    """E[Δs], and whether it fails to be positive."""
    terms = (g1**2 - g2**2) * energies
    return float(terms.sum()), bool(terms.sum() <= TOLERANCE * np.abs(terms).sum())


def check_theorem1(*, trials: int = 400, seed: int = 0) -> dict[str, Any]:
    """Random graphs and filters under each reading of the theorem: how many trials contradict it."""
    rng = np.random.default_rng(seed)
    violations = dict.fromkeys(("plain", "magnitude", "scaled", "signed", "normalised", "one signal", "low signal"), 0)
    for _ in range(trials):
        sample = random_sample(rng)
        plain, normalised = eigenspaces(sample.plain), eigenspaces(sample.normalised)
        energies = edge_energies(plain, sample.plain)
        g1, g2 = random_pair(plain, rng)
        violations["plain"] += expected_gap(g1, g2, energies)[1]
        flips = rng.choice([-1.0, 1.0], (2, len(g1)))
        violations["magnitude"] += expected_gap(flips[0] * g1, flips[1] * g2, energies)[1]
        violations["signed"] += expected_gap(*signed_pair(plain, rng), energies)[1]
        signal = rng.standard_normal(len(sample.labels))
        violations["one signal"] += _gap_of(signal, g1, g2, plain) <= 0
        smooth = plain.matrix((np.arange(len(g1)) == 1).astype(np.float64)) @ signal
        violations["low signal"] += _gap_of(smooth, g1, g2, plain) <= 0
        g1, g2 = random_pair(normalised, rng)
        violations["scaled"] += expected_gap(g1, g2, edge_energies(normalised, sample.normalised))[1]
        violations["normalised"] += expected_gap(g1, g2, edge_energies(normalised, sample.plain))[1]
    return {
        "trials": trials,
        "violations": violations,
        "signed_example": smallest_signed(),
        "normalised_example": smallest_normalised(),
    }


def smallest_signed() -> dict[str, Any]:
    """The smallest graph and amplitudes in {-1, 0, 1} that contradict the theorem for signed filters."""
    for adjacency in small_graphs(4):
        sample = Sample(adjacency, np.zeros(len(adjacency), dtype=np.int64))
        spaces = eigenspaces(sample.plain)
        energies = edge_energies(spaces, sample.plain)
        for g1, g2 in integer_pairs(spaces, (-1, 0, 1)):
            gap, violated = expected_gap(g1, g2, energies)
            if violated and gap < 0:
                return _example(sample, spaces, energies, g1, g2, gap)
    raise RuntimeError("no signed counterexample among the small graphs")


def smallest_normalised() -> dict[str, Any]:
    """The smallest graph, and filters of at least 0, that contradict the theorem for the normalised Laplacian.

    There are such filters exactly where some frequency is rougher, by plain distances, than a higher one.
    """
    for adjacency in small_graphs(5):
        sample = Sample(adjacency, np.zeros(len(adjacency), dtype=np.int64))
        spaces = eigenspaces(sample.normalised)
        energies = edge_energies(spaces, sample.plain)
        roughness = energies / spaces.counts
        for r in crossings(spaces):
            low, high = int(roughness[:r].argmax()), r + int(roughness[r:].argmin())
            if high != r or roughness[low] < roughness[high] + 1e-9:
                continue
            for rest in (1e-2, 1e-3, 1e-4):
                g1, g2 = concentrated_pair(spaces, low, high, rest)
                gap, _ = expected_gap(g1, g2, energies)
                if gap < 0:
                    return _example(sample, spaces, energies, g1, g2, gap)
    raise RuntimeError("no counterexample for the normalised Laplacian among the small graphs")


def _gap_of(signal: Array, g1: Array, g2: Array, spaces: Eigenspaces) -> float:
    """Δs of one signal under the plain Laplacian."""
    return float(((g1**2 - g2**2) * spaces.frequencies * spaces.energies(signal[:, None])).sum())


def _example(sample: Sample, spaces: Eigenspaces, energies: Array, g1: Array, g2: Array, gap: float) -> dict[str, Any]:
    return {
        "nodes": len(sample.labels),
        "edges": edge_list(sample.adjacency),
        "frequencies": tidy(spaces.frequencies),
        "counts": spaces.counts.astype(int).tolist(),
        "energies": tidy(energies),
        "g1": tidy(g1),
        "g2": tidy(g2),
        "gap": round(gap, 6),
    }
