"""Cross-validation of an estimator on a graph, which scikit-learn's own cannot cut into rows."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from newtonnet.datasets import Split
from newtonnet.graphs import Graph, check_trainable

from .classifier import NewtonNetClassifier
from .folds import deal
from .labels import read
from .tuning import Tell, judge


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What an estimator reached on nodes that were held out from it.

    Attributes:
        scores: one for each split, shape ``(S,)``.
        seconds: time of each fit, shape ``(S,)``.
        estimators: the fitted estimators, one for each split.
        test: the nodes that each split held out.
        probabilities: theirs, shape ``(t, C)`` for each split.
    """

    scores: NDArray[np.float64]
    seconds: NDArray[np.float64]
    estimators: Sequence[NewtonNetClassifier]
    test: Sequence[NDArray[np.int64]]
    probabilities: Sequence[NDArray[np.float64]]

    @property
    def mean(self) -> float:
        """Mean score over the splits."""
        return float(self.scores.mean())

    @property
    def std(self) -> float:
        """Standard deviation over the splits (ddof 0)."""
        return float(self.scores.std())


def cross_validate(
    estimator: NewtonNetClassifier,
    graph: Any,
    splits: int | Sequence[Split | tuple[ArrayLike, ArrayLike]] = 5,
    *,
    y: ArrayLike | None = None,
    stop: Callable[[], bool] | None = None,
    progress: Callable[[int], Tell] | None = None,
) -> CrossValidation:
    """Fit a clone on every split's labels and score it on the nodes held out.

    A split's validation nodes are known to the estimator like its training nodes: it holds back labels by itself.

    Args:
        estimator: what to judge; it is not changed.
        graph: whatever its ``fit`` takes.
        splits: a number of folds with classes dealt out evenly, :class:`~newtonnet.datasets.Split` objects, or pairs of
            training and test nodes.
        y: labels; the graph's own if not given.
        stop: asked after every epoch; where it says True the splits that are done are returned, at least one.
        progress: from a split's number to what is told how far its fit is.
    """
    whole, _ = read(graph, y)
    check_trainable(whole)
    parts = fold_pairs(whole, splits) if isinstance(splits, int) else [_pair(split) for split in splits]
    scores, seconds, fitted, held = [], [], [], []
    for number, (train, test) in enumerate(parts):
        labels = np.full(whole.nodes, -1, dtype=np.int64)
        labels[train] = whole.labels[train]
        began = time.monotonic()
        one = clone(estimator)
        own = None if progress is None else progress(number)
        one.fit(replace(whole, labels=labels), stop=stop, progress=own)
        shares = one.predict_proba(whole)[test]
        fitted.append(one)
        held.append(shares)
        scores.append(judge(one.metric, shares, whole.labels[test])[0])
        seconds.append(time.monotonic() - began)
        if stop is not None and stop():
            break
    tests = [test for _, test in parts[: len(scores)]]
    return CrossValidation(np.array(scores), np.array(seconds), fitted, tests, held)


def fold_pairs(graph: Graph, count: int, *, seed: int = 0) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Training and test nodes of folds over all labelled nodes; every one of them is tested once.

    >>> from newtonnet.graphs import from_edges
    >>> pairs = fold_pairs(from_edges([[], []], np.eye(6), labels=[0, 1] * 3), 3)
    >>> sorted(node for _, test in pairs for node in test.tolist())
    [0, 1, 2, 3, 4, 5]
    """
    nodes = graph.labelled
    if not 2 <= count <= len(nodes):
        raise ValueError(f"folds must be between 2 and the {len(nodes)} labelled nodes, got {count}")
    places = deal(graph.labels[nodes], count, np.random.default_rng(seed))
    return [(nodes[places != fold], nodes[places == fold]) for fold in range(count)]


def _pair(split: Split | tuple[ArrayLike, ArrayLike]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if isinstance(split, Split):
        return np.concatenate([split.train, split.validation]), split.test
    train, test = (np.asarray(nodes, dtype=np.int64) for nodes in split)
    return train, test
