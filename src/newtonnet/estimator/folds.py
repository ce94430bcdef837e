"""Inner splits: which labelled nodes hold back their label from a member, to judge it by."""

import numpy as np
from numpy.typing import NDArray

from newtonnet.datasets import Split
from newtonnet.graphs import Graph

FEW, MANY = 2_000, 20_000
"""Labelled nodes up to which five folds are worth their time, and from which on two are enough."""


def fold_count(graph: Graph) -> int:
    """Folds that suit this many labels."""
    labelled = len(graph.labelled)
    return 5 if labelled <= FEW else 3 if labelled <= MANY else 2


def make_folds(graph: Graph, count: int, *, seed: int = 0, every_class: bool = False) -> list[Split]:
    """Splits without test nodes in which every class is dealt out over the folds; each fold validates one split.

    A class with one labelled node only always trains: a member that never saw it could not learn it.

    Args:
        graph: the graph; only labelled nodes are split.
        count: folds, at least 2; fewer where there are not enough labels.
        seed: of the shuffling.
        every_class: no more folds than the smallest class has labels, so that each validates on all classes.

    >>> from newtonnet.graphs import from_edges
    >>> folds = make_folds(from_edges([[], []], np.eye(10), labels=[0, 1] * 5), 5)
    >>> [len(fold.train) for fold in folds], sorted(np.concatenate([fold.validation for fold in folds]).tolist())
    ([8, 8, 8, 8, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    if count < 2:
        raise ValueError(f"at least 2 folds are needed, got {count}")
    nodes = graph.labelled
    sizes = np.bincount(graph.labels[nodes], minlength=graph.classes)
    if every_class:
        rarest = int(sizes.argmin())
        if sizes[rarest] < 2:
            raise ValueError(
                f"this metric needs two labelled nodes of every class, class {graph.class_names[rarest]!r} has "
                f"{sizes[rarest]}; label more of it, or use accuracy"
            )
        count = min(count, int(sizes[rarest]))
    movable = sizes[graph.labels[nodes]] > 1
    if not movable.any():
        raise ValueError(
            "no class has two labelled nodes, so none can be held back to judge a model by; label some more"
        )
    places = deal(graph.labels[nodes], count, np.random.default_rng(seed))
    held = [(places == fold) & movable for fold in range(count)]
    none = np.zeros(0, dtype=np.int64)
    return [Split(nodes[~out], nodes[out], none, "inner", fold) for fold, out in enumerate(held) if out.any()]


def deal(classes: NDArray[np.int64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A fold for each node of these classes, dealt out class after class, so that sizes differ by one at most."""
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    places = np.empty(len(classes), dtype=np.int64)
    places[order] = np.arange(len(classes)) % count
    return places
