"""Batch normalisation of a whole population, with running statistics for evaluation."""

import torch
from torch import Tensor

MOMENTUM = 0.1
"""Weight of the newest epoch in the running statistics."""
EPSILON = 1e-5
"""Keeps the variance of a constant channel away from zero."""


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
