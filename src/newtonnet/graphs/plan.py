"""How one operator is multiplied here: by which kernel, in which order of the nodes, how many columns at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.kernels import (
    AHEAD,
    CORE_CACHE,
    WORTH_A_THREAD,
    equal_parts,
    full_width,
    in_step,
    scratch,
    series_kernel,
    thread_count,
    total,
    widest,
)

LAST_CACHE = 1 << 25
"""Blocks are cut into so many columns that two of them fit in this many bytes, if eight columns do."""

CACHE_LINE = 64
"""Bytes that memory hands out at once: a row of a cut block fills them, or half of them, and straddles none."""

ENTRIES = 1 << 20
"""Entries that are rearranged at once."""

NEAR = 1 / 16
"""An edge is near where its ends are at most this share of all nodes apart."""


@dataclass(frozen=True, eq=False)
class Plan:
    r"""One matrix as the native kernel reads it.

    A graph without edge weights is stored as a pattern: with :math:`\hat A = S A S` and :math:`U_k = S T_k` the
    recurrence is :math:`U_k = -2 S^2 A\,U_{k-1} - U_{k-2}`, which needs no value for any entry.

    Attributes:
        order: the node at every place, int32, ``(n,)``: most neighbours first, or as they come.
        rows: row pointers in that order, int32, ``(n+1,)``.
        columns: column indices in that order, int32, ``(nnz + AHEAD,)``.
        values: values of the entries; None for a pattern.
        factor: :math:`S^2` by place; ones where there are values.
        scale: :math:`S` by place; ones where there are values.
        unscale: :math:`S^{-1}` by place.
        reordered: whether the order is by degree.
    """

    order: Tensor
    rows: Tensor
    columns: Tensor
    values: Tensor | None
    factor: Tensor
    scale: Tensor
    unscale: Tensor
    reordered: bool

    def describe(self) -> str:
        """The choice in a few words."""
        stored = "pattern" if self.values is None else "values"
        return f"native kernel, {stored} stored, nodes {'by degree' if self.reordered else 'as they come'}"

    def series(self, x: Tensor, coefficients: Tensor, against: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Sum of c_k T_k(-A) x over k, and the inner products of every term with ``against``.

        Args:
            x: contiguous, ``(n, c)``.
            coefficients: contiguous, ``(K+1, c)``.
            against: contiguous, ``(n, c)``, or None.

        Returns:
            The sum, ``(n, c)``, and ``(K+1, c)`` or None.
        """
        n, columns = x.shape
        terms, size, dtype = coefficients.shape[0], x.dtype.itemsize, x.dtype
        threads = thread_count() if self.entries * columns * terms > WORTH_A_THREAD else 1
        bounds = equal_parts(self.pointers, threads)
        step = min(columns, _columns_at_once(n, dtype))
        height = n * full_width(step, dtype)
        workspace = scratch((3 if against is None else 4) * height, dtype)  # held until the kernels have ended
        room = workspace.data_ptr()
        blocks = [room + k * height * size for k in (0, 1, 2, 2 if against is None else 3)]
        out = torch.empty_like(x)
        source, target, weights = x.data_ptr(), out.data_ptr(), coefficients.data_ptr()
        other = None if against is None else against.data_ptr()
        inner: list[Tensor] = []
        for start in range(0, columns, step):
            width = min(step, columns - start)
            ahead = n * width * size > CORE_CACHE
            kernel = series_kernel(
                width, dtype, weighted=self.values is not None, inner=against is not None, ahead=ahead
            )
            shift = start * size
            full = full_width(width, dtype)
            parts = None if against is None else x.new_empty(threads, terms, full)
            counter = torch.zeros(1, dtype=torch.int64)
            jobs = [
                partial(
                    kernel,
                    *self.addresses,
                    source + shift,
                    None if other is None else other + shift,
                    target + shift,
                    columns,
                    *blocks,
                    weights + shift,
                    columns,
                    None if parts is None else parts.data_ptr() + thread * terms * full * size,
                    terms - 1,
                    lo,
                    hi,
                    counter.data_ptr(),
                    threads,
                )
                for thread, (lo, hi) in enumerate(pairwise(bounds))
            ]
            in_step(jobs)
            if parts is not None:
                inner.append(total(parts)[:, :width])
        if against is None:
            return out, None
        return out, inner[0] if len(inner) == 1 else torch.cat(inner, dim=1)

    @cached_property
    def entries(self) -> int:
        """Number of entries."""
        return len(self.columns) - AHEAD

    @cached_property
    def pointers(self) -> NDArray[np.int32]:
        """The row pointers as an array."""
        return self.rows.numpy()

    @property
    def addresses(self) -> list[int | None]:
        """Where the kernel finds the matrix; not kept, since a copy of the plan has its matrix elsewhere."""
        stored = (self.order, self.rows, self.columns, self.values, self.factor, self.scale, self.unscale)
        return [None if part is None else part.data_ptr() for part in stored]


