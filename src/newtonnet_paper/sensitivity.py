"""Sensitivity as a claim: accuracy over each gamma, and over the degree with equispaced and with Chebyshev points."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from newtonnet.nn import find_model
from newtonnet.search import Trial, best_trial
from newtonnet.training import GAMMAS, Estimate, compare, contrast, estimate

from .cells import HERO, Cell, StoredSearch, chosen_datasets, chosen_setting, read_stored
from .claim import Line, Request, define_claim
from .exhibit import BANDS, Curves, Figure, Finding, Report, Role, Series, Table, Verdict, make_table, nothing_stored
from .scores import how_made, split_ratio

STRENGTHS = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)
DEGREES = (2, 5, 8, 11, 14)
POINTS: dict[str, Role] = {"equispaced": "high", "chebyshev": "low"}
"""Each with its colour, as in the figures of interpolation."""
GAMMA_GRAPHS = ("citeseer", "chameleon")
DEGREE_GRAPHS = ("cora", "chameleon")
GRAPHS = ("cora", "citeseer", "chameleon")

_ONE = "each value is one setting"
_COMMAND = "Command: `newtonnet-paper reproduce sensitivity --profile paper`"
_DEGREES = "Accuracy rises and falls with K; Chebyshev points remove the decline"
_DEGREES_PUBLISHED = "a decline at large K, attributed to Runge's phenomenon"
_GAMMAS = "The gammas matter more on chameleon than on citeseer"


def cells(request: Request, results: Path) -> list[Cell]:
    """A grid for each gamma and one for the degrees, around the setting that the search selects or the published one.

    The grids are the same in both profiles: each takes a few minutes. A grid with stored results keeps their setting,
    even where the search would select another one now.
    """
    made = []
    for dataset in chosen_datasets(request, GRAPHS):
        for cell in _grids(results, dataset):
            begun = read_stored(results, dataset, cell.model, label=cell.label, repeats=True)
            source, fixed = (cell.source, cell.fixed) if begun is None else begun.repeated
            made.append(replace(cell, source=source, fixed=fixed))
    return made


def _grids(results: Path, dataset: str) -> list[Cell]:
    """The grids of a graph around the setting that would be selected now."""
    source, setting = chosen_setting(results, dataset, HERO)
    three = dict(zip(GAMMAS, setting.get("gammas", find_model(HERO).training["gammas"]), strict=True))
    single = {**three, **{name: value for name, value in setting.items() if name != "gammas"}}
    grids: list[tuple[str, dict[str, tuple[Any, ...]]]] = []
    if dataset in GAMMA_GRAPHS:
        grids += [(gamma, {gamma: STRENGTHS}) for gamma in GAMMAS]
    if dataset in DEGREE_GRAPHS:
        grids.append(("degree", {"degree": DEGREES, "points": tuple(POINTS)}))
    made = []
    for what, space in grids:
        rest = {name: value for name, value in single.items() if name not in space}
        trials = 10 if what == "degree" else 6
        made.append(Cell(dataset, HERO, trials, f"vary-{what}", fixed=rest, space=space, source=source))
    return made


def load(results: Path) -> list[Line]:
    """Every stored grid, and whether it is around the setting that would be selected now."""
    wanted = [(graph, gamma) for graph in GAMMA_GRAPHS for gamma in GAMMAS]
    wanted += [(graph, "degree") for graph in DEGREE_GRAPHS]
    lines: list[Line] = []
    for graph, what in wanted:
        stored = read_stored(results, graph, HERO, label=f"vary-{what}", repeats=True)
        if stored is not None:
            now = next(cell.fixed for cell in _grids(results, graph) if cell.label == stored.label)
            lines.append({"what": what, "stored": stored, "current": stored.repeats(now)})
    return lines


def summarise(lines: Sequence[Line]) -> Report:
    """Accuracy over each parameter, and whether Chebyshev points avoid the decline of equispaced ones."""
    if not lines:
        return nothing_stored(_DEGREES, _DEGREES_PUBLISHED)
    gammas = [line for line in lines if line["what"] != "degree"]
    degrees = [line for line in lines if line["what"] == "degree"]
    graphs = dict.fromkeys(line["stored"].dataset for line in gammas)
    drawn = {
        "gammas": ("Accuracy over one gamma at a time", [_gamma_curves(graph, gammas) for graph in graphs]),
        "degree": ("Accuracy over the degree K", [_degree_curves(line["stored"]) for line in degrees]),
    }
    return Report(
        findings=(*(_decline(line["stored"]) for line in degrees), *_gamma_findings(gammas)),
        tables=(*([_gamma_table(gammas)] if gammas else []), *(_degree_table(line) for line in degrees)),
        figures=tuple(
            Figure(name, f"{caption}, with 95% intervals.", tuple(panels), own_scales=True)
            for name, (caption, panels) in drawn.items()
            if panels
        ),
        data={f"{line['stored'].dataset} {line['what']}": _plain(line["what"], line["stored"]) for line in lines},
    )


def _plain(what: str, stored: StoredSearch) -> dict[str, Any]:
    kinds: dict[str, dict[str, Any]] = {kind: {"points": kind} for kind in POINTS} if what == "degree" else {what: {}}
    return {
        kind: {f"{x:g}": [one.mean, one.low, one.high] for x, one in _estimates(stored, what, **wanted)}
        for kind, wanted in kinds.items()
    }


def _value(stored: StoredSearch, trial: Trial, name: str) -> Any:
    """The value of a parameter in a trial: its own, or the one that all trials share."""
    if name in GAMMAS and name not in trial.setting:
        return stored.value(trial, "gammas")[GAMMAS.index(name)]
    return stored.value(trial, name)


def _percent(trial: Trial) -> list[float | None]:
    """Test scores of all splits, None for one that failed."""
    return [None if value is None else 100 * value for value in trial.test]


def _estimates(stored: StoredSearch, name: str, **wanted: Any) -> list[tuple[float, Estimate]]:
    """The mean test score over the values of a parameter, ascending, of the trials with the other wanted values."""
    ratio = split_ratio(stored.dataset, stored.protocol)
    found = []
    for trial in stored.trials:
        if all(_value(stored, trial, key) == value for key, value in wanted.items()):
            one = estimate(_percent(trial), ratio)
            if one is not None:
                found.append((float(_value(stored, trial, name)), one))
    return sorted(found, key=lambda pair: pair[0])


def _series(name: str, found: list[tuple[float, Estimate]], role: Role) -> Series:
    """A curve with its 95% intervals."""
    x, y = tuple(x for x, _ in found), tuple(one.mean for _, one in found)
    return Series(name, x, y, tuple((one.high - one.low) / 2 for _, one in found), role=role)


def _text(one: Estimate | None) -> str | None:
    return None if one is None else f"{one.mean:.2f} [{one.low:.2f}, {one.high:.2f}]"


def _source(line: Line) -> str:
    """The source of the setting that a grid is around."""
    source: str = line["stored"].trials[0].source
    return source if line["current"] else f"{source}, another would be selected now"


def _gamma_curves(graph: str, lines: Sequence[Line]) -> Curves:
    """The three gammas of a graph, each alone; the strengths are equally spaced."""
    places = {strength: float(i) for i, strength in enumerate(STRENGTHS)}
    series = []
    for line in lines:
        if line["stored"].dataset == graph:
            found = [(places[x], one) for x, one in _estimates(line["stored"], line["what"]) if x in places]
            series.append(_series(line["what"], found, BANDS[GAMMAS.index(line["what"])]))
    ticks = tuple((place, f"{strength:g}") for strength, place in places.items())
    return Curves(graph, "strength of the gamma", "test accuracy, %", tuple(series), ticks=ticks)


def _gamma_table(lines: Sequence[Line]) -> Table:
    rows = []
    for line in lines:
        found = dict(_estimates(line["stored"], line["what"]))
        values = {f"{strength:g}": _text(found.get(strength)) for strength in STRENGTHS}
        rows.append({"graph": line["stored"].dataset, "varied": line["what"], **values, "setting": _source(line)})
    return make_table(
        "One gamma at a time",
        rows,
        f"Accuracy in percent with 95% intervals. {how_made([line['stored'] for line in lines], tried=_ONE)} "
        "The other fields are those of the setting from the source in the last column.",
        _COMMAND,
    )


def _gamma_findings(lines: Sequence[Line]) -> list[Finding]:
    """How much accuracy changes with the gammas on a heterophilous and on a homophilous graph."""
    moves: dict[str, tuple[str, Estimate]] = {}
    for graph in GAMMA_GRAPHS:
        own = [line for line in lines if line["stored"].dataset == graph]
        # By validation, so that the test scores of the chosen gamma are not the largest by chance.
        most = max(own, key=lambda line: _range(line["stored"]), default=None)
        if most is not None:
            best, worst = map(_percent, _extremes(most["stored"]))
            found = compare(best, worst, split_ratio(graph, most["stored"].protocol))
            if found is not None:
                moves[graph] = most["what"], found
    if set(moves) != set(GAMMA_GRAPHS):
        return [Finding(_GAMMAS, "not all grids are stored", "yes", Verdict.OPEN)] if lines else []
    more = contrast([moves["chameleon"][1]], [moves["citeseer"][1]])
    texts = "; ".join(f"{graph}: {one.signed} by {gamma}" for graph, (gamma, one) in moves.items())
    ours = (
        "for the gamma that changes the validation score most, from the strength with the worst validation score to "
        f"the best: {texts}; chameleon − citeseer {more.signed}"
    )
    return [Finding(_GAMMAS, ours, "yes", Verdict.by_interval(more.low, more.high))]


def _extremes(stored: StoredSearch) -> tuple[Trial, Trial]:
    """The strengths of a gamma with the best and the worst validation score."""
    return best_trial(stored.trials), min(stored.trials, key=lambda trial: trial.objective)


def _range(stored: StoredSearch) -> float:
    best, worst = _extremes(stored)
    return best.objective - worst.objective


def _degree_curves(stored: StoredSearch) -> Curves:
    series = (_series(kind, _estimates(stored, "degree", points=kind), role) for kind, role in POINTS.items())
    return Curves(stored.dataset, "degree K", "test accuracy, %", tuple(series))


def _degree_table(line: Line) -> Table:
    stored = line["stored"]
    both = {kind: dict(_estimates(stored, "degree", points=kind)) for kind in POINTS}
    return make_table(
        f"The degree on {stored.dataset}",
        [{"K": degree, **{kind: _text(both[kind].get(degree)) for kind in POINTS}} for degree in DEGREES],
        f"{how_made([stored], tried=_ONE)} All other fields are those of the setting: {_source(line)}.",
        _COMMAND,
    )


def _decline(stored: StoredSearch) -> Finding:
    """The loss from the best degree by validation to the largest, and both kinds of points at the largest."""
    statement = f"{_DEGREES} ({stored.dataset})"
    ratio = split_ratio(stored.dataset, stored.protocol)
    last: dict[str, Trial] = {}
    drops: dict[str, Estimate | None] = {}
    for kind in POINTS:
        own = [trial for trial in stored.trials if _value(stored, trial, "points") == kind]
        largest = [trial for trial in own if _value(stored, trial, "degree") == DEGREES[-1]]
        others = [trial for trial in own if _value(stored, trial, "degree") != DEGREES[-1]]
        if not largest or not others:
            return Finding(statement, "not all degrees are stored", _DEGREES_PUBLISHED, Verdict.OPEN)
        last[kind] = largest[0]
        drops[kind] = compare(_percent(best_trial(others)), _percent(largest[0]), ratio)
    equispaced, chebyshev = (drops[kind] for kind in POINTS)
    gain = compare(_percent(last["chebyshev"]), _percent(last["equispaced"]), ratio)
    if equispaced is None or chebyshev is None or gain is None:
        return Finding(statement, "not all degrees have scores", _DEGREES_PUBLISHED, Verdict.OPEN)
    ours = (
        f"loss from the K with the best validation score to K = {DEGREES[-1]}: equispaced {_text(equispaced)}, "
        f"Chebyshev {_text(chebyshev)}; Chebyshev − equispaced at K = {DEGREES[-1]}: {gain.signed}"
    )
    return Finding(statement, ours, _DEGREES_PUBLISHED, _decline_verdict(equispaced, chebyshev, gain))


def _decline_verdict(equispaced: Estimate, chebyshev: Estimate, gain: Estimate) -> Verdict:
    """Both halves of the statement need an interval above 0; an interval below 0 contradicts it."""
    if equispaced.high < 0 or gain.high < 0:
        return Verdict.FAILS
    if equispaced.low > 0 and gain.low > 0:
        return Verdict.HOLDS if chebyshev.low <= 0 else Verdict.PARTLY
    return Verdict.PARTLY if equispaced.low > 0 or gain.low > 0 else Verdict.UNSURE


SENSITIVITY = define_claim("sensitivity", summarise, load=load, cells=cells)
