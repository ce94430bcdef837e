"""Dropout of a block by a kernel made for this machine."""

from ctypes import addressof, c_uint64
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from .compiler import drop_kernel
from .noise_code import PER_WORD, STEP, words
from .threads import WORTH_A_THREAD, in_step, thread_count

FLAT = 64
"""Numbers in a row of a block that has no shape of its own."""


@dataclass(frozen=True)
class Mask:
    """Dropout of a block ``(n, P, d)``: one key for each member, the 16-bit threshold, and what is kept is scaled."""

    keys: tuple[int, ...]
    threshold: int
    scale: float


def drop(x: Tensor, mask: Mask, *, first: int = 0) -> Tensor:
    """Dropout of a contiguous block ``(n, P, d)``, each member by its own key; its top row is at place ``first``."""
    return _drop(x, torch.empty_like(x), mask, first)


def _drop(x: Tensor, out: Tensor, mask: Mask, first: int = 0) -> Tensor:
    n, population, d = x.shape
    moved = STEP * first * words(d)  # a key's stream may start anywhere
    keys = (c_uint64 * population)(*[(key + moved) % 2**64 for key in mask.keys])
    kernel = drop_kernel(d, x.dtype)
    addresses = (x.data_ptr(), out.data_ptr(), addressof(keys), population, mask.threshold, mask.scale)
    threads = thread_count() if x.numel() > WORTH_A_THREAD else 1
    cuts = [n * k // threads for k in range(threads + 1)]
    in_step([partial(kernel, *addresses, lo, hi) for lo, hi in pairwise(cuts)])
    return out


def drop_flat(x: Tensor, mask: Mask) -> Tensor:
    """Dropout of a contiguous block of any shape by the mask's first key, as one long row."""
    if x.numel() == 0:
        return x.clone()
    out = torch.empty_like(x)
    source, target = x.view(-1), out.view(-1)
    whole = len(source) // FLAT * FLAT
    if whole:
        _drop(source[:whole].view(-1, 1, FLAT), target[:whole].view(-1, 1, FLAT), mask)
    if whole < len(source):
        rest = replace(mask, keys=(mask.keys[0] + STEP * (whole // PER_WORD),))  # its stream goes on where the rows end
        _drop(source[whole:].view(1, 1, -1), target[whole:].view(1, 1, -1), rest)
    return out


def signed(key: int) -> int:
    """The signed 64-bit number with the key's bits."""
    return (key + 2**63) % 2**64 - 2**63
