"""Predictions read off logits, and how many of them are right or agree, by kernels made for this machine."""

from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from .compiler import agree_kernel, judge_kernel
from .threads import in_step, thread_count, total

WORTH_COUNTING = 100_000
"""Comparisons below which another thread costs more than it brings."""


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
    count, members = pairs.shape[1], classes.shape[1]
    kernel = agree_kernel(alone=members == 1)
    threads = thread_count() if count * members > WORTH_COUNTING else 1
    cuts = [count * k // threads for k in range(threads + 1)]
    counts = torch.zeros(threads, members, dtype=torch.int64)
    ends, known, found = pairs.data_ptr(), classes.data_ptr(), counts.data_ptr()
    in_step(
        [
            partial(kernel, ends + 4 * lo, ends + 4 * (count + lo), known, found + 8 * members * k, hi - lo, members)
            for k, (lo, hi) in enumerate(pairwise(cuts))
        ]
    )
    return total(counts)
