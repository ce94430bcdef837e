"""Random graphs, and pairs of filters with equal norms that cross once, on which the theorems are tried."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from newtonnet.datasets import csbm

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """A small graph without isolated nodes and with classes of equal size."""

    adjacency: Array
    labels: NDArray[np.int64]

    @property
    def degrees(self) -> Array:
        """Degree of each node."""
        degrees: Array = self.adjacency.sum(axis=1)
        return degrees

    @property
    def plain(self) -> Array:
        """The Laplacian D - A."""
        return np.diag(self.degrees) - self.adjacency

    @property
    def normalised(self) -> Array:
        """The Laplacian I - D^-1/2 A D^-1/2."""
        scale = 1 / np.sqrt(self.degrees)
        return np.eye(len(scale)) - scale[:, None] * self.adjacency * scale

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.labels.max()) + 1

    @property
    def homophily(self) -> float:
        """Share of edges that join equal labels."""
        return self._agreement(self.adjacency)

    @property
    def weighted_homophily(self) -> float:
        r"""The same share where an edge counts :math:`1/\sqrt{d_s d_t}`, as in the normalised adjacency."""
        return self._agreement(np.eye(len(self.labels)) - self.normalised)

    def _agreement(self, weights: Array) -> float:
        same = self.labels[:, None] == self.labels
        return float((weights * same).sum() / weights.sum())


def random_sample(rng: np.random.Generator) -> Sample:
    """A uniform random graph, a block model of 2 to 4 classes, or the library's CSBM, of 12 to 60 nodes."""
    kind, classes = rng.integers(3), int(rng.integers(2, 5))
    size = int(rng.integers(12, 61)) // classes
    if kind == 2:
        graph = csbm(float(rng.uniform(0, 1)), nodes=60, features=1, degree=4.0, seed=int(rng.integers(2**31)))
        adjacency, labels = graph.adjacency.toarray().astype(np.float64), np.array(graph.labels)
    else:
        labels = np.repeat(np.arange(classes), size)
        inside, across = rng.uniform(0.05, 0.6, 2) if kind == 1 else [rng.uniform(0.1, 0.6)] * 2
        chance = np.where(labels[:, None] == labels, inside, across)
        upper = np.triu(rng.uniform(size=chance.shape) < chance, 1)
        adjacency = (upper | upper.T).astype(np.float64)
    for node in np.flatnonzero(adjacency.sum(axis=1) == 0):  # isolated nodes get an edge
        other = (node + 1) % len(adjacency)
        adjacency[node, other] = adjacency[other, node] = 1
    return Sample(adjacency, labels)


def regular_sample(rng: np.random.Generator) -> Sample:
    """A random graph whose nodes all have the same degree, with random classes of equal size."""
    graph = nx.random_regular_graph(int(rng.integers(3, 7)), 24, seed=int(rng.integers(2**31)))
    return Sample(nx.to_numpy_array(graph, nodelist=range(24)), rng.permutation(np.repeat(np.arange(2), 12)))


def small_graphs(most: int) -> Iterator[Array]:
    """Adjacency of every connected graph of 3 to ``most`` (at most 7) nodes, small ones first."""
    for graph in nx.graph_atlas_g():
        if 3 <= len(graph) <= most and nx.is_connected(graph):
            yield nx.to_numpy_array(graph)


