"""Weak supervision as a claim: the share of training nodes from a tenth to six, validation and test nodes the same."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from newtonnet.training import GAMMAS
from newtonnet.training.statistics import SIGNIFICANT, Estimate, compare

from .ablation import WITHOUT
from .arms import judge_gains
from .cells import Cell
from .claim import Claim, Request
from .exhibit import FAILS, HOLDS, OPEN, PARTLY, UNSURE, Curves, Figure, Finding, Report, Role, Series, Table
from .results import Line
from .scores import NAMES, Score, against, score, split_ratio
from .stored import Stored, chosen_setting, read_stored, repeats
from .table1 import chosen_datasets

GRAPHS = ("chameleon", "squirrel")
TENTHS = {"quick": (1, 3, 6), "paper": (1, 2, 3, 4, 5, 6)}
PLAIN = "newtonnet, gammas 0"
METHODS = ("newtonnet", PLAIN, "gcn", "gprgnn", "bernnet", "chebnetii", "jacobiconv", "glognn++")

_LOOKS: dict[str, tuple[Role, bool]] = {
    "newtonnet": ("main", False),
    PLAIN: ("main", True),
    "gcn": ("low", False),
    "gprgnn": ("middle", False),
    "bernnet": ("high", False),
    "chebnetii": ("second", False),
    "jacobiconv": ("low", True),
    "glognn++": ("quiet", False),
}
"""A curve's colour and whether it is broken."""


def cells(request: Request, results: Path) -> list[Cell]:
    """One setting of each method at every ratio: what its search on random splits selects, else the published one.

    A method that was begun goes on with its own setting, also where its search would select another by now.
    """
    made = []
    for dataset in chosen_datasets(request, GRAPHS):
        tried = equally_many(results, dataset)
        for method in METHODS:
            label = _label(method)
            begun = _stored(results, dataset, method)
            chosen = next(iter(begun.values())).repeated if begun else _setting(results, dataset, method, tried)
            source, setting = chosen
            made += [
                Cell(dataset, _model(method), 1, label, f"weak-0.{tenth}", fixed=setting, space={}, source=source)
                for tenth in TENTHS[request.profile]
            ]
    return made


def equally_many(results: Path, dataset: str) -> int | None:
    """How many settings of each search count: as many as the shortest has; None where nothing was searched.

    A search that has tried its whole space would find no more, and one that is not there takes its published setting.
    """
    labels = {PLAIN: WITHOUT}
    found = [read_stored(results, dataset, _model(method), label=labels.get(method, "")) for method in METHODS]
    return min((one.length for one in found if one is not None and not one.exhausted), default=None)


def _setting(results: Path, dataset: str, method: str, tried: int | None) -> tuple[str, dict[str, Any]]:
    if method != PLAIN:
        return chosen_setting(results, dataset, method, tried=tried)
    label = WITHOUT if read_stored(results, dataset, "newtonnet", label=WITHOUT) is not None else ""
    source, setting = chosen_setting(results, dataset, "newtonnet", label=label, tried=tried)
    kept = {name: value for name, value in setting.items() if name not in GAMMAS}
    return source, {**kept, "gammas": [0.0, 0.0, 0.0]}


def _model(method: str) -> str:
    return "newtonnet" if method == PLAIN else method


def _label(method: str) -> str:
    return "selected-gammas0" if method == PLAIN else "selected"


def load(results: Path) -> list[Line]:
    """Every run that is stored, and whether its setting is the one that would be taken now."""
    lines: list[Line] = []
    for dataset in GRAPHS:
        tried = equally_many(results, dataset)
        for method in METHODS:
            there = _stored(results, dataset, method)
            now = _setting(results, dataset, method, tried)[1] if there else {}
            lines += [
                {
                    "dataset": dataset,
                    "method": method,
                    "tenth": tenth,
                    "stored": stored,
                    "current": repeats(stored, now),
                    "tried": tried,
                }
                for tenth, stored in there.items()
            ]
    return lines


def _stored(results: Path, dataset: str, method: str) -> dict[int, Stored]:
    """Tenths of training nodes to what is stored of a method there."""
    found = {
        tenth: read_stored(results, dataset, _model(method), label=_label(method), protocol=f"weak-0.{tenth}")
        for tenth in TENTHS["paper"]
    }
    return {tenth: stored for tenth, stored in found.items() if stored is not None}


def summarise(lines: Sequence[Line]) -> Report:
    """Curves over the training ratio, and whether NewtonNet leads everywhere."""
    if not lines:
        return Report((Finding(_STATEMENT, "nothing stored", "Fig. 3", OPEN),))
    found = {(line["dataset"], line["method"], line["tenth"]): score(line["stored"]) for line in lines}
    scores = {key: one for key, one in found.items() if one is not None}
    done = [name for name in GRAPHS if any(key[0] == name for key in scores)]
    return Report(
        findings=(_leads(scores), _regulariser(scores)),
        tables=tuple(_table(name, lines, scores) for name in done),
        figures=(Figure("ratios", _CAPTION, tuple(_curves(name, scores) for name in done), own_scales=True),)
        if done
        else (),
        data={
            name: {
                method: {
                    f"0.{tenth}": {"mean": one.mean, "std": one.std, "ci": [one.low, one.high]}
                    for (graph, other, tenth), one in scores.items()
                    if (graph, other) == (name, method)
                }
                for method in METHODS
            }
            for name in done
        },
    )


