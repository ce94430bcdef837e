"""Products of an encoder, forward and back, by kernels made for this machine."""

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .combine_code import SIDE_BY_SIDE
from .compiler import back_kernel, combine_kernel, product_kernel, product_lanes, thin_kernel, widest
from .dropping import Mask, signed
from .noise_code import PER_WORD, words
from .product_code import AHEAD
from .threads import WORTH_A_THREAD, equal_parts, in_step, thread_count, total

LAST_CACHE = 1 << 24
"""A block above this many bytes is taken not to stay in any cache."""

CORE_CACHE = 1 << 18
"""A block above this many bytes is taken not to stay in a core's own cache."""

STRIP = 1 << 19
"""Bytes of a wide block that every member passes over before the next are begun, so that they come from a cache."""

WORTH_THINNING = 128
"""Columns below which a zero is multiplied faster than it is left out."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where a CSR matrix has entries: row pointers, and column indices with :data:`AHEAD` zeros behind them."""

    rows: Tensor
    columns: Tensor

    @property
    def entries(self) -> int:
        """Number of entries."""
        return len(self.columns) - AHEAD

    @cached_property
    def pointers(self) -> NDArray[np.int32]:
        """The row pointers as an array."""
        return self.rows.numpy()


def make_pattern(matrix: Tensor) -> Pattern:
    """The pattern of a torch CSR matrix on the CPU with int32 indices."""
    columns = torch.cat([matrix.col_indices(), torch.zeros(AHEAD, dtype=torch.int32)])
    return Pattern(matrix.crow_indices().contiguous(), columns)


def multiply(
    pattern: Pattern,
    values: Tensor,
    x: Tensor,
    *,
    order: Tensor | None = None,
    gaps: bool = False,
    bias: Tensor | None = None,
    mask: Mask | None = None,
) -> Tensor:
    """A x, or with a bias drop(max(A x + bias, 0)) in one pass.

    Args:
        pattern: the entries of A, ``(n, m)``.
        values: their values.
        x: contiguous, ``(m, P, d)``.
        order: where among the values each entry's own is, int64; in place if not given.
        gaps: many of the values are 0, so that leaving them out may be worth a pass; the result is the same.
        bias: contiguous, ``(P, d)``.
        mask: dropout of the result, after the bias.

    Returns:
        Shape ``(n, P, d)``.
    """
    population, d = x.shape[1:]
    size, wide, n = x.dtype.itemsize, population * d, len(pattern.rows) - 1
    out = x.new_empty(n, population, d)
    step = widest(x.dtype)
    ahead = x.numel() * size > CORE_CACHE
    tiles = [(p, j, min(step, d - j)) for p in range(population) for j in range(0, d, step)]
    if mask is None and bias is None:  # members need not be told apart
        tiles = [(0, j, min(step, wide - j)) for j in range(0, wide, step)]
    lanes = {product_lanes(width, x.dtype) for *_, width in tiles} if gaps and wide >= WORTH_THINNING else set()
    if len(lanes) == 1:
        pattern, values = thinned(pattern, values, lanes=lanes.pop(), order=order)
    elif order is not None:
        values = values.index_select(0, order)

    matrix = (pattern.rows.data_ptr(), pattern.columns.data_ptr(), values.data_ptr())
    source, target, added = x.data_ptr(), out.data_ptr(), None if bias is None else bias.data_ptr()

    def part(lo: int, hi: int) -> None:
        for p, j, width in tiles:
            kernel = product_kernel(width, x.dtype, ahead=ahead, activate=bias is not None, drop=mask is not None)
            shift = (p * d + j) * size
            kernel(
                *matrix,
                source + shift,
                wide,
                target + shift,
                wide,
                None if added is None else added + shift,
                0 if mask is None else signed(mask.keys[p]),
                words(d),
                j // PER_WORD,
                0 if mask is None else mask.threshold,
                0.0 if mask is None else mask.scale,
                lo,
                hi,
            )

    threads = thread_count() if pattern.entries * wide > WORTH_A_THREAD else 1
    bounds = equal_parts(pattern.pointers, threads)
    in_step([partial(part, lo, hi) for lo, hi in pairwise(bounds)])
    return out


