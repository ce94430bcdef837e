"""Which nodes train, validate and test: the protocols, two of which are both called "60/20/20 random splits"."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.graphs import Graph, check_trainable

PAPER_SEED = 33780
"""Seed of the released code: its first ten permutations are the splits of reported results."""


@dataclass(frozen=True, eq=False)
class Split:
    """Node indices for training, validation and test; disjoint, training and validation not empty."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]
    protocol: str = "own"
    index: int = 0

    def __post_init__(self) -> None:
        parts = {part: np.asarray(getattr(self, part)) for part in ("train", "validation", "test")}
        for part, nodes in parts.items():
            object.__setattr__(self, part, nodes)
            if nodes.ndim != 1 or not np.issubdtype(nodes.dtype, np.integer):
                raise ValueError(f"the {part} nodes must be a list of node numbers, got {nodes.dtype} {nodes.shape}")
            if len(nodes) == 0 and part != "test":
                raise ValueError(f"the {part} nodes are empty; every split needs at least one")
            ordered = np.sort(nodes)
            if (ordered[1:] == ordered[:-1]).any():
                raise ValueError(f"the {part} nodes hold a node twice")
        for a, b in combinations(parts, 2):
            both = np.intersect1d(parts[a], parts[b], assume_unique=True)
            if len(both):
                raise ValueError(f"{a} and {b} overlap: node {both[0]} is in both ({len(both)} such nodes)")

    @property
    def checksum(self) -> str:
        """Short hash of the three sets."""
        digest = hashlib.sha256()
        for nodes in (self.train, self.validation, self.test):
            digest.update(np.sort(nodes).astype("<i8").tobytes() + b"|")
        return digest.hexdigest()[:16]


def describe_split(split: Split) -> dict[str, str | int]:
    """The description of a split in records: its origin, checksum and sizes."""
    sizes = {part: len(getattr(split, part)) for part in ("train", "validation", "test")}
    return {"protocol": split.protocol, "index": split.index, "checksum": split.checksum, **sizes}


def check_split(graph: Any, split: Split) -> None:
    """Raise an error if a split names nodes that a graph, in memory or on disk, does not have or has no class of."""
    named = np.concatenate([split.train, split.validation, split.test])
    outside = named[(named < 0) | (named >= graph.nodes)]
    if len(outside):
        raise ValueError(f"the split names node {outside[0]}, but the nodes are 0..{graph.nodes - 1}")
    unknown = named[graph.labels[named] < 0]
    if len(unknown):
        raise ValueError(f"the split names node {unknown[0]}, whose label is unknown; use labelled nodes only")
    known = getattr(graph, "truth", graph.labels)  # a graph on disk has no numbers
    if len(np.unique(known[split.train])) < 2:
        kind = ("class", "classes") if known.dtype == np.int64 else ("number", "numbers")
        raise ValueError(f"split {split.index} trains on one {kind[0]} only; at least 2 {kind[1]} are needed to learn")


def make_splits(graph: Graph, protocol: str = "random", *, count: int = 10, seed: int = PAPER_SEED) -> list[Split]:
    """The first ``count`` splits of a protocol, deterministic by seed.

    ``random`` (P1, the paper's): successive permutations of the labelled nodes by numpy's RandomState(seed);
    floor(0.6 n) train, floor(0.2 n) validate, all the rest test.

    ``per-class`` (P2, of GPRGNN and its successors): round(0.6 n / C) training nodes from every class, or all of a
    smaller one; then round(0.2 n) of the others validate and the rest test.

    ``stratified``: every class is cut by itself, 60% (rounded, at least one node) to train, 20% (rounded) to validate
    and the rest to test.

    ``weak-0.05`` and ``weak-0.1`` to ``weak-0.6`` (weak supervision): the validation and test nodes of ``random``, and
    the first floor(0.05 n) to floor(0.6 n) of its training nodes, so a smaller training set is part of every larger
    one. ``few-5`` and ``few-20``: likewise the first 5 or 20 training nodes of every class.

    Args:
        graph: the graph; only labelled nodes are split.
        protocol: one of the above; results of two protocols are not comparable.
        count: number of splits.
        seed: seed of the permutations.

    Returns:
        The splits.

    >>> from newtonnet.graphs import from_edges
    >>> graph = from_edges([[], []], np.eye(10), labels=[0, 1] * 5)
    >>> split = make_splits(graph, count=1)[0]
    >>> len(split.train), len(split.validation), len(split.test)
    (6, 2, 2)
    """
    if protocol not in PROTOCOLS:
        raise ValueError(
            f"unknown protocol {protocol!r}; available: {', '.join(PROTOCOLS)}, and fixed where splits were published"
        )
    if count < 1:
        raise ValueError(f"at least 1 split is needed, got {count}")
    check_trainable(graph)
    rng = np.random.RandomState(seed)
    splits = []
    for index in range(count):
        train, validation, test = PROTOCOLS[protocol](graph, rng)
        if not (len(train) and len(validation) and len(test)):
            raise ValueError(f"{len(graph.labelled)} labelled nodes are too few for a {protocol} split")
        splits.append(Split(train, validation, test, protocol=protocol, index=index))
    return splits


Parts = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def _random(graph: Graph, rng: np.random.RandomState) -> Parts:
    nodes = rng.permutation(graph.labelled)
    # Whole-number arithmetic: 0.6 * n can fall a hair below an integer that it equals.
    train, validation = 6 * len(nodes) // 10, 2 * len(nodes) // 10
    return nodes[:train], nodes[train : train + validation], nodes[train + validation :]


def _per_class(graph: Graph, rng: np.random.RandomState) -> Parts:
    nodes = rng.permutation(graph.labelled)
    quota, validation = round(0.6 * len(nodes) / graph.classes), round(0.2 * len(nodes))
    train = np.concatenate([nodes[graph.labels[nodes] == c][:quota] for c in range(graph.classes)])
    rest = nodes[~np.isin(nodes, train)]
    return train, rest[:validation], rest[validation:]


def _stratified(graph: Graph, rng: np.random.RandomState) -> Parts:
    nodes = rng.permutation(graph.labelled)
    cuts = []
    for c in range(graph.classes):
        members = nodes[graph.labels[nodes] == c]
        # Whole-number rounding (there are no halves); a class of one node trains.
        train, validation = max((6 * len(members) + 5) // 10, 1), (2 * len(members) + 5) // 10
        cuts.append(np.split(members, [train, train + validation]))
    train_nodes, validation_nodes, test_nodes = (np.concatenate(part) for part in zip(*cuts, strict=True))
    return train_nodes, validation_nodes, test_nodes


def _weak(graph: Graph, rng: np.random.RandomState, *, twentieths: int) -> Parts:
    train, validation, test = _random(graph, rng)
    return train[: twentieths * len(graph.labelled) // 20], validation, test


def _few(graph: Graph, rng: np.random.RandomState, *, count: int) -> Parts:
    train, validation, test = _random(graph, rng)
    chosen = np.concatenate([train[graph.labels[train] == c][:count] for c in range(graph.classes)])
    return chosen, validation, test


PROTOCOLS: dict[str, Callable[[Graph, np.random.RandomState], Parts]] = {
    "random": _random,
    "per-class": _per_class,
    "stratified": _stratified,
    **{f"weak-0.{tenths}": partial(_weak, twentieths=2 * tenths) for tenths in range(1, 7)},
    "weak-0.05": partial(_weak, twentieths=1),
    **{f"few-{count}": partial(_few, count=count) for count in (5, 20)},
}
