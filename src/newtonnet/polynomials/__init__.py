"""Polynomials on the spectrum [0, 2]: points, interpolation, bases and filters, independent of any graph."""

from .bases import bernstein, chebyshev, jacobi, monomial, newton, to_chebyshev
from .filters import (
    Filter,
    Parameters,
    bernstein_filter,
    identity_filter,
    jacobi_filter,
    legendre_filter,
    monomial_filter,
    newton_filter,
    pagerank_filter,
)
from .interpolation import divided_differences, lagrange_matrix, newton_polynomial
from .points import chebyshev_points, check_points, equispaced, leja_order, quantile_points

__all__ = [
    "Filter",
    "Parameters",
    "bernstein",
    "bernstein_filter",
    "chebyshev",
    "chebyshev_points",
    "check_points",
    "divided_differences",
    "equispaced",
    "identity_filter",
    "jacobi",
    "jacobi_filter",
    "lagrange_matrix",
    "legendre_filter",
    "leja_order",
    "monomial",
    "monomial_filter",
    "newton",
    "newton_filter",
    "newton_polynomial",
    "pagerank_filter",
    "quantile_points",
    "to_chebyshev",
]
