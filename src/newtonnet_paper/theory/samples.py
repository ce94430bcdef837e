"""Generated graphs that the theorems are tried on: random, with blocks, the package's own model, and all small ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

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
        same = self.labels[:, None] == self.labels
        return float((self.adjacency * same).sum() / self.adjacency.sum())


def random_sample(rng: np.random.Generator) -> Sample:
    """A uniform random graph, a block model of 2 to 4 classes, or the package's CSBM, of 12 to 60 nodes."""
    while True:
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
        sample = _without_isolated(Sample(adjacency, labels))
        if sample is not None:
            return sample


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


def _without_isolated(sample: Sample) -> Sample | None:
    """The sample with one edge more for every isolated node, or None where it is too small to matter."""
    adjacency = sample.adjacency.copy()
    for node in np.flatnonzero(adjacency.sum(axis=1) == 0):
        other = (node + 1) % len(adjacency)
        adjacency[node, other] = adjacency[other, node] = 1
    return Sample(adjacency, sample.labels) if len(adjacency) >= 8 else None
