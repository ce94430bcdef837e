"""The study behind the classifier's portfolio: settings compared on validation nodes, and a list chosen by regret."""

import json
import textwrap
import time
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from newtonnet.datasets import load_dataset, load_splits
from newtonnet.estimator import NewtonNetClassifier, defaults_of
from newtonnet.graphs import Graph
from newtonnet.search import shape_key
from newtonnet.training import Progress, estimate, override

from .claim import Line, Request, Unit, define_claim, own_lines, pending
from .exhibit import Finding, Report, Value, Verdict, make_table, nothing_stored

FAMILIES = {
    "texas": "WebKB",
    "chameleon-filtered": "Wikipedia",
    "cora": "citation",
    "minesweeper": "2023",
    "johnshopkins55": "Facebook",
    "amazon-photo": "Amazon",
    "cornell-corrected": "WebKB",
    "squirrel-filtered": "Wikipedia",
    "tolokers": "2023",
    "citeseer": "citation",
    "chameleon": "Wikipedia",
    "cornell": "WebKB",
    "squirrel": "Wikipedia",
    "amazon-computers": "Amazon",
    "crocodile": "Wikipedia",
    "pubmed": "citation",
    "cornell5": "Facebook",
}
"""The graphs of the study, in the order of work: a small one of every family first."""
RANDOM = ("johnshopkins55", "amazon-photo", "amazon-computers", "crocodile", "cornell5")
"""Graphs with random splits; the others have published ones."""
QUICK = 2
"""Number of graphs of the quick profile."""
SPLITS = {"WebKB": 3}
"""Number of splits of the graphs of a family, whose validation nodes are few; 1 for the others."""
SECONDS = 20.0
"""CPU time of one training, in one thread."""
MARKS = (1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0)
"""CPU seconds after which the best validation score so far is noted."""
FAMILIES_NEEDED = 4
"""Number of families with a complete graph from which on the classifier's list is replaced."""
ENOUGH = 0.02
"""A longer list has to lower the regret by more than this many points."""

_STATEMENT = "On a family of graphs that it was not chosen on, the chosen list has less regret than one written by hand"


@dataclass(frozen=True)
class PooledSetting:
    """A setting of the pool.

    Attributes:
        model: name of the model.
        changes: of its defaults.
        transductive: tied to its training graph.
        by_hand: in the list that was written by hand.
        always: in every list.
        listed: may be in a list.
    """

    model: str
    changes: Mapping[str, Any]
    transductive: bool
    by_hand: bool
    always: bool
    listed: bool

    @property
    def name(self) -> str:
        """The same text for the same setting, also of a stored line."""
        return name_of(self.model, self.changes)

    @property
    def shape(self) -> str:
        """The same text for settings that train as one population."""
        return f"{self.model} {shape_key(override(defaults_of(self.model), self.changes))}"


def name_of(model: str, changes: Mapping[str, Any]) -> str:
    """A setting in words, its changes in the order of their names."""
    return ", ".join([model, *(f"{name} {value}" for name, value in sorted(changes.items()))])


@cache
def pool() -> tuple[PooledSetting, ...]:
    """The settings of ``portfolio_pool.toml``."""
    text = Path(__file__).with_name("portfolio_pool.toml").read_text(encoding="utf-8")
    return tuple(
        PooledSetting(
            group["model"],
            group["common"] | changes,
            group.get("transductive", False),
            number < group["by_hand"],
            number < group.get("always", 0),
            group.get("listed", True),
        )
        for group in tomllib.loads(text)["group"]
        for number, changes in enumerate(group["settings"])
    )


def units(request: Request) -> list[Unit]:
    """One unit for each graph, setting and split."""
    chosen = request.options.get("datasets") or list(FAMILIES)[: QUICK if request.profile == "quick" else None]
    unknown = set(chosen) - set(FAMILIES)
    if unknown:
        raise ValueError(f"{min(unknown)} is not in the study; available: {', '.join(FAMILIES)}")
    return [
        Unit(
            {"dataset": dataset, "model": one.model, "changes": dict(sorted(one.changes.items())), "split": split},
            partial(_train, dataset, one, split),
        )
        for dataset in FAMILIES
        if dataset in chosen
        for one in pool()
        for split in range(SPLITS.get(FAMILIES[dataset], 1))
    ]