def _columns_at_once(n: int, dtype: torch.dtype) -> int:
    """Columns of a block of n rows that are worked on together."""
    fitting, line = LAST_CACHE // (2 * n * dtype.itemsize), CACHE_LINE // dtype.itemsize
    return min(widest(dtype), max(fitting // line * line, 8))


def make_plan(matrix: Tensor, scale: Tensor | None) -> Plan:
    """The plan for a CSR matrix; with ``scale`` S the matrix is S A S for a pattern A of ones."""
    rows, columns = matrix.crow_indices().numpy(), matrix.col_indices().numpy()
    n = len(rows) - 1
    degrees = np.diff(rows)
    reordered = not _is_local(rows, columns)
    order = np.argsort(-degrees, kind="stable") if reordered else np.arange(n)
    place = np.empty(n, dtype=np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    new_rows = np.zeros(n + 1, dtype=np.int32)
    np.cumsum(degrees[order], out=new_rows[1:])
    padded = np.zeros(len(columns) + AHEAD, dtype=np.int32)
    values = torch.empty(len(columns), dtype=matrix.dtype) if scale is None else None
    for block in row_blocks(new_rows):
        inside = slice(new_rows[block.start], new_rows[block.stop])
        nodes = order[block]
        # Entry e of the new matrix was entry e + shift of the old one, with one shift for each row.
        shifts = np.repeat(rows[:-1][nodes] - new_rows[block], degrees[nodes])
        source = shifts + np.arange(inside.start, inside.stop, dtype=np.int32)
        padded[inside] = place[columns[source]]
        if values is not None:
            values[inside] = matrix.values()[torch.from_numpy(source)]
    own = torch.ones(n, dtype=matrix.dtype) if scale is None else scale[torch.from_numpy(order)]
    return Plan(
        torch.from_numpy(order.astype(np.int32)),
        torch.from_numpy(new_rows),
        torch.from_numpy(padded),
        values,
        own * own,
        own,
        1 / own,
        reordered,
    )


def _is_local(rows: NDArray[np.int32], columns: NDArray[np.int32]) -> bool:
    """Whether neighbours already lie near each other, as in graphs that were crawled or sorted."""
    n = len(rows) - 1
    if len(columns) == 0:
        return True
    near = 0
    for block in row_blocks(rows):
        ends = np.repeat(
            np.arange(block.start, block.stop, dtype=np.int32), np.diff(rows[block.start : block.stop + 1])
        )
        near += int(np.count_nonzero(np.abs(ends - columns[rows[block.start] : rows[block.stop]]) <= NEAR * n))
    return bool(near > 0.5 * len(columns))


def row_blocks(rows: NDArray[np.int32]) -> Iterator[slice]:
    """Slices of a CSR matrix's rows that hold about :data:`ENTRIES` entries each, from its row pointers."""
    start, n = 0, len(rows) - 1
    while start < n:
        stop = min(n, max(start + 1, int(np.searchsorted(rows, int(rows[start]) + ENTRIES))))
        yield slice(start, stop)
        start = stop
