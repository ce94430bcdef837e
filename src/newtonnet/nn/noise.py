"""Dropout masks that depend on seed, epoch and place alone, never on who trains in the same population."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LEVELS = 1 << 16
"""Masks are cut from 16-bit numbers, four to a random word: rates are exact to 1/65536."""


@dataclass(frozen=True)
class Noise:
    """The dropout masks of one epoch.

    Attributes:
        run_seed: key of the mask on the input features, which all members of a population share.
        member_seeds: keys of the masks on hidden and propagated signals, one for each member.
        epoch: part of every key.
    """

    run_seed: int
    member_seeds: tuple[int, ...]
    epoch: int

    def shared(self, template: Tensor, rate: float, *, stream: int) -> Tensor:
        """One mask for all members, of the template's shape, type and place: 0, or 1 / (1 - rate)."""
        keep = _keep(self.run_seed, self.epoch, stream, template.numel(), rate)
        return _scaled(torch.from_numpy(keep).view(template.shape), template, rate)

    def members(self, template: Tensor, rate: float, *, stream: int) -> Tensor:
        """One mask for each member, in the shape ``(n, P, d)`` of the template."""
        n, population, d = template.shape
        keep = np.empty((n, population, d), dtype=np.bool_)
        for p, seed in enumerate(self.member_seeds):
            keep[:, p] = _keep(seed, self.epoch, stream, n * d, rate).reshape(n, d)
        return _scaled(torch.from_numpy(keep), template, rate)


def check_rate(rate: float) -> None:
    """Refuse a dropout rate outside [0, 1)."""
    if not 0 <= rate < 1:
        raise ValueError(f"a dropout rate must be at least 0 and below 1, got {rate}")


def _threshold(rate: float) -> int:
    return min(round(rate * LEVELS), LEVELS - 1)


def _keep(seed: int, epoch: int, stream: int, count: int, rate: float) -> NDArray[np.bool_]:
    key = np.array([seed % 2**64, (epoch << 8) + stream], dtype=np.uint64)
    words = np.random.Philox(key=key).random_raw(-(-count // 4))
    return words.view(np.uint16)[:count] >= _threshold(rate)


def _scaled(keep: Tensor, template: Tensor, rate: float) -> Tensor:
    # Scaled by the exact rate of the 16-bit threshold, so that the expectation is exactly the input.
    return keep.to(template).mul_(LEVELS / (LEVELS - _threshold(rate)))
