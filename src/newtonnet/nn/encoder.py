"""The two-layer encoder of the spectral networks, in two passes over the nodes where the native kernels can be had."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from newtonnet import kernels
from newtonnet.kernels import Mask

from .layers import (
    Entries,
    FeatureMatrix,
    dropout,
    dropped_entries,
    dropped_features,
    feature_linear,
    member_linear,
    member_mask,
)
from .noise import Noise, drop, is_native

Weights = tuple[Tensor, Tensor, Tensor, Tensor]


def encode(features: FeatureMatrix, weights: Weights, *, rate: float, noise: Noise | None) -> Tensor:
    r"""Two linear maps of all members at once, with a ReLU between and dropout before each.

    .. math:: Z_{:,p,:} = \mathrm{drop}(\mathrm{ReLU}(\mathrm{drop}(X)\, W_{1,p} + b_{1,p}))\, W_{2,p} + b_{2,p}

    Args:
        features: :math:`X`, ``(n, F)``.
        weights: :math:`W_1` ``(F, P, h)``, :math:`b_1` ``(P, h)``, :math:`W_2` ``(P, h, C)``, :math:`b_2` ``(P, C)``.
        rate: dropout rate, applied where noise is given, with streams 0 and 1.
        noise: masks of this epoch; None in evaluation.

    Returns:
        Shape ``(n, P, C)``.
    """
    mask = member_mask(rate, noise, stream=1)
    if features.transpose is None:
        x = dropped_features(features.matrix, rate, noise, 0)
        blocks: Tensor = _DenseEncoder.apply(x, mask, *weights)  # type: ignore[no-untyped-call]
        return blocks
    if features.patterns is None:
        weight1, bias1, weight2, bias2 = weights
        hidden = torch.relu(feature_linear(features, weight1, rate=rate, noise=noise, stream=0) + bias1)
        return member_linear(dropout(hidden, rate=rate, noise=noise, stream=1), weight2, bias2)
    entries = dropped_entries(features, rate, noise, 0)
    if not torch.is_grad_enabled():
        return encode_entries(entries, mask, weights)[0]
    encoded: Tensor = _SparseEncoder.apply(entries, mask, *weights)  # type: ignore[no-untyped-call]
    return encoded


class _SparseEncoder(torch.autograd.Function):
    """The encoder of sparse features by native kernels, for a graph of autograd's."""

    @staticmethod
    def forward(
        ctx: Any, entries: Entries, mask: Mask | None, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor
    ) -> Tensor:
        encoded, hidden = encode_entries(entries, mask, (weight1, bias1, weight2, bias2))
        ctx.entries, ctx.mask = entries, mask
        ctx.save_for_backward(hidden, weight2)
        return encoded

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor, Tensor, Tensor, Tensor]:
        hidden, weight2 = ctx.saved_tensors
        return None, None, *encode_back(ctx.entries, ctx.mask, hidden, weight2, gradient)


def encode_entries(entries: Entries, mask: Mask | None, weights: Weights) -> tuple[Tensor, Tensor]:
    """The encoder by native kernels: its output ``(n, P, C)`` and the hidden layer, which the way back needs."""
    weight1, bias1, weight2, bias2 = weights
    hidden = entries.activated(weight1, bias1, mask)
    return _combined(hidden, weight2, bias2), hidden


def encode_back(entries: Entries, mask: Mask | None, hidden: Tensor, weight2: Tensor, slopes: Tensor) -> Weights:
    """From slopes of the encoder's output to those of its weights.

    A hidden number that was cut or dropped is 0, which tells where to go back.
    """
    slopes = slopes.contiguous()
    inner, slope2, bias1 = kernels.back(slopes, weight2, hidden, 1.0 if mask is None else mask.scale)
    return entries.transposed_product(inner), bias1, slope2, slopes.sum(dim=0)


def _combined(hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    if is_native(hidden) and kernels.can_combine(weight):
        return kernels.combine(hidden, weight.contiguous(), bias.contiguous())
    return member_linear(hidden, weight, bias)


BLOCK = 1 << 20
"""Bytes of hidden numbers that are worked on at once where the features are dense."""


class _DenseEncoder(torch.autograd.Function):
    """The encoder of dense features, some nodes at a time: hidden layers are made anew on the way back, never kept."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, mask: Mask | None, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor
    ) -> Tensor:
        ctx.mask = mask
        ctx.save_for_backward(x, weight1, bias1, weight2)
        out = x.new_empty(len(x), *bias2.shape)
        for lo, hi in _blocks(x, bias1):
            out[lo:hi] = _combined(_hidden(x[lo:hi], weight1, bias1, mask, lo), weight2, bias2)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor, Tensor, Tensor, Tensor]:
        x, weight1, bias1, weight2 = ctx.saved_tensors
        scale = 1.0 if ctx.mask is None else ctx.mask.scale
        slopes = [torch.zeros_like(weight) for weight in (weight1.flatten(1), bias1, weight2)]
        gradient = gradient.contiguous()
        for lo, hi in _blocks(x, bias1):
            hidden = _hidden(x[lo:hi], weight1, bias1, ctx.mask, lo)
            inner, second, bias = _back(gradient[lo:hi], weight2, hidden, scale)
            slopes[0].addmm_(x[lo:hi].T, inner.flatten(1))
            slopes[1] += bias
            slopes[2] += second
        return None, None, slopes[0].view_as(weight1), slopes[1], slopes[2], gradient.sum(dim=0)


def _blocks(x: Tensor, bias: Tensor) -> list[tuple[int, int]]:
    rows = max(1, BLOCK // (bias.numel() * bias.element_size()))
    return [(lo, min(lo + rows, len(x))) for lo in range(0, len(x), rows)]


def _hidden(x: Tensor, weight: Tensor, bias: Tensor, mask: Mask | None, first: int) -> Tensor:
    hidden = torch.addmm(bias.flatten(), x, weight.flatten(1)).relu_().view(-1, *bias.shape)
    return hidden if mask is None else drop(hidden, mask, first=first)


def _back(gradient: Tensor, weight: Tensor, hidden: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """From the slopes of drop(ReLU(z)) W to those of z, of W, and summed over the nodes."""
    if is_native(hidden):
        return kernels.back(gradient, weight, hidden, scale)
    inner = torch.bmm(gradient.transpose(0, 1), weight.transpose(1, 2)).transpose(0, 1)
    inner = torch.where(hidden > 0, scale * inner, 0)
    return inner, torch.bmm(hidden.permute(1, 2, 0), gradient.transpose(0, 1)), inner.sum(dim=0)