def halves(nodes: int) -> Iterator[NDArray[np.int64]]:
    """Every way to give half of the nodes class 0, the first node among them."""
    for chosen in combinations(range(1, nodes), nodes // 2 - 1):
        labels = np.ones(nodes, dtype=np.int64)
        labels[[0, *chosen]] = 0
        yield labels


def edge_list(adjacency: Array) -> list[list[int]]:
    """Each edge once, as a list of pairs of node numbers."""
    ends: list[list[int]] = np.argwhere(np.triu(adjacency)).tolist()
    return ends


@dataclass(frozen=True, eq=False)
class Eigenspaces:
    """Distinct frequencies of a symmetric matrix, on which a filter is a function.

    Attributes:
        frequencies: ascending, ``(r,)``.
        counts: dimension of each eigenspace, ``(r,)``.
        vectors: orthonormal eigenvectors as columns, grouped by eigenspace, ``(n, n)``.
    """

    frequencies: Array
    counts: Array
    vectors: Array

    def sums(self, values: Array) -> Array:
        """Sums over each eigenspace, ``(r,)``, of one number for each eigenvector, ``(n,)``."""
        starts = np.concatenate([[0], np.cumsum(self.counts)[:-1]]).astype(np.int64)
        return np.add.reduceat(values, starts)

    def energies(self, signals: Array) -> Array:
        """Squared length of the signals' part in each eigenspace, ``(n, d)`` to ``(r,)``."""
        return self.sums(((self.vectors.T @ signals) ** 2).sum(axis=1))

    def matrix(self, amplitudes: Array) -> Array:
        """The function of the matrix with these values at its frequencies, ``(n, n)``."""
        return self.vectors * np.repeat(amplitudes, self.counts.astype(np.int64)) @ self.vectors.T


def eigenspaces(matrix: Array) -> Eigenspaces:
    """Frequencies that differ by less than 1e-8 count as one.

    >>> eigenspaces(np.array([[2.0, -1, -1], [-1, 2, -1], [-1, -1, 2]])).counts.tolist()
    [1.0, 2.0]
    """
    values, vectors = np.linalg.eigh(matrix)
    starts = np.flatnonzero(np.diff(values, prepend=-np.inf) > 1e-8)
    counts = np.diff(starts, append=len(values)).astype(np.float64)
    return Eigenspaces(values[starts], counts, vectors)


def crossings(spaces: Eigenspaces) -> list[int]:
    """Numbers of low eigenspaces with 1 < m < n frequencies on the low side, as the theorems require."""
    below = np.cumsum(spaces.counts)
    return [r for r in range(1, len(below)) if 1 < below[r - 1] < below[-1]]


def random_pair(spaces: Eigenspaces, rng: np.random.Generator, *, agree_at_zero: bool = False) -> tuple[Array, Array]:
    """Two filters of at least 0 that cross once and have equal norms, each ``(r,)``; their squares differ at random."""
    places = [r for r in crossings(spaces) if r > 1] if agree_at_zero else crossings(spaces)
    r = int(rng.choice(places))
    shared = rng.uniform(0, 1, len(spaces.counts))
    surplus = np.exp(2 * rng.standard_normal(len(spaces.counts)))
    low = np.arange(len(surplus)) < r
    if agree_at_zero:
        surplus[0] = 0
    for side in (low, ~low):
        surplus[side] /= (spaces.counts * surplus)[side].sum()
    return np.sqrt(shared + np.where(low, 0, surplus)), np.sqrt(shared + np.where(low, surplus, 0))


def step_pair(spaces: Eigenspaces, rng: np.random.Generator) -> tuple[Array, Array]:
    """A high-pass and a low-pass filter of one amplitude on either side of a random frequency."""
    r = int(rng.choice(crossings(spaces)))
    low = np.arange(len(spaces.counts)) < r
    below, above = spaces.counts[low].sum(), spaces.counts[~low].sum()
    return np.sqrt(np.where(low, 0, 1 / above)), np.sqrt(np.where(low, 1 / below, 0))


def affine_pair(spaces: Eigenspaces) -> tuple[Array, Array]:
    r"""Filters with :math:`g_1^2 - g_2^2 = \lambda - \bar\lambda`: they cross at the mean frequency."""
    centred = spaces.frequencies - (spaces.counts * spaces.frequencies).sum() / spaces.counts.sum()
    return np.sqrt(np.maximum(centred, 0)), np.sqrt(np.maximum(-centred, 0))


def signed_pair(spaces: Eigenspaces, rng: np.random.Generator) -> tuple[Array, Array]:
    r"""Filters of either sign that cross once AS NUMBERS and have equal norms.

    With g1 drawn and :math:`g_2 = g_1 - t \delta` on the high side, equal norms are a quadratic equation for t.
    """
    r = int(rng.choice(crossings(spaces)))
    low = np.arange(len(spaces.counts)) < r
    while True:
        gap = rng.uniform(0.1, 1, len(low))
        g1 = rng.uniform(-1, 1, len(low)) - gap / 2
        g2 = np.where(low, g1 + gap, g1)
        constant = (spaces.counts * (g1**2 - g2**2)).sum()
        half = (spaces.counts * g1 * gap)[~low].sum()
        square = (spaces.counts * gap**2)[~low].sum()
        root = half**2 + square * constant
        t = (half + np.sqrt(root)) / square if root >= 0 else -1.0
        if t > 0.01:
            return g1, np.where(low, g2, g1 - t * gap)


def concentrated_pair(spaces: Eigenspaces, low: int, high: int, rest: float) -> tuple[Array, Array]:
    """Filters that differ by much at one low and one high frequency, and by little, ``rest``, at all others."""
    surplus = np.full(len(spaces.counts), rest)
    below = np.arange(len(surplus)) < high
    for side, chosen in ((below, low), (~below, high)):
        others = (spaces.counts * surplus)[side].sum() - spaces.counts[chosen] * rest
        surplus[chosen] = (1 - others) / spaces.counts[chosen]
    return np.sqrt(np.where(below, 0, surplus)), np.sqrt(np.where(below, surplus, 0))


def integer_pairs(spaces: Eigenspaces, values: tuple[int, ...]) -> Iterator[tuple[Array, Array]]:
    """Every admissible pair with integer amplitudes, for the smallest counterexample."""
    choices = np.array(list(product(values, repeat=len(spaces.counts))), dtype=np.float64)
    norms = choices**2 @ spaces.counts
    for r in crossings(spaces):
        for g1, norm in zip(choices, norms, strict=True):
            fits = (norms == norm) & (choices[:, :r] > g1[:r]).all(axis=1) & (choices[:, r:] < g1[r:]).all(axis=1)
            for g2 in choices[fits]:
                yield g1, g2


def tidy(values: Array) -> list[float]:
    """Numbers for a record: six decimals, and no negative zero."""
    rounded: list[float] = (values.round(6) + 0.0).tolist()
    return rounded
