"""What follows the linear maps of a stack's layer: neighbours added, normalisation, ReLU and dropout, fused."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from newtonnet import kernels
from newtonnet.graphs import Operator
from newtonnet.kernels import Mask

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
    operator: Operator | None = None,
    running: Running | None = None,
    by_node: bool = False,
    rate: float = 0.0,
    noise: Noise | None = None,
    stream: int = 0,
) -> Tensor:
    r"""The rest of a layer after its linear maps.

    .. math:: Y = \mathrm{drop}(\mathrm{ReLU}(s\,\mathrm{norm}(U) + b)), \qquad U = X_1 + S X_2 \text{ or } X

    Args:
        x: :math:`[X_1, X_2]`, ``(n, P, 2 d)``, or :math:`X`, ``(n, P, d)``, without an operator.
        scale: :math:`s`, ``(P, d)``, with a normalisation.
        shift: :math:`b`, ``(P, d)``.
        operator: :math:`S`.
        running: normalise every column over the nodes (BatchNorm), with these running statistics.
        by_node: normalise every node's numbers (LayerNorm).
        rate: dropout rate, applied where noise is given.
        noise: masks of this epoch; None in evaluation.
        stream: which of the epoch's masks to use.

    Returns:
        Shape ``(n, P, d)``.
    """
    if running is not None and running.training and len(x) < 2:
        raise ValueError("batch normalisation needs at least 2 nodes to train on, got 1")
    matrices = None if operator is None else operator.entries
    if not is_native(x) or (operator is not None and matrices is None):
        return dropout(_by_torch(x, scale, shift, operator, running), rate=rate, noise=noise, stream=stream)
    mask = member_mask(rate, noise, stream=stream)
    if by_node and scale is not None:
        normalised: Tensor = _RowNorm.apply(x, scale, shift, matrices, mask)  # type: ignore[no-untyped-call]
        return normalised
    if scale is None:
        scale = torch.ones_like(shift)
    if not torch.is_grad_enabled() and (running is None or not running.training):
        if running is not None:
            scale = scale * (running.variance + EPSILON).rsqrt()
            shift = shift - running.mean * scale
        matrix = None if matrices is None else matrices[0]
        return kernels.combine(matrix, x.contiguous(), lines=(scale, shift), mask=mask)[0]
    activated: Tensor = _Activation.apply(x, scale, shift, matrices, running, mask)  # type: ignore[no-untyped-call]
    return activated


def _by_torch(
    x: Tensor,
    scale: Tensor | None,
    shift: Tensor,
    operator: Operator | None,
    running: Running | None,
) -> Tensor:
    if operator is not None:
        own, near = x.chunk(2, dim=2)
        x = own + multiply(operator, near)
    if scale is None:
        x = x + shift
    elif running is None:
        x = torch.nn.functional.layer_norm(x, x.shape[2:], eps=EPSILON) * scale + shift
    else:
        x = batch_norm(x, scale, shift, mean=running.mean, variance=running.variance, training=running.training)
    return torch.relu(x)


class _Activation(torch.autograd.Function):
    """The native kernels: two passes forward with batch normalisation in training, otherwise one; two or three back."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, scale: Tensor, shift: Tensor, matrices: Any, running: Running | None, mask: Mask | None
    ) -> Tensor:
        matrix = None if matrices is None else matrices[0]
        x = x.contiguous()
        ctx.matrices, ctx.keep, ctx.running = matrices, 1.0 if mask is None else mask.scale, running
        if running is None:
            y, _ = kernels.combine(matrix, x, lines=(scale, shift), mask=mask)
            ctx.save_for_backward(y)
            return y
        u, moments = kernels.combine(matrix, x, moments=running.training)
        mean, variance = running.mean, running.variance
        if moments is not None:
            n = len(x)
            mean, variance = moments[0].to(x.dtype), moments[1].to(x.dtype)
            running.mean.lerp_(mean, MOMENTUM)
            running.variance.lerp_(variance * (n / (n - 1)), MOMENTUM)
        inverse = (variance + EPSILON).rsqrt()
        slope = scale * inverse
        y, _ = kernels.combine(None, u, lines=(slope, shift - mean * slope), mask=mask)
        ctx.save_for_backward(y, u, torch.stack([mean, inverse, slope]))
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        gradient, keep, halves = gradient.contiguous(), ctx.keep, ctx.matrices is not None
        y, *normalised = ctx.saved_tensors
        u, lines = None, None
        if normalised:
            u, known = normalised
            lines = torch.cat([known, torch.zeros_like(known[:2])])
        of_shift, of_scale = kernels.activation_sums(gradient, y, u, keep, lines).to(gradient.dtype)
        if lines is not None and ctx.running.training:
            mean, inverse, slope, offset, pull = lines
            torch.mul(slope * inverse, of_scale / -len(y), out=pull)
            torch.sub(slope * of_shift / -len(y), pull * mean, out=offset)
        inner = kernels.activation_gradient(gradient, y, u, keep, lines, halves=halves)
        if halves:
            kernels.gather(ctx.matrices[1], inner)
        return inner, of_scale, of_shift, None, None, None


class _RowNorm(torch.autograd.Function):
    """The native kernels where every node's numbers are normalised: a pass for the sum and one for the rest."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor, shift: Tensor, matrices: Any, mask: Mask | None) -> Tensor:
        u = x.contiguous() if matrices is None else kernels.combine(matrices[0], x.contiguous())[0]
        y = kernels.row_norm(u, scale, shift, mask, EPSILON)
        ctx.matrices, ctx.keep = matrices, 1.0 if mask is None else mask.scale
        ctx.save_for_backward(y, u, scale)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        y, u, scale = ctx.saved_tensors
        gradient, halves = gradient.contiguous(), ctx.matrices is not None
        inner, sums = kernels.row_norm_gradients(gradient, y, u, scale, ctx.keep, EPSILON, halves=halves)
        if halves:
            kernels.gather(ctx.matrices[1], inner)
        of_shift, of_scale = sums.to(inner.dtype)
        return inner, of_scale, of_shift, None, None
