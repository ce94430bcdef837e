"""Polynomials on the spectrum [0, 2]: points, interpolation, bases and filters; knows nothing of graphs."""

from .bases import bernstein, chebyshev, jacobi, monomial, newton, to_chebyshev, values_to_chebyshev
from .filters import Filter, Parameters, newton_filter
from .interpolation import divided_differences, lagrange_matrix, lebesgue_constant, newton_polynomial
from .points import chebyshev_points, check_points, equispaced, leja_order

__all__ = [
    "Filter",
    "Parameters",
    "bernstein",
    "chebyshev",
    "chebyshev_points",
    "check_points",
    "divided_differences",
    "equispaced",
    "jacobi",
    "lagrange_matrix",
    "lebesgue_constant",
    "leja_order",
    "monomial",
    "newton",
    "newton_filter",
    "newton_polynomial",
    "to_chebyshev",
    "values_to_chebyshev",
]