def _train(dataset: str, setting: PooledSetting, index: int) -> dict[str, Any]:
    """Train one setting in one thread; the score is that of the validation nodes, test labels are not read."""
    graph, metric, validation = _known(dataset, index)
    begun = time.process_time()
    reached: dict[float, float] = {}

    def on_epoch(state: Progress) -> None:
        spent = time.process_time() - begun
        mark = next((mark for mark in MARKS if spent <= mark), None)
        if mark is not None:
            reached[mark] = round(max(state.best, *reached.values(), 0.0), 5)

    classifier = NewtonNetClassifier(
        setting.model, tune="off", settings=setting.changes, metric=metric, time_limit=None, threads=1
    )
    try:
        classifier.fit(
            graph,
            validation=validation,
            show_validation=False,
            stop=lambda: time.process_time() - begun > SECONDS,
            on_epoch=on_epoch,
        )
    except ValueError as reason:  # its loss was not finite, or there is no room for it
        return {"metric": metric, "validation": None, "reason": str(reason), "cpu": _since(begun), "curve": []}
    score = round(classifier.validation_score_, 5)
    return {"metric": metric, "validation": score, "cpu": _since(begun), "curve": sorted(reached.items())}


def _since(begun: float) -> float:
    return round(time.process_time() - begun, 2)


@cache
def _known(dataset: str, index: int) -> tuple[Graph, str, Any]:
    """The graph without the labels of test nodes, its metric, and the validation nodes."""
    loaded = load_dataset(dataset)
    split = load_splits(dataset, "random" if dataset in RANDOM else "fixed")[index]
    known = np.full(loaded.graph.nodes, -1, dtype=np.int64)
    for part in (split.train, split.validation):
        known[part] = loaded.graph.labels[part]
    return loaded.graph.relabelled(known), loaded.entry.metric, split.validation


Scores = Mapping[str, Mapping[str, float]]
"""For each graph, the mean validation score in percent of every setting by its name."""


def complete_scores(lines: Sequence[Line]) -> Scores:
    """The graphs on which every setting of the pool was trained."""
    found: dict[str, dict[str, list[float]]] = {}
    for line in lines:
        key = line["key"]
        own = found.setdefault(key["dataset"], {}).setdefault(name_of(key["model"], key["changes"]), [])
        own.append(100 * (line["validation"] or 0.0))
    return {
        dataset: {one.name: float(np.mean(found[dataset][one.name])) for one in pool()}
        for dataset in FAMILIES
        if all(len(found.get(dataset, {}).get(one.name, ())) == SPLITS.get(FAMILIES[dataset], 1) for one in pool())
    }


def regret(scores: Scores, names: Collection[str], graphs: Collection[str]) -> float:
    """How far the best of these settings is below the best of all, over families and over the graphs of each."""
    return over_families(
        {graph: max(scores[graph].values()) - max(scores[graph][name] for name in names) for graph in graphs}
    )


def choose(scores: Scores, graphs: Collection[str], count: int) -> list[str]:
    """The settings that are always listed, then one by one the setting that lowers the regret most.

    Of equals, the one that is best by itself.
    """
    alone = {one.name: regret(scores, [one.name], graphs) for one in pool() if one.listed}
    chosen = [one.name for one in pool() if one.always]
    while len(chosen) < min(count, len(alone)):
        rest = [name for name in alone if name not in chosen]
        chosen.append(min(rest, key=lambda name: (round(regret(scores, [*chosen, name], graphs), 6), alone[name])))
    return chosen


