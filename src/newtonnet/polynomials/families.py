"""The filters of other methods, each in the one frame: a link and a constant matrix to Chebyshev coefficients."""

import math

import torch
from torch import Tensor

from . import bases
from .filters import Filter, Parameters, newton_filter
from .points import chebyshev_points, check_degree, equispaced


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
    return Filter(
        name="pagerank", start={}, link=lambda _: weights, matrix=_powers(degree), points=equispaced(max(degree, 2))
    )


def monomial_filter(degree: int = 10, *, alpha: float = 0.1) -> Filter:
    r"""GPRGNN's filter :math:`g = \sum_k \gamma_k z^k` with learned :math:`\gamma`, from PageRank's weights.

    References:
        Chien, Peng, Li, Milenkovic, Adaptive Universal Generalized PageRank Graph Neural Network, 2021, Eq. (1).
    """
    return Filter(
        name="monomial",
        start={"weights": pagerank_weights(degree, alpha)},
        link=_weights,
        matrix=_powers(degree),
        points=equispaced(max(degree, 2)),
    )


def bernstein_filter(degree: int = 10) -> Filter:
    r"""BernNet's :math:`g = \sum_k \mathrm{ReLU}(\theta_k) \binom{K}{k} s^k (1-s)^{K-k}`, :math:`s = \lambda / 2`.

    The released code spends K(K+3)/2 sparse products on it; in this frame it costs K.

    References:
        He, Wei, Huang, Xu, BernNet, 2021, Eq. (4).
    """
    check_degree(degree)
    return Filter(
        name="bernstein",
        start={"weights": torch.ones(degree + 1, dtype=torch.float64)},
        link=_nonnegative_weights,
        matrix=bases.to_chebyshev(lambda frequency: bases.bernstein(frequency / 2, degree), degree),
        points=equispaced(max(degree, 2)),
    )


def chebyshev_interpolation_filter(degree: int = 10, *, nonnegative: bool = True) -> Filter:
    r"""ChebNetII's filter: values at the Chebyshev points, so it is Newton's filter with these points.

    References:
        He, Wei, Wen, Convolutional Neural Networks on Graphs with Chebyshev Approximation, Revisited, 2022, Eq. (8).
    """
    return newton_filter(chebyshev_points(degree), nonnegative=nonnegative)


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

    return Filter(
        name="jacobi",
        start={
            "weights": torch.ones(degree + 1, channels, dtype=torch.float64),
            "gates": torch.full((degree,), min(1 / alpha, 1.0), dtype=torch.float64),
        },
        link=link,
        matrix=bases.to_chebyshev(
            lambda frequency: bases.jacobi(1 - frequency, degree, a, b, released=released), degree
        ),
        points=equispaced(max(degree, 2)),
    )


def legendre_filter(degree: int = 10) -> Filter:
    r"""The filter :math:`g = \sum_k w_k P_k(1 - \lambda)` with learned weights on the Legendre polynomials.

    The argument is the adjacency's eigenvalue :math:`z = 1 - \lambda`, as for GPRGNN and JacobiConv: :math:`P_1` is
    one step of averaging, and :math:`P_k(z) = (-1)^k P_k(-z)` makes the other choice a change of signs. The weights
    start as 1, 0, ..., 0, so that :math:`g \equiv 1`. (JacobiConv's polynomials at a = b = 0, without its gates and
    channels; orthogonal where frequencies spread evenly over [0, 2].)

    >>> g = legendre_filter(2)
    >>> g.response(torch.tensor([0.0, 1.0, 2.0]), {"weights": torch.tensor([0.0, 0.0, 1.0])})
    tensor([ 1.0000, -0.5000,  1.0000])

    References:
        Szegő, Orthogonal Polynomials, 1939, Eq. (4.5.1) with both exponents 0.
    """
    check_degree(degree)
    return Filter(
        name="legendre",
        start={"weights": torch.eye(degree + 1, dtype=torch.float64)[0]},
        link=_weights,
        matrix=bases.to_chebyshev(lambda frequency: bases.jacobi(1 - frequency, degree, 0, 0), degree),
        points=equispaced(max(degree, 2)),
    )


def _powers(degree: int) -> Tensor:
    """Powers of the adjacency's eigenvalue to Chebyshev coefficients of the Laplacian's."""
    return bases.to_chebyshev(lambda frequency: bases.monomial(1 - frequency, degree), degree)


def _weights(parameters: Parameters) -> Tensor:
    return parameters["weights"]


def _nonnegative_weights(parameters: Parameters) -> Tensor:
    return torch.relu(parameters["weights"])
