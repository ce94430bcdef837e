"""Dropout that depends on seed, epoch and place alone, never on the other members of a population."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet import kernels
from newtonnet.kernels import Mask

LEVELS = 1 << 16
"""What is kept is decided by 16-bit numbers, four to a random word: rates are exact to 1/65536."""

WORD = 2**64 - 1
"""All bits of a random word."""


@dataclass(frozen=True)
class Noise:
    """The dropout of one epoch.

    Attributes:
        run_seed: key of the mask on the input features, which all members of a population share.
        member_seeds: keys of the masks on hidden and propagated signals, one for each member.
        epoch: part of every key.
    """

    run_seed: int
    member_seeds: tuple[int, ...]
    epoch: int

    def drop_shared(self, x: Tensor, rate: float, *, stream: int) -> Tensor:
        """One mask for all members on a block of any shape that has no gradient: 0, or x / (1 - rate)."""
        mask = self.mask((self.run_seed,), rate, stream=stream)
        if is_native(x):
            return kernels.drop_flat(x.contiguous(), mask)
        return _masked(x.reshape(1, 1, -1), mask).view(x.shape)

    def mask(self, seeds: tuple[int, ...], rate: float, *, stream: int) -> Mask:
        """The key, threshold and scale of the mask of each of these seeds."""
        place = (self.epoch << 8) + stream
        keys = tuple(_mixed_word(_mixed_word(seed) + place) for seed in seeds)
        threshold = min(round(rate * LEVELS), LEVELS - 1)
        # Scaled by the exact rate of the 16-bit threshold, so that the expectation is exactly the input.
        return Mask(keys, threshold, LEVELS / (LEVELS - threshold))


def check_rate(rate: float) -> None:
    """Refuse a dropout rate outside [0, 1)."""
    if not 0 <= rate < 1:
        raise ValueError(f"a dropout rate must be at least 0 and below 1, got {rate}")


def drop(x: Tensor, mask: Mask, *, first: int = 0) -> Tensor:
    """Dropout of ``(n, P, d)``, whose top row is at place ``first``; the same by the native kernel and without."""
    return kernels.drop(x.contiguous(), mask, first=first) if is_native(x) else _masked(x, mask, first=first)


def member_mask(rate: float, noise: Noise | None, *, stream: int) -> Mask | None:
    """The masks of each member's own dropout; None in evaluation or at rate 0."""
    return None if noise is None or rate == 0 else noise.mask(noise.member_seeds, rate, stream=stream)


def dropout(x: Tensor, *, rate: float, noise: Noise | None, stream: int, first: int = 0) -> Tensor:
    """Each member's own dropout, with a gradient; the identity in evaluation or at rate 0.

    Args:
        x: activations, ``(n, P, d)``.
        rate: dropout rate, applied where noise is given.
        noise: masks of this epoch; None in evaluation.
        stream: which of the epoch's masks to use.
        first: place of the top row among all rows, where ``x`` is part of a larger block.
    """
    mask = member_mask(rate, noise, stream=stream)
    return x if mask is None else x * drop(torch.ones_like(x), mask, first=first)


def is_native(x: Tensor) -> bool:
    """Whether the native kernels work on this block."""
    return x.device.type == "cpu" and x.dtype in kernels.KINDS and kernels.available()


def _masked(x: Tensor, mask: Mask, *, first: int = 0) -> Tensor:
    """The same without a native kernel: the hash of key and place, number by number."""
    n, population, d = x.shape
    per_row = kernels.words(d)
    places = np.arange(first * per_row + 1, (first + n) * per_row + 1, dtype=np.uint64) * np.uint64(kernels.STEP)
    keep = np.empty((n, population, d), dtype=np.bool_)
    for p, key in enumerate(mask.keys):
        bits = _mixed(places + np.uint64(key)).view(np.uint16).reshape(n, kernels.PER_WORD * per_row)
        keep[:, p] = bits[:, :d] >= mask.threshold
    return x * torch.from_numpy(keep).to(x).mul_(mask.scale)


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser: every bit of the result depends on every bit of the word."""
    for shift, factor in kernels.MIX:
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(kernels.LAST_SHIFT))


def _mixed_word(word: int) -> int:
    """The same for one word, of which the lowest 64 bits count; an array of one would take several times as long."""
    word &= WORD
    for shift, factor in kernels.MIX:
        word = (word ^ (word >> shift)) * factor & WORD
    return word ^ (word >> kernels.LAST_SHIFT)
