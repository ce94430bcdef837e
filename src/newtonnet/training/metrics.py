"""What a prediction is worth: cross entropy, accuracy and ROC-AUC for every member at once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from newtonnet import kernels
from newtonnet.datasets import Split
from newtonnet.graphs import Graph

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Targets:
    """Labels and, for every member, which nodes train, validate and test.

    Attributes:
        labels: classes with 0 where unknown, ``(n,)``.
        masks: membership, bool, ``(3, n, P)``.
    """

    labels: Tensor
    masks: Tensor

    @cached_property
    def sizes(self) -> Tensor:
        """Nodes in each part of each member's split, ``(3, P)``."""
        return self.masks.sum(dim=1)

    @cached_property
    def bits(self) -> Tensor:
        """One bit for each part that a node belongs to, uint8, ``(n, P)``."""
        weights = torch.tensor([1, 2, 4], dtype=torch.uint8, device=self.masks.device)
        return (self.masks * weights[:, None, None]).sum(dim=0, dtype=torch.uint8)

    @cached_property
    def training(self) -> "Training":
        """The nodes that train, as one list over all members."""
        nodes, members = self.masks[0].nonzero(as_tuple=True)
        return Training(nodes * self.masks.shape[2] + members, self.labels[nodes], members, self.sizes[0])

    def take(self, members: Tensor) -> "Targets":
        """The targets of some of the members."""
        return Targets(self.labels, self.masks[:, :, members])


@dataclass(frozen=True, eq=False)
class Training:
    """The pairs of a node and a member that it trains, m in all.

    Attributes:
        places: their places among all n P pairs, node first, ``(m,)``.
        classes: the nodes' classes, ``(m,)``.
        members: the members, ``(m,)``.
        sizes: how many nodes train each member, ``(P,)``.
    """

    places: Tensor
    classes: Tensor
    members: Tensor
    sizes: Tensor


def make_targets(graph: Graph, splits: list[Split], device: torch.device | str = "cpu") -> Targets:
    """Labels and splits as tensors."""
    masks = np.zeros((3, graph.nodes, len(splits)), dtype=np.bool_)
    for p, split in enumerate(splits):
        for i, part in enumerate(PARTS):
            masks[i, getattr(split, part), p] = True
    labels = torch.from_numpy(np.maximum(graph.labels, 0))
    return Targets(labels.to(device), torch.from_numpy(masks).to(device))


def cross_entropy(logits: Tensor, targets: Targets) -> tuple[Tensor, Tensor]:
    """Mean cross entropy of each member over its training nodes, ``(P,)``, and its slopes at the logits ``(n, P, C)``.

    It is worked out class by class, since a handful of classes is too few to work along.
    """
    training, (n, population, classes) = targets.training, logits.shape
    chosen = logits.reshape(-1, classes).index_select(0, training.places).t().contiguous()
    chosen -= chosen.amax(dim=0)
    own = chosen.gather(0, training.classes[None])[0]
    exponentials = chosen.exp_()
    total = exponentials.sum(dim=0)
    sums = logits.new_zeros(population).index_add_(0, training.members, total.log() - own)
    weights = (logits.new_ones(population) / training.sizes).index_select(0, training.members)
    slopes = exponentials * (weights / total)
    slopes.scatter_add_(0, training.classes[None], -weights[None])
    out = logits.new_zeros(n * population, classes)
    return sums / training.sizes, out.index_copy_(0, training.places, slopes.t()).view(n, population, classes)


@dataclass(frozen=True, eq=False)
class Judgement:
    """What the logits of an epoch say.

    Attributes:
        classes: class of every node, predicted or, where it trains, its label, ``(n, P)``; int16 where that holds them.
        scores: of each member on its train, validation and test nodes, float64, ``(3, P)``; NaN on an empty part.
        accuracies: the same for accuracy, whatever the metric is.
        sound: whether all logits of a member are finite, ``(P,)``.
    """

    classes: Tensor
    scores: Tensor
    accuracies: Tensor
    sound: Tensor


def judge(metric: str, logits: Tensor, targets: Targets) -> Judgement:
    """Predictions and scores of logits ``(n, P, C)`` by ``accuracy`` or ``roc_auc``."""
    small = logits.shape[2] < 2**15
    if small and logits.device.type == "cpu" and logits.dtype in kernels.KINDS and kernels.available():
        classes, right, sound = kernels.count_correct(logits.contiguous(), targets.labels, targets.bits)
    else:
        predicted = logits.argmax(dim=2)
        right = (targets.masks & (predicted == targets.labels[:, None])).sum(dim=1)
        sound = torch.isfinite(logits).all(dim=2).all(dim=0)
        known = torch.where(targets.masks[0], targets.labels[:, None], predicted)
        classes = known.to(torch.int16 if small else torch.int64)
    accuracies = right.double() / targets.sizes
    scores = accuracies if metric == "accuracy" else _roc_auc(logits, targets)
    return Judgement(classes, scores, accuracies, sound)


def _roc_auc(logits: Tensor, targets: Targets) -> Tensor:
    if logits.shape[2] != 2:
        raise ValueError(f"roc_auc is for two classes, got {logits.shape[2]}; use accuracy")
    margin = logits[..., 1] - logits[..., 0]
    positive = targets.labels == 1
    result = torch.empty(3, logits.shape[1], dtype=torch.float64)
    for i in range(3):
        for p in range(logits.shape[1]):
            mask = targets.masks[i, :, p]
            result[i, p] = roc_auc(margin[mask, p], positive[mask])
    return result


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
