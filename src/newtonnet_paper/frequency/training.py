"""The 216 candidate filters, and their training on one graph: the same encoder, start and dropout for each."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from newtonnet.datasets import PAPER_SEED, Split
from newtonnet.graphs import BANDS, Graph, spectrum
from newtonnet.nn import Noise, Population
from newtonnet.training import Batch, Config, Evaluation, FinalEvaluation, Run, roc_auc

AMPLITUDES = (0.0, 0.4, 0.8, 1.2, 1.6, 2.0)
"""The candidate filters have one of these amplitudes in each third of the spectrum."""
TOGETHER = 36
"""Filters that train side by side: their hidden layers at 800 nodes take 7 MB and stay in the cache."""


def candidate_filters() -> NDArray[np.float64]:
    """All combinations of low, middle and high amplitude, shape ``(216, 3)``.

    >>> candidate_filters()[[0, 1, 215]].tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.4], [2.0, 2.0, 2.0]]
    """
    return np.array(list(product(AMPLITUDES, repeat=3)))


def projector_stack(graph: Graph) -> Tensor:
    """Projectors onto the three bands from one eigendecomposition, float32, ``(3, n, n)``."""
    return torch.from_numpy(np.stack(band_projectors(graph))).float()


def band_projectors(graph: Graph) -> tuple[NDArray[np.float64], ...]:
    r"""Orthogonal projectors onto the low, middle and high frequencies, each ``(n, n)``; they sum to the identity.

    A filter with one amplitude per band is :math:`g(L) = g_{low} P_{low} + g_{mid} P_{mid} + g_{high} P_{high}`.
    """
    frequencies, vectors = spectrum(graph)
    # Rounding must not split an eigenspace on the edge of a band (the cube's frequencies are 0, 2/3, 4/3, 2).
    band = np.searchsorted(BANDS, frequencies + 1e-9, side="right")
    low, high = (vectors[:, band == b] @ vectors[:, band == b].T for b in (0, 2))
    return low, np.eye(graph.nodes) - low - high, high


def apply_filters(projectors: Tensor, amplitudes: Tensor, x: Tensor) -> Tensor:
    r"""Each member's own filter on its own signals, at some or all nodes.

    .. math:: Z_p = \sum_b g_{b,p}\, P_b\, X_p

    Args:
        projectors: rows of :math:`P_b`, ``(3, m, n)``: training needs those of the labelled nodes alone.
        amplitudes: :math:`g_{b,p}`, ``(P, 3)``.
        x: signals, ``(n, P, d)``.

    Returns:
        Shape ``(m, P, d)``.
    """
    filtered = (projectors @ x.flatten(1)).view(3, -1, *x.shape[1:])
    return (filtered * amplitudes.T[:, None, :, None]).sum(dim=0)


def importances(scores: NDArray[np.float64], filters: NDArray[np.float64], *, share: float = 0.05) -> Sequence[float]:
    r"""How much of each band the best filters pass.

    .. math:: I^b = \frac{1}{|\mathcal F|} \sum_{i \in \mathcal F} g^i_b

    with :math:`\mathcal F` the best 5% of the filters, 11 of 216. Filters that tie for the last places share them.

    Returns:
        Importance of the low, the middle and the high band.

    >>> importances(np.array([0.9, 0.5, 0.5]), np.array([[2.0, 1, 0], [1, 1, 0], [0, 1, 1]]), share=0.6)
    [1.25, 1.0, 0.25]

    References:
        Xu et al., Shape-aware Graph Spectral Learning, 2024, Eq. (3).
    """
    count = round(share * len(scores))
    last = np.sort(scores)[-count]
    weight = (scores > last).astype(np.float64)
    tied = scores == last
    weight[tied] = (count - weight.sum()) / tied.sum()
    return [float(value) for value in weight @ filters / count]


@dataclass(frozen=True)
class Protocol:
    """How each filter's encoder is trained; the defaults are the released code's, except for the number of epochs."""

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
    return Scores(*(np.concatenate(scores) for scores in zip(*parts, strict=True)))


def _train(
    graph: Graph, split: Split, projectors: Tensor, amplitudes: Tensor, protocol: Protocol, *, seed: int
) -> tuple[NDArray[np.float64], ...]:
    """Test, validation and last scores of one chunk of filters."""
    members = len(amplitudes)
    config = Config(
        seed=seed,
        run_seed=seed,
        learning_rate=protocol.learning_rate,
        weight_decay=protocol.weight_decay,
        max_epochs=protocol.epochs,
        metric="roc_auc",
        history_interval=0,
    )
    model = BandNetworks(amplitudes, graph.features.shape[1], protocol, [seed] * members)
    features, labels = (torch.from_numpy(np.array(array)) for array in (graph.features, graph.labels))
    rows = projectors[:, torch.from_numpy(split.train)].contiguous()
    source = BandSource(features, projectors, rows, labels, split, protocol)
    run = Run(model, source, [config] * members)
    while not run.finished:
        run.step()
    return run.best_scores[2], run.best_scores[1], run.last_scores[2]


class BandNetworks(Population):
    """A two-layer encoder for each filter, all with the same start weights and dropout masks.

    Args:
        amplitudes: of the filters, ``(P, 3)``.
        features: number of features.
        protocol: width and dropout.
        seeds: the same seed for every member.
    """

    weight1: Tensor
    bias1: Tensor
    weight2: Tensor
    bias2: Tensor
    amplitudes: Tensor

    def __init__(self, amplitudes: Tensor, features: int, protocol: Protocol, seeds: Sequence[int]) -> None:
        super().__init__(name="band networks", options={}, seeds=seeds)
        first, second = 1 / math.sqrt(features), 1 / math.sqrt(protocol.hidden)
        self.rate = protocol.dropout
        self.add("weight1", self.draw((features, protocol.hidden), first).transpose(0, 1), axis=1)
        self.add("bias1", self.draw((protocol.hidden,), first), axis=0)
        self.add("weight2", self.draw((protocol.hidden, 2), second), axis=0)
        self.add("bias2", self.draw((2,), second), axis=0)
        self.add("amplitudes", amplitudes, axis=0, learned=False)

    def forward(self, inputs: Any, noise: Noise | None = None) -> Tensor:
        """Logits ``(m, P, 2)`` of some nodes, from all features ``(n, F)`` and the projectors' rows ``(3, m, n)``."""
        features, projectors = inputs
        # Masks depend on seed and epoch alone: all chunks of filters draw the same.
        drawn = None if noise is None else torch.Generator().manual_seed((noise.run_seed << 20) + noise.epoch)
        n, (_, members, hidden) = len(features), self.weight1.shape
        x = _drop(features, self.rate, drawn)
        inner = torch.addmm(self.bias1.view(1, -1), x, self.weight1.flatten(1)).view(n, members, hidden)
        inner = _drop(torch.relu(inner), self.rate, drawn)
        encoded = torch.bmm(inner.transpose(0, 1), self.weight2).transpose(0, 1) + self.bias2
        return apply_filters(projectors, self.amplitudes, _drop(encoded, self.rate, drawn))


