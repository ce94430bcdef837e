"""Which labelled nodes train and which choose: stratified inner folds, or the caller's own validation nodes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from newtonnet.datasets import Split
from newtonnet.graphs import Graph

FEW, MANY = 2_000, 20_000
"""Up to FEW labelled nodes there are five folds by default, from MANY on two."""


def fold_count(graph: Graph) -> int:
    """Default number of folds for the graph's number of labels."""
    labelled = len(graph.labelled)
    return 5 if labelled <= FEW else 3 if labelled <= MANY else 2


def make_folds(graph: Graph, count: int, *, seed: int = 0, every_class: bool = False) -> list[Split]:
    """Stratified folds of the labelled nodes, as splits without test nodes; each fold validates one split.

    A class with a single labelled node is always used for training. There are fewer folds if there are not enough
    labels, and with ``every_class`` no more than the smallest class has labels, so that each validates on all classes.

    >>> from newtonnet.graphs import from_edges
    >>> folds = make_folds(from_edges([[], []], np.eye(10), labels=[0, 1] * 5), 5)
    >>> [len(fold.train) for fold in folds], sorted(np.concatenate([fold.validation for fold in folds]).tolist())
    ([8, 8, 8, 8, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    if count < 2:
        raise ValueError(f"at least 2 folds are needed, got {count}")
    nodes = graph.labelled
    kinds = strata(graph)
    sizes = np.bincount(kinds, minlength=graph.classes)
    if every_class:
        rarest = int(sizes.argmin())
        if sizes[rarest] < 2:
            raise ValueError(
                f"this metric needs two labelled nodes of every class, class {graph.class_names[rarest]!r} has "
                f"{sizes[rarest]}; label more of it, or use accuracy"
            )
        count = min(count, int(sizes[rarest]))
    movable = sizes[kinds] > 1
    if not movable.any():
        raise ValueError("no class has two labelled nodes, so none can be held out for validation; label some more")
    places = deal(kinds, count, np.random.default_rng(seed))
    held = [(places == fold) & movable for fold in range(count)]
    return [Split(nodes[~out], nodes[out], nodes[:0], "inner", fold) for fold, out in enumerate(held) if out.any()]


def own_split(graph: Graph, validation: ArrayLike) -> Split:
    """The caller's validation nodes, as numbers or a mask, beside all other labelled nodes for training."""
    held = np.unique(node_numbers(validation, graph))
    unknown = held[graph.labels[held] < 0]
    if len(unknown):
        raise ValueError(f"node {unknown[0]} is a validation node, but its label is unknown; give labelled nodes")
    train = np.setdiff1d(graph.labelled, held)
    if not len(held) or len(np.unique(graph.truth[train])) < 2:
        what = "classes" if graph.targets is None else "numbers"
        raise ValueError(
            f"validation must leave training nodes of two {what}, got {len(held)} validation and {len(train)} "
            "training nodes"
        )
    return Split(train, held, train[:0], "validation")


def node_numbers(part: ArrayLike, graph: Graph) -> NDArray[np.int64]:
    """Node numbers, from numbers or from a mask over all nodes."""
    nodes = np.asarray(part)
    if nodes.dtype == np.bool_ and nodes.shape == (graph.nodes,):
        nodes = np.flatnonzero(nodes)
    if nodes.ndim != 1 or (len(nodes) and not np.issubdtype(nodes.dtype, np.integer)):
        raise ValueError(f"a split's nodes must be numbers or a mask of {graph.nodes}, got {nodes.dtype} {nodes.shape}")
    outside = nodes[(nodes < 0) | (nodes >= graph.nodes)]
    if len(outside):
        raise ValueError(f"a split names node {outside[0]}, but the nodes are 0..{graph.nodes - 1}")
    return nodes.astype(np.int64)


def strata(graph: Graph) -> NDArray[np.int64]:
    """What folds are balanced by, for each labelled node: its class, or the tenth of all numbers that its own is in."""
    if graph.targets is None:
        return graph.labels[graph.labelled]
    known = graph.targets[graph.labelled]
    tenths = max(1, min(10, len(known) // 2))
    return np.argsort(np.argsort(known, kind="stable"), kind="stable") * tenths // len(known)


def deal(classes: NDArray[np.int64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A fold for each node of these classes, stratified, so that sizes differ by at most one."""
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    places = np.empty(len(classes), dtype=np.int64)
    places[order] = np.arange(len(classes)) % count
    return places
