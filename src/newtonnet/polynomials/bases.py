"""Polynomial bases as matrices of values, and conversion to the Chebyshev basis."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .points import chebyshev_points

Basis = Callable[[Tensor], Tensor]
"""A basis on the spectrum: from frequencies ``(m,)`` to values ``(m, K+1)``."""


def monomial(x: Tensor, degree: int) -> Tensor:
    r"""Powers :math:`x^k`, shape ``(m, K+1)``.

    >>> monomial(torch.tensor([2.0]), 3)
    tensor([[1., 2., 4., 8.]])
    """
    return x[:, None] ** torch.arange(degree + 1)


def chebyshev(x: Tensor, degree: int) -> Tensor:
    r"""Chebyshev polynomials :math:`T_k(x)` by their three-term recurrence, shape ``(m, K+1)``.

    .. math:: T_0 = 1, \quad T_1 = x, \quad T_k = 2x T_{k-1} - T_{k-2}

    >>> chebyshev(torch.tensor([0.5]), 3)
    tensor([[ 1.0000,  0.5000, -0.5000, -1.0000]])
    """
    return _three_terms(x, degree, first=x, step=lambda k: (2.0, 0.0, 1.0))


def newton(x: Tensor, points: Tensor) -> Tensor:
    r"""Newton polynomials :math:`n_k(x) = \prod_{i<k} (x - q_i)`, shape ``(m, K+1)``.

    >>> newton(torch.tensor([3.0]), torch.tensor([0.0, 1.0, 2.0]))
    tensor([[1., 3., 6.]])
    """
    factors = x[:, None] - points[:-1]
    return torch.cat([torch.ones_like(x)[:, None], factors.cumprod(dim=1)], dim=1)


def bernstein(s: Tensor, degree: int) -> Tensor:
    r"""Bernstein polynomials :math:`\binom{K}{k} s^k (1 - s)^{K-k}` on [0, 1], shape ``(m, K+1)``.

    >>> bernstein(torch.tensor([0.5]), 2)
    tensor([[0.2500, 0.5000, 0.2500]])
    """
    k = torch.arange(degree + 1)
    choose = torch.tensor([math.comb(degree, i) for i in range(degree + 1)], dtype=s.dtype)
    return choose * s[:, None] ** k * (1 - s[:, None]) ** (degree - k)


def jacobi(x: Tensor, degree: int, a: float, b: float, *, released: bool = False) -> Tensor:
    r"""Jacobi polynomials :math:`P_k^{(a, b)}(x)` by their three-term recurrence, shape ``(m, K+1)``.

    Args:
        x: arguments in [-1, 1], shape ``(m,)``.
        degree: the highest :math:`k`.
        a: exponent of :math:`1 - x` in the weight.
        b: exponent of :math:`1 + x` in the weight; ``a + b = -2, -3, ...`` has no recurrence and raises an error.
        released: use the recurrence of JacobiConv's released code, whose middle term has the wrong sign for k >= 2; the
            span is the same, but the polynomials are Jacobi's only if a² = b².

    >>> jacobi(torch.tensor([1.0]), 3, a=0.5, b=1.5)
    tensor([[1.0000, 1.5000, 1.8750, 2.1875]])

    References:
        Szegő, Orthogonal Polynomials, 1939, Eq. (4.5.1).
    """
    s = a + b
    if not math.isfinite(s):
        raise ValueError(f"the exponents of Jacobi polynomials must be finite, got a = {a}, b = {b}")
    if s <= -2 and float(s).is_integer():
        raise ValueError(f"Jacobi polynomials with a + b = {s:g} have no three-term recurrence; change a or b")

    def step(k: int) -> tuple[float, float, float]:
        d = 2 * k * (k + s) * (2 * k + s - 2)
        factor = (2 * k + s - 1) * (2 * k + s) * (2 * k + s - 2) / d
        shift = (2 * k + s - 1) * (a * a - b * b) / d
        return factor, -shift if released else shift, 2 * (k + a - 1) * (k + b - 1) * (2 * k + s) / d

    return _three_terms(x, degree, first=(a - b) / 2 + (s + 2) / 2 * x, step=step)


def _three_terms(x: Tensor, degree: int, *, first: Tensor, step: Callable[[int], tuple[float, float, float]]) -> Tensor:
    """Columns P_k = (factor x + shift) P_{k-1} - back P_{k-2}."""
    columns = [torch.ones_like(x), first]
    for k in range(2, degree + 1):
        factor, shift, back = step(k)
        columns.append((factor * x + shift) * columns[-1] - back * columns[-2])
    return torch.stack(columns[: degree + 1], dim=1)


def to_chebyshev(basis: Basis, degree: int) -> Tensor:
    r"""The matrix from coefficients in a basis of degree K to Chebyshev coefficients.

    With :math:`x_i = \cos\frac{(i + \frac12)\pi}{K+1}` the discrete orthogonality of the :math:`T_k` gives, for
    :math:`g(\lambda) = \sum_k c_k T_k(\lambda - 1)`,

    .. math:: c_k = \frac{2 - [k = 0]}{K + 1} \sum_i g(1 + x_i)\, T_k(x_i)

    Args:
        basis: from frequencies in [0, 2] to values ``(m, K+1)``; evaluated once, in float64.
        degree: :math:`K`.

    Returns:
        Shape ``(K+1, K+1)``, float64: rows are Chebyshev coefficients, columns basis functions.

    >>> to_chebyshev(lambda frequency: bernstein(frequency / 2, 2), 2).round(decimals=4) + 0.0
    tensor([[ 0.3750,  0.2500,  0.3750],
            [-0.5000,  0.0000,  0.5000],
            [ 0.1250, -0.2500,  0.1250]], dtype=torch.float64)
    """
    points = chebyshev_points(degree)
    weights = chebyshev(points - 1, degree).T * (2 / (degree + 1))
    weights[0] /= 2
    return weights @ basis(points)
