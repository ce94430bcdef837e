"""Graphs and splits for the tests of the filter bank."""

import numpy as np
import pytest

from newtonnet.datasets import Split
from newtonnet.graphs import from_edges


@pytest.fixture(scope="session")
def make_graph():
    """A random graph whose classes show in features and neighbours; some nodes have no edge, some edges a weight."""

    def make(seed=0, *, nodes=120, classes=3, features=4, edges=400, directed=False, weighted=True):
        rng = np.random.default_rng(seed)
        labels = np.concatenate([np.arange(classes), rng.integers(classes, size=nodes - classes)])
        x = rng.normal(size=(nodes, features)) + labels[:, None]
        pairs = rng.integers(nodes - 5, size=(2, edges))
        pairs = pairs[:, (labels[pairs[0]] == labels[pairs[1]]) | (rng.random(edges) < 0.3)]
        weights = rng.uniform(0.5, 2.0, size=pairs.shape[1]) if weighted else None
        return from_edges(pairs, x, labels=labels, weights=weights, directed=directed, name="random")

    return make


@pytest.fixture(scope="session")
def make_split():
    def make(graph, seed=0):
        nodes = np.random.default_rng(seed).permutation(graph.nodes)
        first = [int(np.flatnonzero(graph.labels == c)[0]) for c in range(graph.classes)]
        nodes = np.concatenate([first, nodes[~np.isin(nodes, first)]])
        half = max(graph.nodes // 2, len(first))
        return Split(nodes[:half], nodes[half : half + graph.nodes // 4], nodes[half + graph.nodes // 4 :])

    return make


@pytest.fixture(scope="session")
def shown_labels():
    """The labels of the training nodes, -1 elsewhere."""

    def show(graph, split):
        shown = np.full(graph.nodes, -1, dtype=np.int64)
        shown[split.train] = graph.labels[split.train]
        return shown

    return show
