"""Appendix E.1: how accuracy depends on each gamma, and on the degree with equispaced and with Chebyshev points."""

from .grids import DEGREES, POINTS, STRENGTHS
from .study import SENSITIVITY

__all__ = ["DEGREES", "POINTS", "SENSITIVITY", "STRENGTHS"]
