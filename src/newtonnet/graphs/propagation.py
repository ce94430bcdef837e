"""The one place where a sparse matrix meets a dense block: a polynomial of the operator applied to signals."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .operators import Operator


def propagate(operator: Operator, x: Tensor, coefficients: Tensor) -> Tensor:
    r"""Filter signals with a polynomial of the Laplacian given by its Chebyshev coefficients.

    .. math:: Z_{:,p} = \sum_{k=0}^{K} c_{k,p}\, T_k(L - I)\, X_{:,p}, \qquad L - I = -\hat A

    This takes K fused sparse products forward and K backward, and memory for a few blocks of the size of ``x``,
    whatever K is. (The backward pass filters the incoming gradient with the same recurrence and takes the gradient of
    the coefficients from inner products with ``x``, so no intermediate block is kept.)

    Args:
        operator: :math:`\hat A`, with or without self-loops.
        x: signals, shape ``(n, P, d)``.
        coefficients: :math:`c`, shape ``(K+1, P)``, or ``(K+1, P, d)`` for one filter per channel.

    Returns:
        Filtered signals, shape ``(n, P, d)``.

    >>> from newtonnet.graphs import from_edges, normalised_operator
    >>> path = from_edges([[0, 1], [1, 2]], [[1.0], [2.0], [4.0]])
    >>> x = torch.tensor([1.0, 2.0, 4.0]).reshape(3, 1, 1)
    >>> propagate(normalised_operator(path), x, torch.tensor([[0.5], [-1.0], [0.25]])).flatten()
    tensor([2.9142, 5.0355, 3.6642])
    """
    if x.ndim != 3 or x.shape[0] != operator.nodes:
        raise ValueError(f"signals must have shape ({operator.nodes}, P, d), got {tuple(x.shape)}")
    if coefficients.shape[1:] not in (x.shape[1:2], x.shape[1:]):
        expected = f"(K+1, {x.shape[1]}) or (K+1, {x.shape[1]}, {x.shape[2]})"
        raise ValueError(f"coefficients must have shape {expected}, got {tuple(coefficients.shape)}")
    if len(coefficients) == 0:
        raise ValueError("a polynomial needs at least one coefficient, got none")
    if operator.matrix.dtype != x.dtype:
        raise TypeError(f"operator and signals must have one type, got {operator.matrix.dtype} and {x.dtype}")
    weights = coefficients.to(x.dtype)
    if not torch.is_grad_enabled():  # an autograd Function costs time that small graphs notice
        return _series(operator, x, weights)[0]
    filtered: Tensor = _Polynomial.apply(operator, x, weights)  # type: ignore[no-untyped-call]
    return filtered


def chebyshev_moments(operator: Operator, x: Tensor, degree: int) -> Tensor:
    r"""Moments :math:`x_p^\top T_k(L - I)\, x_p` of signals ``(n, P, d)``, summed over d, shape ``(degree + 1, P)``."""
    return _series(operator, x, x.new_zeros(degree + 1, x.shape[1]), against=x)[1].sum(dim=2)


class _Polynomial(torch.autograd.Function):
    """Forward: Chebyshev recurrence on the operator; backward: the same recurrence on its transpose."""

    @staticmethod
    def forward(ctx: Any, operator: Operator, x: Tensor, coefficients: Tensor) -> Tensor:
        ctx.operator = operator
        ctx.save_for_backward(x, coefficients)
        return _series(operator, x, coefficients)[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, Tensor | None]:
        x, coefficients = ctx.saved_tensors
        learned = ctx.needs_input_grad[2]
        against = x if learned else None
        filtered, inner = _series(ctx.operator, gradient, coefficients, against=against, transposed=True)
        return None, filtered, None if not learned else inner if coefficients.ndim == 3 else inner.sum(dim=2)


def _series(
    operator: Operator, x: Tensor, coefficients: Tensor, *, against: Tensor | None = None, transposed: bool = False
) -> tuple[Tensor, Tensor]:
    """Sum of c_k T_k(-A) x, and the inner products of ``against`` with every term, ``(K+1, P, d)``; else empty."""
    n, population, d = x.shape
    weights = coefficients if coefficients.ndim == 3 else coefficients[..., None].expand(-1, population, d)
    if x.numel() == 0:
        return x.clone(), x.new_zeros(weights.shape)
    flat = weights.reshape(-1, population * d).contiguous()
    block = x.reshape(n, population * d).contiguous()
    other = None if against is None else against.reshape(n, population * d).contiguous()
    plan = operator.transpose_plan if transposed else operator.plan
    if plan is None:
        total, inner = _vendor_series(operator.transpose if transposed else operator.matrix, block, flat, other)
    else:
        total, inner = plan.series(block, flat, other)
    return total.view(n, population, d), block.new_empty(0) if inner is None else inner.view(-1, population, d)


def _vendor_series(
    matrix: Tensor, block: Tensor, weights: Tensor, against: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """The same for blocks ``(n, c)`` and weights ``(K+1, c)`` by torch's own sparse product."""
    inner = [] if against is None else [(against * block).sum(dim=0)]
    total = weights[0] * block
    before, now = block, block
    with torch.autocast(block.device.type, enabled=False):  # it would ask for a sparse product in half precision
        for k in range(1, len(weights)):
            # T_1 = -A x, then T_k = -2 A T_{k-1} - T_{k-2}: one fused product each.
            beta, alpha = (0, -1) if k == 1 else (-1, -2)
            before, now = now, torch.addmm(before, matrix, now, beta=beta, alpha=alpha)
            total.addcmul_(weights[k], now)
            if against is not None:
                inner.append((against * now).sum(dim=0))
    return total, torch.stack(inner) if inner else None
