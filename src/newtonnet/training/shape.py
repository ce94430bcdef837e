"""Shape-aware regularisation: bands of the filter, the penalty on them, and the homophily that it follows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.graphs import BANDS
from newtonnet.nn import Population
from newtonnet.polynomials import Filter

from .config import Config

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
    excess = (homophily - pivot).detach()
    inside, weights = bands.to(values), band_weights(excess, gammas).to(values)
    return weighted_energy(values, inside.T @ weights) if squared else weighted_norms(values, inside, weights)


def band_weights(excess: Tensor, gammas: Tensor) -> Tensor:
    """What multiplies the norms of the three bands, ``(3, P)``, from h minus its pivot ``(P,)`` and the gammas."""
    return torch.stack([-excess, excess.abs(), excess]) * gammas


def weighted_energy(values: Tensor, weights: Tensor) -> Tensor:
    """The sum ``(P,)`` of squared values ``(Q, P)``, or ``(Q, P, d)``, with weights at the points ``(Q, P)``."""
    energy = values.square() if values.ndim == 2 else values.square().mean(dim=2)
    return (weights * energy).sum(dim=0)


def weighted_norms(values: Tensor, bands: Tensor, weights: Tensor) -> Tensor:
    """The sum ``(P,)`` of the norms of values ``(Q, P)``, or ``(Q, P, d)``, in bands ``(3, Q)`` with weights."""
    # vector_norm has the subgradient 0 at 0, where the norm has no gradient.
    norms = torch.linalg.vector_norm(values * bands.view(3, -1, *[1] * (values.ndim - 1)), dim=1)
    penalty: Tensor = (weights * (norms if values.ndim == 2 else norms.mean(dim=2))).sum(dim=0)
    return penalty


class ShapeRegulariser:
    """The shape-aware penalty of all members during a training.

    Args:
        filter: the filter whose shape is regularised; None where there is none.
        configs: one for each member.
        classes: number of classes.
        has_edges: whether there is a homophily to learn; without one the penalty is 0.
        dtype: type of the filter's values.
        device: where these are.

    Attributes:
        homophily: learned h of every member, ``(P,)``; the pivot until it is learned.
        pivot: where encouraging turns into discouraging, ``(P,)``.
        active: whether a member that still trains has a penalty.
    """

    def __init__(
        self,
        filter: Filter | None,
        configs: Sequence[Config],
        *,
        classes: int,
        has_edges: bool = True,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        self.shared, self.has_edges = configs[0], has_edges
        masks = torch.zeros(3, 0) if filter is None else band_masks(filter.points)
        self.bands = masks.to(device=device, dtype=dtype)
        self.gammas = np.array([config.gammas for config in configs]).T
        self.pivot = np.full(len(configs), 1 / classes)
        self.homophily = self.pivot.copy()
        self.keep(np.arange(len(configs)))

    def keep(self, places: NDArray[np.int64]) -> None:
        """Go on with the members at these places."""
        self.places = places
        self.active = self.has_edges and bool(self.gammas[:, places].any())
        self._weigh()

    def restore(self, homophily: Reals, pivot: Reals) -> None:
        """Go on with what was learned before."""
        self.homophily, self.pivot = homophily, pivot
        self._weigh()

    def follow(self, homophily: Reals, pivot: Reals | None = None) -> None:
        """Take the homophily just learned ``(P,)`` of members that still train, and their pivot where that moves."""
        self.homophily[self.places] = homophily
        if pivot is not None:
            self.pivot[self.places] = pivot
        self._weigh()

    def penalty(self, model: Population) -> Tensor | float:
        """The penalty on the filter's amplitudes, or on its raw values, ``(P,)``; 0 where no member has one."""
        if not self.active or model.filter is None:
            return 0.0
        parameters = model.filter_parameters()
        values = parameters["values"] if self.shared.penalises_raw else model.filter.amplitudes(parameters)
        if self.shared.squared:
            return weighted_energy(values, self.at_points)
        return weighted_norms(values, self.bands, self.weights)

    def _weigh(self) -> None:
        excess = torch.from_numpy(self.homophily[self.places] - self.pivot[self.places])
        self.weights = band_weights(excess, torch.from_numpy(self.gammas[:, self.places])).to(self.bands)
        self.at_points = self.bands.T @ self.weights


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
    # One member at a time: indexing a vector is several times faster than indexing the rows of a matrix.
    members = classes.T.contiguous()
    same = [torch.count_nonzero(row.index_select(0, pairs[0]) == row.index_select(0, pairs[1])) for row in members]
    return torch.stack(same).double() / pairs.shape[1]
