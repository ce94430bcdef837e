"""The grids of the sensitivity study: what is varied, around which setting, and what is stored of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from newtonnet.nn import find_model
from newtonnet.training import GAMMAS
from newtonnet_paper.cells import Cell
from newtonnet_paper.claim import Request
from newtonnet_paper.results import Line
from newtonnet_paper.stored import chosen_setting, read_stored, repeats
from newtonnet_paper.table1 import chosen_datasets

STRENGTHS = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)
DEGREES = (2, 5, 8, 11, 14)
POINTS = ("equispaced", "chebyshev")
GAMMA_GRAPHS = ("citeseer", "chameleon")
DEGREE_GRAPHS = ("cora", "chameleon")
GRAPHS = ("cora", "citeseer", "chameleon")


def cells(request: Request, results: Path) -> list[Cell]:
    """A grid for each gamma and one for the degrees, around the setting that the search selects or the published one.

    The grids are the same in both profiles: each is a few minutes. One that was begun goes on around its own setting,
    also where the search would select another by now.
    """
    made = []
    for dataset in chosen_datasets(request, GRAPHS):
        for cell in _grids(results, dataset):
            begun = read_stored(results, dataset, cell.model, label=cell.label)
            source, fixed = (cell.source, cell.fixed) if begun is None else begun.repeated
            made.append(replace(cell, source=source, fixed=fixed))
    return made


def _grids(results: Path, dataset: str) -> list[Cell]:
    """The grids of a graph around the setting that would be taken now."""
    source, setting = chosen_setting(results, dataset, "newtonnet")
    single = _single_gammas(setting)
    made = []
    if dataset in GAMMA_GRAPHS:
        for gamma in GAMMAS:
            rest = {name: value for name, value in single.items() if name != gamma}
            grid = {gamma: STRENGTHS}
            made.append(Cell(dataset, "newtonnet", 6, f"vary-{gamma}", fixed=rest, space=grid, source=source))
    if dataset in DEGREE_GRAPHS:
        rest = {name: value for name, value in single.items() if name not in ("degree", "points")}
        space = {"degree": DEGREES, "points": POINTS}
        made.append(Cell(dataset, "newtonnet", 10, "vary-degree", fixed=rest, space=space, source=source))
    return made


def _single_gammas(setting: dict[str, Any]) -> dict[str, Any]:
    """The setting with each gamma by its own name; those it does not name are the defaults."""
    three = dict(zip(GAMMAS, setting.get("gammas", find_model("newtonnet").training["gammas"]), strict=True))
    named = {name: setting[name] for name in GAMMAS if name in setting}
    return {**{name: value for name, value in setting.items() if name != "gammas"}, **three, **named}


def load(results: Path) -> list[Line]:
    """Every grid that is stored, and whether it is around the setting that would be taken now."""
    wanted = [(graph, gamma) for graph in GAMMA_GRAPHS for gamma in GAMMAS]
    wanted += [(graph, "degree") for graph in DEGREE_GRAPHS]
    lines: list[Line] = []
    for graph, what in wanted:
        stored = read_stored(results, graph, "newtonnet", label=f"vary-{what}")
        if stored is not None:
            now = next(cell.fixed for cell in _grids(results, graph) if cell.label == stored.label)
            lines.append({"what": what, "stored": stored, "current": repeats(stored, now)})
    return lines
