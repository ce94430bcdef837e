"""One operator as the compiled kernels read it: in which order of the nodes, with or without values."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.kernels import AHEAD, make_operator, series

ENTRIES = 1 << 20
"""Entries that are rearranged at once."""

NEAR = 1 / 16
"""An edge is near where its ends are at most this share of all nodes apart."""


@dataclass(frozen=True, eq=False)
class Plan:
    r"""One matrix as the compiled kernel reads it.

    A graph without edge weights is stored as a pattern: with :math:`\hat A = S A S` and :math:`U_k = S T_k` the
    recurrence is :math:`U_k = -2 S^2 A\,U_{k-1} - U_{k-2}`, which needs no value for any entry.

    Attributes:
        order: the node at every place, int32, ``(n,)``: most neighbours first, or as they come.
        rows: row pointers in that order, int32, ``(n+1,)``.
        columns: column indices in that order, int32, ``(nnz + AHEAD,)``.
        values: values of the entries; None for a pattern.
        scale: :math:`S` by place; ones where there are values.
        reordered: whether the order is by degree.
    """

    order: Tensor
    rows: Tensor
    columns: Tensor
    values: Tensor | None
    scale: Tensor
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
        return series(self.native, len(self.columns) - AHEAD, x, coefficients, against)

    @cached_property
    def native(self) -> Any:
        """The checked matrix; a copy of the plan makes its own."""
        return make_operator(self.rows, self.columns, self.order, self.values, self.scale)

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "native"}


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
        own,
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


def row_blocks(rows: NDArray[np.signedinteger[Any]], entries: int | None = None) -> Iterator[slice]:
    """Slices of a CSR matrix's rows that hold at most ``entries`` (:data:`ENTRIES`) entries each, or a single row."""
    start, n, most = 0, len(rows) - 1, ENTRIES if entries is None else entries
    while start < n:
        last = int(np.searchsorted(rows, int(rows[start]) + most, side="right")) - 1
        stop = min(n, max(start + 1, last))
        yield slice(start, stop)
        start = stop
