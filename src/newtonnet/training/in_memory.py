"""Training on a graph in memory: one batch per epoch, which is the graph; its loss, scores and homophily."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.nn import Inputs, Population

from .loop import Batch, Evaluation, FinalEvaluation
from .shape import adjusted_pivot, predicted_homophily


@dataclass(frozen=True, eq=False)
class Targets:
    """Labels ``(n,)``, 0 where unknown, and which nodes train, validate and test each member, bool, ``(3, n, P)``."""

    labels: Tensor
    masks: Tensor
    classes: int

    @cached_property
    def sizes(self) -> Tensor:
        """Nodes in each part of each member's split, ``(3, P)``."""
        return self.masks.sum(dim=1)

    @cached_property
    def training(self) -> tuple[Tensor, Tensor, Tensor]:
        """Every node that trains a member, m in all: its label and member, and places of its logits, class by class."""
        nodes, members = self.masks[0].nonzero(as_tuple=True)
        first = self.classes * (nodes * self.masks.shape[2] + members)
        places = torch.arange(self.classes, device=first.device)[:, None] + first
        return self.labels[nodes], members, places.flatten()

    def take(self, members: Tensor) -> "Targets":
        """The targets of some of the members."""
        return Targets(self.labels, self.masks[:, :, members], self.classes)


def make_targets(graph: Graph, splits: Sequence[Split], device: torch.device | str = "cpu") -> Targets:
    """Labels and splits as tensors."""
    masks = np.zeros((3, graph.nodes, len(splits)), dtype=np.bool_)
    for p, split in enumerate(splits):
        for i, nodes in enumerate((split.train, split.validation, split.test)):
            masks[i, nodes, p] = True
    labels = torch.from_numpy(np.maximum(graph.labels, 0))
    return Targets(labels.to(device), torch.from_numpy(masks).to(device), graph.classes)


def cross_entropy(logits: Tensor, targets: Targets) -> Tensor:
    """Mean cross entropy of each member over its training nodes, from logits ``(n, P, C)`` to ``(P,)``."""
    labels, members, places = targets.training
    # Classes come first: a handful of them is too few to work along.
    chosen = logits.reshape(-1).index_select(0, places).view(targets.classes, -1)
    each = nn.functional.nll_loss(chosen.log_softmax(dim=0).T, labels, reduction="none")
    if logits.shape[1] == 1:  # the same with fewer steps, which small graphs notice
        return each.mean(dim=0, keepdim=True)
    return each.new_zeros(logits.shape[1]).index_add(0, members, each) / targets.sizes[0]


def evaluate(metric: str, logits: Tensor, targets: Targets) -> Evaluation:
    """Predictions and scores of logits ``(n, P, C)`` by ``accuracy`` or ``roc_auc``."""
    values = logits.detach()
    predicted = values.argmax(dim=2)
    correct = (targets.masks & (predicted == targets.labels[:, None])).sum(dim=1)
    finite = torch.isfinite(values.sum(dim=0)).all(dim=1)  # a sum is not finite where one of its numbers is not
    filled = torch.where(targets.masks[0], targets.labels[:, None], predicted)
    classes = filled.to(torch.int16 if values.shape[2] < 2**15 else torch.int64)
    scores = correct.double() / targets.sizes if metric == "accuracy" else _roc_auc(values, targets)
    return Evaluation(scores, finite, classes, logits if logits.requires_grad else None)


def _roc_auc(logits: Tensor, targets: Targets) -> Tensor:
    margin = logits[..., 1] - logits[..., 0]
    positive = targets.labels == 1
    rows = [[roc_auc(margin[mask, p], positive[mask]) for p, mask in enumerate(part.T)] for part in targets.masks]
    return torch.tensor(rows, dtype=torch.float64)


def roc_auc(margin: Tensor, positive: Tensor) -> float:
    """Chance that a random positive outranks a random negative, ties counted half; NaN without one of either.

    >>> roc_auc(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([False, False, True, True]))
    0.75
    """
    above, below = margin[positive].contiguous(), margin[~positive].sort().values
    if len(above) == 0 or len(below) == 0:
        return float("nan")
    wins = torch.searchsorted(below, above) + torch.searchsorted(below, above, right=True)
    return float(wins.double().mean() / (2 * len(below)))


@dataclass(frozen=True, eq=False)
class GraphSource:
    """The source of batches of a graph in memory; ``pairs`` are the ends of every edge once, int32, ``(2, E)``."""

    inputs: Inputs
    pairs: Tensor
    degrees: Tensor
    targets: Targets
    metric: str

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self.targets.classes

    @property
    def has_edges(self) -> bool:
        """Whether there is a homophily to learn."""
        return self.pairs.shape[1] > 0

    def batches(self, epoch: int) -> Iterable[Batch]:
        """The whole graph, once."""
        return (Batch(self.inputs, epoch),)

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Mean cross entropy of each member over its training nodes."""
        return cross_entropy(logits, self.targets)

    def reduce(self, loss: Tensor, parameters: Sequence[nn.Parameter]) -> Tensor:
        """The loss: there are no other workers."""
        return loss

    def evaluate(self, model: Population, epoch: int) -> Evaluation:
        """Scores of all nodes; a model without dropout keeps its autograd graph for the next epoch."""
        with torch.set_grad_enabled(model.deterministic):
            logits = model(self.inputs)
        return evaluate(self.metric, logits, self.targets)

    def homophily(self, model: Population, evaluation: Evaluation, *, chance: bool) -> tuple[Tensor, Tensor | None]:
        """Predicted homophily of each member, and the one that chance gives."""
        assert evaluation.classes is not None
        expected = adjusted_pivot(self.degrees, evaluation.classes, self.classes) if chance else None
        return predicted_homophily(self.pairs, evaluation.classes), expected

    @torch.no_grad()
    def finish(self, model: Population) -> FinalEvaluation:
        """Scores of all nodes."""
        found = evaluate("accuracy", model(self.inputs), self.targets)
        homophily = self.homophily(model, found, chance=False)[0].cpu().numpy()
        scores = np.full(found.scores.shape, np.nan)  # those of the best epoch stand
        return FinalEvaluation(scores, found.scores[2].cpu().numpy(), homophily)

    def take(self, members: Tensor) -> Self:
        """The source of some of the members."""
        return replace(self, targets=self.targets.take(members))


def graph_source(
    model: Population, graph: Graph, splits: Sequence[Split], metric: str, device: torch.device | str = "cpu"
) -> GraphSource:
    """The source of batches of a graph, for members of these splits."""
    with warnings.catch_warnings():  # the graph's arrays are read-only, and nothing here writes to them
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        pairs = torch.from_numpy(graph.pairs).to(device)
    degrees = torch.bincount(pairs.flatten(), minlength=graph.nodes)
    inputs, targets = model.prepare(graph, device), make_targets(graph, splits, device)
    return GraphSource(inputs, pairs, degrees, targets, metric)
