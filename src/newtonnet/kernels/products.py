"""Sparse products, and the gradients of an encoder's second layer."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from .elementwise import Mask
from .native import native
from .threads import threads_for

AHEAD = 32
"""Entries between the one that is summed and the one whose row is prefetched."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where a CSR matrix has entries: int32 row pointers, and column indices with :data:`AHEAD` zeros behind them.

    The tensors are checked when they are first used and must not be written to afterwards.
    """

    rows: Tensor
    columns: Tensor

    @property
    def entries(self) -> int:
        """Number of entries."""
        return len(self.columns) - AHEAD

    @cached_property
    def native(self) -> Any:
        """The checked pattern as the kernels read it."""
        return native().Csr(self.rows, self.columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return Pattern, (self.rows, self.columns)


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
        order: int64 position of each entry's value among the values; in place if not given.
        gaps: many of the values are 0, so that leaving them out may be worth a pass; the result is the same.
        bias: contiguous, ``(P, d)``.
        mask: dropout of the result, after the bias.

    Returns:
        Shape ``(n, P, d)``.
    """
    _, population, d = x.shape
    out = x.new_empty(len(pattern.rows) - 1, population, d)
    threads = threads_for(pattern.entries * population * d)
    native().multiply(pattern.native, values, x, out, order, gaps, bias, mask, threads)
    return out


def make_operator(rows: Tensor, columns: Tensor, order: Tensor, values: Tensor | None, scale: Tensor) -> Any:
    """A square matrix for :func:`series`; the arrays are those of :class:`newtonnet.graphs.plan.Plan`, checked."""
    return native().Csr(rows, columns, order, values, scale)


def series(
    operator: Any, entries: int, x: Tensor, coefficients: Tensor, against: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Sum of c_k T_k(-A) x over k, and the inner products of every term with ``against``.

    Args:
        operator: A, from :func:`make_operator`.
        entries: number of its entries.
        x: contiguous, ``(n, c)``.
        coefficients: contiguous, ``(K+1, c)``.
        against: contiguous, ``(n, c)``, or None.

    Returns:
        The sum, ``(n, c)``, and ``(K+1, c)`` or None.
    """
    out = torch.empty_like(x)
    inner = None if against is None else torch.empty_like(coefficients)
    native().series(operator, x, against, coefficients, out, inner, threads_for(entries * coefficients.numel()))
    return out, inner


def back(gradient: Tensor, weight: Tensor, hidden: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """From the gradient of drop(ReLU(z)) W to those of z, of W and of a bias that was added to z.

    Args:
        gradient: gradient of the result, contiguous, ``(n, P, C)``.
        weight: W, ``(P, d, C)``.
        hidden: drop(ReLU(z)), contiguous, ``(n, P, d)``.
        scale: what dropout multiplied the kept numbers by.

    Returns:
        Gradients of z ``(n, P, d)``, of W ``(P, d, C)`` and of the bias ``(P, d)``.
    """
    turned = weight.transpose(1, 2).contiguous()
    z, of_weight, of_bias = torch.empty_like(hidden), torch.empty_like(turned), hidden.new_empty(hidden.shape[1:])
    threads = threads_for(hidden.numel() * weight.shape[2])
    native().backward(gradient, turned, hidden, scale, z, of_weight, of_bias, threads)
    return z, of_weight.transpose(1, 2), of_bias
