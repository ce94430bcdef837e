"""Theorem 2: which of two filters pulls classes further apart, over all pairs of nodes."""

from collections import Counter
from typing import Any

import numpy as np

from newtonnet.datasets import csbm

from .pairs import Array, Eigenspaces, affine_pair, eigenspaces, integer_pairs, random_pair, step_pair, tidy
from .samples import Sample, edge_list, halves, random_sample, regular_sample, small_graphs


def class_energies(sample: Sample, spaces: Eigenspaces) -> Array:
    r"""Energy of the centred class indicators in each eigenspace of D - A.

    .. math:: p_i = \|U_i^\top Y\|^2, \qquad Y_{sc} = [y_s = c] - \frac1C
    """
    indicators = np.eye(sample.classes)[sample.labels] - 1 / sample.classes
    return spaces.energies(indicators)


def separation_gap(g1: Array, g2: Array, energies: Array, sample: Sample) -> float:
    r"""What the theorem compares, exactly, for a white signal and balanced classes.

    .. math:: E[\Delta\bar d^{(1)}] - E[\Delta\bar d^{(2)}]
              = \frac{2C^2}{N^2 (C - 1)} \sum_i \left(g_1(\lambda_i)^2 - g_2(\lambda_i)^2\right) p_i
    """
    n, c = len(sample.labels), sample.classes
    return float(2 * c**2 / (n**2 * (c - 1)) * ((g1**2 - g2**2) * energies).sum())


def pairwise_gap(g1: Array, g2: Array, spaces: Eigenspaces, sample: Sample, *, distinct: bool = False) -> float:
    """The same by summing over every pair of nodes: the oracle of :func:`separation_gap`.

    Args:
        g1: amplitudes of the first filter.
        g2: amplitudes of the second.
        spaces: of the Laplacian.
        sample: the graph.
        distinct: leave a node's pair with itself out of the average, which the paper counts as intra-class.
    """
    matrix = spaces.matrix(g1**2 - g2**2)
    distance = np.diag(matrix)[:, None] + np.diag(matrix) - 2 * matrix
    same = sample.labels[:, None] == sample.labels
    inside = same.sum() - (len(same) if distinct else 0)
    return float(distance[~same].sum() / (~same).sum() - distance[same].sum() / inside)


def contradicts(gap: float, homophily: float, pivot: float) -> bool:
    """Whether the sign of the gap is not the one that the theorem gives for this homophily."""
    return bool(gap * (pivot - homophily) <= 0)


def check_theorem2(*, trials: int = 400, seed: int = 0) -> dict[str, Any]:
    """Random balanced graphs and three kinds of filters: how many trials contradict the theorem, and by how much h."""
    rng = np.random.default_rng(seed)
    violations, done = Counter[str](), 0
    worst = 0.0
    while done < trials:
        sample = random_sample(rng)
        h, pivot = sample.homophily, 1 / sample.classes
        size = len(sample.labels) / sample.classes
        chance = (size - 1) / (len(sample.labels) - 1)
        if min(abs(h - pivot), abs(h - chance)) < 1e-9:
            continue
        done += 1
        spaces = eigenspaces(sample.plain)
        energies = class_energies(sample, spaces)
        affine, step = affine_pair(spaces), step_pair(spaces, rng)
        crossing = random_pair(spaces, rng)
        agreeing = random_pair(spaces, rng, agree_at_zero=True)
        worst = max(worst, abs(separation_gap(*crossing, energies, sample) - pairwise_gap(*crossing, spaces, sample)))
        violations["distinct"] += contradicts(pairwise_gap(*affine, spaces, sample, distinct=True), h, chance)
        for name, pair in (("affine", affine), ("step", step), ("crossing", crossing), ("agreeing", agreeing)):
            violations[name] += contradicts(separation_gap(*pair, energies, sample), h, pivot)
    names = ("affine", "distinct", "step", "crossing", "agreeing")
    return {
        "trials": trials,
        "violations": {name: violations[name] for name in names},
        "identity_error": worst,
        "factors": _factors(rng),
        "example": smallest_example(),
    }


