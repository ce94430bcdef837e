"""A layer of a stack in few passes over memory: sum, batch normalisation, ReLU and dropout, and their gradients."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .elementwise import Mask
from .native import arrays, native
from .products import Pattern
from .threads import threads_for

Entries = tuple[Pattern, Tensor]
"""A square CSR matrix: where its entries are, and their values."""


def combine(
    matrix: Entries | None,
    x: Tensor,
    *,
    lines: tuple[Tensor, Tensor] | None = None,
    mask: Mask | None = None,
    moments: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """X_1 + A X_2 for a block of two halves, or X without a matrix; then drop(max(scale x + shift, 0)) with ``lines``.

    Args:
        matrix: A, ``(n, n)``.
        x: contiguous, ``(n, P, 2 d)``, or ``(n, P, d)`` without a matrix.
        lines: scale and shift of every column, ``(P, d)``.
        mask: dropout of the result.
        moments: find mean and biased variance of every column of the result.

    Returns:
        The result, ``(n, P, d)``, and the moments, float64, ``(2, P, d)``, or None.
    """
    n, population, width = x.shape
    d = width if matrix is None else width // 2
    out = x.new_empty(n, population, d)
    found = x.new_empty(2, population, d, dtype=torch.float64) if moments else None
    pattern, values = (None, None) if matrix is None else (matrix[0].check(n), matrix[1])
    scale, shift = (None, None) if lines is None else (line.contiguous() for line in lines)
    work = out.numel() * 8 + (0 if matrix is None else matrix[0].entries * population * d)
    native().combine(pattern, *arrays(values, x, out, scale, shift), mask, *arrays(found), threads_for(work))
    return out, found


def graph_linear(
    matrices: Sequence[Entries],
    x: Tensor,
    weight: Tensor,
    *,
    lines: tuple[Tensor, Tensor] | None = None,
    mask: Mask | None = None,
    moments: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """X W_0 + A_1 X W_1 + ... in one pass; then drop(max(scale x + shift, 0)) with ``lines``.

    Args:
        matrices: A_1 to A_m, each ``(n, n)``.
        x: contiguous, ``(n, P, d)``.
        weight: contiguous, ``(P, 1 + m, d, h)``.
        lines: scale and shift of every column, ``(P, h)``.
        mask: dropout of the result, with ``lines``.
        moments: as in :func:`combine`.

    Returns:
        The result, ``(n, P, h)``, and the moments, float64, ``(2, P, h)``, or None.
    """
    n, population, _ = x.shape
    h = weight.shape[3]
    out = x.new_empty(n, population, h)
    found = x.new_empty(2, population, h, dtype=torch.float64) if moments else None
    scale, shift = (None, None) if lines is None else (line.contiguous() for line in lines)
    blocks = arrays(x, weight, out, scale, shift)
    native().linear(*_checked(matrices, n), *blocks, mask, *arrays(found), threads_for(n * weight.numel()))
    return out, found


def graph_linear_gradients(
    matrices: Sequence[Entries], gradient: Tensor, x: Tensor, weight: Tensor, *, inputs: bool = True
) -> tuple[Tensor | None, Tensor]:
    """Gradients of x ``(n, P, d)`` and the weight ``(P, 1 + m, d, h)`` from that of :func:`graph_linear`.

    Args:
        matrices: the transposes of those given there.
        gradient: contiguous, ``(n, P, h)``.
        x: as given there.
        weight: as given there.
        inputs: find the gradient of x; None otherwise.
    """
    of_x, of_weight = torch.empty_like(x) if inputs else None, torch.empty_like(weight)
    blocks = arrays(gradient, x, weight, of_x, of_weight)
    native().linear_back(*_checked(matrices, len(x)), *blocks, threads_for(2 * len(x) * weight.numel()))
    return of_x, of_weight


def _checked(matrices: Sequence[Entries], rows: int) -> tuple[list[Any], list[Any]]:
    """The patterns for a block of so many rows, and their values."""
    return [pattern.check(rows) for pattern, _ in matrices], arrays(*(values for _, values in matrices))


def gather(matrix: Entries, block: Tensor) -> None:
    """Put A times the left half of a contiguous block ``(n, P, 2 d)`` into its right half."""
    pattern, values = matrix
    work = pattern.entries * block.shape[1] * block.shape[2] // 2
    native().gather(pattern.check(len(block)), *arrays(values, block), threads_for(work))


def activation_sums(gradient: Tensor, y: Tensor, u: Tensor | None, keep: float, lines: Tensor | None) -> Tensor:
    """Gradients of shift and scale, float64, ``(2, P, d)``, from that of y = drop(max(scale norm(u) + shift, 0)).

    Args:
        gradient: of y, contiguous, ``(n, P, d)``.
        y: the result, contiguous, ``(n, P, d)``.
        u: what was normalised, contiguous, ``(n, P, d)``; None where nothing was.
        keep: what dropout multiplied the kept numbers by.
        lines: given with u, ``(5, P, d)``: its mean, one over its standard deviation, and what
            :func:`activation_gradient` needs.
    """
    sums = gradient.new_empty(2, *gradient.shape[1:], dtype=torch.float64)
    work = gradient.numel() * 8
    native().activation(*arrays(gradient, y, u), keep, *arrays(lines, sums), None, threads_for(work))
    return sums


def activation_gradient(
    gradient: Tensor, y: Tensor, u: Tensor | None, keep: float, lines: Tensor | None, *, halves: bool
) -> Tensor:
    """Gradient of u, slope z' + offset + pull u with z' that of max(z, 0); without u it is z' itself.

    Args:
        gradient: as in :func:`activation_sums`, like y, u and keep.
        y: the result.
        u: what was normalised, or None.
        keep: what dropout multiplied by.
        lines: mean, inverse deviation, slope, offset and pull of every column, ``(5, P, d)``, or None.
        halves: leave room behind every row, for :func:`gather`.

    Returns:
        Shape ``(n, P, d)``, or ``(n, P, 2 d)`` with the right half still empty.
    """
    n, population, d = gradient.shape
    out = gradient.new_empty(n, population, 2 * d if halves else d)
    work = gradient.numel() * 8
    native().activation(*arrays(gradient, y, u), keep, *arrays(lines, None, out), threads_for(work))
    return out


def row_norm(u: Tensor, scale: Tensor, shift: Tensor, mask: Mask | None, epsilon: float) -> Tensor:
    """drop(max(scale norm(u) + shift, 0)) with the numbers of every node and member normalised.

    Args:
        u: contiguous, ``(n, P, d)``.
        scale: ``(P, d)``.
        shift: ``(P, d)``.
        mask: dropout of the result.
        epsilon: added to the variance.
    """
    y, lines = torch.empty_like(u), (scale.contiguous(), shift.contiguous())
    blocks = arrays(u, *lines)
    native().row_norm(*blocks, mask, epsilon, *arrays(y), None, 1.0, None, None, threads_for(u.numel() * 8))
    return y


def row_norm_gradients(
    gradient: Tensor, y: Tensor, u: Tensor, scale: Tensor, keep: float, epsilon: float, *, halves: bool
) -> tuple[Tensor, Tensor]:
    """Gradients of u, as :func:`activation_gradient` has them, and of shift and scale, float64, ``(2, P, d)``.

    Args:
        gradient: of y, contiguous, ``(n, P, d)``.
        y: the result of :func:`row_norm`.
        u: what was normalised.
        scale: as given there.
        keep: what dropout multiplied the kept numbers by.
        epsilon: as given there.
        halves: leave room behind every row, for :func:`gather`.
    """
    n, population, d = u.shape
    out = u.new_empty(n, population, 2 * d if halves else d)
    sums = u.new_empty(2, population, d, dtype=torch.float64)
    before, after = arrays(u, scale.contiguous(), None), arrays(y, gradient)
    threads = threads_for(u.numel() * 16)
    native().row_norm(*before, None, epsilon, *after, keep, *arrays(out, sums), threads)
    return out, sums
