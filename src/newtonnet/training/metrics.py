"""What a prediction is worth: cross entropy, accuracy and ROC-AUC for every member at once."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

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

    def take(self, members: Tensor) -> "Targets":
        """The targets of some of the members."""
        return Targets(self.labels, self.masks[:, :, members])


def make_targets(graph: Graph, splits: list[Split], device: torch.device | str = "cpu") -> Targets:
    """Labels and splits as tensors."""
    masks = np.zeros((3, graph.nodes, len(splits)), dtype=np.bool_)
    for p, split in enumerate(splits):
        for i, part in enumerate(PARTS):
            masks[i, getattr(split, part), p] = True
    labels = torch.from_numpy(np.maximum(graph.labels, 0))
    return Targets(labels.to(device), torch.from_numpy(masks).to(device))


def cross_entropy(logits: Tensor, targets: Targets, part: int) -> Tensor:
    """Mean cross entropy of each member over one part of its split: ``(n, P, C)`` to ``(P,)``."""
    mask = targets.masks[part]
    chosen = targets.labels[:, None, None].expand(-1, logits.shape[1], 1)
    likelihood = torch.log_softmax(logits, dim=2).gather(2, chosen)[..., 0]
    return -torch.where(mask, likelihood, 0).sum(dim=0) / mask.sum(dim=0)


def predicted_classes(logits: Tensor, targets: Targets) -> Tensor:
    """Each member's class for every node, with its training labels put in: ``(n, P, C)`` to ``(n, P)``, int16."""
    chosen = torch.where(targets.masks[0], targets.labels[:, None], logits.argmax(dim=2))
    return chosen.to(torch.int16 if logits.shape[2] < 2**15 else torch.int64)


def scores(metric: str, logits: Tensor, targets: Targets) -> Tensor:
    """Score of each member on the train, validation and test nodes, float64, ``(3, P)``; NaN on an empty part."""
    return _SCORES[metric](logits, targets)


def _accuracy(logits: Tensor, targets: Targets) -> Tensor:
    right = logits.argmax(dim=2) == targets.labels[:, None]
    return (targets.masks & right).sum(dim=1).double() / targets.masks.sum(dim=1)


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


_SCORES = {"accuracy": _accuracy, "roc_auc": _roc_auc}


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
