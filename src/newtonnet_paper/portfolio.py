"""The study behind the classifier's portfolio: settings compared on validation nodes, and a list chosen by regret."""

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
from newtonnet.training import override

from .claim import Line, Request, Unit, define_claim, own_lines
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
QUICK = 2
"""Number of graphs of the quick profile."""
FEW, SPLITS = 400, 3
"""With fewer nodes than this, a setting is trained on several splits."""
SECONDS = 20.0
"""CPU time of one training, in one thread."""
MARKS = (1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0)
"""CPU seconds after which the best validation score so far is noted."""
ENOUGH = 0.02
"""A longer list has to lower the regret by more than this many points."""

_STATEMENT = "A list chosen by average regret has less regret on a family of graphs that it was not chosen on than ours"


@dataclass(frozen=True)
class PooledSetting:
    """A setting of the pool.

    Attributes:
        model: name of the model.
        changes: of its defaults.
        transductive: tied to its training graph.
        by_hand: in the list that was written by hand.
        always: in every list.
    """

    model: str
    changes: Mapping[str, Any]
    transductive: bool
    by_hand: bool
    always: bool

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
        for split in range(_splits(dataset))
    ]


def _splits(dataset: str) -> int:
    """Number of splits of a graph; its family says whether it is a small one."""
    return SPLITS if FAMILIES[dataset] == "WebKB" else 1


def _train(dataset: str, setting: PooledSetting, index: int) -> dict[str, Any]:
    """Train one setting in one thread; the score is that of the validation nodes, test labels are not read."""
    graph, metric, validation = _known(dataset, index)
    begun = time.process_time()
    reached: dict[float, float] = {}

    def progress(what: str, share: float, best: float) -> None:
        spent = time.process_time() - begun
        mark = next((mark for mark in MARKS if spent <= mark), None)
        if mark is not None:
            reached[mark] = round(max(best, *reached.values(), 0.0), 5)

    classifier = NewtonNetClassifier(
        setting.model, tune="off", settings=setting.changes, metric=metric, time_limit=None, threads=1
    )
    try:
        classifier.fit(
            graph,
            validation=validation,
            show_validation=False,
            stop=lambda: time.process_time() - begun > SECONDS,
            progress=progress,
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
    split = load_splits(dataset, "fixed" if loaded.splits else "random")[index]
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
        if all(len(found.get(dataset, {}).get(one.name, ())) == _splits(dataset) for one in pool())
    }


def regret(scores: Scores, names: Collection[str], graphs: Collection[str]) -> float:
    """How far the best of these settings is below the best of all, over families and over the graphs of each."""
    families: dict[str, list[float]] = {}
    for graph in graphs:
        lost = max(scores[graph].values()) - max(scores[graph][name] for name in names)
        families.setdefault(FAMILIES[graph], []).append(lost)
    return float(np.mean([np.mean(lost) for lost in families.values()]))


def choose(scores: Scores, graphs: Collection[str], count: int) -> list[str]:
    """The settings that are always listed, then one by one the setting that lowers the regret most.

    Of equals, the one that is best by itself.
    """
    alone = {one.name: regret(scores, [one.name], graphs) for one in pool()}
    chosen = [one.name for one in pool() if one.always]
    while len(chosen) < min(count, len(alone)):
        rest = [name for name in alone if name not in chosen]
        chosen.append(min(rest, key=lambda name: (round(regret(scores, [*chosen, name], graphs), 6), alone[name])))
    return chosen


def held_out_regret(scores: Scores, count: int) -> dict[str, float]:
    """For each graph, the regret of the list that is chosen on the graphs of all other families."""
    lost = {}
    for family in dict.fromkeys(FAMILIES[graph] for graph in scores):
        others = [graph for graph in scores if FAMILIES[graph] != family]
        listed = choose(scores, others, count)
        lost |= {graph: regret(scores, listed, [graph]) for graph in scores if FAMILIES[graph] == family}
    return lost


def _over_families(lost: Mapping[str, float]) -> float:
    families: dict[str, list[float]] = {}
    for graph, value in lost.items():
        families.setdefault(FAMILIES[graph], []).append(value)
    return float(np.mean([np.mean(values) for values in families.values()]))


def plan(request: Request, results: Path) -> list[str]:
    """The core hours of a request at most, and those that its stored trainings took."""
    wanted = units(request)
    stored = own_lines(PORTFOLIO, results)
    done = {(line["key"]["dataset"], name_of(**_named(line)), line["key"]["split"]) for line in stored}
    left = [one for one in wanted if (one.key["dataset"], name_of(**_named({"key": one.key})), one.key["split"]) not in done]
    hours, spent = len(left) * SECONDS / 3600, sum(line["cpu"] for line in stored) / 3600
    return [
        f"{len(left)} of {len(wanted)} trainings left, {SECONDS:.0f} CPU seconds each at most: {hours:.1f} core hours "
        f"or less; {spent:.1f} core hours are stored"
    ]


def _named(line: Line) -> dict[str, Any]:
    return {name: line["key"][name] for name in ("model", "changes")}


def summarise(lines: Sequence[Line]) -> Report:
    return nothing_stored(_STATEMENT, "not in the paper")


PORTFOLIO = define_claim("portfolio", summarise, units=units, options=("datasets",), plan=plan)
