"""Predictions read off logits, and how many of them are right or agree, by kernels made for this machine."""

import torch
from torch import Tensor

from .compiler import agree_kernel, judge_kernel


def judge(logits: Tensor, labels: Tensor, parts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Predictions, and how many of them are right.

    Args:
        logits: contiguous, ``(n, P, C)``.
        labels: int64, ``(n,)``.
        parts: one bit for each of three parts that a node belongs to, uint8, contiguous, ``(n, P)``.

    Returns:
        Classes, int16, ``(n, P)``, labels put in for the first part; right ones in each part, int64, ``(3, P)``;
        whether all logits of a member are finite, ``(P,)``.
    """
    n, population, choices = logits.shape
    classes = torch.empty(n, population, dtype=torch.int16)
    counts = torch.zeros(3, population, dtype=torch.int64)
    sound = torch.ones(population, dtype=torch.bool)
    tensors = (logits, labels, parts, classes, counts, sound)
    judge_kernel(logits.dtype)(*(tensor.data_ptr() for tensor in tensors), n, population, choices)
    return classes, counts, sound


def agreeing(pairs: Tensor, classes: Tensor) -> Tensor:
    """How many pairs ``(2, E)``, int32, have equal classes ``(n, P)``, int16, for each member; both contiguous."""
    counts = torch.zeros(classes.shape[1], dtype=torch.int64)
    addresses = (pairs[0].data_ptr(), pairs[1].data_ptr(), classes.data_ptr(), counts.data_ptr())
    agree_kernel(alone=classes.shape[1] == 1)(*addresses, pairs.shape[1], classes.shape[1])
    return counts
