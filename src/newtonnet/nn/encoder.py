"""Layers that read features: the two-layer encoder of the spectral networks and the linear map of all others."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from newtonnet import kernels
from newtonnet.kernels import Mask

from .inputs import Entries, FeatureMatrix
from .noise import Noise, drop, is_native, member_mask

Weights = tuple[Tensor, Tensor, Tensor, Tensor]

BLOCK = 1 << 20
"""Bytes of hidden numbers that are worked on at once where the features are dense."""


def encode(
    features: FeatureMatrix, weights: Weights, *, rate: float, noise: Noise | None, output_rate: float = 0.0
) -> Tensor:
    r"""Two linear maps of all members at once, with a ReLU between and dropout before, between and behind them.

    .. math:: Z_{:,p,:} = \mathrm{drop}(\mathrm{drop}(\mathrm{ReLU}(\mathrm{drop}(X)\, W_{1,p} + b_{1,p}))\,
              W_{2,p} + b_{2,p})

    Args:
        features: :math:`X`, ``(n, F)``.
        weights: :math:`W_1` ``(F, P, h)``, :math:`b_1` ``(P, h)``, :math:`W_2` ``(P, h, C)``, :math:`b_2` ``(P, C)``.
        rate: dropout rate on the features and the hidden layer, applied where noise is given, with streams 0 and 1.
        noise: masks of this epoch; None in evaluation.
        output_rate: dropout rate on the result, with stream 2.

    Returns:
        Shape ``(n, P, C)``.
    """
    x = features.dropped(rate, noise, 0)
    mask, last = member_mask(rate, noise, stream=1), member_mask(output_rate, noise, stream=2)
    if not torch.is_grad_enabled():
        return _encode(x, mask, last, weights, keep=False)[0]
    encoded: Tensor = _Encoder.apply(x, mask, last, *weights)  # type: ignore[no-untyped-call]
    return encoded


def feature_linear(
    features: FeatureMatrix, weight: Tensor, *, rate: float = 0.0, noise: Noise | None = None, stream: int = 0
) -> Tensor:
    r"""First layer of all members at once, with dropout on the features.

    .. math:: H_{:,p,:} = \mathrm{drop}(X)\, W_p

    Args:
        features: :math:`X`, ``(n, F)``.
        weight: :math:`W`, ``(F, P, h)``.
        rate: dropout rate, applied where noise is given.
        noise: masks of this epoch; None in evaluation.
        stream: which of the epoch's masks to use.

    Returns:
        Shape ``(n, P, h)``.
    """
    x = features.dropped(rate, noise, stream)
    if isinstance(x, Tensor):
        return (x @ weight.flatten(1)).view(-1, *weight.shape[1:])
    product: Tensor = _Encoder.apply(x, None, None, weight)  # type: ignore[no-untyped-call]
    return product


class _Encoder(torch.autograd.Function):
    """The encoder, or X W alone for sparse X; with dense X the backward pass makes the hidden layer again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor | Entries, mask: Mask | None, last: Mask | None, *weights: Tensor) -> Tensor:
        ctx.mask, ctx.last, ctx.entries = mask, last, x if isinstance(x, Entries) else None
        if isinstance(x, Entries) and len(weights) == 1:
            return x.product(weights[0])
        weight1, bias1, weight2, bias2 = weights
        encoded, hidden = _encode(x, mask, last, (weight1, bias1, weight2, bias2), keep=True)
        ctx.save_for_backward(*((x, weight1, bias1, weight2) if isinstance(x, Tensor) else (hidden, weight2)))
        return encoded

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        if not ctx.saved_tensors:  # a linear map alone needs nothing but its entries
            return None, None, None, ctx.entries.transposed_product(gradient)
        gradient = gradient.contiguous() if ctx.last is None else drop(gradient, ctx.last)
        scale = 1.0 if ctx.mask is None else ctx.mask.scale
        if ctx.entries is not None:
            hidden, weight2 = ctx.saved_tensors
            return (
                None,
                None,
                None,
                *_entry_gradients(ctx.entries, gradient, hidden, weight2, scale),
                gradient.sum(dim=0),
            )
        x, weight1, bias1, weight2 = ctx.saved_tensors
        gradients = [torch.zeros_like(weight) for weight in (weight1.flatten(1), bias1, weight2)]
        for lo, hi in _blocks(x, bias1):
            hidden = _hidden(x[lo:hi], weight1, bias1, ctx.mask, lo)
            inner, second, bias = _back(gradient[lo:hi], weight2, hidden, scale)
            gradients[0].addmm_(x[lo:hi].T, inner.flatten(1))
            gradients[1] += bias
            gradients[2] += second
        return None, None, None, gradients[0].view_as(weight1), gradients[1], gradients[2], gradient.sum(dim=0)


