"""The drawings of the interpolation claim, from its numbers."""

from itertools import pairwise
from typing import Any

from newtonnet.graphs import BANDS as CUTS

from .exhibit import BANDS, Arrow, Curves, Figure, Series
from .frequency import AMPLITUDES

CANDIDATE = (0.4, 1.6, 0.8)
"""The paper's example of a candidate filter: low, middle and high amplitude."""

EDGES = (0.0, *CUTS, 2.0)


def draw_candidates() -> Figure:
    """The levels to choose from in each third of the spectrum, and one filter of them (Fig. 1a)."""
    levels = tuple(
        Series(
            f"choices for {band} frequencies" if level == AMPLITUDES[0] else "",
            ends,
            (level, level),
            kind="dashed",
            role=band,
        )
        for band, ends in zip(BANDS, pairwise(EDGES), strict=True)
        for level in AMPLITUDES
    )
    x = tuple(edge for ends in pairwise(EDGES) for edge in ends)
    y = tuple(amplitude for amplitude in CANDIDATE for _ in range(2))
    solid = Series("one of the 216 candidates", x, y, role="main")
    panel = Curves("Candidate filters", "frequency λ", "amplitude g(λ)", (*levels, solid), bands=True)
    return Figure("candidates", "Six amplitudes in each third of the spectrum give 216 filters (Fig. 1a).", (panel,))


def draw_framework(shapes: Any, *, steps: int, rate: float) -> Figure:
    """The points, their values and the filter through them, on either side of the pivot (Fig. 2)."""
    points, grid = tuple(shapes["points"]), tuple(shapes["grid"])
    panels = []
    for name, shape in shapes["shapes"].items():
        values = tuple(shape["values"])
        series = (
            Series("start", grid, tuple(1.0 for _ in grid), kind="dashed", role="quiet"),
            Series("g(λ) by Newton interpolation", grid, tuple(shape["response"])),
            Series("values t at the points q", points, values, kind="points", role="second"),
        )
        # Short of the point, so that the head of the arrow stays visible beside it.
        arrows = tuple(Arrow(q, 1.0, 1 + 0.85 * (t - 1)) for q, t in zip(points, values, strict=True))
        words = ["encouraged" if sum(values[2 * i : 2 * i + 2]) > 2 else "discouraged" for i in range(3)]
        labels = tuple(Arrow((EDGES[i] + EDGES[i + 1]) / 2, 0.0, 0.0, word) for i, word in enumerate(words))
        relation = ">" if shape["homophily"] > 0.5 else "<"
        panels.append(
            Curves(
                f"{name}: h = {shape['homophily']:g} {relation} 1/C = 0.5",
                "frequency λ",
                "amplitude",
                series,
                bands=True,
                arrows=(*arrows, *labels),
            )
        )
    caption = (
        f"K = 5: six points, two in each third of the spectrum, and where {steps} steps on the shape-aware penalty "
        f"alone (gammas 1, rate {rate:g}) move their values from 1 (Fig. 2)."
    )
    return Figure("framework", caption, tuple(panels))


def draw_approximation(fits: Any) -> Figure:
    """Given values beside what comes near them and what passes through them."""
    grid = tuple(fits["grid"])
    given = Series("given values", tuple(fits["points"]), tuple(fits["values"]), kind="points", role="second")
    left = (
        Series("least squares, degree 3", grid, tuple(fits["fits"]["least squares"])),
        Series("Bernstein, degree 5", grid, tuple(fits["fits"]["bernstein"]), kind="dashed", role="high"),
        given,
    )
    right = (Series("Newton interpolation, degree 5", grid, tuple(fits["fits"]["interpolation"])), given)
    caption = "Approximation comes near given values, interpolation passes through them."
    axes = ("frequency λ", "amplitude")
    return Figure(
        "approximation", caption, (Curves("Approximation", *axes, left), Curves("Interpolation", *axes, right))
    )


def draw_runge(errors: Any) -> Figure:
    """Errors and Lebesgue constants by degree, for both kinds of points."""
    degrees = tuple(float(degree) for degree in errors["degrees"])
    panels = tuple(
        Curves(
            title,
            "degree K",
            label,
            (
                Series("equispaced points", degrees, tuple(errors[kind]["equispaced"]), role="high"),
                Series("Chebyshev points", degrees, tuple(errors[kind]["chebyshev"]), role="low"),
            ),
            logarithmic=True,
        )
        for kind, title, label in (
            ("errors", "Runge's phenomenon", "largest error"),
            ("constants", "How much errors are amplified", "Lebesgue constant"),
        )
    )
    return Figure("runge", "Interpolating 1 / (1 + 25 (λ - 1)²) on [0, 2].", panels)
