"""What a model says about some nodes, read in sequential batches: logits, scores and the learned homophily."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.training import predicted_homophily, roc_auc
from newtonnet.training.shape import adjusted_pivot

from .batches import EdgeSample, RowReader, Worker
from .large_graph import LargeGraph
from .model import OutOfCoreNet


@dataclass(frozen=True)
class Score:
    """A part of the nodes: its metric and its accuracy (NaN where it is empty), and whether all logits are finite."""

    value: float
    accuracy: float
    sound: bool


@torch.no_grad()
def sequential_logits(
    model: OutOfCoreNet, rows: RowReader, nodes: NDArray[np.int64], *, batch: int, worker: Worker
) -> Iterator[tuple[slice, Tensor]]:
    """Logits ``(m, C)`` of a worker's share of ascending nodes, with their places among all of them."""
    share = worker.share(len(nodes))
    for start in range(share.start, share.stop, batch):
        place = slice(start, min(start + batch, share.stop))
        yield place, model(rows.read(nodes[place]))[:, 0]


def score(
    model: OutOfCoreNet,
    graph: LargeGraph,
    rows: RowReader,
    nodes: NDArray[np.int64],
    *,
    metric: str,
    batch: int,
    worker: Worker,
) -> Score:
    """Accuracy, and ROC-AUC where that is the metric, over the nodes of all workers."""
    if len(nodes) == 0:
        return Score(float("nan"), float("nan"), True)
    nodes = np.sort(nodes)
    counts = torch.zeros(2, dtype=torch.float64)  # right ones, and numbers that are not finite
    margins = torch.zeros(len(nodes) if metric == "roc_auc" else 0)
    for place, logits in sequential_logits(model, rows, nodes, batch=batch, worker=worker):
        counts[0] += (logits.argmax(dim=1) == known_classes(graph, nodes[place])).sum()
        counts[1] += (~torch.isfinite(logits)).sum()
        if metric == "roc_auc":
            margins[place] = logits[:, 1] - logits[:, 0]
    worker.add(counts)
    accuracy, sound = float(counts[0]) / len(nodes), bool(counts[1] == 0)
    if metric == "accuracy":
        return Score(accuracy, accuracy, sound)
    worker.add(margins)
    return Score(roc_auc(margins, known_classes(graph, nodes) == 1), accuracy, sound)


def estimate_homophily(
    model: OutOfCoreNet, graph: LargeGraph, rows: RowReader, sample: EdgeSample, *, batch: int, worker: Worker
) -> tuple[float, float]:
    """Share of sampled edges whose ends are predicted alike, training labels put in, and what chance would give."""
    classes = torch.zeros(len(sample.nodes), 1, dtype=torch.int64)
    for place, logits in sequential_logits(model, rows, sample.nodes, batch=batch, worker=worker):
        classes[place, 0] = logits.argmax(dim=1)
    worker.add(classes)
    classes = torch.where(sample.known[:, None], known_classes(graph, sample.nodes)[:, None], classes)
    # The ends of random edges are nodes drawn by their degree, so their counts stand for the degrees.
    degrees = torch.bincount(sample.pairs.flatten(), minlength=len(sample.nodes))
    pivot = adjusted_pivot(degrees, classes, graph.classes)
    return float(predicted_homophily(sample.pairs, classes)[0]), float(pivot[0])


def known_classes(graph: LargeGraph, nodes: NDArray[np.int64]) -> Tensor:
    """Labels of some nodes, ``(m,)``."""
    return torch.from_numpy(np.asarray(graph.labels[nodes], dtype=np.int64))