def held_out_regret(scores: Scores, counts: Sequence[int]) -> dict[int, dict[str, float]]:
    """For each number of settings and each graph, the regret of the list that is chosen on all other families."""
    lost: dict[int, dict[str, float]] = {count: {} for count in counts}
    for family in dict.fromkeys(FAMILIES[graph] for graph in scores):
        others = [graph for graph in scores if FAMILIES[graph] != family]
        listed = choose(scores, others, max(counts))  # a shorter list is its beginning
        for count, own in lost.items():
            own.update({g: regret(scores, listed[:count], [g]) for g in scores if FAMILIES[g] == family})
    return lost


def over_families(lost: Mapping[str, float]) -> float:
    """The mean over families of the mean over their graphs."""
    return float(np.mean(list(by_family(lost).values())))


def by_family(lost: Mapping[str, float]) -> dict[str, float]:
    """The mean over the graphs of each family."""
    families: dict[str, list[float]] = {}
    for graph, value in lost.items():
        families.setdefault(FAMILIES[graph], []).append(value)
    return {name: float(np.mean(values)) for name, values in families.items()}


@dataclass(frozen=True)
class Choice:
    """A list of settings and how good it is.

    Attributes:
        settings: the list, in the order of choice.
        spare: the rest of the pool, in the same order, for time that the list leaves.
        scores: what it was chosen by.
        counts: for each number of settings, the regret of lists that were chosen on other families.
        held_out: for each graph, that of this number.
        by_hand: for each graph, the regret of the list that was written by hand.
    """

    settings: tuple[PooledSetting, ...]
    spare: tuple[PooledSetting, ...]
    scores: Scores
    counts: Mapping[int, float]
    held_out: Mapping[str, float]
    by_hand: Mapping[str, float]

    @property
    def better(self) -> bool:
        """Whether it has less regret on families that it was not chosen on than the list that was written by hand."""
        return over_families(self.held_out) < over_families(self.by_hand)

    @property
    def families(self) -> int:
        """Number of families that it rests on."""
        return len({FAMILIES[graph] for graph in self.scores})


def choose_list(lines: Sequence[Line]) -> Choice | None:
    """The list with the least regret on families left out; None with less than two families.

    It has no more settings than the list that was written by hand; a longer list has to be better by ``ENOUGH``.
    """
    scores = complete_scores(lines)
    if len({FAMILIES[graph] for graph in scores}) < 2:
        return None
    hand = [one.name for one in pool() if one.by_hand]
    least = sum(one.always for one in pool())
    held_out = held_out_regret(scores, range(least, len(hand) + 1))
    counts = {count: over_families(lost) for count, lost in held_out.items()}
    best = min(counts.values())
    count = min(count for count, value in counts.items() if value <= best + ENOUGH)
    by_name = {one.name: one for one in pool()}
    ordered = [by_name[name] for name in choose(scores, list(scores), len(by_name))]
    lost = {graph: regret(scores, hand, [graph]) for graph in scores}
    return Choice(tuple(ordered[:count]), tuple(ordered[count:]), scores, counts, held_out[count], lost)


