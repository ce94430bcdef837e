"""Gradient boosting on the filter bank: trained by scikit-learn, kept and predicted as plain arrays."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, softmax
from torch import Tensor

from newtonnet.datasets import Split
from newtonnet.graphs import Graph, row_chunks

from .features import BankLayout, Block, Shown
from .trained import (
    Probabilities,
    Stop,
    TrainedBank,
    limited_threads,
    node_weights,
    prediction_bank,
    training_bank,
    validation_scores,
)

ROUND_WORK = 30_000_000
"""Entries times trees between two looks at the clock, about a second of work."""
LEAST_ROUND, LONGEST_ROUND = 2, 25
"""Iterations between two looks: each round sorts the columns into bins again."""
SMALLEST = 1e-7
"""Probabilities are clipped here where their logarithm is taken."""


@dataclass(frozen=True)
class BoostingOptions:
    """How trees are boosted on a filter bank; for the columns see ``BankLayout``."""

    filter: str = "mean"
    hops: int = 2
    components: int = 64
    walks: int = 2
    structure: bool = True
    label_hops: int = 2
    eigenvectors: int = 0
    learning_rate: float = 0.08
    """Share of each tree's values that is added."""
    max_iterations: int = 500
    """Maximum number of trees for each class."""
    patience: int = 25
    """Stop after this many iterations without a lower loss on the validation nodes."""
    max_leaves: int = 15
    """Leaves of a tree."""
    min_samples_leaf: int | None = None
    """Training nodes in a leaf; None: a fortieth of all, between 2 and 20."""
    max_features: float = 0.3
    """Share of the columns that a split may choose from, drawn anew for each."""
    l2: float = 1.0
    """L2 penalty on the values of leaves."""

    @property
    def layout(self) -> BankLayout:
        """Which columns the bank has."""
        return BankLayout(**{field.name: getattr(self, field.name) for field in fields(BankLayout)})


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees as arrays over all their nodes, one tree after another; a leaf is its own child.

    Attributes:
        column: which column a node compares, int32.
        threshold: a value up to here goes to the left.
        left: child, int32, counted over all trees.
        right: the same.
        missing_left: whether a missing value goes to the left.
        value: of a leaf.
        count: training nodes that reached a node.
        roots: the first node of each tree.
        depth: of the deepest tree.
    """

    column: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    count: NDArray[np.int64]
    roots: NDArray[np.int64]
    depth: NDArray[np.int64]

    def leaf_values(self, values: Block) -> NDArray[np.float64]:
        """What each tree gives each row of columns ``(n, m)``, shape ``(n, trees)``."""
        n, m = values.shape
        flat = np.ascontiguousarray(values).reshape(-1)
        first = np.arange(n, dtype=np.int64)[:, None] * m
        place = np.broadcast_to(self.roots, (n, len(self.roots)))
        holes = bool(np.isnan(flat).any())
        for _ in range(int(self.depth)):
            entry = flat[first + self.column[place]]
            left = entry <= self.threshold[place]
            if holes:
                left |= np.isnan(entry) & self.missing_left[place]
            place = np.where(left, self.left[place], self.right[place])
        return self.value[place]


@dataclass(frozen=True, eq=False)
class PausedBoosting:
    """Boosting that was stopped, to go on from once: only with the same graph, split and options."""

    model: Any
    losses: list[float]
    raw: NDArray[np.float64]
    held: Probabilities


def train_boosting(
    graph: Graph,
    split: Split,
    options: BoostingOptions,
    *,
    seed: int,
    threads: int | None = None,
    stop: Stop = None,
    absolute: bool = False,
    class_weight: Sequence[float] | None = None,
    eigenvectors: Tensor | None = None,
    paused: PausedBoosting | None = None,
) -> TrainedBank:
    """Boost trees on the filter bank until the loss on the validation nodes no longer falls.

    Args:
        graph: the graph; labels of the training and validation nodes are read, no others.
        split: training nodes to train, validation nodes to stop; test nodes are not read.
        options: the bank and the trees.
        seed: of the columns drawn for each split.
        threads: number of threads; None: as many as the libraries choose.
        stop: asked about every second; the best model so far is returned when it says so, after one round at least.
        absolute: of numbers as targets, the absolute instead of the squared error.
        class_weight: how much a node of each class counts in the loss, ``(C,)``; None: all count alike.
        eigenvectors: those of the graph for the options, where they are known.
        paused: an earlier training that was stopped, to go on from as if it had not been.
    """
    started = time.monotonic()
    kind = "classes" if graph.targets is None else "absolute_error" if absolute else "squared_error"
    new = _model(options, len(split.train), seed, kind)  # loads the library whose threads are limited
    model, stopped = new if paused is None else paused.model, False
    with limited_threads(threads):
        bank = training_bank(graph, split, options.layout, eigenvectors)
        truth, held_truth = graph.truth[split.train], graph.truth[split.validation]
        counts, held_counts = (
            node_weights(graph.labels[part], class_weight) for part in (split.train, split.validation)
        )
        rows, held_rows = bank.values[split.train], bank.values[split.validation]
        rows[:, np.isnan(rows).all(axis=0)] = 0  # no tree looks at them; binning refuses columns without any value
        classes = np.unique(graph.labels[split.train])
        outputs = 1 if len(classes) == 2 else len(classes)
        step = int(np.clip(ROUND_WORK // (rows.size * outputs), LEAST_ROUND, LONGEST_ROUND))
        losses: list[float] = []
        raw, held = np.zeros((len(held_rows), outputs)), np.zeros((0, graph.classes))
        if paused is not None:
            losses, raw, held = [*paused.losses], paused.raw, paused.held
        while not stopped and len(losses) < options.max_iterations and len(losses) - _best(losses) < options.patience:
            done = len(losses)
            model.set_params(max_iter=min(done + step, options.max_iterations)).fit(
                rows, truth, sample_weight=None if class_weight is None else counts
            )
            added = make_trees([tree for row in model._predictors[done:] for tree in row])
            for gain in np.split(added.leaf_values(held_rows), len(added.roots) // outputs, axis=1):
                raw = raw + gain
                shares = _spread(model._baseline_prediction + raw, classes, graph.classes)
                losses.append(_loss(shares, held_truth, held_counts, kind))
                held = shares if _best(losses) == len(losses) else held
            stopped = stop is not None and stop()
    trees = make_trees([tree for row in model._predictors[: _best(losses)] for tree in row])
    state = bank.state | {
        "classes": torch.from_numpy(classes),
        "baseline": torch.from_numpy(np.atleast_1d(model._baseline_prediction[0]).astype(np.float64)),
        **{f"trees.{name}": torch.from_numpy(value) for name, value in vars(trees).items()},
    }
    scores, rest = validation_scores(held, held_truth), PausedBoosting(model, losses, raw, held) if stopped else None
    return TrainedBank(state, scores, held, None, time.monotonic() - started, not stopped, rest)


def predict_boosting(
    state: Mapping[str, Tensor], options: BoostingOptions, graph: Graph, shown: Shown
) -> Probabilities:
    """Probabilities of the classes for every node, shape ``(n, C)``, or predicted numbers, ``(n, 1)``."""
    bank = prediction_bank(state, options.layout, graph, shown)
    trees = stored_trees(state)
    baseline, classes = state["baseline"].numpy(), state["classes"].numpy()
    raw = np.empty((graph.nodes, len(baseline)))
    for rows in row_chunks(graph.nodes, 8 * len(trees.roots)):
        leaves = trees.leaf_values(bank.values[rows])
        raw[rows] = baseline + leaves.reshape(len(leaves), -1, len(baseline)).sum(axis=1)
    return _spread(raw, classes, int(state["sizes"][1]))


def stored_trees(state: Mapping[str, Tensor]) -> Trees:
    """The trees of a trained bank."""
    return Trees(**{name.removeprefix("trees."): x.numpy() for name, x in state.items() if name.startswith("trees.")})


def make_trees(predictors: Sequence[Any]) -> Trees:
    """Trees of scikit-learn's gradient boosting as arrays."""
    each = [predictor.nodes for predictor in predictors]
    sizes = np.array([len(nodes) for nodes in each], dtype=np.int64)
    roots = np.cumsum(sizes) - sizes
    nodes = np.concatenate(each)
    leaf = nodes["is_leaf"].astype(bool)
    own, first = np.arange(len(nodes)), np.repeat(roots, sizes)
    return Trees(
        column=np.where(leaf, 0, nodes["feature_idx"]).astype(np.int32),
        threshold=nodes["num_threshold"].astype(np.float64),
        left=np.where(leaf, own, first + nodes["left"]).astype(np.int32),
        right=np.where(leaf, own, first + nodes["right"]).astype(np.int32),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        value=np.where(leaf, nodes["value"], 0.0),
        count=nodes["count"].astype(np.int64),
        roots=roots,
        depth=np.array(nodes["depth"].max(), dtype=np.int64),
    )


