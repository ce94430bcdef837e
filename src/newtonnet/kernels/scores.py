"""The loss and the scores of a population's logits, and the edges whose ends have equal classes."""

from collections.abc import Sequence

import torch
from torch import Tensor

from .native import arrays, native
from .threads import threads_for

MOST_CLASSES = 2**8
"""As many as a byte can name."""


def cross_entropy(
    logits: Tensor, labels: Tensor, training: Tensor, weights: Sequence[float] | None, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Mean cross entropy of each member over its training nodes, and the gradient of each from its own logits.

    Args:
        logits: contiguous, ``(n, P, C)``.
        labels: int64, ``(n,)``, each from 0 to C - 1.
        training: which nodes train each member, contiguous, bool, ``(n, P)``.
        weights: of the classes, ``(C,)``.
        smoothing: share of every label that is spread evenly over the classes.

    Returns:
        Shapes ``(P,)`` and ``(n, P, C)``.
    """
    loss, gradient = logits.new_empty(logits.shape[1]), torch.empty_like(logits)
    own = None if weights is None else torch.tensor(weights, dtype=torch.float64)
    blocks = arrays(logits, labels, training, own)
    native().cross_entropy(*blocks, smoothing, *arrays(loss, gradient), threads_for(logits.numel() * 16))
    return loss, gradient


def evaluate(logits: Tensor, labels: Tensor, masks: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Predicted classes, with the labels of training nodes put in; right predictions; whether all logits are finite.

    Args:
        logits: contiguous, ``(n, P, C)``, of at most :data:`MOST_CLASSES` classes.
        labels: int64, ``(n,)``, each from 0 to C - 1.
        masks: which nodes train, validate and test each member, contiguous, bool, ``(3, n, P)``.

    Returns:
        uint8 ``(n, P)``, int64 ``(3, P)`` and bool ``(P,)``.
    """
    n, members, _ = logits.shape
    predicted, counts = torch.empty(n, members, dtype=torch.uint8), torch.empty(4, members, dtype=torch.int64)
    native().evaluate(*arrays(logits, labels, masks, predicted, counts), threads_for(logits.numel() * 8))
    return predicted, counts[:3], counts[3] == 0


def agreeing(pairs: Tensor, classes: Tensor) -> Tensor:
    """Number of edges whose ends have equal classes, int64, ``(P,)``.

    Args:
        pairs: ends of every edge, contiguous, int32, ``(2, E)``.
        classes: contiguous, uint8, ``(n, P)``.
    """
    counts = torch.empty(classes.shape[1], dtype=torch.int64)
    native().agreeing(*arrays(pairs, classes, counts), threads_for(pairs.shape[1] * classes.shape[1]))
    return counts
