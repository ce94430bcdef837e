"""Spectral filters, the paper's and those of other methods: a link and a constant matrix to Chebyshev coefficients."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from operator import itemgetter
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from newtonnet.drawing import filter_picture, filter_plot

from .bases import Basis, bernstein, chebyshev, jacobi, monomial, to_chebyshev
from .interpolation import lagrange_matrix
from .points import check_degree, check_points, equispaced

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DRAWN = 101
"""Frequencies at which a filter is drawn."""

Parameters = Mapping[str, Tensor]
"""Raw parameters by name, each ``(m,)``, ``(m, P)`` or ``(m, P, d)``: the filter's axis comes first."""
Link = Callable[[Parameters], Tensor]


@dataclass(frozen=True, eq=False)
class Filter:
    r"""A polynomial filter :math:`g(\lambda) = \sum_k c_k T_k(\lambda - 1)` with :math:`c = M\,\mathrm{link}(p)`.

    Every polynomial filter is a link on its raw parameters followed by a constant matrix, so all of them share
    one kernel, the Chebyshev recurrence on :math:`L - I`.

    Attributes:
        name: name in records and figures.
        start: start values of the raw parameters, by name, each of shape ``(m,)``, or ``(m, d)`` for one filter per
            channel; none at all for a fixed filter.
        link: from the raw parameters to what the matrix multiplies, shape ``(m, ...)``.
        matrix: :math:`M`, float64, shape ``(K+1, m)``.
        points: where the filter's shape is regularised, float64, shape ``(Q,)``.
    """

    name: str
    start: Parameters
    link: Link
    matrix: Tensor
    points: Tensor

    @property
    def degree(self) -> int:
        """The polynomial's degree K."""
        return len(self.matrix) - 1

    def coefficients(self, parameters: Parameters) -> Tensor:
        """Chebyshev coefficients on ``L - I``: ``(K+1,)``, ``(K+1, P)`` or ``(K+1, P, d)``, like the parameters."""
        return _contract(self.matrix, self.link(parameters))

    def response(self, frequency: Tensor, parameters: Parameters) -> Tensor:
        r"""The filter's amplitude :math:`g(\lambda)`.

        Args:
            frequency: :math:`\lambda` in [0, 2], shape ``(m,)``.
            parameters: raw parameters, as in :meth:`coefficients`.

        Returns:
            Shape ``(m,)`` followed by the trailing axes of the parameters.

        >>> g = newton_filter(equispaced(2))
        >>> g.response(torch.tensor([0.0, 1.0, 2.0]), {"values": torch.tensor([1.0, 0.5, 2.0])})
        tensor([1.0000, 0.5000, 2.0000])
        """
        return _contract(chebyshev(frequency.double() - 1, self.degree), self.coefficients(parameters))

    def amplitudes(self, parameters: Parameters) -> Tensor:
        """The response at the filter's own points."""
        linked = self.link(parameters)
        return linked if self._at_points is None else _contract(self._at_points, linked)

    @cached_property
    def _at_points(self) -> Tensor | None:
        """From linked parameters to the response at the points; None where they are the same numbers."""
        sampled = chebyshev(self.points.double() - 1, self.degree) @ self.matrix
        same = sampled.shape[0] == sampled.shape[1] and torch.allclose(sampled, torch.eye(len(sampled)).double())
        return None if same else sampled

    def plot(self, parameters: Parameters | None = None) -> "Figure":
        """The response over frequency as a figure of plotly, a thin line for each of several members or channels.

        Args:
            parameters: raw parameters, as in :meth:`coefficients`; the start values if not given.
        """
        raw = self.start if parameters is None else parameters
        grid, responses = self._drawn(raw)
        amplitudes = self.amplitudes(raw).detach().double().reshape(len(self.points), -1).mean(dim=1)
        return filter_plot(grid, responses, points=self.points.tolist(), values=amplitudes.tolist())

    def _repr_html_(self) -> str:
        text = f"filter {self.name} of degree {self.degree} at its start values"
        return filter_picture(*self._drawn(self.start), alternative=text)

    def _drawn(self, parameters: Parameters) -> tuple[list[float], list[list[float]]]:
        grid = torch.linspace(0, 2, DRAWN, dtype=torch.float64)
        drawn = self.response(grid, parameters).detach().double().reshape(DRAWN, -1)
        return grid.tolist(), drawn.T.tolist()

    def condition(self, resolution: int = 2001) -> float:
        r"""How much an error of the linked parameters can grow: :math:`\max_\lambda \sum_j |(T(\lambda - 1) M)_j|`.

        For an interpolating filter this is the Lebesgue constant of its points.

        >>> round(newton_filter(equispaced(5)).condition(), 2)
        3.11
        """
        grid = torch.linspace(0, 2, resolution, dtype=torch.float64)
        return float((chebyshev(grid - 1, self.degree) @ self.matrix).abs().sum(dim=1).max())