def portfolio_toml(choice: Choice) -> str:
    """The list as the file that the classifier reads: in the order of choice, settings of one shape together."""
    groups: dict[tuple[bool, str, bool], list[PooledSetting]] = {}
    for spare, settings in ((False, choice.settings), (True, choice.spare)):
        for one in settings:
            groups.setdefault((spare, one.shape, one.transductive), []).append(one)
    graphs = f"{len(choice.scores)} graphs ({', '.join(choice.scores)})"
    words = (
        "The portfolio: settings that suit many graphs, as changes of a model's defaults, in the order of trying. "
        "transductive: tied to the training graph. spare: tried in time that all others leave. Generated by "
        "`newtonnet-paper portfolio` from the study's lines in results/portfolio: do not edit it, change "
        f"newtonnet_paper/portfolio_pool.toml and continue the study. Chosen from {len(pool())} settings by their "
        f"average regret on the validation nodes of {graphs}."
    )
    text = textwrap.wrap(words, width=118, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
    for (spare, *_), group in groups.items():
        shared = {k: v for k, v in group[0].changes.items() if all(one.changes.get(k) == v for one in group)}
        own = [_inline({k: v for k, v in one.changes.items() if k not in shared}) for one in group]
        text += ["", "[[group]]", f'model = "{group[0].model}"']
        text += ["transductive = true"] * group[0].transductive + ["spare = true"] * spare
        text += [f"common = {_inline(shared)}"]
        text += ["settings = [", *(f"    {one}," for one in own), "]"] if len(own) > 1 else [f"settings = [{own[0]}]"]
    return "\n".join(text) + "\n"


def _inline(changes: Mapping[str, Any]) -> str:
    """An inline table of TOML, whose numbers, texts and truth values are written as in JSON."""
    return f"{{ {', '.join(f'{k} = {json.dumps(v)}' for k, v in changes.items())} }}" if changes else "{}"


def summarise(lines: Sequence[Line]) -> Report:
    """The list, its regret on families left out, and that of the list that was written by hand."""
    choice = choose_list(lines)
    if choice is None or choice.families < FAMILIES_NEEDED:  # two or three families say nothing about a fourth
        return nothing_stored(_STATEMENT, "not in the paper")
    graphs: list[dict[str, Value]] = [
        {
            "graph": graph,
            "family": FAMILIES[graph],
            "best of all": f"{max(choice.scores[graph].values()):.2f}",
            "by": max(choice.scores[graph], key=lambda name: choice.scores[graph][name]),
            "regret, family left out": f"{choice.held_out[graph]:.2f}",
            "regret of the list by hand": f"{choice.by_hand[graph]:.2f}",
        }
        for graph in choice.scores
    ]
    ours, theirs = over_families(choice.held_out), over_families(choice.by_hand)
    graph_table = make_table(
        "Regret of lists of settings, in points of the validation score",
        graphs,
        f"{len(choice.settings)} settings from {len(pool())}, chosen on all other families; "
        f"{sum(one.by_hand for one in pool())} by hand. Means over families: {ours:.2f} and {theirs:.2f}. At most "
        f"{SECONDS:.0f} CPU seconds for each training; test nodes have no part in it.",
        "Command: `newtonnet-paper reproduce portfolio --profile paper`",
    )
    sizes: list[dict[str, Value]] = [
        {"settings": count, "regret, family left out": f"{value:.2f}"} for count, value in choice.counts.items()
    ]
    listed: list[dict[str, Value]] = [
        {"place": place, "setting": one.name, "by hand": "yes" if one.by_hand else "no"}
        for place, one in enumerate(choice.settings, 1)
    ]
    gain = estimate([by_family(choice.by_hand)[name] - lost for name, lost in by_family(choice.held_out).items()], 0.0)
    signs = [np.sign(choice.by_hand[graph] - lost) for graph, lost in choice.held_out.items()]
    finding = Finding(
        _STATEMENT,
        f"{ours:.2f} against {theirs:.2f} points; better on {signs.count(1)} and worse on {signs.count(-1)} of "
        f"{len(signs)} graphs, {len(FAMILIES)} with those not measured",
        "not in the paper",
        Verdict.UNSURE if gain is None else Verdict.by_interval(gain.low, gain.high),
    )
    tables = (graph_table, make_table("Number of settings", sizes), make_table("The list", listed))
    return Report((finding,), tables=tables)


def plan(request: Request, results: Path) -> list[str]:
    """The core hours of a request at most, and those that its stored trainings took."""
    stored = own_lines(PORTFOLIO, results)
    left, total = len(pending(PORTFOLIO, request, results)[0]), len(units(request))
    spent = sum(line["cpu"] for line in stored) / 3600
    return [
        f"{left} of {total} trainings left, {SECONDS:.0f} CPU seconds each at most: {left * SECONDS / 3600:.1f} core "
        f"hours or less; {spent:.1f} core hours are stored"
    ]


PORTFOLIO = define_claim("portfolio", summarise, units=units, options=("datasets",), plan=plan)
