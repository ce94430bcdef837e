"""Sensitivity as a claim: one gamma at a time, and the degree with both kinds of points."""

from collections.abc import Sequence
from typing import Any

from newtonnet_paper.claim import Claim
from newtonnet_paper.exhibit import OPEN, Figure, Finding, Report
from newtonnet_paper.results import Line
from newtonnet_paper.stored import Stored

from .degree import PUBLISHED, STATEMENT, decline, degree_curves, degree_table
from .gammas import gamma_curves, gamma_findings, gamma_table
from .grids import POINTS, cells, load
from .measured import estimates_over


def summarise(lines: Sequence[Line]) -> Report:
    """Accuracy over each parameter, and whether Chebyshev points stay where equispaced ones decline."""
    if not lines:
        return Report((Finding(STATEMENT, "nothing stored", PUBLISHED, OPEN),))
    gammas = [line for line in lines if line["what"] != "degree"]
    degrees = [line for line in lines if line["what"] == "degree"]
    figures = []
    if gammas:
        graphs = list(dict.fromkeys(line["stored"].dataset for line in gammas))
        panels = tuple(gamma_curves(graph, gammas) for graph in graphs)
        figures.append(
            Figure("gammas", "Accuracy over one gamma at a time, with 95% intervals.", panels, own_scales=True)
        )
    if degrees:
        panels = tuple(degree_curves(line["stored"]) for line in degrees)
        figures.append(Figure("degree", "Accuracy over the degree K, with 95% intervals.", panels, own_scales=True))
    return Report(
        findings=(*(decline(line["stored"]) for line in degrees), *gamma_findings(gammas)),
        tables=(*([gamma_table(gammas)] if gammas else []), *(degree_table(line) for line in degrees)),
        figures=tuple(figures),
        data={f"{line['stored'].dataset} {line['what']}": _plain(line["what"], line["stored"]) for line in lines},
    )


def _plain(what: str, stored: Stored) -> dict[str, Any]:
    kinds: dict[str, dict[str, Any]] = {kind: {"points": kind} for kind in POINTS} if what == "degree" else {what: {}}
    return {
        kind: {f"{x:g}": [one.mean, one.low, one.high] for x, one in estimates_over(stored, what, **wanted)}
        for kind, wanted in kinds.items()
    }


SENSITIVITY = Claim(
    name="sensitivity",
    statement="Accuracy depends on the gammas, and with K it first rises and then falls.",
    place="Appendix E.1",
    units=lambda request: (),
    summarise=summarise,
    options=frozenset({"datasets"}),
    load=load,
    cells=cells,
)
