"""Shape-aware regularisation: bands of the filter, the penalty on them, and the homophily that it follows."""

import torch
from torch import Tensor

from newtonnet import kernels
from newtonnet.graphs import BANDS


def band_masks(points: Tensor, slices: tuple[int, int] | None = None) -> Tensor:
    """Which points are low, middle and high frequencies, bool, shape ``(3, Q)``: by their value, or by their index.

    At the paper's K = 5 the values give its slices i = 2, j = 4.

    >>> band_masks(torch.tensor([0.0, 0.4, 0.8, 1.2, 1.6, 2.0])).int().argmax(dim=0)
    tensor([0, 0, 1, 1, 2, 2])
    """
    if slices is not None:
        if slices[1] >= len(points):
            raise ValueError(f"slices {slices} leave no high frequencies among {len(points)} points")
        index = torch.arange(len(points), device=points.device)
        band = (index >= slices[0]).long() + (index >= slices[1]).long()
        return band == torch.arange(3, device=points.device)[:, None]
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
    excess = homophily - pivot
    weights = (torch.stack([-excess, excess.abs(), excess]) * gammas).to(values)
    inside = bands.to(values)
    if squared:
        energy = values.square() if values.ndim == 2 else values.square().mean(dim=2)
        return ((inside.T @ weights) * energy).sum(dim=0)
    # vector_norm has the subgradient 0 at 0, where the norm has no gradient.
    norms = torch.linalg.vector_norm(values * inside.view(3, -1, *[1] * (values.ndim - 1)), dim=1)
    penalty: Tensor = (weights * (norms if values.ndim == 2 else norms.mean(dim=2))).sum(dim=0)
    return penalty


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


def predicted_homophily(pairs: Tensor, classes: Tensor, weights: Tensor | None = None) -> Tensor:
    """Share of edges whose ends are predicted to have equal classes, for each member.

    Args:
        pairs: ends of every edge once, ``(2, E)``.
        classes: predicted class of every node, with training labels put in, ``(n, P)``.
        weights: how much every edge counts, float64, ``(E,)``; all alike if not given.

    Returns:
        Shape ``(P,)``, float64; 0 for a graph without edges.

    >>> predicted_homophily(torch.tensor([[0, 1], [1, 2]]), torch.tensor([[0], [0], [1]]))
    tensor([0.5000], dtype=torch.float64)
    """
    if pairs.shape[1] == 0:
        return torch.zeros(classes.shape[1], dtype=torch.float64, device=classes.device)
    types = pairs.dtype, classes.dtype
    if weights is None and types == (torch.int32, torch.uint8) and classes.device.type == "cpu" and kernels.available():
        return kernels.agreeing(pairs.contiguous(), classes.contiguous()).double() / pairs.shape[1]
    one, two = pairs
    same = [row.index_select(0, one) == row.index_select(0, two) for row in classes.unbind(dim=1)]
    if weights is not None:
        return torch.stack([weights[equal].sum() for equal in same]) / weights.sum()
    return torch.stack([torch.count_nonzero(equal) for equal in same]).double() / pairs.shape[1]


def neighbour_correlation(pairs: Tensor, values: Tensor, weights: Tensor | None = None) -> Tensor:
    """Homophily of numbers: the correlation of the two ends of an edge, in both directions, for each member.

    Args:
        pairs: ends of every edge once, ``(2, E)``.
        values: predicted number of every node, with training targets put in, ``(n, P)``.
        weights: how much every edge counts, ``(E, 1)``, or ``(E, P)``; all alike if not given.

    Returns:
        Shape ``(P,)``, float64, in [-1, 1]; 0, as by chance, where there are no edges or all numbers are equal.

    >>> neighbour_correlation(torch.tensor([[0, 1], [1, 2]]), torch.tensor([[1.0], [-1.0], [1.0]]))
    tensor([-1.], dtype=torch.float64)
    """
    centred = values.double() - values.double().mean(dim=0)
    one, two = (centred.index_select(0, ends) for ends in pairs.long())
    counts = torch.ones(1, 1, dtype=torch.float64, device=values.device) if weights is None else weights.double()
    total = (counts.expand(len(one), -1)).sum(dim=0).clamp(min=1e-300)
    mean = (counts * (one + two)).sum(dim=0) / 2 / total
    squares = (counts * (one**2 + two**2)).sum(dim=0) / 2 / total
    product = (counts * one * two).sum(dim=0) / total
    variance = squares - mean**2
    return torch.where(variance > 1e-12 * squares, (product - mean**2) / variance.clamp(min=1e-300), 0.0)


def training_homophily(
    pairs: Tensor, labels: Tensor, training: Tensor, *, chance: float, weights: Tensor | None = None
) -> Tensor:
    """Share of edges between training nodes that join equal labels, for each member; ``chance`` where there are none.

    Args:
        pairs: ends of every edge once, ``(2, E)``.
        labels: class of every node, ``(n,)``.
        training: which nodes train each member, bool, ``(n, P)``.
        chance: what stands for the homophily of a member without such edges.
        weights: how much every edge counts, float64, ``(E,)``; all alike if not given.

    >>> path, labels = torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.tensor([0, 0, 1, 1])
    >>> training_homophily(path, labels, torch.tensor([[True], [True], [True], [False]]), chance=0.5)
    tensor([0.5000], dtype=torch.float64)
    """
    start, end = pairs[0].long(), pairs[1].long()
    inside = (training[start] & training[end]).double()
    inside = inside if weights is None else inside * weights[:, None]
    equal = (labels[start] == labels[end]).double()
    total = inside.sum(dim=0)
    return torch.where(total > 0, equal @ inside / total, chance)
