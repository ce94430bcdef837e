"""Figures that need no training: candidate filters, the framework, and interpolation compared with approximation."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from numpy.polynomial import Polynomial

from newtonnet.graphs import BANDS as CUTS
from newtonnet.polynomials import (
    bernstein,
    chebyshev_points,
    divided_differences,
    equispaced,
    lagrange_matrix,
    newton_filter,
    newton_polynomial,
)
from newtonnet.training import band_masks, shape_penalty

from .claim import Line, Request, Unit, define_claim
from .exhibit import BANDS, Arrow, Curves, Figure, Finding, Report, Series, Table, Verdict, make_table, nothing_stored
from .frequency import AMPLITUDES

DEGREE = 5
STEPS, RATE = 10, 0.1
DEGREES = tuple(range(2, 21))
CANDIDATE = (0.4, 1.6, 0.8)
"""The paper's example of a candidate filter: low, middle and high amplitude."""

EDGES = (0.0, *CUTS, 2.0)


def approximation() -> dict[str, Any]:
    """Six values of an irregular filter, fitted in three ways on [0, 2].

    Interpolation passes through all of them; the least-squares cubic and the Bernstein polynomial with these values as
    coefficients (BernNet's form) do not.
    """
    points = equispaced(DEGREE)
    values = torch.tensor([1.6, 0.5, 0.3, 1.2, 0.8, 0.2], dtype=torch.float64)
    grid = torch.linspace(0, 2, 201, dtype=torch.float64)
    coefficients = divided_differences(points, values)
    cubic = Polynomial.fit(points.numpy(), values.numpy(), 3)
    fits: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "interpolation": lambda at: newton_polynomial(points, coefficients, at),
        "least squares": lambda at: torch.from_numpy(cubic(at.numpy())),
        "bernstein": lambda at: bernstein(at / 2, DEGREE) @ values,
    }
    return {
        "points": points.tolist(),
        "values": values.tolist(),
        "grid": grid.tolist(),
        "fits": {name: fit(grid).tolist() for name, fit in fits.items()},
        "misses": {name: float((fit(points) - values).abs().max()) for name, fit in fits.items()},
    }


def framework() -> dict[str, Any]:
    """The filter at K = 5 before and after ten steps of gradient descent on the shape-aware penalty alone."""
    points = equispaced(DEGREE)
    grid = torch.linspace(0, 2, 201, dtype=torch.float64)
    shapes = {}
    for name, homophily in (("homophilous", 0.8), ("heterophilous", 0.2)):
        values = torch.ones(DEGREE + 1, 1, dtype=torch.float64)
        for _ in range(STEPS):
            values.requires_grad_()
            penalty = shape_penalty(
                values,
                band_masks(points),
                homophily=torch.tensor([homophily], dtype=torch.float64),
                pivot=torch.tensor(0.5, dtype=torch.float64),
                gammas=torch.ones(3, 1, dtype=torch.float64),
            )
            (gradient,) = torch.autograd.grad(penalty.sum(), values)
            values = (values - RATE * gradient).detach()
        response = lagrange_matrix(points, grid) @ values
        shapes[name] = {"homophily": homophily, "values": values[:, 0].tolist(), "response": response[:, 0].tolist()}
    return {"points": points.tolist(), "grid": grid.tolist(), "shapes": shapes}


def runge() -> dict[str, Any]:
    r"""Largest error of the interpolant of :math:`1 / (1 + 25 (\lambda - 1)^2)`, and the points' Lebesgue constants."""
    grid = torch.linspace(0, 2, 4001, dtype=torch.float64)
    places = {"equispaced": equispaced, "chebyshev": chebyshev_points}
    errors: dict[str, list[float]] = {name: [] for name in places}
    constants: dict[str, list[float]] = {name: [] for name in places}
    for degree in DEGREES:
        for name, place in places.items():
            points = place(degree)
            interpolant = lagrange_matrix(points, grid) @ _bump(points)
            errors[name].append(float((interpolant - _bump(grid)).abs().max()))
            constants[name].append(newton_filter(points).condition(4001))
    return {"degrees": list(DEGREES), "errors": errors, "constants": constants}


def _bump(at: torch.Tensor) -> torch.Tensor:
    return 1 / (1 + 25 * (at - 1) ** 2)


PIECES: Mapping[str, Callable[[], dict[str, Any]]] = {
    "approximation": approximation,
    "framework": framework,
    "runge": runge,
}


def units(request: Request) -> list[Unit]:
    """One unit for each set of numbers; both profiles are the same."""
    return [Unit({"piece": name}, partial(_compute, name)) for name in PIECES]


def _compute(name: str) -> dict[str, Any]:
    return {"result": PIECES[name]()}


def summarise(lines: Sequence[Line]) -> Report:
    """The figures, and the findings from their numbers."""
    results = {line["key"]["piece"]: line["result"] for line in lines}
    if PIECES.keys() - results.keys():
        return nothing_stored("interpolation passes through its points", "a drawing")
    fits, shapes, errors = (results[name] for name in PIECES)
    return Report(
        findings=_findings(fits, errors),
        tables=(_runge_table(errors),),
        figures=(draw_candidates(), draw_framework(shapes), draw_approximation(fits), draw_runge(errors)),
        data={"misses": fits["misses"], "runge": errors},
    )


