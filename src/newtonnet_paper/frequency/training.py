"""Training of all candidate filters on one graph: the same encoder, start and dropout, another fixed filter each."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.datasets import PAPER_SEED, Split
from newtonnet.graphs import Graph
from newtonnet.training import roc_auc

from .bands import apply_filters, projector_stack

TOGETHER = 36
"""Filters that train side by side: their hidden layers at 800 nodes take 7 MB and stay in the cache."""


@dataclass(frozen=True)
class Protocol:
    """How each filter's encoder is trained; the defaults are the released code's, but for the number of epochs."""

    epochs: int = 1200
    every: int = 10
    """Epochs between two evaluations."""
    hidden: int = 64
    learning_rate: float = 0.05
    weight_decay: float = 5e-4
    dropout: float = 0.1
    """On the features, on the hidden layer and on the encoder's output."""


@dataclass(frozen=True, eq=False)
class Scores:
    """ROC-AUC of every filter, each ``(m,)``: where validation was best first, and after the last epoch."""

    test: NDArray[np.float64]
    validation: NDArray[np.float64]
    last: NDArray[np.float64]


def sparse_split(graph: Graph, index: int) -> Split:
    """2.5% of the nodes to train, 2.5% to validate, 95% to test, by a permutation of ``RandomState(33780)``.

    >>> from newtonnet.datasets import csbm
    >>> len(sparse_split(csbm(0.5, nodes=800, features=1), 0).train)
    20
    """
    rng = np.random.RandomState(PAPER_SEED)
    for _ in range(index):
        rng.permutation(graph.nodes)
    nodes = rng.permutation(graph.nodes)
    part = graph.nodes // 40
    split = Split(nodes[:part], nodes[part : 2 * part], nodes[2 * part :], protocol="sparse", index=index)
    for name in ("train", "validation"):
        if len(np.unique(graph.labels[getattr(split, name)])) < 2:
            raise ValueError(f"{graph.nodes} nodes leave one class only to {name} on; use more nodes")
    return split


def train_filters(
    graph: Graph, split: Split, filters: NDArray[np.float64], protocol: Protocol, *, seed: int = 0
) -> Scores:
    r"""Train :math:`Z = g(L) f_\theta(X)` for every filter g and score it by ROC-AUC.

    The loss is the cross entropy of two classes; the released code takes binary cross entropy of each class's own
    sigmoid on one-hot labels. All filters start from the same weights and see the same dropout masks, so that they
    differ in the filter alone; a filter's result does not depend on which others are trained.

    Args:
        graph: a graph of two classes.
        split: its nodes.
        filters: amplitudes of the three bands, ``(m, 3)``.
        protocol: how to train.
        seed: of the start weights and the masks.
    """
    projectors = projector_stack(graph)
    amplitudes = torch.from_numpy(filters).float()
    parts = [
        _train(graph, split, projectors, chunk, protocol, seed=seed) for chunk in torch.split(amplitudes, TOGETHER)
    ]
    test, validation, last = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return Scores(test, validation, last)


def _train(
    graph: Graph, split: Split, projectors: Tensor, amplitudes: Tensor, protocol: Protocol, *, seed: int
) -> tuple[NDArray[np.float64], ...]:
    """Test, validation and last scores of one chunk of filters."""
    features = torch.from_numpy(np.array(graph.features))
    labels = torch.from_numpy(np.array(graph.labels))
    train, validation, test = (torch.from_numpy(part) for part in (split.train, split.validation, split.test))
    members = len(amplitudes)
    weights = [start.requires_grad_() for start in _start(features.shape[1], members, protocol.hidden, seed)]
    # One rate for all members, so torch's own fused step serves.
    optimiser = torch.optim.Adam(weights, lr=protocol.learning_rate, weight_decay=protocol.weight_decay, fused=True)
    rows = projectors[:, train].contiguous()
    wanted = labels[train][:, None, None].expand(-1, members, 1)
    best, scored, last = (torch.full((members,), -math.inf, dtype=torch.float64) for _ in range(3))
    for epoch in range(1, protocol.epochs + 1):
        # Masks depend on seed and epoch alone: all chunks of filters draw the same.
        noise = torch.Generator().manual_seed((seed << 20) + epoch)
        encoded = _encode(features, weights, protocol, noise)
        logits = torch.log_softmax(apply_filters(rows, amplitudes, encoded), dim=2)
        loss = -logits.gather(2, wanted).mean(dim=0).sum()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if epoch % protocol.every == 0 or epoch == protocol.epochs:
            with torch.no_grad():
                scores = apply_filters(projectors, amplitudes, _encode(features, weights, protocol, None))
            margin = scores[..., 1] - scores[..., 0]
            now, last = (_aucs(margin[part], labels[part] == 1) for part in (validation, test))
            better = now > best
            best, scored = torch.where(better, now, best), torch.where(better, last, scored)
    return scored.numpy(), best.numpy(), last.numpy()


def _encode(features: Tensor, weights: list[Tensor], protocol: Protocol, noise: torch.Generator | None) -> Tensor:
    """Two layers with one dropout mask for all members: ``(n, F)`` to ``(n, P, 2)``."""
    weight1, bias1, weight2, bias2 = weights
    n, (_, members, hidden) = len(features), weight1.shape
    x = _drop(features, protocol.dropout, noise)
    inner = torch.relu(torch.addmm(bias1.view(1, -1), x, weight1.flatten(1)).view(n, members, hidden))
    inner = _drop(inner, protocol.dropout, noise)
    encoded = torch.bmm(inner.transpose(0, 1), weight2).transpose(0, 1) + bias2
    return _drop(encoded, protocol.dropout, noise)


def _drop(x: Tensor, rate: float, noise: torch.Generator | None) -> Tensor:
    """Dropout with one mask for all members of ``(n, P, d)``; the identity in evaluation."""
    if noise is None:
        return x
    shape = x.shape if x.ndim == 2 else (len(x), 1, x.shape[2])
    return x * (torch.rand(shape, generator=noise) >= rate).to(x).div_(1 - rate)


def _start(features: int, members: int, hidden: int, seed: int) -> list[Tensor]:
    """Weights and biases of both layers, uniform within 1/sqrt(fan in), the same for all members."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [((features, 1, hidden), features), ((1, hidden), features), ((1, hidden, 2), hidden), ((1, 2), hidden)]
    drawn = [
        torch.empty(shape).uniform_(-1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in), generator=generator)
        for shape, fan_in in shapes
    ]
    axes = (1, 0, 0, 0)
    return [weight.repeat_interleave(members, dim=axis) for weight, axis in zip(drawn, axes, strict=True)]


def _aucs(margin: Tensor, positive: Tensor) -> Tensor:
    """ROC-AUC of every member, ``(m, P)`` to ``(P,)``."""
    return torch.tensor([roc_auc(column, positive) for column in margin.T], dtype=torch.float64)
