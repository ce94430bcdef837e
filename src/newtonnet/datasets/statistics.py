"""Statistics of a graph, and its line in a list of data sets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from newtonnet.graphs import Graph, Homophily, homophily, isolated_nodes

from .entries import DatasetEntry


@dataclass(frozen=True)
class Statistics:
    r"""Counts, balance, homophily and structure of one graph.

    Attributes:
        class_counts: labelled nodes of each class.
        homophily: all four measures, over edges with two labelled ends.
        uniform_pivot: 1/C, the homophily that the paper compares with.
        adjusted_pivot: homophily expected by chance given the degrees of the classes, ``homophily.chance``.
        components: connected components; ``largest`` is the number of nodes of the largest.
        isolated: number of nodes without any edge.
        degrees: how many nodes have a degree from ``low`` to ``high``, as ``(low, high, count)``.
        density: share of non-zero features.
        featureless: number of nodes without any non-zero feature.
    """

    nodes: int
    edges: int
    features: int
    classes: int
    labelled: int
    class_names: tuple[str, ...]
    class_counts: tuple[int, ...]
    homophily: Homophily
    uniform_pivot: float
    adjusted_pivot: float
    components: int
    largest: int
    isolated: int
    mean_degree: float
    largest_degree: int
    degrees: tuple[tuple[int, int, int], ...]
    density: float
    featureless: int


def describe(graph: Graph) -> Statistics:
    """Compute all statistics of a graph; in a directed one every direction counts, and degrees are out-degrees.

    >>> from newtonnet.graphs import from_edges
    >>> describe(from_edges([[0, 1], [1, 2]], np.eye(4), labels=[0, 0, 1, 1])).components
    2
    """
    degree = np.diff(graph.adjacency.indptr)
    agreement = homophily(graph)
    parts, membership = connected_components(graph.adjacency, directed=False)
    x = graph.features
    filled = np.count_nonzero(x, axis=1) if isinstance(x, np.ndarray) else np.diff(x.indptr)
    return Statistics(
        nodes=graph.nodes,
        edges=graph.edges,
        features=int(graph.features.shape[1]),
        classes=graph.classes,
        labelled=len(graph.labelled),
        class_names=graph.class_names,
        class_counts=tuple(np.bincount(graph.labels[graph.labelled], minlength=graph.classes).tolist()),
        homophily=agreement,
        uniform_pivot=1 / graph.classes if graph.classes else float("nan"),
        adjusted_pivot=agreement.chance,
        components=int(parts),
        largest=int(np.bincount(membership).max()),
        isolated=isolated_nodes(graph),
        mean_degree=float(degree.mean()),
        largest_degree=int(degree.max()),
        degrees=_histogram(degree),
        density=float(filled.sum() / (graph.nodes * graph.features.shape[1])),
        featureless=int((filled == 0).sum()),
    )


def _histogram(degree: NDArray[np.integer]) -> tuple[tuple[int, int, int], ...]:
    """Degrees 0, 1, 2-3, 4-7, ...: bins that double."""
    bins = np.frexp(degree.astype(np.float64))[1]
    counts = np.bincount(bins)
    return tuple(
        (2 ** (b - 1) if b else 0, 2**b - 1 if b else 0, int(count)) for b, count in enumerate(counts.tolist())
    )


@dataclass(frozen=True)
class DatasetSummary:
    """The line of one data set in a list; numbers are None where it is not available."""

    name: str
    available: bool
    nodes: int | None
    edges: int | None
    features: int | None
    classes: int | None
    homophily: float | None
    metric: str


def absent(entry: DatasetEntry) -> DatasetSummary:
    """The summary of a data set whose files are missing or cannot be read."""
    return DatasetSummary(entry.name, False, None, None, None, None, None, entry.metric)


def measure(entry: DatasetEntry, graph: Graph) -> DatasetSummary:
    """The summary of a loaded graph."""
    features, share = int(graph.features.shape[1]), round(homophily(graph).edge, 4)
    return DatasetSummary(entry.name, True, graph.nodes, graph.edges, features, graph.classes, share, entry.metric)