@dataclass(frozen=True, eq=False)
class BandSource:
    """The batches of the study: the training nodes of one graph, scored now and then on all others.

    Attributes:
        features: of all nodes, ``(n, F)``.
        projectors: onto the three bands, ``(3, n, n)``.
        rows: the projectors' rows of the training nodes, ``(3, m, n)``.
        labels: of all nodes, 0 or 1, ``(n,)``.
        split: the nodes.
        protocol: how to train.
    """

    features: Tensor
    projectors: Tensor
    rows: Tensor
    labels: Tensor
    split: Split
    protocol: Protocol
    classes: int = 2
    has_edges: bool = False  # no homophily is learned here

    def batches(self, epoch: int) -> Iterable[Batch]:
        """All training nodes, once."""
        return (Batch((self.features, self.rows), epoch),)

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Mean cross entropy of each member."""
        labels = self.labels[self.split.train][:, None, None].expand(-1, logits.shape[1], 1)
        return -logits.log_softmax(dim=2).gather(2, labels).mean(dim=0)[:, 0]

    def reduce(self, loss: Tensor, parameters: Sequence[nn.Parameter]) -> Tensor:
        """The loss: there are no other workers."""
        return loss

    @torch.no_grad()
    def evaluate(self, model: Population, epoch: int) -> Evaluation | None:
        """ROC-AUC on validation and test nodes, every so many epochs and after the last."""
        if epoch % self.protocol.every and epoch != self.protocol.epochs:
            return None
        logits = model((self.features, self.projectors))
        margin, positive = logits[..., 1] - logits[..., 0], self.labels == 1
        validation, test = (_aucs(margin[part], positive[part]) for part in (self.split.validation, self.split.test))
        scores = torch.stack([torch.full_like(test, math.nan), validation, test])
        return Evaluation(scores, torch.isfinite(margin).all(dim=0))

    def homophily(self, model: Population, evaluation: Evaluation, *, chance: bool) -> tuple[Tensor, Tensor | None]:
        """None is learned here."""
        raise NotImplementedError("the frequency study learns no homophily")

    def finish(self, model: Population) -> FinalEvaluation:
        """The scores of the best epoch stand."""
        raise NotImplementedError("the frequency study keeps the scores of the best epoch")

    def take(self, members: Tensor) -> Self:
        """The same for all members."""
        return self


def _drop(x: Tensor, rate: float, noise: torch.Generator | None) -> Tensor:
    """Dropout with one mask for all members of ``(n, P, d)``; the identity in evaluation."""
    if noise is None:
        return x
    shape = x.shape if x.ndim == 2 else (len(x), 1, x.shape[2])
    return x * (torch.rand(shape, generator=noise) >= rate).to(x).div_(1 - rate)


def _aucs(margin: Tensor, positive: Tensor) -> Tensor:
    """ROC-AUC of every member, ``(m, P)`` to ``(P,)``."""
    return torch.tensor([roc_auc(column, positive) for column in margin.T], dtype=torch.float64)
