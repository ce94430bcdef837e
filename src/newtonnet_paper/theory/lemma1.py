"""Lemma 1: the homophily of a graph whose edges are drawn at random."""

from fractions import Fraction
from typing import Any

import numpy as np

CASES = ((2, 2), (4, 2), (12, 3), (60, 3), (600, 6))
"""Nodes and classes."""


def chance_homophily(sizes: list[int]) -> Fraction:
    r"""Expected homophily of edges drawn uniformly among pairs of distinct nodes.

    .. math:: E[h] = \frac{\sum_c n_c (n_c - 1)}{N (N - 1)}, \qquad
              \text{balanced: } \frac{N/C - 1}{N - 1} < \frac1C

    >>> chance_homophily([5, 5])
    Fraction(4, 9)
    """
    total = sum(sizes)
    return Fraction(sum(size * (size - 1) for size in sizes), total * (total - 1))


def check_lemma1(*, trials: int = 2000, seed: int = 0) -> dict[str, Any]:
    """Random graphs against the lemma's 1/C and against the exact expectation, with and without self-pairs."""
    rng = np.random.default_rng(seed)
    rows = []
    for nodes, classes in CASES:
        labels = np.repeat(np.arange(classes), nodes // classes)
        edges = max(nodes // 2, 1)
        measured, error = _homophily(labels, edges, trials, rng, loops=False)
        with_loops, loop_error = _homophily(labels, edges, trials, rng, loops=True)
        exact = chance_homophily([nodes // classes] * classes)
        rows.append(
            {
                "nodes": nodes,
                "classes": classes,
                "lemma": 1 / classes,
                "exact": float(exact),
                "measured": measured,
                "error": error,
                "with_loops": with_loops,
                "loop_error": loop_error,
            }
        )
    unbalanced = [90, 10]
    labels = np.repeat([0, 1], unbalanced)
    measured, error = _homophily(labels, 50, trials, rng, loops=False)
    return {
        "trials": trials,
        "rows": rows,
        "unbalanced": {
            "sizes": unbalanced,
            "exact": float(chance_homophily(unbalanced)),
            "measured": measured,
            "error": error,
        },
    }


def _homophily(
    labels: np.ndarray[Any, np.dtype[np.int64]], edges: int, trials: int, rng: np.random.Generator, *, loops: bool
) -> tuple[float, float]:
    """Mean homophily over graphs of uniformly drawn pairs, and its standard error."""
    n = len(labels)
    first = rng.integers(0, n, (trials, edges))
    # Skipping the first node makes the second uniform among the others.
    second = rng.integers(0, n, (trials, edges)) if loops else (first + rng.integers(1, n, (trials, edges))) % n
    ratios = (labels[first] == labels[second]).mean(axis=1)
    return float(ratios.mean()), float(ratios.std() / np.sqrt(trials))
