"""Weak supervision as a claim: the share of training nodes from a tenth to six, validation and test nodes the same."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .ablation import WITHOUT
from .cells import Cell, Stored, chosen_setting, read_stored
from .claim import Claim, Request
from .exhibit import FAILS, HOLDS, OPEN, PARTLY, Curves, Figure, Finding, Report, Role, Series, Table
from .results import Line
from .scores import NAMES, Score, against, score, split_ratio
from .statistics import Estimate, compare
from .table1 import SIGNIFICANT, chosen_datasets

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
    """One setting of each method at every ratio: what the search on random splits selects, else the published one."""
    made = []
    for dataset in chosen_datasets(request, GRAPHS):
        for method in METHODS:
            source, setting = _setting(results, dataset, method)
            made += [
                Cell(dataset, _model(method), 1, _label(method), f"weak-0.{tenth}", fixed=setting, space={}, source=source)
                for tenth in TENTHS[request.profile]
            ]
    return made


def _setting(results: Path, dataset: str, method: str) -> tuple[str, dict[str, Any]]:
    if method != PLAIN:
        return chosen_setting(results, dataset, method)
    label = WITHOUT if read_stored(results, dataset, "newtonnet", label=WITHOUT) is not None else ""
    source, setting = chosen_setting(results, dataset, "newtonnet", label=label)
    kept = {name: value for name, value in setting.items() if name not in ("gamma1", "gamma2", "gamma3")}
    return source, {**kept, "gammas": [0.0, 0.0, 0.0]}


def _model(method: str) -> str:
    return "newtonnet" if method == PLAIN else method


def _label(method: str) -> str:
    return "selected-gammas0" if method == PLAIN else "selected"


def load(results: Path) -> list[Line]:
    """Every run that is stored."""
    lines: list[Line] = []
    for dataset in GRAPHS:
        for method in METHODS:
            for tenth in TENTHS["paper"]:
                stored = read_stored(
                    results, dataset, _model(method), label=_label(method), protocol=f"weak-0.{tenth}"
                )
                if stored is not None:
                    lines.append({"dataset": dataset, "method": method, "tenth": tenth, "stored": stored})
    return lines


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
        figures=(Figure("ratios", _CAPTION, tuple(_curves(name, scores) for name in done)),) if done else (),
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
_CAPTION = "Test accuracy over the share of training nodes; bands are 95% intervals."


def _name(method: str) -> str:
    return NAMES.get(method, "NewtonNet, gammas 0")


def _leads(scores: Scores) -> Finding:
    places = list(dict.fromkeys((graph, tenth) for graph, _, tenth in scores))
    first, behind, count = 0, [], 0
    for graph, tenth in places:
        here = {method: one for (g, method, t), one in scores.items() if (g, t) == (graph, tenth) and method != PLAIN}
        if "newtonnet" not in here or len(here) < 2:
            continue
        count += 1
        ours = here.pop("newtonnet")
        first += all(ours.mean > other.mean for other in here.values())
        ratio = split_ratio(graph, f"weak-0.{tenth}")
        for method, (difference, p) in against(ours, here, ratio).items():
            if p < SIGNIFICANT and difference.mean < 0:
                behind.append(f"{_name(method)} on {graph} at 0.{tenth}")
    if not count:
        return Finding(_STATEMENT, "too few runs", "Fig. 3", OPEN)
    ours_text = f"first by mean at {first} of {count} places" + (
        f"; significantly behind {', '.join(behind)}" if behind else "; nowhere significantly behind"
    )
    verdict = HOLDS if first == count else PARTLY if not behind and 2 * first >= count else FAILS
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
    ours = "; ".join(f"{name} {gain.mean:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]" for name, gain in gains.items())
    better = sum(gain.low > 0 for gain in gains.values())
    return Finding(statement, ours, "yes", HOLDS if better == len(gains) else PARTLY if better else FAILS)


def _table(graph: str, lines: Sequence[Line], scores: Scores) -> Table:
    tenths = sorted({tenth for name, _, tenth in scores if name == graph})
    rows = []
    sample: Stored | None = None
    for method in METHODS:
        own = [line for line in lines if (line["dataset"], line["method"]) == (graph, method)]
        if not own:
            continue
        sample = own[0]["stored"]
        sources = ", ".join(dict.fromkeys(line["stored"].trials[0].source for line in own))
        cells_ = (scores.get((graph, method, tenth)) for tenth in tenths)
        rows.append((_name(method), *(None if one is None else f"{one} {one.interval}" for one in cells_), sources))
    notes = () if sample is None else (
        "Accuracy in percent, mean ± std over splits and 95% interval. Protocols weak-0.1 to weak-0.6: the first tenths "
        f"of the permutations of RandomState(33780), validation and test 20% each; {len(sample.trials[0].test)} splits; "
        f"at most {sample.study['max_epochs']} epochs, patience {sample.study['patience']}; one setting for all ratios, "
        "of the source in the last column, none tuned to a ratio.",
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
