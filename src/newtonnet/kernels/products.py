"""Sparse products, the encoder of sparse features and its gradients, and those of a dense one's second layer."""

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
) -> Tensor:
    """A x.

    Args:
        pattern: the entries of A, ``(n, m)``.
        values: their values.
        x: contiguous, ``(m, P, d)``.
        order: int64 position of each entry's value among the values; in place if not given.
        gaps: many of the values are 0, so that leaving them out may be worth a pass; the result is the same.

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
    native().multiply(checked, *arrays(values, x.flatten(1), out.flatten(1)), threads_for(len(values) * population * d))
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


def encode(
    pattern: Pattern,
    values: Tensor,
    weights: tuple[Tensor, Tensor, Tensor, Tensor],
    *,
    gaps: bool,
    masks: tuple[Mask | None, Mask | None],
    keep: bool,
) -> tuple[Tensor, Tensor | None]:
    """drop(drop(max(X W1 + b1, 0)) W2 + b2) in one pass.

    Args:
        pattern: the entries of X, ``(n, F)``.
        values: their values.
        weights: contiguous W1 ``(F, P, d)``, b1 ``(P, d)``, W2 ``(P, d, C)`` and b2 ``(P, C)``.
        gaps: many of the values are 0, and are left out.
        masks: dropout of the hidden layer and of the result.
        keep: return the hidden layer too.

    Returns:
        The result, ``(n, P, C)``, and the hidden layer, ``(P, n, d)``, or None.
    """
    (features, members, d), n, classes = weights[0].shape, len(pattern.rows) - 1, weights[3].shape[1]
    out = values.new_empty(n, members, classes)
    hidden = values.new_empty(members, n, d) if keep else None
    work = threads_for((len(values) + n * classes) * members * d)
    native().encode(
        pattern.check(features), arrays(values)[0], gaps, *arrays(*weights), *masks, *arrays(hidden, out), work
    )
    return out, hidden


@dataclass(frozen=True, eq=False)
class Turned:
    """The transpose of a sparse matrix ``(n, F)``, block by block of its rows.

    Attributes:
        pattern: row b F + f has the entries of column f in block b; its column indices are rows of the matrix.
        order: position of each entry's value among the matrix's values, int64.
        block: rows of a block.
        shape: n and F.
    """

    pattern: Pattern
    order: Tensor
    block: int
    shape: tuple[int, int]

    @cached_property
    def native(self) -> Any:
        """The checked pattern as the kernels read it."""
        checked, (n, features) = self.pattern.check(self.shape[0]), self.shape
        blocks = torch.arange(-(-n // self.block)).repeat_interleave(features)
        if len(self.pattern.rows) != len(blocks) + 1:
            raise ValueError(f"the transpose must have {len(blocks)} rows, got {len(self.pattern.rows) - 1}")
        rows = blocks.repeat_interleave(self.pattern.rows.diff()) * self.block
        columns = self.pattern.columns[: self.pattern.entries]
        if ((columns < rows) | (columns >= rows + self.block)).any():
            raise ValueError(f"every entry must lie in its block of {self.block} rows")
        if not torch.equal(self.order.sort().values, torch.arange(self.pattern.entries)):
            raise ValueError(f"order must hold every place from 0 to {self.pattern.entries - 1} once")
        return checked

    def __reduce__(self) -> tuple[Any, ...]:
        return Turned, (self.pattern, self.order, self.block, self.shape)


def turn(matrix: Tensor, block: int) -> Turned:
    """The transpose of a torch CSR matrix on the CPU with int32 indices."""
    n, features = matrix.shape
    rows = torch.arange(n).repeat_interleave(matrix.crow_indices().diff())
    cells = rows // block * features + matrix.col_indices()
    cells, order = cells.sort(stable=True)
    pointers = torch.searchsorted(cells, torch.arange(-(-n // block) * features + 1)).int()
    columns = torch.cat([rows[order].int(), torch.zeros(AHEAD, dtype=torch.int32)])
    return Turned(Pattern(pointers, columns), order, block, (n, features))


def encode_gradients(
    turned: Turned, values: Tensor, gradient: Tensor, hidden: Tensor, weight2: Tensor, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """From the gradient of drop(max(X W1 + b1, 0)) W2 to those of W1, b1 and W2.

    Args:
        turned: the entries of X.
        values: their values; those that are 0 are left out.
        gradient: contiguous, ``(n, P, C)``.
        hidden: the hidden layer that :func:`encode` kept, ``(P, n, d)``.
        weight2: contiguous, ``(P, d, C)``.
        scale: what dropout multiplied the kept hidden numbers by.

    Returns:
        Shapes ``(F, P, d)``, ``(P, d)`` and ``(P, d, C)``.
    """
    members, n, d = hidden.shape
    if n != turned.shape[0]:
        raise ValueError(f"hidden must have {turned.shape[0]} rows, got {n}")
    blocks = [hidden.new_empty(turned.shape[1], members, d), hidden.new_empty(members, d), torch.empty_like(weight2)]
    work = threads_for((len(values) + len(gradient) * weight2.shape[2]) * members * d)
    given = arrays(turned.order, values), arrays(gradient, hidden, weight2), arrays(*blocks)
    native().encode_back(turned.native, *given[0], turned.block, *given[1], scale, *given[2], work)
    return blocks[0], blocks[1], blocks[2]


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