def _encode(
    x: Tensor | Entries, mask: Mask | None, last: Mask | None, weights: Weights, *, keep: bool
) -> tuple[Tensor, Tensor | None]:
    """The result ``(n, P, C)`` and, of sparse features, the hidden layer that the backward pass needs."""
    weight1, bias1, weight2, bias2 = weights
    hidden = None
    if isinstance(x, Tensor):
        encoded = x.new_empty(len(x), *bias2.shape)
        for lo, hi in _blocks(x, bias1):
            encoded[lo:hi] = _second_map(_hidden(x[lo:hi], weight1, bias1, mask, lo), weight2, bias2)
    elif x.features.patterns is not None:
        own = weight1.contiguous(), bias1.contiguous(), weight2.contiguous(), bias2.contiguous()
        pattern = x.features.patterns[0]
        return kernels.encode(pattern, x.values, own, gaps=x.dropped, masks=(mask, last), keep=keep)
    else:
        hidden = torch.relu(x.product(weight1) + bias1)
        hidden = hidden if mask is None else drop(hidden, mask)
        encoded = _second_map(hidden, weight2, bias2).contiguous()
    return encoded if last is None else drop(encoded, last), hidden


def _entry_gradients(
    entries: Entries, gradient: Tensor, hidden: Tensor, weight2: Tensor, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """From the gradient of the second map's result to those of both weights and the first bias, in their order."""
    turned = entries.features.turned
    if turned is not None:
        return kernels.encode_gradients(turned, entries.values, gradient, hidden, weight2.contiguous(), scale)
    inner, second, bias = _back(gradient, weight2, hidden, scale)
    return entries.transposed_product(inner), bias, second


def _second_map(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Each member's map to the classes, transposed: the vendor's product is slower on a few columns than on a few rows.

    (``member_linear`` is faster where autograd follows it, which gets strides here that it is slow with.)
    """
    turned = weight.transpose(1, 2).contiguous()
    return torch.baddbmm(bias[..., None], turned, hidden.permute(1, 2, 0)).permute(2, 0, 1)


def _blocks(x: Tensor, bias: Tensor) -> list[tuple[int, int]]:
    rows = max(1, BLOCK // (bias.numel() * bias.element_size()))
    return [(lo, min(lo + rows, len(x))) for lo in range(0, len(x), rows)]


def _hidden(x: Tensor, weight: Tensor, bias: Tensor, mask: Mask | None, first: int) -> Tensor:
    hidden = torch.addmm(bias.flatten(), x, weight.flatten(1)).relu_().view(-1, *bias.shape)
    return hidden if mask is None else drop(hidden, mask, first=first)


def _back(gradient: Tensor, weight: Tensor, hidden: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """From the gradient of drop(ReLU(z)) W to those of z, of W, and of z summed over the nodes."""
    if is_native(hidden):
        return kernels.back(gradient, weight, hidden, scale)
    inner = torch.bmm(gradient.transpose(0, 1), weight.transpose(1, 2)).transpose(0, 1)
    # A hidden number that was cut or dropped is 0, so hidden > 0 says where the gradient passes.
    inner = torch.where(hidden > 0, scale * inner, 0)
    return inner, torch.bmm(hidden.permute(1, 2, 0), gradient.transpose(0, 1)), inner.sum(dim=0)