def newton_filter(
    points: Tensor | Iterable[float] | None = None,
    *,
    nonnegative: bool = True,
    unit: bool = False,
    channels: int | None = None,
) -> Filter:
    r"""The paper's filter: the polynomial through learnable values :math:`t_k` at fixed points :math:`q_k`.

    .. math:: g(\lambda) = \sum_{k=0}^{K} \hat g_t[q_0, \dots, q_k] \prod_{i<k} (\lambda - q_i), \qquad g(q_k) = t_k

    This polynomial is unique, so the filter stores Newton's interpolant (Lemma 4.2) by its Chebyshev coefficients.

    Args:
        points: distinct points in [0, 2] in any order; the paper's equispaced ones of degree 5 if not given.
        nonnegative: pass the raw values through a ReLU, as the released code does; the paper's text leaves them free.
        unit: divide the values by their root mean square, so that only their shape is learned.
        channels: number of channels with a filter each, which the paper does not have; one for all if not given.

    Returns:
        A filter with one parameter ``values`` of shape ``(K+1,)`` or ``(K+1, channels)``, all ones at the start
        (:math:`g \equiv 1`).

    References:
        Xu et al., Shape-aware Graph Spectral Learning, 2024, Eq. (5) and (6).
    """
    q = equispaced(5) if points is None else check_points(points)
    link: Link = partial(_rectified, "values") if nonnegative else itemgetter("values")
    return Filter(
        name="newton",
        start={"values": torch.ones(len(q) if channels is None else (len(q), channels), dtype=torch.float64)},
        link=partial(_unit, link) if unit else link,
        matrix=to_chebyshev(lambda frequency: lagrange_matrix(q, frequency), len(q) - 1),
        points=q,
    )


def identity_filter() -> Filter:
    r""":math:`g \equiv 1`: no propagation at all, which makes a spectral network an MLP."""
    one = torch.ones(1, dtype=torch.float64)
    return Filter(name="identity", start={}, link=lambda _: one, matrix=one[:, None], points=equispaced(5))


def pagerank_weights(degree: int, alpha: float) -> Tensor:
    r"""Personalised PageRank cut at degree K: :math:`\gamma_k = \alpha (1-\alpha)^k`, the rest on :math:`\gamma_K`.

    >>> pagerank_weights(3, 0.1)
    tensor([0.1000, 0.0900, 0.0810, 0.7290], dtype=torch.float64)
    """
    check_degree(degree)
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha}")
    powers = torch.tensor(1 - alpha, dtype=torch.float64) ** torch.arange(degree + 1)
    return torch.cat([alpha * powers[:-1], powers[-1:]])


def pagerank_filter(degree: int = 10, *, alpha: float = 0.1) -> Filter:
    r"""APPNP's fixed filter :math:`g = \sum_k \gamma_k z^k`, :math:`z = 1 - \lambda` the adjacency's eigenvalue.

    References:
        Gasteiger, Bojchevski, Günnemann, Predict then Propagate, 2019, Eq. (4).
    """
    weights = pagerank_weights(degree, alpha)
    return _in_basis("pagerank", degree, lambda frequency: monomial(1 - frequency, degree), {}, lambda _: weights)


def monomial_filter(degree: int = 10, *, alpha: float = 0.1) -> Filter:
    r"""GPRGNN's filter :math:`g = \sum_k \gamma_k z^k` with learned :math:`\gamma`, from PageRank's weights.

    References:
        Chien, Peng, Li, Milenkovic, Adaptive Universal Generalized PageRank Graph Neural Network, 2021, Eq. (1).
    """
    start = {"weights": pagerank_weights(degree, alpha)}
    return _in_basis("monomial", degree, lambda frequency: monomial(1 - frequency, degree), start)