def check_by_homophily(*, graphs: int = 10, pairs: int = 20, nodes: int = 120, seed: int = 0) -> dict[str, Any]:
    """CSBM graphs from heterophilous to homophilous: share of contradictions, and the classes' mean frequency."""
    rng = np.random.default_rng(seed)
    asked = [round(0.05 * i, 2) for i in range(21)]
    shares: dict[str, list[float]] = {"affine": [], "step": [], "crossing": []}
    ratio, measured, trials = [], [], 0
    for h in asked:
        wrong, ratios, ratios_h, tried_here = Counter[str](), [], [], 0
        for _ in range(graphs):
            drawn = csbm(h, nodes=nodes, features=1, degree=6.0, seed=int(rng.integers(2**31)))
            sample = Sample(drawn.adjacency.toarray().astype(np.float64), np.array(drawn.labels))
            spaces = eigenspaces(sample.plain)
            energies = class_energies(sample, spaces)
            mean = (spaces.counts * spaces.frequencies).sum() / nodes
            ratios.append((spaces.frequencies * energies).sum() / energies.sum() / mean)
            ratios_h.append(sample.homophily)
            if abs(sample.homophily - 0.5) < 1e-9:
                continue
            tried_here += pairs
            for _ in range(pairs):
                tried = {
                    "affine": affine_pair(spaces),
                    "step": step_pair(spaces, rng),
                    "crossing": random_pair(spaces, rng),
                }
                for name, pair in tried.items():
                    wrong[name] += contradicts(separation_gap(*pair, energies, sample), sample.homophily, 0.5)
        for name, share in shares.items():
            share.append(wrong[name] / max(tried_here, 1))
        trials += tried_here
        ratio.append(float(np.mean(ratios)))
        measured.append(float(np.mean(ratios_h)))
    return {"homophily": measured, "shares": shares, "ratio": ratio, "trials": trials, "nodes": nodes}


def smallest_example() -> dict[str, Any]:
    """The smallest connected balanced graph with h above 1/C, and whole amplitudes that contradict the theorem."""
    for largest in (1, 2, 3):
        for adjacency in small_graphs(4):
            if len(adjacency) % 2:
                continue
            for labels in halves(len(adjacency)):
                sample = Sample(adjacency, labels)
                if sample.homophily <= 0.5:
                    continue
                spaces = eigenspaces(sample.plain)
                energies = class_energies(sample, spaces)
                for g1, g2 in integer_pairs(spaces, tuple(range(largest + 1))):
                    gap = separation_gap(g1, g2, energies, sample)
                    if gap > 1e-9:
                        return {
                            "nodes": len(labels),
                            "edges": edge_list(adjacency),
                            "labels": labels.tolist(),
                            "homophily": round(sample.homophily, 6),
                            "frequencies": tidy(spaces.frequencies),
                            "counts": spaces.counts.astype(int).tolist(),
                            "energies": tidy(energies),
                            "g1": tidy(g1),
                            "g2": tidy(g2),
                            "gap": round(gap, 6),
                        }
    raise RuntimeError("no counterexample among the small graphs")


def _factors(rng: np.random.Generator) -> dict[str, float]:
    r"""The proof's :math:`\frac{2C}{(C-1)N^2} (1 - Ch) E[\Delta s]` over the exact value, for affine filters."""

    def ratio(sample: Sample) -> float:
        spaces = eigenspaces(sample.plain)
        g1, g2 = affine_pair(spaces)
        n, c = len(sample.labels), sample.classes
        proof = 2 * c / ((c - 1) * n**2) * (1 - c * sample.homophily)
        smoothness = ((g1**2 - g2**2) * spaces.counts * spaces.frequencies).sum()
        return float(proof * smoothness / separation_gap(g1, g2, class_energies(sample, spaces), sample))

    def predicted(sample: Sample) -> float:
        return float(1 + sample.degrees.var() / sample.degrees.mean())

    regular = [sample for sample in (regular_sample(rng) for _ in range(20)) if abs(sample.homophily - 0.5) > 1e-9]
    uneven = [
        sample
        for sample in (random_sample(rng) for _ in range(20))
        if abs(sample.homophily - 1 / sample.classes) > 1e-9
    ]
    return {
        "regular_low": min(map(ratio, regular)),
        "regular_high": max(map(ratio, regular)),
        "uneven_low": min(map(ratio, uneven)),
        "uneven_high": max(map(ratio, uneven)),
        "error": max(abs(ratio(sample) - predicted(sample)) for sample in uneven),
    }
