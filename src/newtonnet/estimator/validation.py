"""Cross-validation of an estimator on the nodes of a graph."""

from __future__ import annotations  # so that help() prints the names of types and not all that they stand for

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from newtonnet.datasets import Split
from newtonnet.graphs import Graph, check_trainable
from newtonnet.training import OnEpoch

from .classifier import NewtonNetClassifier
from .estimator import GraphEstimator
from .folds import deal, node_numbers, strata
from .frames import read_fitted
from .inputs import AUTO, read_labels
from .portfolio import OnTrial
from .scoring import score


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores and predictions of an estimator on held-out nodes.

    Attributes:
        scores: score of each split, shape ``(S,)``.
        seconds: time of each fit, shape ``(S,)``.
        estimators: the fitted estimator of each split.
        test: the held-out nodes of each split.
        probabilities: their predicted probabilities, shape ``(t, C)`` for each split; of numbers as targets their
            predictions, ``(t, 1)``.
    """

    scores: NDArray[np.float64]
    seconds: NDArray[np.float64]
    estimators: Sequence[GraphEstimator]
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
    estimator: GraphEstimator,
    graph: Any,
    splits: int | Iterable[Split | tuple[ArrayLike, ArrayLike]] = 5,
    *,
    y: ArrayLike | None = None,
    stop: Callable[[], bool] | None = None,
    on_epoch: OnEpoch | None = None,
    on_trial: OnTrial | None = None,
) -> CrossValidation:
    """Fit a clone of the estimator on every split and score it on the held-out nodes.

    The estimator may use the validation nodes of a split like its training nodes, because it holds out labels itself.

    Args:
        estimator: the estimator to evaluate; it is not changed.
        graph: anything that its ``fit`` takes.
        splits: number of stratified folds, :class:`~newtonnet.datasets.Split` objects, or pairs of training and test
            nodes, as numbers or masks.
        y: labels, numbers as targets, or the column of two tables that holds them; the graph's own if not given.
        stop: called after every epoch; if it returns True, the splits done so far are returned, at least one.
        on_epoch: called after every epoch, as by the estimator's ``fit``.
        on_trial: called whenever a setting was trained, as by the estimator's ``fit``.

    Returns:
        Scores and predictions.
    """
    numbers = not isinstance(estimator, NewtonNetClassifier)
    graph, y, _ = read_fitted(graph, y, standardise=estimator.standardise == AUTO, numbers=numbers)
    whole, classes = (estimator.read(graph, y), None) if numbers else read_labels(graph, y)
    check_trainable(whole)
    if isinstance(splits, int | np.integer):
        parts = fold_pairs(whole, int(splits))
    elif isinstance(splits, Iterable):
        parts = [_pair(split, whole) for split in splits]
    else:
        raise TypeError(
            "splits must be a number of folds, Split objects or pairs of training and test nodes, got "
            f"{type(splits).__name__}; give the result of its split(nodes, labels)"
        )
    if not parts:
        raise ValueError("splits must be at least one, got none")
    scores, seconds, fitted, held = [], [], [], []
    for train, test in parts:
        labels = np.full(whole.nodes, -1, dtype=np.int64)
        labels[train] = whole.labels[train]
        began = time.monotonic()
        one = clone(estimator).fit(whole.relabelled(labels), stop=stop, on_epoch=on_epoch, on_trial=on_trial)
        if classes is not None:
            one.classes_ = classes
        shares = one.answers(whole)[test]
        fitted.append(one)
        held.append(shares)
        scores.append(score(one.metric, shares, whole.truth[test]))
        seconds.append(time.monotonic() - began)
        if stop is not None and stop():
            break
    tests = [test for _, test in parts[: len(scores)]]
    return CrossValidation(np.array(scores), np.array(seconds), fitted, tests, held)


def fold_pairs(graph: Graph, count: int, *, seed: int = 0) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Training and test nodes of stratified folds; every labelled node is tested once.

    >>> from newtonnet.graphs import from_edges
    >>> pairs = fold_pairs(from_edges([[], []], np.eye(6), labels=[0, 1] * 3), 3)
    >>> sorted(node for _, test in pairs for node in test.tolist())
    [0, 1, 2, 3, 4, 5]
    """
    nodes = graph.labelled
    if not 2 <= count <= len(nodes):
        raise ValueError(f"folds must be between 2 and the {len(nodes)} labelled nodes, got {count}")
    places = deal(strata(graph), count, np.random.default_rng(seed))
    return [(nodes[places != fold], nodes[places == fold]) for fold in range(count)]


def _pair(split: Split | tuple[ArrayLike, ArrayLike], graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Training and test nodes of a split; an error if the estimator cannot be scored on them."""
    given = (np.concatenate([split.train, split.validation]), split.test) if isinstance(split, Split) else split
    train, test = (node_numbers(part, graph) for part in given)
    if not len(train) or not len(test):
        raise ValueError(f"a split needs training and test nodes, got {len(train)} and {len(test)}")
    both = np.intersect1d(train, test)
    if len(both):
        raise ValueError(f"training and test nodes overlap: node {both[0]} is in both ({len(both)} such nodes)")
    unknown = test[graph.labels[test] < 0]
    if len(unknown):
        raise ValueError(f"node {unknown[0]} is a test node, but its label is unknown; test labelled nodes only")
    return train, test
