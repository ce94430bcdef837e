"""Shape-aware regularisation: bands of the filter, the penalty on them, and the homophily that steers it."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from newtonnet import kernels
from newtonnet.graphs import BANDS
from newtonnet.polynomials import Filter, Parameters

Reals = NDArray[np.floating[Any]]


def band_masks(points: Tensor) -> Tensor:
    """Which points are low, middle and high frequencies, by their value; bool, shape ``(3, Q)``.

    At the paper's K = 5 these are its slices i = 2, j = 4.

    >>> band_masks(torch.tensor([0.0, 0.4, 0.8, 1.2, 1.6, 2.0])).int().argmax(dim=0)
    tensor([0, 0, 1, 1, 2, 2])
    """
    edges = torch.tensor(BANDS, dtype=points.dtype, device=points.device)
    return torch.bucketize(points, edges, right=True) == torch.arange(3, device=points.device)[:, None]


def shape_penalty(
    values: Tensor, bands: Tensor, *, homophily: Tensor, pivot: Tensor, gammas: Tensor, squared: bool = True
) -> Tensor:
    r"""The paper's :math:`\mathcal L_{SR}`: encourage the bands that this homophily favours, discourage the others.

    .. math::
        \gamma_1 (\tfrac1C - h) \|t_{low}\|^2 + \gamma_2 |h - \tfrac1C| \|t_{mid}\|^2
        + \gamma_3 (h - \tfrac1C) \|t_{high}\|^2

    (The paper's sentence that gives the low band "a positive coefficient" for h above 1/C is a slip: the formula's
    coefficient is negative there, which is what encourages it.)

    Args:
        values: the filter's amplitudes at its points, ``(Q, P)``, or ``(Q, P, d)``, then averaged over channels.
        bands: masks of the three bands, ``(3, Q)``.
        homophily: learned h of each member, a constant for the gradient, ``(P,)``.
        pivot: where encouraging turns into discouraging, :math:`1/C`, broadcast to ``(P,)``.
        gammas: ``(3, P)``.
        squared: squared norms (the paper) or plain ones (its released code).

    Returns:
        One penalty for each member, ``(P,)``.

    >>> t, h = torch.ones(3, 1), torch.tensor([0.75])
    >>> shape_penalty(t, torch.eye(3).bool(), homophily=h, pivot=torch.tensor(0.5), gammas=torch.ones(3, 1))
    tensor([0.2500])
    """
    pull = band_pull((homophily - pivot).cpu().numpy(), gammas.cpu().numpy())
    penalty: Tensor = _Penalty.apply(values, bands.cpu().numpy(), pull, squared)  # type: ignore[no-untyped-call]
    return penalty


def band_pull(excess: Reals, gammas: Reals) -> Reals:
    """What multiplies the norms of the three bands, ``(3, P)``, from h minus its pivot ``(P,)`` and the gammas."""
    pull = np.array([-excess, np.abs(excess), excess])
    pull *= gammas
    return pull


def penalty_and_slope(values: Reals, bands: NDArray[np.bool_], pull: Reals, *, squared: bool) -> tuple[Reals, Reals]:
    """The penalty ``(P,)`` and its slope at the values ``(Q, P)`` or ``(Q, P, d)``, as plain arrays.

    So few numbers are not worth an autograd graph, which takes longer than the sparse products on a small graph.
    """
    inside = bands.astype(values.dtype)
    force = pull.astype(values.dtype) if values.ndim == 2 else (pull / values.shape[2]).astype(values.dtype)[..., None]
    size = (inside @ (values * values).reshape(len(values), -1)).reshape(3, *values.shape[1:])
    if squared:
        slope = 2 * force
    else:
        # The norm's slope at zero is infinite; its subgradient 0 is taken, as torch.linalg.vector_norm does.
        size = np.sqrt(size)
        slope = np.divide(force, size, out=np.zeros_like(size), where=size > 0)
    penalty = (force * size).sum(axis=0)
    at_points = (inside.T @ slope.reshape(3, -1)).reshape(-1, *slope.shape[1:])
    return penalty if penalty.ndim == 1 else penalty.sum(axis=1), at_points * values


def penalise(
    filter: Filter, parameters: Parameters, bands: NDArray[np.bool_], pull: Reals, *, raw: bool, squared: bool
) -> tuple[Reals, dict[str, Tensor]]:
    """The penalty of a filter's members, ``(P,)``, and what it adds to the gradients of its parameters.

    Args:
        filter: the filter.
        parameters: its raw parameters, each ``(m, P)`` or ``(m, P, d)``.
        bands: masks of the three bands at the filter's points.
        pull: as :func:`band_pull` gives it.
        raw: look at the raw values instead of the filter's amplitudes.
        squared: squared norms or plain ones.
    """
    with torch.no_grad():
        amplitudes = (parameters["values"] if raw else filter.amplitudes(parameters)).detach()
    penalty, slope = penalty_and_slope(amplitudes.cpu().numpy(), bands, pull, squared=squared)
    slopes = torch.from_numpy(slope).to(amplitudes)
    return penalty, {"values": slopes} if raw else filter.pull_back(parameters, slopes)


class _Penalty(torch.autograd.Function):
    """The penalty for whoever wants it in a graph."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, bands: NDArray[np.bool_], pull: Reals, squared: bool) -> Tensor:
        penalty, slope = penalty_and_slope(values.detach().cpu().numpy(), bands, pull, squared=squared)
        ctx.slope = torch.from_numpy(slope).to(values)
        return torch.from_numpy(penalty).to(values)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        return ctx.slope * (gradient if ctx.slope.ndim == 2 else gradient[:, None]), None, None, None


