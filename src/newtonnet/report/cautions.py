"""What a careful reader should know about a graph before believing anything learned from it, a sentence each."""

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from newtonnet.graphs import Features, Graph, isolated_nodes, known_edges

from .quantities import percent, plural

FEW = 10
"""Labels of a class below which its scores are rough."""
UNBALANCED = 10
"""Times that the largest class has the labels of the smallest, from which on accuracy says little."""
MANY = 0.1
"""Share of the nodes that is worth a word."""
SHOWN = 3
"""Names in a sentence, at most."""
ROWS = 1 << 16
"""Rows of dense features that are looked at together."""


def cautions(graph: Graph, *, left_out: Mapping[str, str] | None = None) -> list[str]:
    """Sentences about the labels, the edges and the features.

    Args:
        graph: the graph with its labels.
        left_out: columns that gave no features, and what they hold: ``one value only``, or none.
    """
    return [*_about_labels(graph), *_about_edges(graph), *_about_features(graph, left_out or {})]


def _about_labels(graph: Graph) -> list[str]:
    counts = np.bincount(graph.labels[graph.labelled], minlength=graph.classes)
    found = []
    single = [name for name, count in zip(graph.class_names, counts, strict=True) if count == 1]
    few = [name for name, count in zip(graph.class_names, counts, strict=True) if 1 < count < FEW]
    if single:
        found.append(f"{_listed(single)} one label only: whether a model recognises it cannot be judged.")
    if few:
        found.append(f"{_listed(few)} fewer than {FEW} labels: scores of such a class are rough.")
    largest, smallest = int(counts.max()), int(counts[counts > 0].min())
    if largest >= UNBALANCED * smallest and largest >= FEW:
        share = percent(largest / counts.sum(), 0)
        found.append(
            f"The classes are very unbalanced: {share} of the labels are {graph.class_names[int(counts.argmax())]!r}, "
            "so look at the recall of each class and not at accuracy alone."
        )
    return found


def _listed(names: Sequence[str]) -> str:
    """Classes as the subject of a sentence, with its verb.

    >>> _listed(["cat"]), _listed(["cat", "dog"]), _listed(list("abcdef"))
    ("Class 'cat' has", "Classes 'cat' and 'dog' have each", "Classes 'a', 'b', 'c' and 3 more have each")
    """
    return f"Class {_joined(names)} has" if len(names) == 1 else f"Classes {_joined(names)} have each"


def _joined(names: Sequence[str]) -> str:
    """Names within a sentence, the first few of them.

    >>> _joined(["cat"]), _joined(["cat", "dog"])
    ("'cat'", "'cat' and 'dog'")
    """
    shown, rest = [repr(name) for name in names[:SHOWN]], len(names) - SHOWN
    last = f"{rest} more" if rest > 0 else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last


def _about_edges(graph: Graph) -> list[str]:
    if graph.edges == 0:
        return ["There are no edges at all: only features can tell the classes apart."]
    found = []
    alone = isolated_nodes(graph)
    if alone >= MANY * graph.nodes:
        found.append(
            f"{plural(alone, 'node')} of {graph.nodes:,} ({percent(alone / graph.nodes, 0)}) have no edge: only their "
            "features say something about them."
        )
    if known_edges(graph) == 0:
        found.append("No edge joins two labelled nodes, so nobody can count how often neighbours agree.")
    return found


def _about_features(graph: Graph, left_out: Mapping[str, str]) -> list[str]:
    found = []
    for held in sorted(set(left_out.values())):
        names = [name for name in left_out if left_out[name] == held]
        subject = f"Column {_joined(names)} holds" if len(names) == 1 else f"Columns {_joined(names)} hold"
        found.append(f"{subject} {held} and gave no feature.")
    repeated = repeats(graph.features)
    if repeated >= MANY * graph.nodes:
        found.append(
            f"{percent(repeated / graph.nodes, 0)} of the nodes have the same features as another one. If they are the "
            "same thing twice, scores on held-out nodes are too good."
        )
    return found


def repeats(features: Features) -> int:
    """Nodes whose row of features was there before, found by two hashes of every row.

    A hash is a sum of the entries' bits times random numbers, in whole numbers that wrap: exact in any order.

    >>> repeats(np.array([[1, 2], [3, 4], [1, 2], [1, 2]], dtype=np.float32))
    2
    """
    factors = np.random.default_rng(0).integers(2**64, size=(features.shape[1], 2), dtype=np.uint64)
    blocks = (features[i : i + ROWS] for i in range(0, features.shape[0], ROWS))
    hashes = np.concatenate([_hashes(block, factors) for block in blocks])
    return len(hashes) - len(np.unique(hashes, axis=0))


def _hashes(rows: Features, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hashes of some rows, one for each column of factors."""
    if not isinstance(rows, sp.csr_array):
        return _bits(rows) @ factors
    totals: NDArray[np.uint64] = np.zeros((rows.nnz + 1, factors.shape[1]), dtype=np.uint64)
    np.cumsum(_bits(rows.data)[:, None] * factors[rows.indices], axis=0, out=totals[1:])
    ends: NDArray[np.int64] = np.asarray(rows.indptr, dtype=np.int64)
    return totals[ends[1:]] - totals[ends[:-1]]


def _bits(values: NDArray[np.float32]) -> NDArray[np.uint64]:
    """The bits of every number, those of -0 as of 0."""
    return (np.asarray(values, dtype=np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)
