"""The two-layer encoder of the spectral networks, in two passes over the nodes where the native kernels can be had."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from newtonnet import kernels
from newtonnet.kernels import Mask

from .layers import FeatureMatrix, dropout, dropped_features, feature_linear, member_linear, transposed_product
from .noise import Noise

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
    if features.patterns is None:
        weight1, bias1, weight2, bias2 = weights
        hidden = torch.relu(feature_linear(features, weight1, rate=rate, noise=noise, stream=0) + bias1)
        return member_linear(dropout(hidden, rate=rate, noise=noise, stream=1), weight2, bias2)
    values = dropped_features(features.matrix.values(), rate, noise, 0)
    mask = noise.members(rate, stream=1) if noise is not None and rate > 0 else None
    encoded: Tensor = _SparseEncoder.apply(features, values, mask, *weights)  # type: ignore[no-untyped-call]
    return encoded


class _SparseEncoder(torch.autograd.Function):
    """The encoder by native kernels; a hidden number that was cut or dropped is 0, which tells where to go back."""

    @staticmethod
    def forward(
        ctx: Any,
        features: FeatureMatrix,
        values: Tensor,
        mask: Mask | None,
        weight1: Tensor,
        bias1: Tensor,
        weight2: Tensor,
        bias2: Tensor,
    ) -> Tensor:
        pattern = features.patterns[0]  # type: ignore[index]
        hidden = kernels.multiply(pattern, values, weight1.contiguous(), bias=bias1.contiguous(), mask=mask)
        ctx.features, ctx.values, ctx.scale = features, values, 1.0 if mask is None else mask.scale
        ctx.save_for_backward(hidden, weight2)
        return member_linear(hidden, weight2, bias2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, None, Tensor, Tensor, Tensor, Tensor]:
        hidden, weight2 = ctx.saved_tensors
        gradient = gradient.contiguous()
        inner, slope2, bias1 = kernels.back(gradient, weight2, hidden, ctx.scale)
        slope1 = transposed_product(ctx.features, ctx.values, inner)
        return None, None, None, slope1, bias1, slope2, gradient.sum(dim=0)