def adjusted_pivot(degrees: Tensor, classes: Tensor, count: int) -> Tensor:
    r"""Homophily expected by chance, :math:`\sum_k (D_k / 2E)^2` with :math:`D_k` the summed degree of class k.

    Args:
        degrees: number of edges at each node, ``(n,)``.
        classes: class of every node, ``(n, P)``.
        count: number of classes.

    Returns:
        Shape ``(P,)``, float64; 1/C for a graph without edges.

    >>> adjusted_pivot(torch.tensor([1, 2, 1]), torch.tensor([[0], [0], [1]]), 2)
    tensor([0.6250], dtype=torch.float64)
    """
    total = degrees.sum()
    if total == 0:
        return torch.full((classes.shape[1],), 1 / count, dtype=torch.float64, device=classes.device)
    shares = torch.zeros(count, classes.shape[1], dtype=torch.float64, device=classes.device)
    shares.scatter_add_(0, classes.long(), (degrees.double() / total)[:, None].expand(classes.shape))
    return (shares**2).sum(dim=0)


def predicted_homophily(pairs: Tensor, classes: Tensor) -> Tensor:
    """Share of edges whose ends are predicted to have equal classes, for each member.

    Args:
        pairs: ends of every edge once, ``(2, E)``.
        classes: predicted class of every node, with training labels put in, ``(n, P)``.

    Returns:
        Shape ``(P,)``, float64; 0 for a graph without edges.

    >>> predicted_homophily(torch.tensor([[0, 1], [1, 2]]), torch.tensor([[0], [0], [1]]))
    tensor([0.5000], dtype=torch.float64)
    """
    if pairs.shape[1] == 0:
        return torch.zeros(classes.shape[1], dtype=torch.float64, device=classes.device)
    if (
        pairs.dtype == torch.int32
        and classes.dtype == torch.int16
        and kernels.available()
        and pairs.device.type == "cpu"
    ):
        return torch.from_numpy(kernels.agreeing(pairs, classes.contiguous()).numpy() / pairs.shape[1])
    same = classes[pairs[0]] == classes[pairs[1]]
    return same.sum(dim=0).double() / pairs.shape[1]