Scores = dict[tuple[str, str, int], Score]

_STATEMENT = "NewtonNet leads at every training ratio"
_CAPTION = "Test accuracy over the share of training nodes; the band is NewtonNet's 95% interval."


def _name(method: str) -> str:
    return NAMES.get(method, "NewtonNet, gammas 0")


def _leads(scores: Scores) -> Finding:
    places = list(dict.fromkeys((graph, tenth) for graph, _, tenth in scores))
    first, clear, behind, count, pairs = 0, 0, [], 0, 0
    ahead: dict[str, int] = {}
    for graph, tenth in places:
        here = {method: one for (g, method, t), one in scores.items() if (g, t) == (graph, tenth) and method != PLAIN}
        if "newtonnet" not in here or len(here) < 2:
            continue
        count += 1
        ours = here.pop("newtonnet")
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
        return Finding(_STATEMENT, "too few runs", "Fig. 3", OPEN)
    leads = ", ".join(f"{graph} {number}" for graph, number in ahead.items())
    told = f"significantly ahead in {sum(ahead.values())}" + (f" ({leads})" if leads else "")
    told += f", behind in {len(behind)}" + (f" ({', '.join(behind)})" if behind else "")
    ours_text = f"first by mean at {first} of {count} places; of {pairs} comparisons {told}"
    # What may be chance speaks neither way.
    verdict = HOLDS if clear == count else PARTLY if clear else FAILS if behind else UNSURE
    return Finding(_STATEMENT, ours_text, "at all", verdict)


def _regulariser(scores: Scores) -> Finding:
    statement = "With few labels the regulariser helps (ratios 0.1 and 0.2)"
    gains: dict[str, Estimate] = {}
    for (graph, method, tenth), one in scores.items():
        plain = scores.get((graph, PLAIN, tenth))
        if method == "newtonnet" and tenth <= 2 and plain is not None:
            gain = compare(one.test, plain.test, split_ratio(graph, f"weak-0.{tenth}"))
            if gain is not None:
                gains[f"{graph} at 0.{tenth}"] = gain
    if not gains:
        return Finding(statement, "too few runs", "yes", OPEN)
    ours = "; ".join(f"{name} {gain.signed}" for name, gain in gains.items())
    return Finding(statement, ours, "yes", judge_gains(list(gains.values())))


def _table(graph: str, lines: Sequence[Line], scores: Scores) -> Table:
    here = [line for line in lines if line["dataset"] == graph]
    tenths = sorted({line["tenth"] for line in here})
    rows = []
    for method in METHODS:
        own = [line for line in here if line["method"] == method]
        if own:
            sources = ", ".join(dict.fromkeys(line["stored"].trials[0].source for line in own))
            found = (scores.get((graph, method, tenth)) for tenth in tenths)
            rows.append((_name(method), *(None if one is None else f"{one} {one.interval}" for one in found), sources))
    sample: Stored = here[0]["stored"]
    older = ", ".join(dict.fromkeys(_name(line["method"]) for line in here if not line["current"]))
    tried = here[0]["tried"]
    among = "" if tried is None else f"; searched: selected among the first {tried} settings of each method's search"
    notes = (
        "Accuracy in percent, mean ± std over splits and 95% interval. Protocols weak-0.1 to weak-0.6: the first "
        "tenths of the permutations of RandomState(33780), validation and test 20% each; "
        f"{len(sample.trials[0].test)} splits; at most {sample.study['max_epochs']} epochs, patience "
        f"{sample.study['patience']}; one setting for "
        f"all ratios, of the source in the last column, none tuned to a ratio{among}.",
        *((f"Other settings would be selected now for {older}; move their files away to run these.",) * bool(older)),
        "Command: `newtonnet reproduce weak-supervision --profile paper`",
    )
    return Table(graph, ("method", *(f"0.{tenth}" for tenth in tenths), "settings"), tuple(rows), notes)


def _curves(graph: str, scores: Scores) -> Curves:
    series = []
    for method in METHODS:
        own = sorted((tenth, one) for (name, other, tenth), one in scores.items() if (name, other) == (graph, method))
        if own:
            role, broken = _LOOKS[method]
            x = tuple(tenth / 10 for tenth, _ in own)
            y = tuple(one.mean for _, one in own)
            spread = tuple((one.high - one.low) / 2 for _, one in own) if method == "newtonnet" else ()
            series.append(Series(_name(method), x, y, spread, "dashed" if broken else "line", role))
    return Curves(graph, "share of nodes that train", "test accuracy, %", tuple(series))


WEAK_SUPERVISION = Claim(
    name="weak-supervision",
    statement="NewtonNet is better than other methods at every training ratio, since its regulariser brings knowledge.",
    place="Section 6.3, Fig. 3",
    units=lambda request: (),
    summarise=summarise,
    options=frozenset({"datasets"}),
    load=load,
    cells=cells,
)
