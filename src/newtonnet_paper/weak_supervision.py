"""Weak supervision as a claim: training ratios from 0.1 to 0.6, with the same validation and test nodes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from newtonnet.training import GAMMAS, SIGNIFICANT, Estimate, compare

from .ablation import NO_GAMMAS, WITHOUT
from .cells import HERO, Cell, StoredSearch, chosen_datasets, chosen_setting, read_stored
from .claim import Line, Request, define_claim
from .exhibit import Curves, Figure, Finding, Report, Role, Series, Table, Value, Verdict, make_table, nothing_stored
from .scores import NAMES, SplitScores, against, score, split_ratio, verdict_on_gains

GRAPHS = ("chameleon", "squirrel")
TENTHS = {"quick": (1, 3, 6), "paper": (1, 2, 3, 4, 5, 6)}
PLAIN = "newtonnet, gammas 0"
METHODS: dict[str, tuple[Role, bool]] = {
    "newtonnet": ("main", False),
    PLAIN: ("main", True),
    "gcn": ("low", False),
    "gprgnn": ("middle", False),
    "bernnet": ("high", False),
    "chebnetii": ("second", False),
    "jacobiconv": ("low", True),
    "glognn++": ("quiet", False),
}
"""Each with the colour of its curve and whether the curve is dashed."""

RatioScores = dict[tuple[str, str, int], SplitScores]
"""(graph, method, tenths of training nodes) to a score."""

_STATEMENT = "NewtonNet leads at every training ratio"
_CAPTION = "Test accuracy over the share of training nodes; the band is NewtonNet's 95% interval."


def cells(request: Request, results: Path) -> list[Cell]:
    """One setting of each method at every ratio: the best of its list on random splits, else the published one.

    A method with stored results keeps their setting, even where its search would select another one now.
    """
    made = []
    for dataset in chosen_datasets(request, GRAPHS):
        tried = equally_many(results, dataset)
        for method in METHODS:
            begun = _stored(results, dataset, method)
            chosen = next(iter(begun.values())).repeated if begun else _setting(results, dataset, method, tried)
            cell = Cell(dataset, _model(method), 1, _label(method), source=chosen[0], fixed=chosen[1], space={})
            made += [replace(cell, protocol=f"weak-0.{tenth}") for tenth in TENTHS[request.profile]]
    return made


def equally_many(results: Path, dataset: str) -> int | None:
    """Settings of each list that count: those of the one that is done least; None where nothing was tried.

    A list that is its whole space would have no more, and a missing one uses its published setting.
    """
    labels = {PLAIN: WITHOUT}
    found = [read_stored(results, dataset, _model(method), label=labels.get(method, "")) for method in METHODS]
    return min((one.length for one in found if one is not None and not one.exhausted), default=None)


def _setting(results: Path, dataset: str, method: str, tried: int | None) -> tuple[str, dict[str, Any]]:
    if method != PLAIN:
        return chosen_setting(results, dataset, method, tried=tried)
    label = WITHOUT if read_stored(results, dataset, HERO, label=WITHOUT) is not None else ""
    source, setting = chosen_setting(results, dataset, HERO, label=label, tried=tried)
    kept = {name: value for name, value in setting.items() if name not in GAMMAS}
    return source, {**kept, "gammas": NO_GAMMAS}


def _model(method: str) -> str:
    return HERO if method == PLAIN else method


def _label(method: str) -> str:
    return "chosen-gammas0" if method == PLAIN else "chosen"


def _name(method: str) -> str:
    return NAMES.get(method, "NewtonNet, gammas 0")


def load(results: Path) -> list[Line]:
    """Every stored run, and whether its setting is the one that would be selected now."""
    lines: list[Line] = []
    for dataset in GRAPHS:
        tried = equally_many(results, dataset)
        for method in METHODS:
            there = _stored(results, dataset, method)
            now = _setting(results, dataset, method, tried)[1] if there else {}
            for tenth, stored in there.items():
                key = {"dataset": dataset, "method": method, "tenth": tenth}
                lines.append({**key, "stored": stored, "current": stored.repeats(now), "tried": tried})
    return lines


def _stored(results: Path, dataset: str, method: str) -> dict[int, StoredSearch]:
    """What is stored of a method, by tenths of training nodes."""
    kind: dict[str, Any] = {"label": _label(method), "repeats": True}
    found = {
        tenth: read_stored(results, dataset, _model(method), protocol=f"weak-0.{tenth}", **kind)
        for tenth in TENTHS["paper"]
    }
    return {tenth: stored for tenth, stored in found.items() if stored is not None}


def summarise(lines: Sequence[Line]) -> Report:
    """Curves over the training ratio, and whether NewtonNet leads everywhere."""
    if not lines:
        return nothing_stored(_STATEMENT, "Fig. 3")
    found = {(line["dataset"], line["method"], line["tenth"]): score(line["stored"]) for line in lines}
    scores = {key: one for key, one in found.items() if one is not None}
    done = [name for name in GRAPHS if any(key[0] == name for key in scores)]
    figure = Figure("ratios", _CAPTION, tuple(_curves(name, scores) for name in done), own_scales=True)
    data: dict[str, dict[str, dict[str, Any]]] = {name: {method: {} for method in METHODS} for name in done}
    for (name, method, tenth), one in scores.items():
        data[name][method][f"0.{tenth}"] = {"mean": one.mean, "std": one.std, "ci": [one.low, one.high]}
    return Report(
        findings=(_leads(scores), _regulariser(scores)),
        tables=tuple(_table(name, lines, scores) for name in done),
        figures=(figure,) if done else (),
        data=data,
    )


def _leads(scores: RatioScores) -> Finding:
    first, clear, count, pairs = 0, 0, 0, 0
    ahead: dict[str, int] = {}
    behind: list[str] = []
    for graph, tenth in dict.fromkeys((graph, tenth) for graph, _, tenth in scores):
        here = {method: one for (g, method, t), one in scores.items() if (g, t) == (graph, tenth) and method != PLAIN}
        if HERO not in here or len(here) < 2:
            continue
        count += 1
        ours = here.pop(HERO)
        first += all(ours.mean > other.mean for other in here.values())
        tests = against({name: (ours, one) for name, one in here.items()}, split_ratio(graph, f"weak-0.{tenth}"))
        clear += all(p < SIGNIFICANT and difference.mean > 0 for difference, p in tests.values())
        for method, (difference, p) in tests.items():
            pairs += 1
            if p < SIGNIFICANT and difference.mean < 0:
                behind.append(f"{_name(method)} on {graph} at 0.{tenth}")
            elif p < SIGNIFICANT:
                ahead[graph] = ahead.get(graph, 0) + 1
    if not count:
        return Finding(_STATEMENT, "too few runs", "Fig. 3", Verdict.OPEN)
    leads = ", ".join(f"{graph} {number}" for graph, number in ahead.items())
    text = f"first by mean at {first} of {count} places; of {pairs} comparisons significantly ahead in "
    text += f"{sum(ahead.values())}" + (f" ({leads})" if leads else "")
    text += f", behind in {len(behind)}" + (f" ({', '.join(behind)})" if behind else "")
    # Differences that may be chance do not count.
    verdict = (
        Verdict.HOLDS if clear == count else Verdict.PARTLY if clear else Verdict.FAILS if behind else Verdict.UNSURE
    )
    return Finding(_STATEMENT, text, "at all", verdict)


def _regulariser(scores: RatioScores) -> Finding:
    statement = "With few labels the regulariser helps (ratios 0.1 and 0.2)"
    gains: dict[str, Estimate] = {}
    for (graph, method, tenth), one in scores.items():
        plain = scores.get((graph, PLAIN, tenth))
        if method == HERO and tenth <= 2 and plain is not None:
            gain = compare(one.test, plain.test, split_ratio(graph, f"weak-0.{tenth}"))
            if gain is not None:
                gains[f"{graph} at 0.{tenth}"] = gain
    if not gains:
        return Finding(statement, "too few runs", "yes", Verdict.OPEN)
    ours = "; ".join(f"{name} {gain.signed}" for name, gain in gains.items())
    return Finding(statement, ours, "yes", verdict_on_gains(list(gains.values())))


def _table(graph: str, lines: Sequence[Line], scores: RatioScores) -> Table:
    here = [line for line in lines if line["dataset"] == graph]
    tenths = sorted({line["tenth"] for line in here})
    rows: list[dict[str, Value]] = []
    for method in METHODS:
        sources = dict.fromkeys(line["stored"].trials[0].source for line in here if line["method"] == method)
        if sources:
            row: dict[str, Value] = {"method": _name(method)}
            for tenth in tenths:
                found = scores.get((graph, method, tenth))
                row[f"0.{tenth}"] = None if found is None else f"{found} {found.interval}"
            rows.append({**row, "settings": ", ".join(sources)})
    sample: StoredSearch = here[0]["stored"]
    older = ", ".join(dict.fromkeys(_name(line["method"]) for line in here if not line["current"]))
    tried = here[0]["tried"]
    among = "" if tried is None else f"; searched: selected among the first {tried} settings of each method's search"
    return make_table(
        graph,
        rows,
        "Accuracy in percent, mean ± std over splits and 95% interval. Protocols weak-0.1 to weak-0.6: the first "
        "tenths of the permutations of RandomState(33780), validation and test 20% each; "
        f"{len(sample.trials[0].test)} splits; at most {sample.study['max_epochs']} epochs, patience "
        f"{sample.study['patience']}; one setting for all ratios, from the source in the last column, not tuned for "
        f"any ratio{among}.",
        *([f"Other settings would be selected now for {older}; move their files away to run these."] * bool(older)),
        "Command: `newtonnet-paper reproduce weak-supervision --profile paper`",
    )


def _curves(graph: str, scores: RatioScores) -> Curves:
    series = []
    for method, (role, dashed) in METHODS.items():
        own = sorted((tenth, one) for (name, other, tenth), one in scores.items() if (name, other) == (graph, method))
        if own:
            x = tuple(tenth / 10 for tenth, _ in own)
            y = tuple(one.mean for _, one in own)
            spread = tuple((one.high - one.low) / 2 for _, one in own) if method == HERO else ()
            series.append(Series(_name(method), x, y, spread, "dashed" if dashed else "line", role))
    return Curves(graph, "share of training nodes", "test accuracy, %", tuple(series))


WEAK_SUPERVISION = define_claim("weak-supervision", summarise, load=load, cells=cells)
