"""The layers that models are made of: linear maps, propagation and batch normalisation of a whole population."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from newtonnet.graphs import Operator, propagate

from .inputs import Entries, FeatureMatrix
from .noise import Noise, check_rate

FULL_LANES = 16
"""Columns that a dense product works on at once."""

MOMENTUM = 0.1
"""Weight of the newest epoch in the running statistics of a batch normalisation."""

EPSILON = 1e-5
"""Keeps the variance of a constant channel away from zero."""


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
    product: Tensor = _SparseLinear.apply(x, weight)  # type: ignore[no-untyped-call]
    return product


class _SparseLinear(torch.autograd.Function):
    """X W with sparse X: forward by X, backward by its transpose, both CSR."""

    @staticmethod
    def forward(ctx: Any, entries: Entries, weight: Tensor) -> Tensor:
        ctx.entries = entries
        return entries.product(weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        return None, ctx.entries.transposed_product(gradient)


def member_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Each member's own linear map: ``(n, P, h)`` with ``(P, h, C)`` and ``(P, C)`` to ``(n, P, C)``."""
    classes = weight.shape[2]
    if classes < FULL_LANES:
        # The vendor's product is several times slower on a few columns than on sixteen.
        weight = nn.functional.pad(weight, (0, FULL_LANES - classes))
    product: Tensor = torch.bmm(x.transpose(0, 1), weight).transpose(0, 1)[..., :classes]
    return product if bias is None else product + bias


def multiply(operator: Operator, x: Tensor, factor: float = 1.0) -> Tensor:
    """The operator's matrix times signals ``(n, P, d)``, times a factor."""
    coefficients = x.new_tensor([0.0, -factor])  # T_1(L - I) is minus the matrix
    return propagate(operator, x, coefficients[:, None].expand(-1, x.shape[1]))


def uniform_start(seeds: Sequence[int], shapes: Sequence[tuple[int, ...]], fan_ins: Sequence[int]) -> list[Tensor]:
    r"""Start weights uniform in :math:`\pm 1/\sqrt{\text{fan in}}`, drawn for each member from its own seed.

    Args:
        seeds: one for each member.
        shapes: the shape of each weight for one member.
        fan_ins: number of inputs of each weight.

    Returns:
        For each weight all members' draws stacked along a new first axis.
    """
    draws: list[list[Tensor]] = [[] for _ in shapes]
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed % 2**63)
        for weight, shape, fan_in in zip(draws, shapes, fan_ins, strict=True):
            bound = 1 / math.sqrt(fan_in)
            weight.append(torch.empty(shape).uniform_(-bound, bound, generator=generator))
    return [torch.stack(weight) for weight in draws]


def glorot_bound(inputs: int, outputs: int) -> float:
    r"""The bound :math:`\sqrt{6 / (\text{fan in} + \text{fan out})}` of Glorot and Bengio's uniform start weights."""
    return math.sqrt(6 / (inputs + outputs))


def batch_norm_start(members: int, width: int, dtype: torch.dtype) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """What a normalisation starts with: its learned scale and shift, and its state, each ``(P, d)``."""
    ones, zeros = (make(members, width, dtype=dtype) for make in (torch.ones, torch.zeros))
    return {"scale": ones, "shift": zeros}, {"mean": zeros.clone(), "variance": ones.clone()}


def batch_norm(x: Tensor, scale: Tensor, shift: Tensor, *, mean: Tensor, variance: Tensor, training: bool) -> Tensor:
    r"""Give every channel of every member mean 0 and variance 1 over the graph's nodes, then scale and shift it.

    .. math:: y = s \, \frac{x - \mu}{\sqrt{v + \varepsilon}} + b

    In training :math:`\mu` and :math:`v` are the mean and the biased variance over all nodes, and the running ones move
    towards them (towards the unbiased variance) in place; in evaluation they are the running ones.

    Args:
        x: activations, ``(n, P, d)``.
        scale: :math:`s`, ``(P, d)``.
        shift: :math:`b`, ``(P, d)``.
        mean: running mean, ``(P, d)``.
        variance: running variance, ``(P, d)``.
        training: normalise by this epoch's statistics and remember them.

    Returns:
        Shape ``(n, P, d)``.

    >>> x = torch.tensor([1.0, 3.0]).reshape(2, 1, 1)
    >>> mean, variance = torch.zeros(1, 1), torch.ones(1, 1)
    >>> one, zero = torch.ones(1, 1), torch.zeros(1, 1)
    >>> batch_norm(x, one, zero, mean=mean, variance=variance, training=True).flatten()
    tensor([-1.0000,  1.0000])
    >>> mean, variance
    (tensor([[0.2000]]), tensor([[1.1000]]))

    References:
        Ioffe, Szegedy, Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate Shift,
        2015, Algorithms 1 and 2.
    """
    if training and len(x) < 2:
        raise ValueError("batch normalisation needs at least 2 nodes to train on, got 1")
    # Members and channels are columns alike: one fused kernel, and in-place updates reach the state through the views.
    flat = torch.nn.functional.batch_norm(
        x.flatten(1),
        mean.view(-1),
        variance.view(-1),
        scale.flatten(),
        shift.flatten(),
        training=training,
        momentum=MOMENTUM,
        eps=EPSILON,
    )
    return flat.view_as(x)


def check_shape(hidden: int, layers: int, rate: float) -> None:
    """Refuse a network without width, without layers, or with an impossible dropout."""
    check_count("hidden", hidden)
    check_count("layers", layers)
    check_rate(rate)


def check_count(name: str, value: int, least: int = 1) -> None:
    """Refuse a width or a number of layers that is too small."""
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