def bernstein_filter(degree: int = 10) -> Filter:
    r"""BernNet's :math:`g = \sum_k \mathrm{ReLU}(\theta_k) \binom{K}{k} s^k (1-s)^{K-k}`, :math:`s = \lambda / 2`.

    The released code spends K(K+3)/2 sparse products on it; in this frame it costs K.

    References:
        He, Wei, Huang, Xu, BernNet, 2021, Eq. (4).
    """
    check_degree(degree)
    start = {"weights": torch.ones(degree + 1, dtype=torch.float64)}
    link = partial(_rectified, "weights")
    return _in_basis("bernstein", degree, lambda frequency: bernstein(frequency / 2, degree), start, link)


def jacobi_filter(
    degree: int = 10, *, channels: int, a: float = 1.0, b: float = 1.0, alpha: float = 1.0, released: bool = False
) -> Filter:
    r"""JacobiConv's filter for each channel, its coefficients scaled by gated products.

    .. math:: g_c(\lambda) = \sum_k w_{k,c} \Big(\prod_{i<k} \alpha \tanh \eta_i\Big) P_k^{(a,b)}(1 - \lambda)

    Args:
        degree: :math:`K`.
        channels: number of channels C, each with weights of its own.
        a: Jacobi's first exponent.
        b: Jacobi's second exponent.
        alpha: bound of the scales.
        released: the released code's recurrence, which has the wrong sign on one term for k >= 2 (identical where
            a² = b²); its published settings were tuned with it. By default the Jacobi polynomials of the paper.

    References:
        Wang, Zhang, How Powerful are Spectral Graph Neural Networks, 2022, Section 5 and Appendix D.
    """
    check_degree(degree)
    if not 0 < alpha < math.inf:
        raise ValueError(f"alpha must be above 0 and finite, got {alpha}")
    if channels < 1:
        raise ValueError(f"channels must be at least 1, got {channels}")

    def link(parameters: Parameters) -> Tensor:
        weights, gates = parameters["weights"], parameters["gates"]
        scales = torch.cumprod(alpha * torch.tanh(gates), dim=0)
        scales = torch.cat([torch.ones_like(scales[:1]), scales])
        return weights * scales[(..., *[None] * (weights.ndim - gates.ndim))]

    start = {
        "weights": torch.ones(degree + 1, channels, dtype=torch.float64),
        "gates": torch.full((degree,), min(1 / alpha, 1.0), dtype=torch.float64),
    }
    return _in_basis(
        "jacobi", degree, lambda frequency: jacobi(1 - frequency, degree, a, b, released=released), start, link
    )


def legendre_filter(degree: int = 10) -> Filter:
    r"""The filter :math:`g = \sum_k w_k P_k(1 - \lambda)` with learned weights on the Legendre polynomials.

    The argument is the adjacency's eigenvalue :math:`z = 1 - \lambda`, as for GPRGNN and JacobiConv: :math:`P_1` is
    one step of averaging. The weights start as 1, 0, ..., 0, so that :math:`g \equiv 1`. (These are JacobiConv's
    polynomials at a = b = 0, without its gates and channels; orthogonal if frequencies spread evenly over [0, 2].)

    >>> g = legendre_filter(2)
    >>> g.response(torch.tensor([0.0, 1.0, 2.0]), {"weights": torch.tensor([0.0, 0.0, 1.0])})
    tensor([ 1.0000, -0.5000,  1.0000])

    References:
        Szegő, Orthogonal Polynomials, 1939, Eq. (4.5.1) with both exponents 0.
    """
    check_degree(degree)
    start = {"weights": torch.eye(degree + 1, dtype=torch.float64)[0]}
    return _in_basis("legendre", degree, lambda frequency: jacobi(1 - frequency, degree, 0, 0), start)


def _in_basis(name: str, degree: int, basis: Basis, start: Parameters, link: Link = itemgetter("weights")) -> Filter:
    """A filter whose linked parameters are its coefficients in a basis."""
    return Filter(name, start, link, to_chebyshev(basis, degree), equispaced(max(degree, 2)))


def _rectified(name: str, parameters: Parameters) -> Tensor:
    return torch.relu(parameters[name])


def _unit(link: Link, parameters: Parameters) -> Tensor:
    values = link(parameters)
    return values / values.square().mean(dim=0).clamp_min(1e-12).sqrt()


def _contract(matrix: Tensor, block: Tensor) -> Tensor:
    """Sum over the matrix's second and the block's first axis, in the block's type and place."""
    product: Tensor = matrix.to(block) @ block if block.ndim < 3 else torch.tensordot(matrix.to(block), block, dims=1)
    return product
