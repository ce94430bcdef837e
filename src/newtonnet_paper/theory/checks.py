"""Lemma 1, Theorem 1 and Theorem 2, each tried on random graphs and searched for its smallest counterexample."""

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.datasets import csbm

from .samples import (
    Array,
    Eigenspaces,
    Sample,
    affine_pair,
    concentrated_pair,
    crossings,
    edge_list,
    eigenspaces,
    halves,
    integer_pairs,
    random_pair,
    random_sample,
    regular_sample,
    signed_pair,
    small_graphs,
    step_pair,
    tidy,
)

TOLERANCE = 1e-10
"""An expectation below this share of its terms counts as not positive."""

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
        measured, error = _random_homophily(labels, edges, trials, rng, loops=False)
        with_loops, loop_error = _random_homophily(labels, edges, trials, rng, loops=True)
        rows.append(
            {
                "nodes": nodes,
                "classes": classes,
                "lemma": 1 / classes,
                "exact": float(chance_homophily([nodes // classes] * classes)),
                "measured": measured,
                "error": error,
                "with_loops": with_loops,
                "loop_error": loop_error,
            }
        )
    sizes = [90, 10]
    measured, error = _random_homophily(np.repeat([0, 1], sizes), 50, trials, rng, loops=False)
    unbalanced = {"sizes": sizes, "exact": float(chance_homophily(sizes)), "measured": measured, "error": error}
    return {"trials": trials, "rows": rows, "unbalanced": unbalanced}


def _random_homophily(
    labels: NDArray[np.int64], edges: int, trials: int, rng: np.random.Generator, *, loops: bool
) -> tuple[float, float]:
    """Mean homophily over graphs of uniformly drawn pairs, and its standard error."""
    n = len(labels)
    first = rng.integers(0, n, (trials, edges))
    # Skipping the first node makes the second uniform among the others.
    second = rng.integers(0, n, (trials, edges)) if loops else (first + rng.integers(1, n, (trials, edges))) % n
    ratios = (labels[first] == labels[second]).mean(axis=1)
    return float(ratios.mean()), float(ratios.std() / np.sqrt(trials))


def edge_energies(spaces: Eigenspaces, roughness: Array) -> Array:
    r"""Expected squared distance of connected nodes that a white signal has in each eigenspace.

    .. math:: s_i = \mathrm{tr}(U_i^\top R U_i), \qquad E[x^\top g(L) R\, g(L) x] = \sum_i g(\lambda_i)^2 s_i

    for :math:`E[x x^\top] = I`, with :math:`R = D - A` for plain distances. If :math:`R = L`, then
    :math:`s_i = \lambda_i` times the eigenspace's dimension. The eigenspaces are those of the filters' Laplacian.
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
        plain = Sample(adjacency, np.zeros(len(adjacency), dtype=np.int64)).plain
        spaces = eigenspaces(plain)
        energies = edge_energies(spaces, plain)
        for pair in integer_pairs(spaces, (-1, 0, 1)):
            gap, violated = expected_gap(*pair, energies)
            if violated and gap < 0:
                return _example(adjacency, spaces, energies, pair, gap)
    raise RuntimeError("no signed counterexample among the small graphs")


def smallest_normalised() -> dict[str, Any]:
    """The smallest graph, and filters of at least 0, that contradict the theorem for the normalised Laplacian.

    Such filters exist exactly where some frequency is rougher, by plain distances, than a higher one.
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
                pair = concentrated_pair(spaces, low, high, rest)
                gap, _ = expected_gap(*pair, energies)
                if gap < 0:
                    return _example(adjacency, spaces, energies, pair, gap)
    raise RuntimeError("no counterexample for the normalised Laplacian among the small graphs")


def _gap_of(signal: Array, g1: Array, g2: Array, spaces: Eigenspaces) -> float:
    """Δs of one signal under the plain Laplacian."""
    return float(((g1**2 - g2**2) * spaces.frequencies * spaces.energies(signal[:, None])).sum())


def _example(
    adjacency: Array, spaces: Eigenspaces, energies: Array, pair: tuple[Array, Array], gap: float, **more: Any
) -> dict[str, Any]:
    arrays = {"energies": energies, "g1": pair[0], "g2": pair[1]}
    return {
        "nodes": len(adjacency),
        "edges": edge_list(adjacency),
        **more,
        "frequencies": tidy(spaces.frequencies),
        "counts": spaces.counts.astype(int).tolist(),
        **{name: tidy(values) for name, values in arrays.items()},
        "gap": round(gap, 6),
    }


def class_energies(sample: Sample, spaces: Eigenspaces) -> Array:
    r"""Energy of the centred class indicators in each eigenspace of a Laplacian.

    .. math:: p_i = \|U_i^\top Y\|^2, \qquad Y_{sc} = [y_s = c] - \frac1C
    """
    indicators = np.eye(sample.classes)[sample.labels] - 1 / sample.classes
    return spaces.energies(indicators)


def separation_gap(g1: Array, g2: Array, energies: Array, sample: Sample) -> float:
    r"""The quantity that the theorem compares, exactly, for a white signal and balanced classes.

    .. math:: E[\Delta\bar d^{(1)}] - E[\Delta\bar d^{(2)}]
              = \frac{2C^2}{N^2 (C - 1)} \sum_i \left(g_1(\lambda_i)^2 - g_2(\lambda_i)^2\right) p_i
    """
    n, c = len(sample.labels), sample.classes
    return float(2 * c**2 / (n**2 * (c - 1)) * ((g1**2 - g2**2) * energies).sum())


def pairwise_gap(g1: Array, g2: Array, spaces: Eigenspaces, sample: Sample, *, distinct: bool = False) -> float:
    """The same as :func:`separation_gap` by summing over all pairs of nodes, or over all ``distinct`` ones."""
    matrix = spaces.matrix(g1**2 - g2**2)
    distance = np.diag(matrix)[:, None] + np.diag(matrix) - 2 * matrix
    same = sample.labels[:, None] == sample.labels
    inside = same.sum() - (len(same) if distinct else 0)
    return float(distance[~same].sum() / (~same).sum() - distance[same].sum() / inside)


def contradicts(gap: float, homophily: float, pivot: float) -> bool:
    """Whether the sign of the gap is not the one that the theorem gives for this homophily."""
    return bool(gap * (pivot - homophily) <= 0)


def check_theorem2(*, trials: int = 400, seed: int = 0) -> dict[str, Any]:
    """Random balanced graphs and several kinds of filters: how many trials contradict the theorem."""
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


def weighted_gap(sample: Sample) -> float:
    r"""The gap of :func:`affine_pair` on the normalised Laplacian by its closed form.

    .. math:: \frac{2C^2}{N^2 (C - 1)} \left(\frac1C - h_w\right) \sum_{s,t} \hat A_{st}, \qquad
              h_w = \frac{\sum_{s,t} \hat A_{st} [y_s = y_t]}{\sum_{s,t} \hat A_{st}}
    """
    n, c = len(sample.labels), sample.classes
    total = n - sample.normalised.sum()
    return float(2 * c**2 / (n**2 * (c - 1)) * total * (1 / c - sample.weighted_homophily))


def check_normalised(*, trials: int = 400, seed: int = 0) -> dict[str, Any]:
    """Affine differences on the normalised Laplacian: the sign by h, and by h with edges weighted by degree."""
    rng = np.random.default_rng(seed)
    wrong, done, between, worst = Counter[str](), 0, 0, 0.0
    while done < trials:
        sample = random_sample(rng)
        pivot = 1 / sample.classes
        ratios = {"plain": sample.homophily, "weighted": sample.weighted_homophily}
        if min(abs(h - pivot) for h in ratios.values()) < 1e-9:
            continue
        done += 1
        spaces = eigenspaces(sample.normalised)
        gap = separation_gap(*affine_pair(spaces), class_energies(sample, spaces), sample)
        worst = max(worst, abs(gap - weighted_gap(sample)))
        between += (ratios["plain"] > pivot) != (ratios["weighted"] > pivot)
        for name, h in ratios.items():
            wrong[name] += contradicts(gap, h, pivot)
    return {
        "trials": trials,
        "violations": {name: wrong[name] for name in ("plain", "weighted")},
        "between": between,
        "identity_error": worst,
        "example": between_example(),
    }


def between_example() -> dict[str, Any]:
    """Four connected nodes of one class, each with a leaf of the other: h = 0.6, and h weighted by degree is 3/7.

    No connected graph of six nodes or fewer with two equal classes has the two on different sides of 1/2.
    """
    adjacency = np.block([[1 - np.eye(4), np.eye(4)], [np.eye(4), np.zeros((4, 4))]])
    sample = Sample(adjacency, np.repeat([0, 1], 4))
    spaces = eigenspaces(sample.normalised)
    energies, pair = class_energies(sample, spaces), affine_pair(spaces)
    facts = {"labels": sample.labels.tolist(), "homophily": sample.homophily}
    return _example(adjacency, spaces, energies, pair, separation_gap(*pair, energies, sample), **facts)


def check_by_homophily(*, graphs: int = 10, pairs: int = 20, nodes: int = 120, seed: int = 0) -> dict[str, Any]:
    """CSBM graphs from heterophilous to homophilous: share of contradictions, and the classes' mean frequency."""
    rng = np.random.default_rng(seed)
    shares: dict[str, list[float]] = {"affine": [], "step": [], "crossing": []}
    ratio, measured, trials = [], [], 0
    for h in (round(0.05 * i, 2) for i in range(21)):
        wrong, ratios, homophilies, tried = Counter[str](), [], [], 0
        for _ in range(graphs):
            drawn = csbm(h, nodes=nodes, features=1, degree=6.0, seed=int(rng.integers(2**31)))
            sample = Sample(drawn.adjacency.toarray().astype(np.float64), np.array(drawn.labels))
            spaces = eigenspaces(sample.plain)
            energies = class_energies(sample, spaces)
            mean = (spaces.counts * spaces.frequencies).sum() / nodes
            ratios.append((spaces.frequencies * energies).sum() / energies.sum() / mean)
            homophilies.append(sample.homophily)
            if abs(sample.homophily - 0.5) < 1e-9:
                continue
            tried += pairs
            for _ in range(pairs):
                drawn_pairs = (affine_pair(spaces), step_pair(spaces, rng), random_pair(spaces, rng))
                for name, pair in zip(shares, drawn_pairs, strict=True):
                    wrong[name] += contradicts(separation_gap(*pair, energies, sample), sample.homophily, 0.5)
        for name, share in shares.items():
            share.append(wrong[name] / max(tried, 1))
        trials += tried
        ratio.append(float(np.mean(ratios)))
        measured.append(float(np.mean(homophilies)))
    return {"homophily": measured, "shares": shares, "ratio": ratio, "trials": trials, "nodes": nodes}


def smallest_example() -> dict[str, Any]:
    """The smallest connected balanced graph with h above 1/C, and integer amplitudes that contradict the theorem."""
    even = [adjacency for adjacency in small_graphs(4) if len(adjacency) % 2 == 0]
    samples = [Sample(adjacency, labels) for adjacency in even for labels in halves(len(adjacency))]
    for largest, sample in product((1, 2, 3), samples):
        if sample.homophily > 0.5:
            spaces = eigenspaces(sample.plain)
            energies = class_energies(sample, spaces)
            for pair in integer_pairs(spaces, tuple(range(largest + 1))):
                gap = separation_gap(*pair, energies, sample)
                if gap > 1e-9:
                    facts = {"labels": sample.labels.tolist(), "homophily": round(sample.homophily, 6)}
                    return _example(sample.adjacency, spaces, energies, pair, gap, **facts)
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

    drawn = {"regular": [regular_sample(rng) for _ in range(20)], "uneven": [random_sample(rng) for _ in range(20)]}
    factors: dict[str, float] = {}
    for name, samples in drawn.items():
        away = [sample for sample in samples if abs(sample.homophily - 1 / sample.classes) > 1e-9]
        ratios = [ratio(sample) for sample in away]
        errors = [abs(r - float(1 + s.degrees.var() / s.degrees.mean())) for r, s in zip(ratios, away, strict=True)]
        factors |= {f"{name}_low": min(ratios), f"{name}_high": max(ratios)}
    return {**factors, "error": max(errors)}
