"""Sensitivity as a claim: one gamma at a time, and the degree with equispaced and with Chebyshev points."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from newtonnet.nn import find_model
from newtonnet.search import Trial, best_trial
from newtonnet.training import GAMMAS

from .cells import Cell
from .claim import Claim, Request
from .exhibit import BANDS, FAILS, HOLDS, OPEN, PARTLY, UNSURE, Curves, Figure, Finding, Report, Role, Series, Table
from .results import Line
from .scores import how_made, split_ratio
from .statistics import Estimate, compare, contrast, estimate
from .stored import Stored, chosen_setting, read_stored, repeats
from .table1 import chosen_datasets

STRENGTHS = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)
DEGREES = (2, 5, 8, 11, 14)
POINTS = ("equispaced", "chebyshev")
ROLES: tuple[Role, ...] = ("high", "low")
"""Their colours, as in the drawings of interpolation."""
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


def summarise(lines: Sequence[Line]) -> Report:
    """Accuracy over each parameter, and whether Chebyshev points stay where equispaced ones decline."""
    if not lines:
        return Report((Finding(_STATEMENT, "nothing stored", _PUBLISHED, OPEN),))
    gammas = [line for line in lines if line["what"] != "degree"]
    degrees = [line for line in lines if line["what"] == "degree"]
    figures = []
    if gammas:
        graphs = list(dict.fromkeys(line["stored"].dataset for line in gammas))
        panels = tuple(_gamma_curves(graph, gammas) for graph in graphs)
        figures.append(
            Figure("gammas", "Accuracy over one gamma at a time, with 95% intervals.", panels, own_scales=True)
        )
    if degrees:
        panels = tuple(_degree_curves(line["stored"]) for line in degrees)
        figures.append(Figure("degree", "Accuracy over the degree K, with 95% intervals.", panels, own_scales=True))
    return Report(
        findings=(*(_decline(line["stored"]) for line in degrees), *_gamma_findings(gammas)),
        tables=(*([_gamma_table(gammas)] if gammas else []), *(_degree_table(line) for line in degrees)),
        figures=tuple(figures),
        data={f"{line['stored'].dataset} {line['what']}": _plain(line["what"], line["stored"]) for line in lines},
    )


_STATEMENT = "Accuracy rises and falls with K; Chebyshev points remove the decline"
_PUBLISHED = "a decline at large K, blamed on Runge's phenomenon"


def _value(stored: Stored, trial: Trial, name: str) -> Any:
    """What a trial has for a parameter: its own, or what it shares with all."""
    if name in GAMMAS and name not in trial.setting:
        return stored.value(trial, "gammas")[GAMMAS.index(name)]
    return stored.value(trial, name)


def _percent(trial: Trial) -> list[float | None]:
    return [None if value is None else 100 * value for value in trial.test]


def _estimates(stored: Stored, name: str, **wanted: Any) -> list[tuple[float, Estimate]]:
    """Value of a parameter to the mean test score, ascending, of the trials that have the other wanted values."""
    ratio = split_ratio(stored.dataset, stored.protocol)
    found = []
    for trial in stored.trials:
        if all(_value(stored, trial, key) == value for key, value in wanted.items()):
            one = estimate(_percent(trial), ratio)
            if one is not None:
                found.append((float(_value(stored, trial, name)), one))
    return sorted(found, key=lambda pair: pair[0])


def _plain(what: str, stored: Stored) -> dict[str, Any]:
    kinds: dict[str, dict[str, Any]] = {kind: {"points": kind} for kind in POINTS} if what == "degree" else {what: {}}
    return {
        kind: {f"{x:g}": [one.mean, one.low, one.high] for x, one in _estimates(stored, what, **wanted)}
        for kind, wanted in kinds.items()
    }


def _series(name: str, found: list[tuple[float, Estimate]], **look: Any) -> Series:
    return Series(
        name,
        tuple(x for x, _ in found),
        tuple(one.mean for _, one in found),
        tuple((one.high - one.low) / 2 for _, one in found),
        **look,
    )


def _gamma_curves(graph: str, lines: Sequence[Line]) -> Curves:
    places = {strength: float(i) for i, strength in enumerate(STRENGTHS)}
    series = []
    own = [line for line in lines if line["stored"].dataset == graph]
    for line in own:
        found = [(places[x], one) for x, one in _estimates(line["stored"], line["what"]) if x in places]
        series.append(_series(line["what"], found, role=BANDS[GAMMAS.index(line["what"])]))
    ticks = tuple((place, f"{strength:g}") for strength, place in places.items())
    return Curves(graph, "strength of the gamma", "test accuracy, %", tuple(series), ticks=ticks)


def _degree_curves(stored: Stored) -> Curves:
    series = tuple(
        _series(kind, _estimates(stored, "degree", points=kind), role=role)
        for kind, role in zip(POINTS, ROLES, strict=True)
    )
    return Curves(stored.dataset, "degree K", "test accuracy, %", series)


def _text(one: Estimate | None) -> str | None:
    return None if one is None else f"{one.mean:.2f} [{one.low:.2f}, {one.high:.2f}]"


def _gamma_table(lines: Sequence[Line]) -> Table:
    rows = []
    for line in lines:
        found = dict(_estimates(line["stored"], line["what"]))
        values = tuple(_text(found.get(strength)) for strength in STRENGTHS)
        rows.append((line["stored"].dataset, line["what"], *values, _source(line)))
    notes = (
        f"Accuracy in percent with 95% intervals. {how_made([line['stored'] for line in lines], tried=_ONE)} "
        "Other fields are those of the setting of the source in the last column.",
        _COMMAND,
    )
    columns = ("graph", "varied", *(f"{strength:g}" for strength in STRENGTHS), "setting")
    return Table("One gamma at a time", columns, tuple(rows), notes)


def _degree_table(line: Line) -> Table:
    stored = line["stored"]
    both = {kind: dict(_estimates(stored, "degree", points=kind)) for kind in POINTS}
    rows = tuple((degree, *(_text(both[kind].get(degree)) for kind in POINTS)) for degree in DEGREES)
    notes = (f"{how_made([stored], tried=_ONE)} All other fields are those of the setting: {_source(line)}.", _COMMAND)
    return Table(f"The degree on {stored.dataset}", ("K", *POINTS), rows, notes)


_ONE = "each cell is one setting"
_COMMAND = "Command: `newtonnet reproduce sensitivity --profile paper`"


def _source(line: Line) -> str:
    source: str = line["stored"].trials[0].source
    return source if line["current"] else f"{source}, another would be taken now"


def _decline(stored: Stored) -> Finding:
    """From the degree that validates best to the largest, and both kinds of points at the largest, paired by split."""
    statement = f"{_STATEMENT} ({stored.dataset})"
    ratio = split_ratio(stored.dataset, stored.protocol)
    last: dict[str, Trial] = {}
    drops: dict[str, Estimate | None] = {}
    for kind in POINTS:
        own = [trial for trial in stored.trials if _value(stored, trial, "points") == kind]
        largest = [trial for trial in own if _value(stored, trial, "degree") == DEGREES[-1]]
        others = [trial for trial in own if _value(stored, trial, "degree") != DEGREES[-1]]
        if not largest or not others:
            return Finding(statement, "not all degrees are stored", _PUBLISHED, OPEN)
        last[kind] = largest[0]
        drops[kind] = compare(_percent(best_trial(others)), _percent(largest[0]), ratio)
    equispaced, chebyshev = (drops[kind] for kind in POINTS)
    gain = compare(_percent(last["chebyshev"]), _percent(last["equispaced"]), ratio)
    if equispaced is None or chebyshev is None or gain is None:
        return Finding(statement, "not all degrees have scores", _PUBLISHED, OPEN)
    ours = (
        f"lost from the K that validates best to K = {DEGREES[-1]}: equispaced {_text(equispaced)}, Chebyshev "
        f"{_text(chebyshev)}; Chebyshev − equispaced at K = {DEGREES[-1]}: {gain.signed}"
    )
    return Finding(statement, ours, _PUBLISHED, _decline_verdict(equispaced, chebyshev, gain))


def _decline_verdict(equispaced: Estimate, chebyshev: Estimate, gain: Estimate) -> str:
    """Both halves of the statement need an interval that excludes 0; one on the other side of it refutes."""
    if equispaced.high < 0 or gain.high < 0:
        return FAILS
    if equispaced.low > 0 and gain.low > 0:
        return HOLDS if chebyshev.low <= 0 else PARTLY
    return PARTLY if equispaced.low > 0 or gain.low > 0 else UNSURE


def _gamma_findings(lines: Sequence[Line]) -> list[Finding]:
    """How far accuracy moves with the gammas, heterophilous beside homophilous."""
    moves: dict[str, tuple[str, Estimate]] = {}
    for line in lines:
        graph, found = line["stored"].dataset, _move(line["stored"])
        if found is not None and (graph not in moves or found.mean > moves[graph][1].mean):
            moves[graph] = line["what"], found
    statement = "The gammas matter more on chameleon than on citeseer"
    if set(moves) != set(GAMMA_GRAPHS):
        return [Finding(statement, "not all grids are stored", "yes", OPEN)] if lines else []
    more = contrast([moves["chameleon"][1]], [moves["citeseer"][1]])
    told = "; ".join(f"{graph}: {one.signed} by {gamma}" for graph, (gamma, one) in moves.items())
    ours = f"from the strength that validates worst to the best, {told}; chameleon − citeseer {more.signed}"
    return [Finding(statement, ours, "yes", HOLDS if more.low > 0 else FAILS if more.high < 0 else UNSURE)]


def _move(stored: Stored) -> Estimate | None:
    """What is gained from the strength of a gamma that validates worst to the one that validates best."""
    best, worst = best_trial(stored.trials), min(stored.trials, key=lambda trial: trial.objective)
    return compare(_percent(best), _percent(worst), split_ratio(stored.dataset, stored.protocol))


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
