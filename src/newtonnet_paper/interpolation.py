"""Drawings that need no training: candidate filters, the framework, and interpolation beside approximation."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from numpy.polynomial import Polynomial

from newtonnet.polynomials import (
    bernstein,
    chebyshev_points,
    divided_differences,
    equispaced,
    lagrange_matrix,
    lebesgue_constant,
    newton_polynomial,
)
from newtonnet.training import band_masks, shape_penalty

from .claim import Claim, Request, Unit
from .exhibit import FAILS, HOLDS, OPEN, Finding, Report, Table
from .interpolation_figures import draw_approximation, draw_candidates, draw_framework, draw_runge
from .results import Line

DEGREE = 5
STEPS, RATE = 10, 0.1
DEGREES = tuple(range(2, 21))


def approximation() -> dict[str, Any]:
    r"""Six values of an uneven filter, fitted in three ways on [0, 2].

    Interpolation passes through all of them; the cubic of least squares and the Bernstein polynomial with these values
    as coefficients (BernNet's form) do not.
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
            (slope,) = torch.autograd.grad(penalty.sum(), values)
            values = (values - RATE * slope).detach()
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
            constants[name].append(lebesgue_constant(points))
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
    """The drawings, and what the numbers behind them say."""
    results = {line["key"]["piece"]: line["result"] for line in lines}
    if PIECES.keys() - results.keys():
        return Report((Finding("interpolation passes through its points", "nothing stored", "a drawing", OPEN),))
    fits, shapes, errors = (results[name] for name in PIECES)
    return Report(
        findings=_findings(fits, errors),
        tables=(_runge_table(errors),),
        figures=(
            draw_candidates(),
            draw_framework(shapes, steps=STEPS, rate=RATE),
            draw_approximation(fits),
            draw_runge(errors),
        ),
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
            HOLDS if misses["interpolation"] < 1e-9 < min(misses["least squares"], misses["bernstein"]) else FAILS,
        ),
        Finding(
            "a high degree suffers from Runge's phenomenon",
            f"equispaced points: error {equal[0]:.2g} at K = 2, {equal[-1]:.3g} at K = 20; Chebyshev points: "
            f"{chebyshev[0]:.2g} and {chebyshev[-1]:.2g}",
            "named as the reason why accuracy falls with K",
            HOLDS if equal[-1] > 10 * equal[0] and chebyshev[-1] < chebyshev[0] else FAILS,
        ),
    )


def _runge_table(errors: Any) -> Table:
    rows = tuple(
        (degree, *(float(f"{errors[kind][name][i]:.3g}") for kind in ("errors", "constants") for name in errors[kind]))
        for i, degree in enumerate(errors["degrees"])
    )
    return Table(
        "Interpolating 1 / (1 + 25 (λ - 1)²) on [0, 2]",
        ("K", "error, equispaced", "error, Chebyshev", "Lebesgue constant, equispaced", "Lebesgue constant, Chebyshev"),
        rows,
        ("Largest error on 4001 frequencies, in float64.",),
    )


INTERPOLATION = Claim(
    name="interpolation",
    statement="Interpolation passes through the learned values exactly, approximation does not; high degrees swing.",
    place="Section 4.3, Appendix C, and the drawings of Fig. 1a and Fig. 2",
    units=units,
    summarise=summarise,
)
