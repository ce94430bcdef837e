"""A stack's layer, fused: linear maps of nodes and neighbours, their sum, normalisation, ReLU and dropout."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from newtonnet import kernels
from newtonnet.graphs import Operator
from newtonnet.kernels import Entries, Mask

from .layers import EPSILON, MOMENTUM, batch_norm, multiply
from .noise import Noise, dropout, is_native, member_mask


@dataclass(frozen=True, eq=False)
class Running:
    """Running statistics of a batch normalisation, ``(P, d)``, changed in place where it is in training."""

    mean: Tensor
    variance: Tensor
    training: bool


def activate(
    x: Tensor,
    scale: Tensor | None,
    shift: Tensor,
    *,
    weight: Tensor | None = None,
    operators: Sequence[Operator] = (),
    running: Running | None = None,
    by_node: bool = False,
    rate: float = 0.0,
    noise: Noise | None = None,
    stream: int = 0,
) -> Tensor:
    r"""A layer from its linear maps on, or the rest of it after them.

    .. math:: Y = \mathrm{drop}(\mathrm{ReLU}(s\,\mathrm{norm}(U) + b)), \qquad
              U = X W_0 + \sum_k S_k X W_k, \quad X_1 + S X_2 \text{ or } X

    Args:
        x: :math:`X`, ``(n, P, d)``; without a weight :math:`X`, ``(n, P, h)``, or :math:`[X_1, X_2]`, ``(n, P, 2 h)``.
        scale: :math:`s`, ``(P, h)``, with a normalisation.
        shift: :math:`b`, ``(P, h)``.
        weight: :math:`W_0, W_1, \dots`, ``(P, 1 + m, d, h)``.
        operators: :math:`S_1` to :math:`S_m`; without a weight at most one.
        running: normalise every column over the nodes (BatchNorm), with these running statistics.
        by_node: normalise every node's numbers (LayerNorm).
        rate: dropout rate, applied where noise is given.
        noise: masks of this epoch; None in evaluation.
        stream: which of the epoch's masks to use.

    Returns:
        Shape ``(n, P, h)``.
    """
    if running is not None and running.training and len(x) < 2:
        raise ValueError("batch normalisation needs at least 2 nodes to train on, got 1")
    entries = [operator.entries for operator in operators]
    matrices = [both for both in entries if both is not None]
    if not is_native(x) or len(matrices) < len(entries):
        return dropout(_by_torch(x, weight, scale, shift, operators, running), rate=rate, noise=noise, stream=stream)
    mask = member_mask(rate, noise, stream=stream)
    x, weight = x.contiguous(), None if weight is None else weight.contiguous()
    if by_node and scale is not None:
        normalised: Tensor = _RowNorm.apply(x, weight, scale, shift, matrices, mask)  # type: ignore[no-untyped-call]
        return normalised
    if scale is None:
        scale = torch.ones_like(shift)
    if not torch.is_grad_enabled() and (running is None or not running.training):
        if running is not None:
            scale = scale * (running.variance + EPSILON).rsqrt()
            shift = shift - running.mean * scale
        return _sum(x, weight, matrices, lines=(scale, shift), mask=mask)[0]
    activated: Tensor = _Activation.apply(x, weight, scale, shift, matrices, running, mask)  # type: ignore[no-untyped-call]
    return activated


def _by_torch(
    x: Tensor,
    weight: Tensor | None,
    scale: Tensor | None,
    shift: Tensor,
    operators: Sequence[Operator],
    running: Running | None,
) -> Tensor:
    if weight is not None:
        x = torch.bmm(x.transpose(0, 1), weight.transpose(1, 2).flatten(2)).transpose(0, 1)
    x, *others = x.chunk(1 + len(operators), dim=2)
    for operator, near in zip(operators, others, strict=True):
        x = x + multiply(operator, near)
    if scale is None:
        x = x + shift
    elif running is None:
        x = torch.nn.functional.layer_norm(x, x.shape[2:], eps=EPSILON) * scale + shift
    else:
        x = batch_norm(x, scale, shift, mean=running.mean, variance=running.variance, training=running.training)
    return torch.relu(x)


Matrices = Sequence[tuple[Entries, Entries]]
"""Operators for the kernels, each with its transpose."""


def _sum(x: Tensor, weight: Tensor | None, matrices: Matrices, **rest: Any) -> tuple[Tensor, Tensor | None]:
    """U, or what follows it, and its moments."""
    if weight is not None:
        return kernels.graph_linear([matrix for matrix, _ in matrices], x, weight, **rest)
    return kernels.combine(matrices[0][0] if matrices else None, x, **rest)


def _sum_gradients(ctx: Any, of_u: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of x and the weight; without a weight the one given has room for the right half of that of x."""
    turned = [transpose for _, transpose in ctx.matrices]
    if ctx.weighted:
        x, weight = ctx.saved_tensors[:2]
        return kernels.graph_linear_gradients(turned, of_u, x, weight, inputs=ctx.needs_input_grad[0])
    if turned:
        kernels.gather(turned[0], of_u)
    return of_u, None