def thinned(pattern: Pattern, values: Tensor, *, lanes: int, order: Tensor | None = None) -> tuple[Pattern, Tensor]:
    """The entries that are not 0, for a product that sums so many side by side; some zeros stay to fill these up."""
    n, entries = len(pattern.rows) - 1, pattern.entries
    rows, columns = torch.empty_like(pattern.rows), torch.empty_like(pattern.columns)
    kept = values.new_empty(entries)
    thin_kernel(lanes, values.dtype, ordered=order is not None)(
        pattern.rows.data_ptr(),
        pattern.columns.data_ptr(),
        values.data_ptr(),
        None if order is None else order.data_ptr(),
        rows.data_ptr(),
        columns.data_ptr(),
        kept.data_ptr(),
        n,
    )
    left = int(rows.numpy()[-1])
    return Pattern(rows, columns[: left + AHEAD]), kept


def back(gradient: Tensor, weight: Tensor, hidden: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """From the slopes of drop(ReLU(z)) W to those of z, of W and of a bias that was added to z.

    Args:
        gradient: slopes of the result, contiguous, ``(n, P, C)``.
        weight: W, ``(P, d, C)``.
        hidden: drop(ReLU(z)), contiguous, ``(n, P, d)``.
        scale: what dropout multiplied the kept ones with.

    Returns:
        Slopes of z ``(n, P, d)``, of W ``(P, d, C)`` and of the bias ``(P, d)``.
    """
    n, population, d = hidden.shape
    classes, size = weight.shape[2], hidden.dtype.itemsize
    turned = weight.transpose(1, 2).contiguous()
    slopes = torch.empty_like(hidden)
    threads = thread_count() if hidden.numel() * classes > WORTH_A_THREAD else 1
    weight_slopes = hidden.new_zeros(threads, population, classes, d)
    bias_slopes = hidden.new_empty(threads, population, d)
    step = widest(hidden.dtype)

    def part(thread: int) -> None:
        lo, hi = n * thread // threads, n * (thread + 1) // threads
        for p in range(population):
            for j in range(0, d, step):
                back_kernel(min(step, d - j), hidden.dtype)(
                    gradient.data_ptr() + p * classes * size,
                    population * classes,
                    turned.data_ptr() + (p * classes * d + j) * size,
                    hidden.data_ptr() + (p * d + j) * size,
                    population * d,
                    slopes.data_ptr() + (p * d + j) * size,
                    weight_slopes.data_ptr() + ((thread * population + p) * classes * d + j) * size,
                    bias_slopes.data_ptr() + ((thread * population + p) * d + j) * size,
                    d,
                    classes,
                    scale,
                    lo,
                    hi,
                )

    in_step([partial(part, thread) for thread in range(threads)])
    return slopes, total(weight_slopes).transpose(1, 2), total(bias_slopes)


def can_combine(weight: Tensor) -> bool:
    """Whether :func:`combine` takes a map ``(P, d, C)`` of this shape."""
    return weight.shape[1] > 0 and weight.shape[1] % SIDE_BY_SIDE == 0 and weight.shape[2] <= widest(weight.dtype)


def combine(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Each member's own linear map to a few columns: ``(n, P, d)``, ``(P, d, C)``, ``(P, C)`` to ``(n, P, C)``."""
    n, population, d = hidden.shape
    classes, size = weight.shape[2], hidden.dtype.itemsize
    out = hidden.new_empty(n, population, classes)
    kernel = combine_kernel(classes, hidden.dtype)
    threads = thread_count() if hidden.numel() * classes > WORTH_A_THREAD else 1

    strip = max(1, STRIP // (population * d * size)) if hidden.numel() * size > LAST_CACHE else n

    def part(thread: int) -> None:
        lo, hi = n * thread // threads, n * (thread + 1) // threads
        for first in range(lo, hi, strip):
            for p in range(population):
                kernel(
                    hidden.data_ptr() + p * d * size,
                    population * d,
                    weight.data_ptr() + p * d * classes * size,
                    bias.data_ptr() + p * classes * size,
                    out.data_ptr() + p * classes * size,
                    population * classes,
                    d,
                    first,
                    min(first + strip, hi),
                )

    in_step([partial(part, thread) for thread in range(threads)])
    return out
