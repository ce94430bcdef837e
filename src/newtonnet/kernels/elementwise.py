"""Passes over dense blocks: dropout and one step of the optimiser."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from .native import arrays, native
from .threads import threads_for

STEP = 0x9E3779B97F4A7C15
"""The odd number that the words of a key's stream are apart before they are mixed."""

MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""Shifts and multipliers that mix a word; a last shift by 31 follows (SplitMix64: Steele, Lea, Flood, 2014)."""

LAST_SHIFT = 31

PER_WORD = 4
"""Numbers of 16 bits that a word decides on."""


FLAT = 64
"""Numbers in a row of a block that has no shape of its own."""


class Mask(NamedTuple):
    """Dropout of a block ``(n, P, d)``.

    Attributes:
        keys: one key of 64 bits for each member.
        threshold: a number is dropped where its 16 random bits are below it.
        scale: what is kept is multiplied by it.
    """

    keys: tuple[int, ...]
    threshold: int
    scale: float


def words(width: int) -> int:
    """Words that decide on a row of this width; every row starts a new one."""
    return -(-width // PER_WORD)


def drop(x: Tensor, mask: Mask, *, first: int = 0) -> Tensor:
    """Dropout of a contiguous block ``(n, P, d)``, each member by its own key; its top row is at place ``first``."""
    return _drop(x, torch.empty_like(x), mask, first * words(x.shape[2]))


def drop_flat(x: Tensor, mask: Mask) -> Tensor:
    """Dropout of a contiguous block of any shape by the mask's only key, as one long row."""
    out = torch.empty_like(x)
    source, target = x.view(-1), out.view(-1)
    whole = len(source) // FLAT * FLAT
    _drop(source[:whole].view(-1, 1, FLAT), target[:whole].view(-1, 1, FLAT), mask, 0)
    if whole < len(source):  # the stream goes on where the rows end
        _drop(source[whole:].view(1, 1, -1), target[whole:].view(1, 1, -1), mask, words(whole))
    return out


def _drop(x: Tensor, out: Tensor, mask: Mask, word: int) -> Tensor:
    native().drop(*arrays(x, out), mask, word, threads_for(x.numel()))
    return out


BETAS = (0.9, 0.999)
"""Decay rates of Adam's two moments."""

EPSILON = 1e-8
"""What Adam adds to the root of the second moment."""


def adam_step(
    blocks: Sequence[NDArray[Any] | None], gradient: Tensor, *, axis: int, step: int, decoupled: bool
) -> None:
    """Move a parameter and its moments by one step of Adam, every number read and written once.

    Args:
        blocks: :func:`arrays` of the parameter and its first and second moment, which are changed in place, and of the
            learning rate and the weight decay of each member, ``(P,)`` or that with axes of length 1.
        gradient: contiguous, of the parameter's shape.
        axis: the parameter's population axis, of length P.
        step: number of this step, from 1.
        decoupled: shrink the parameter itself by rate times decay, instead of adding the decay to the gradient.
    """
    parameter, *rest = blocks
    native().adam(parameter, *arrays(gradient), *rest, axis, step, decoupled, *BETAS, EPSILON)