def _keep(ctx: Any, x: Tensor, weight: Tensor | None, matrices: Matrices, mask: Mask | None, *others: Tensor) -> None:
    """Remember what the backward pass needs."""
    ctx.matrices, ctx.weighted, ctx.keep = matrices, weight is not None, 1.0 if mask is None else mask.scale
    ctx.halves = weight is None and len(matrices) > 0
    ctx.save_for_backward(*(() if weight is None else (x, weight)), *others)


class _Activation(torch.autograd.Function):
    """The native kernels: two passes forward with batch normalisation in training, otherwise one; two or three back."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        scale: Tensor,
        shift: Tensor,
        matrices: Matrices,
        running: Running | None,
        mask: Mask | None,
    ) -> Tensor:
        ctx.running = running
        if running is None:
            y, _ = _sum(x, weight, matrices, lines=(scale, shift), mask=mask)
            _keep(ctx, x, weight, matrices, mask, y)
            return y
        u, moments = _sum(x, weight, matrices, moments=running.training)
        mean, variance = running.mean, running.variance
        if moments is not None:
            n = len(x)
            mean, variance = moments[0].to(x.dtype), moments[1].to(x.dtype)
            running.mean.lerp_(mean, MOMENTUM)
            running.variance.lerp_(variance * (n / (n - 1)), MOMENTUM)
        inverse = (variance + EPSILON).rsqrt()
        slope = scale * inverse
        y, _ = kernels.combine(None, u, lines=(slope, shift - mean * slope), mask=mask)
        _keep(ctx, x, weight, matrices, mask, y, u, torch.stack([mean, inverse, slope]))
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        gradient, keep = gradient.contiguous(), ctx.keep
        y, *normalised = ctx.saved_tensors[2 * ctx.weighted :]
        u, lines = None, None
        if normalised:
            u, known = normalised
            lines = torch.cat([known, torch.zeros_like(known[:2])])
        of_shift, of_scale = kernels.activation_sums(gradient, y, u, keep, lines).to(gradient.dtype)
        if lines is not None and ctx.running.training:
            mean, inverse, slope, offset, pull = lines
            torch.mul(slope * inverse, of_scale / -len(y), out=pull)
            torch.sub(slope * of_shift / -len(y), pull * mean, out=offset)
        of_u = kernels.activation_gradient(gradient, y, u, keep, lines, halves=ctx.halves)
        return *_sum_gradients(ctx, of_u), of_scale, of_shift, None, None, None


class _RowNorm(torch.autograd.Function):
    """The native kernels where every node's numbers are normalised: a pass for the sum and one for the rest."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        scale: Tensor,
        shift: Tensor,
        matrices: Matrices,
        mask: Mask | None,
    ) -> Tensor:
        u = x if weight is None and not matrices else _sum(x, weight, matrices)[0]
        y = kernels.row_norm(u, scale, shift, mask, EPSILON)
        _keep(ctx, x, weight, matrices, mask, y, u, scale)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        y, u, scale = ctx.saved_tensors[2 * ctx.weighted :]
        of_u, sums = kernels.row_norm_gradients(
            gradient.contiguous(), y, u, scale, ctx.keep, EPSILON, halves=ctx.halves
        )
        of_shift, of_scale = sums.to(of_u.dtype)
        return *_sum_gradients(ctx, of_u), of_scale, of_shift, None, None
