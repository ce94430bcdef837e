"""Sparse products, and the gradients of an encoder's second layer."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from .elementwise import Mask
from .native import arrays, native
from .threads import threads_for

AHEAD = 32
"""Entries between the one that is summed and the one whose row is prefetched."""

WORTH_THINNING = 128
"""Columns below which a zero is multiplied faster than it is left out."""


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
        return _make_csr(self.rows, self.columns)

    @cached_property
    def height(self) -> int:
        """Number of rows that a block needs to be multiplied by the matrix."""
        return int(self.columns[: self.entries].max()) + 1 if self.entries else 0

    def check(self, rows: int) -> Any:
        """The pattern for the kernels, which may multiply a block of so many rows by it."""
        checked = self.native
        if self.height > rows:
            raise ValueError(f"column index {self.height - 1} needs more rows than the {rows} of x")
        return checked

    def __reduce__(self) -> tuple[Any, ...]:
        return Pattern, (self.rows, self.columns)


def _make_csr(rows: Tensor, columns: Tensor) -> Any:
    """The matrix for the kernels, which check types and shapes but trust the numbers that are checked here."""
    made, entries = native().Csr(*arrays(rows, columns)), len(columns) - AHEAD
    if rows[0] != 0 or rows[-1] != entries or (rows[1:] < rows[:-1]).any():
        raise ValueError(f"row pointers must rise from 0 to the number of entries, {entries}")
    if (columns < 0).any():
        raise ValueError("column indices must not be negative")
    return made


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
    checked = pattern.check(len(x))
    if order is not None:
        values = _take(values, order)
    if gaps and population * d >= WORTH_THINNING and values.shape == (pattern.entries,):
        checked, values = _without_zeros(pattern, values)
    out = x.new_empty(len(pattern.rows) - 1, population, d)
    native().multiply(checked, *arrays(values, x, out, bias), mask, threads_for(len(values) * population * d))
    return out


def _without_zeros(pattern: Pattern, values: Tensor) -> tuple[Any, Tensor]:
    """The matrix without its entries of value 0; its numbers are right because the pattern's were checked."""
    present = values != 0
    places = present.nonzero()[:, 0]
    before = torch.zeros(len(values) + 1, dtype=torch.int32)
    torch.cumsum(present, 0, dtype=torch.int32, out=before[1:])
    columns = torch.cat([pattern.columns.index_select(0, places), torch.zeros(AHEAD, dtype=torch.int32)])
    return native().Csr(*arrays(before.index_select(0, pattern.rows), columns)), values.index_select(0, places)


def _take(values: Tensor, order: Tensor) -> Tensor:
    if order.dtype != torch.int64:
        raise TypeError(f"order must be of type torch.int64, got {order.dtype}")
    try:
        return values.index_select(0, order)
    except IndexError as error:
        raise ValueError(f"order must hold places from 0 to {len(values) - 1}") from error


def make_operator(rows: Tensor, columns: Tensor, order: Tensor, values: Tensor | None, scale: Tensor) -> Any:
    """A square matrix for :func:`series`; the arrays are those of :class:`newtonnet.graphs.plan.Plan`, checked."""
    made, n = native().operator(_make_csr(rows, columns), *arrays(order, values, scale)), len(order)
    if len(columns) > AHEAD and (last := int(columns[:-AHEAD].max())) >= n:
        raise ValueError(f"column index {last} needs more rows than the {n} of a square matrix")
    if not torch.equal(order.sort().values, torch.arange(n, dtype=torch.int32)):
        raise ValueError(f"order must hold every number from 0 to {n - 1} once")
    return made


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
    blocks = arrays(x, against, coefficients, out, inner)
    native().series(operator, *blocks, threads_for(entries * coefficients.numel()))
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
    native().backward(*arrays(gradient, turned, hidden), scale, *arrays(z, of_weight, of_bias), threads)
    return z, of_weight.transpose(1, 2), of_bias
