"""The layers that models are made of: linear maps, propagation and batch normalisation of a whole population."""

import torch
from torch import Tensor, nn

from newtonnet.graphs import Operator, propagate

from .noise import check_rate

FULL_LANES = 16
"""Columns that a dense product works on at once."""

MOMENTUM = 0.1
"""Weight of the newest epoch in the running statistics of a batch normalisation."""

EPSILON = 1e-5
"""Keeps the variance of a constant channel away from zero."""


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
