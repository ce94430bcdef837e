"""Learned homophily as a claim: the estimate of NewtonNet's selected setting, a plain count, and the true ratio."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from newtonnet.datasets import load_dataset, make_splits
from newtonnet.datasets import summarise as describe
from newtonnet.search import best_trial, published

from .cells import HERO, SPLITS, chosen_datasets, model_cells, read_all
from .claim import Line, Request, Unit, define_claim, own_lines
from .exhibit import Finding, Report, Value, Verdict, make_table, nothing_stored
from .scores import how_made
from .table1 import PAPER_GRAPHS

COUNTED = "train-edges"
"""The estimator that learns nothing: edges between training nodes."""

CLOSE = 0.05
"""The error of the paper's own estimates, except on cornell."""


def units(request: Request) -> list[Unit]:
    """The true homophily of every available graph, and the one that each split's training labels show."""
    names = chosen_datasets(request, published.DATASETS)
    true = [Unit({"dataset": name}, partial(_measure, name)) for name in names]
    return true + [Unit({"dataset": name, "estimator": COUNTED}, partial(_count, name)) for name in names]


def _measure(name: str) -> Mapping[str, Any]:
    summary = describe(name)
    return {"true": summary.homophily, "nodes": summary.nodes, "edges": summary.edges, "classes": summary.classes}


def _count(name: str) -> Mapping[str, Any]:
    """The share of edges between two training nodes that join equal labels, for each split."""
    graph = load_dataset(name).graph
    equal = graph.labels[graph.pairs[0]] == graph.labels[graph.pairs[1]]
    inside = [np.isin(graph.pairs, split.train).all(axis=0) for split in make_splits(graph, "random", count=SPLITS)]
    return {"estimates": [float(equal[edges].mean()) if edges.any() else 1 / graph.classes for edges in inside]}


def load(results: Path) -> list[Line]:
    """NewtonNet's trials on every graph, each with the true ratio and the counted ones where they were measured."""
    measured: dict[str, dict[str, Any]] = {}
    for line in own_lines(LEARNED_HOMOPHILY, results):
        measured.setdefault(line["key"]["dataset"], {}).update(line)
    found = read_all(results, PAPER_GRAPHS, [HERO])
    return [{**line, "measured": measured.get(line["stored"].dataset, {})} for line in found]


def summarise(lines: Sequence[Line]) -> Report:
    """Learned and true ratios, and the paper's."""
    near_statement = f"The learned homophily is near the true one (within {CLOSE})"
    rows: list[dict[str, Value]] = []
    near: dict[str, bool] = {}
    sides: dict[str, tuple[int, int]] = {}
    bias: dict[str, tuple[float, float]] = {}
    closer: dict[str, bool] = {}
    data: dict[str, dict[str, float | None]] = {}
    for line in lines:
        name, trials = line["stored"].dataset, line["stored"].trials
        values = [value for value in best_trial(trials).homophily if value is not None]
        if not values:
            continue
        learned, spread, true = float(np.mean(values)), float(np.std(values)), line["measured"].get("true")
        counted = line["measured"].get("estimates")
        if true is not None and counted is not None:
            bias[name] = learned - true, float(np.mean(counted)) - true
            closer[name] = _error(counted, true) < _error(values, true)
        if true is not None:
            near[name] = abs(learned - true) <= CLOSE
            pivot = 1 / line["measured"]["classes"]
            sides[name] = sum((value > pivot) == (true > pivot) for value in values), len(values)
        rows.append(
            {
                "graph": name,
                "learned": f"{learned:.3f} ± {spread:.3f}",
                COUNTED: None if counted is None else f"{np.mean(counted):.3f} ± {np.std(counted):.3f}",
                "true": true,
                "bias, learned": f"{bias[name][0]:+.3f}" if name in bias else None,
                f"bias, {COUNTED}": f"{bias[name][1]:+.3f}" if name in bias else None,
                "closer": (COUNTED if closer[name] else "learned") if name in closer else None,
                "on its side of 1/C": "{} of {}".format(*sides[name]) if name in sides else None,
                "learned, the paper": published.HOMOPHILY.get(name),
                "real, the paper": published.REAL_HOMOPHILY.get(name),
                "settings": len(trials),
            }
        )
        data[name] = {"learned": learned, "std": spread, "true": true, "paper": published.HOMOPHILY.get(name)}
        data[name][COUNTED] = None if counted is None else float(np.mean(counted))
    if not rows:
        return nothing_stored(near_statement, "Table 6")
    far = ", ".join(name for name, close in near.items() if not close)
    wrong = {name: splits - right for name, (right, splits) in sides.items() if right < splits}
    elsewhere = ", ".join(f"{count} on {name}" for name, count in wrong.items())
    table = make_table(
        "Learned homophily",
        rows,
        "Mean ± std over splits, at the best validation epoch of the setting that the paper's selection chooses. "
        f"{how_made([line['stored'] for line in lines])} True: share of edges between equal labels; no self-loops. "
        "Learned: the same share over predicted labels, with the true labels of training nodes. "
        f"{COUNTED.capitalize()}: the same share over the edges between training nodes alone, without any training "
        f'(`homophily="{COUNTED}"`). Closer: the smaller mean absolute error over splits.',
        "Command: `newtonnet-paper reproduce homophily --profile paper`",
    )
    return Report(
        findings=(
            Finding(
                near_statement,
                f"on {sum(near.values())} of {len(near)} graphs" + f"; not on {far}" * bool(far),
                "on all but cornell",
                Verdict.by_count(sum(near.values()), len(near)),
            ),
            Finding(
                "The learned homophily is on the true one's side of 1/C, which determines the regulariser's target",
                f"on {len(sides) - len(wrong)} of {len(sides)} graphs"
                + f"; splits on the other side: {elsewhere}" * bool(wrong),
                "implied",
                Verdict.by_count(len(sides) - len(wrong), len(sides)),
            ),
            _compare(bias, closer),
        ),
        tables=(table,),
        data=data,
    )


def _error(values: Sequence[float], true: float) -> float:
    """Mean absolute error over splits."""
    return float(np.mean(np.abs(np.asarray(values) - true)))


def _compare(bias: Mapping[str, tuple[float, float]], closer: Mapping[str, bool]) -> Finding:
    """Whether learning is needed at all."""
    statement = "Learning the homophily is closer to the true one than counting edges between training nodes"
    if not bias:
        return Finding(statement, "not counted yet", "not compared", Verdict.OPEN)
    up = [sum(one[i] > 0 for one in bias.values()) for i in (0, 1)]
    mean = [sum(one[i] for one in bias.values()) / len(bias) for i in (0, 1)]
    learned = [name for name, counts in closer.items() if not counts]
    names = f" ({', '.join(learned)})" if learned else ""
    ours = (
        f"learning is closer on {len(learned)} of {len(closer)} graphs{names}; too high on {up[0]} of "
        f"{len(bias)}, by {mean[0]:+.3f} on average (counting: {up[1]} and {mean[1]:+.3f})"
    )
    return Finding(statement, ours, "not compared", Verdict.by_count(len(learned), len(closer)))


LEARNED_HOMOPHILY = define_claim(
    "homophily", summarise, units=units, load=load, cells=partial(model_cells, PAPER_GRAPHS, [HERO])
)