def _findings(fits: Any, errors: Any) -> tuple[Finding, ...]:
    misses = fits["misses"]
    equal, chebyshev = (errors["errors"][name] for name in ("equispaced", "chebyshev"))
    return (
        Finding(
            "interpolation passes through every given point",
            f"largest miss {misses['interpolation']:.0e} (least squares of degree 3: {misses['least squares']:.2f}, "
            f"Bernstein: {misses['bernstein']:.2f})",
            "a drawing",
            Verdict.HOLDS
            if misses["interpolation"] < 1e-9 < min(misses["least squares"], misses["bernstein"])
            else Verdict.FAILS,
        ),
        Finding(
            "a high degree suffers from Runge's phenomenon",
            f"equispaced points: error {equal[0]:.2g} at K = 2, {equal[-1]:.3g} at K = 20; Chebyshev points: "
            f"{chebyshev[0]:.2g} and {chebyshev[-1]:.2g}",
            "given as the reason why accuracy falls with K",
            Verdict.HOLDS if equal[-1] > 10 * equal[0] and chebyshev[-1] < chebyshev[0] else Verdict.FAILS,
        ),
    )


def _runge_table(errors: Any) -> Table:
    columns = {
        f"{word}, {title}": errors[kind][name]
        for kind, word in (("errors", "error"), ("constants", "Lebesgue constant"))
        for name, title in (("equispaced", "equispaced"), ("chebyshev", "Chebyshev"))
    }
    return make_table(
        "Interpolating 1 / (1 + 25 (λ - 1)²) on [0, 2]",
        [
            {"K": degree, **{name: float(f"{values[i]:.3g}") for name, values in columns.items()}}
            for i, degree in enumerate(errors["degrees"])
        ],
        "Largest error on 4001 frequencies, in float64.",
    )


def draw_candidates() -> Figure:
    """The possible amplitudes in each third of the spectrum, and one filter (Fig. 1a)."""
    series = []
    for band, ends in zip(BANDS, pairwise(EDGES), strict=True):
        for level in AMPLITUDES:
            name = f"choices for {band} frequencies" if level == AMPLITUDES[0] else ""
            series.append(Series(name, ends, (level, level), kind="dashed", role=band))
    x = tuple(edge for ends in pairwise(EDGES) for edge in ends)
    y = tuple(amplitude for amplitude in CANDIDATE for _ in range(2))
    solid = Series("one of the 216 candidates", x, y, role="main")
    panel = Curves("Candidate filters", "frequency λ", "amplitude g(λ)", (*series, solid), bands=True)
    return Figure("candidates", "Six amplitudes in each third of the spectrum give 216 filters (Fig. 1a).", (panel,))


def draw_framework(shapes: Any) -> Figure:
    """The points, their values and the interpolated filter, on both sides of the pivot (Fig. 2)."""
    points, grid = tuple(shapes["points"]), tuple(shapes["grid"])
    panels = []
    for name, shape in shapes["shapes"].items():
        values = tuple(shape["values"])
        series = (
            Series("start", grid, tuple(1.0 for _ in grid), kind="dashed", role="quiet"),
            Series("g(λ) by Newton interpolation", grid, tuple(shape["response"])),
            Series("values t at the points q", points, values, kind="points", role="second"),
        )
        # Shorter than the full distance, so that the head of the arrow stays visible.
        arrows = [Arrow(q, 1.0, 1 + 0.85 * (t - 1)) for q, t in zip(points, values, strict=True)]
        for i, (left, right) in enumerate(pairwise(EDGES)):
            word = "encouraged" if sum(values[2 * i : 2 * i + 2]) > 2 else "discouraged"
            arrows.append(Arrow((left + right) / 2, 0.0, 0.0, word))
        title = f"{name}: h = {shape['homophily']:g} {'>' if shape['homophily'] > 0.5 else '<'} 1/C = 0.5"
        panels.append(Curves(title, "frequency λ", "amplitude", series, bands=True, arrows=tuple(arrows)))
    caption = (
        f"K = 5: six points, two in each third of the spectrum, and where {STEPS} steps on the shape-aware penalty "
        f"alone (gammas 1, learning rate {RATE:g}) move their values from 1 (Fig. 2)."
    )
    return Figure("framework", caption, tuple(panels))


def draw_approximation(fits: Any) -> Figure:
    """Given values, polynomials that approximate them, and the polynomial that interpolates them."""
    grid, axes = tuple(fits["grid"]), ("frequency λ", "amplitude")
    given = Series("given values", tuple(fits["points"]), tuple(fits["values"]), kind="points", role="second")
    near = (
        Series("least squares, degree 3", grid, tuple(fits["fits"]["least squares"])),
        Series("Bernstein, degree 5", grid, tuple(fits["fits"]["bernstein"]), kind="dashed", role="high"),
    )
    through = Series("Newton interpolation, degree 5", grid, tuple(fits["fits"]["interpolation"]))
    panels = (Curves("Approximation", *axes, (*near, given)), Curves("Interpolation", *axes, (through, given)))
    caption = "Approximation comes close to given values, interpolation passes through them."
    return Figure("approximation", caption, panels)


def draw_runge(errors: Any) -> Figure:
    """Errors and Lebesgue constants by degree, for both kinds of points."""
    degrees = tuple(float(degree) for degree in errors["degrees"])
    panels = []
    for kind, title, label in (
        ("errors", "Runge's phenomenon", "largest error"),
        ("constants", "Amplification of errors", "Lebesgue constant"),
    ):
        series = (
            Series("equispaced points", degrees, tuple(errors[kind]["equispaced"]), role="high"),
            Series("Chebyshev points", degrees, tuple(errors[kind]["chebyshev"]), role="low"),
        )
        panels.append(Curves(title, "degree K", label, series, logarithmic=True))
    return Figure("runge", "Interpolating 1 / (1 + 25 (λ - 1)²) on [0, 2].", tuple(panels))


INTERPOLATION = define_claim("interpolation", summarise, units=units)