def _model(options: BoostingOptions, nodes: int, seed: int, kind: str) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    learner = HistGradientBoostingClassifier if kind == "classes" else partial(HistGradientBoostingRegressor, loss=kind)
    return learner(
        learning_rate=options.learning_rate,
        max_leaf_nodes=options.max_leaves,
        min_samples_leaf=int(np.clip(nodes // 40, 2, 20))
        if options.min_samples_leaf is None
        else options.min_samples_leaf,
        max_features=options.max_features,
        l2_regularization=options.l2,
        early_stopping=False,
        warm_start=True,
        random_state=seed,
    )


def _best(losses: list[float]) -> int:
    """Number of iterations with the lowest loss; the first of equals."""
    return 1 + int(np.argmin(losses)) if losses else 0


def _spread(raw: NDArray[np.float64], classes: NDArray[np.int64], count: int) -> Probabilities:
    """Probabilities ``(n, C)`` of raw predictions for the classes that were trained; the others have 0.

    Of numbers as targets, which have one class, the raw predictions themselves.
    """
    if count == 1:
        return raw
    shares = np.zeros((len(raw), count))
    if raw.shape[1] == 1:
        shares[:, classes[1]] = expit(raw[:, 0])
        shares[:, classes[0]] = 1 - shares[:, classes[1]]
    else:
        shares[:, classes] = softmax(raw, axis=1)
    return shares


def _loss(shares: Probabilities, truth: Shown, counts: NDArray[np.float64], kind: str) -> float:
    if kind != "classes":
        error = np.abs(shares[:, 0] - truth)
        return float((error if kind == "absolute_error" else error**2).mean())
    return -float(np.average(np.log(np.maximum(shares[np.arange(len(truth)), truth], SMALLEST)), weights=counts))
