"""An epoch of the Newton stack and of the same stack in plain torch, and their floating-point operations a second."""

import time
import warnings
from collections.abc import Mapping
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from newtonnet.datasets import make_splits
from newtonnet.graphs import Graph
from newtonnet.kernels import use_threads

from .timing import Clock, Timing, epoch_clock, equal_setting, make_task, ratio, take_turns

SHAPE: Mapping[str, Any] = {"layers": 12, "hidden": 64, "dropout": 0.2, "labels": 0.5, "log_degree": False}
"""Of both stacks; the labels of half of the training nodes are inputs of every step."""


class PlainStack(nn.Module):
    """The stack's layers as torch has them: two linear maps, a sparse product, BatchNorm, ReLU and dropout."""

    def __init__(self, features: int, classes: int, layers: int, hidden: int, dropout: float) -> None:
        super().__init__()
        widths = [features + classes, *[hidden] * layers]
        self.own = nn.ModuleList(nn.Linear(a, hidden, bias=False) for a in widths[:-1])
        self.near = nn.ModuleList(nn.Linear(a, hidden, bias=False) for a in widths[:-1])
        self.norm = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in range(layers))
        self.leave, self.rate = nn.Linear(hidden, classes), dropout

    def forward(self, x: Tensor, operator: Tensor) -> Tensor:
        """Logits of all nodes."""
        for own, near, norm in zip(self.own, self.near, self.norm, strict=True):
            hidden = norm(own(x) + operator @ near(x))
            x = nn.functional.dropout(torch.relu(hidden), self.rate, self.training)
        out: Tensor = self.leave(x)
        return out


def forward_operations(graph: Graph, hidden: int) -> float:
    r"""Floating-point operations of a forward pass at some width, of dense and sparse products alone.

    A layer from d to h columns has :math:`2 n d \cdot 2h + 2 m h` of them for n nodes and m entries of the adjacency.
    """
    n, classes = graph.nodes, graph.classes
    widths = [graph.features.shape[1] + classes, *[hidden] * (SHAPE["layers"] - 1)]
    layers = sum(4 * n * width * hidden + 2 * graph.adjacency.nnz * hidden for width in widths)
    return float(layers + 2 * n * hidden * classes)


def operations(graph: Graph) -> float:
    """Those of an epoch: the backward pass has twice as many as the forward pass, the evaluation as many again."""
    return 4 * forward_operations(graph, SHAPE["hidden"])


def time_stack(graph: Graph, timing: Timing) -> dict[str, float]:
    """Milliseconds and 10⁹ operations per second of both stacks, taking turns, and the ratio of their times."""
    task = make_task(graph, "newton-stack", equal_setting("newton-stack", **SHAPE), threads=timing.threads)
    clocks = {"ours": epoch_clock(task, seconds=timing.seconds, step=2), "plain": _plain_clock(graph, timing)}
    times = take_turns(clocks, timing.rounds)
    ours, plain = (median(times[name]) for name in ("ours", "plain"))
    work = operations(graph) / 1e9
    return {
        "ms": 1e3 * ours,
        "plain_ms": 1e3 * plain,
        "ratio": ratio(times["plain"], times["ours"]),
        "gflops": work / ours,
        "plain_gflops": work / plain,
    }


def _plain_clock(graph: Graph, timing: Timing) -> Clock:
    """A clock of one epoch of the plain stack, a step and an evaluation, after one that is not counted."""
    features = graph.features.toarray() if isinstance(graph.features, sp.csr_array) else graph.features
    own, labels = torch.tensor(np.asarray(features)), torch.tensor(graph.labels)
    train = torch.from_numpy(make_splits(graph, count=1)[0].train)
    degree = np.maximum(np.diff(graph.adjacency.indptr), 1)
    scale = sp.diags_array(degree**-0.5)
    matrix = sp.csr_array(scale @ (graph.adjacency != 0).astype(np.float32) @ scale)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse")
        rows, columns = (torch.from_numpy(part.astype(np.int32)) for part in (matrix.indptr, matrix.indices))
        values = torch.from_numpy(matrix.data.astype(np.float32))
        operator = torch.sparse_csr_tensor(rows, columns, values, size=(graph.nodes,) * 2)
    torch.manual_seed(0)
    model = PlainStack(own.shape[1], graph.classes, SHAPE["layers"], SHAPE["hidden"], SHAPE["dropout"])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def shown(nodes: Tensor) -> Tensor:
        known = torch.zeros(graph.nodes, graph.classes)
        known[nodes, labels[nodes]] = 1
        return torch.cat([own, known], dim=1)

    def epoch() -> None:
        mixed = train[torch.randperm(len(train))]
        half = round(SHAPE["labels"] * len(train))
        model.train()
        optimizer.zero_grad()
        logits = model(shown(mixed[:half]), operator)
        nn.functional.cross_entropy(logits[mixed[half:]], labels[mixed[half:]]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        model.eval()
        with torch.no_grad():
            model(shown(train), operator)

    def timed(count: int) -> float:
        began = time.perf_counter()
        with use_threads(timing.threads):
            for _ in range(count):
                epoch()
        return (time.perf_counter() - began) / count

    count = max(round(timing.seconds / max(timed(1), timed(1))), 2)
    return lambda: timed(count)
