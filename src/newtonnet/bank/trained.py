"""What training on a filter bank gives, its scores, and the bank's columns again at prediction."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.kernels import use_threads
from newtonnet.metrics import number_score
from newtonnet.training import check_splits, roc_auc

from .features import (
    BankColumn,
    BankLayout,
    Block,
    Shown,
    Surroundings,
    feature_basis,
    feature_columns,
    label_columns,
    leading_eigenvectors,
    surroundings,
)

Stop = Callable[[], bool] | None
Probabilities = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TrainedBank:
    """A model on a filter bank, as plain data.

    Attributes:
        state: everything that prediction needs beside the options and a graph, by name.
        validation: scores on the validation nodes: ``accuracy``, and ``roc_auc`` for two classes; of numbers ``r2``.
        held: probabilities of the validation nodes, shape ``(v, C)``; of numbers as targets predictions, ``(v, 1)``.
        left_out: probabilities of the training nodes, each predicted without its own label, shape ``(t, C)``; None
            where the method gives none.
        seconds: time of training.
        ended: whether it was not stopped before its end.
        paused: what a training that was stopped can go on from, with the same graph, split and options.
    """

    state: Mapping[str, Tensor]
    validation: Mapping[str, float]
    held: Probabilities
    left_out: Probabilities | None
    seconds: float
    ended: bool = True
    paused: Any = None


@dataclass(frozen=True, eq=False)
class Bank:
    """The columns of a graph with the labels that are shown.

    Attributes:
        values: shape ``(n, m)``.
        columns: what each of them is.
        state: what the same columns of another graph need.
        around: what they were made with.
    """

    values: Block
    columns: tuple[BankColumn, ...]
    state: dict[str, Tensor]
    around: Surroundings


def training_bank(graph: Graph, split: Split, layout: BankLayout, eigenvectors: Tensor | None = None) -> Bank:
    """The columns to train on, with the labels of the training nodes; eigenvectors are computed if none are given."""
    check_splits(graph, [split], "accuracy")
    around = _around(graph, layout)
    shown = np.full_like(graph.truth, -1 if graph.targets is None else np.nan)
    shown[split.train] = graph.truth[split.train]
    basis = feature_basis(graph.features, layout.components)
    state = {"sizes": torch.tensor([graph.features.shape[1], graph.classes])}
    if basis is not None:
        state["basis"] = basis
    if layout.eigenvectors:
        if eigenvectors is None:
            eigenvectors = leading_eigenvectors(around, layout.eigenvectors)
        state["eigenvectors"] = eigenvectors.clone()  # tensors of a model file must not share memory
        state["structure"] = _structure(graph)
    return _bank(graph, around, layout, shown, state)


def prediction_bank(state: Mapping[str, Tensor], layout: BankLayout, graph: Graph, shown: Shown) -> Bank:
    """The same columns of a graph to predict; no node sees its own label."""
    features, classes = state["sizes"].tolist()
    if graph.features.shape[1] != features:
        raise ValueError(f"trained with {features} features, but graph {graph.name!r} has {graph.features.shape[1]}")
    kind = np.float64 if classes == 1 else np.int64
    if shown.shape != (graph.nodes,) or shown.dtype != kind:
        expected = f"{np.dtype(kind)} of shape ({graph.nodes},)"
        raise ValueError(f"shown labels must be {expected}, got {shown.dtype} {shown.shape}")
    if kind == np.int64 and shown.max() >= classes:
        raise ValueError(f"shown labels must be -1 or 0..{classes - 1}, got {shown.max()}")
    if "structure" in state and not torch.equal(state["structure"], _structure(graph)):
        raise ValueError(
            f"this model is transductive: it has eigenvectors of its training graph, and {graph.name!r} is another "
            "graph or has its nodes in another order; fit without eigenvectors (transferable=True) to predict on other "
            "graphs"
        )
    return _bank(graph, _around(graph, layout), layout, shown, dict(state))


def graph_eigenvectors(graph: Graph, layout: BankLayout, threads: int | None = None) -> Tensor:
    """The eigenvectors that a layout has of a graph, whatever the split."""
    with limited_threads(threads):
        return leading_eigenvectors(surroundings(graph, 0), layout.eigenvectors)


@contextmanager
def limited_threads(count: int | None) -> Iterator[None]:
    """So many threads for every library that is loaded; None changes nothing."""
    if count is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    with use_threads(count), threadpool_limits(count):
        yield


def _around(graph: Graph, layout: BankLayout) -> Surroundings:
    return surroundings(graph, max(layout.walks, layout.label_hops))


def _structure(graph: Graph) -> Tensor:
    """The hash of the edges as a tensor."""
    return torch.tensor(list(bytes.fromhex(graph.structure)), dtype=torch.uint8)


def _bank(graph: Graph, around: Surroundings, layout: BankLayout, shown: Shown, state: dict[str, Tensor]) -> Bank:
    own, own_columns = feature_columns(graph, around, layout, state.get("basis"), state.get("eigenvectors"))
    labels, label_names = label_columns(around, layout, shown, int(state["sizes"][1]))
    return Bank(np.concatenate([own, labels], axis=1), own_columns + label_names, state, around)


def node_weights(labels: NDArray[np.int64], class_weight: Sequence[float] | None) -> NDArray[np.float64]:
    """How much each node counts by its class, 1 on average, ``(t,)``."""
    if class_weight is None:
        return np.ones(len(labels))
    counts = np.asarray(class_weight, dtype=np.float64)[labels]
    return np.asarray(counts / counts.mean())


def validation_scores(held: Probabilities, truth: Shown) -> dict[str, float]:
    """Accuracy, and for two classes that are both present the ROC-AUC, of probabilities ``(v, C)``; R² of numbers."""
    if truth.dtype == np.float64:
        return {"r2": number_score("r2", held, truth.astype(np.float64))}
    scores = {"accuracy": float((held.argmax(axis=1) == truth).mean())}
    if held.shape[1] == 2 and len(np.unique(truth)) == 2:
        scores["roc_auc"] = roc_auc(torch.from_numpy(held[:, 1].copy()), torch.from_numpy(truth == 1))
    return scores
