"""Learned homophily as a claim: the estimate of NewtonNet's selected setting and the true ratio."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from newtonnet.datasets import summarise as describe
from newtonnet.search import best_trial, published

from .cells import HERO, chosen_datasets, model_cells, read_all
from .claim import Line, Request, Unit, define_claim, own_lines
from .exhibit import Finding, Report, Value, Verdict, make_table, nothing_stored
from .scores import how_made
from .table1 import PAPER_GRAPHS

CLOSE = 0.05
"""The error of the paper's own estimates, except on cornell."""


def units(request: Request) -> list[Unit]:
    """The true homophily of every available graph."""
    return [Unit({"dataset": name}, partial(_measure, name)) for name in chosen_datasets(request, published.DATASETS)]


def _measure(name: str) -> Mapping[str, Any]:
    summary = describe(name)
    return {"true": summary.homophily, "nodes": summary.nodes, "edges": summary.edges, "classes": summary.classes}


def load(results: Path) -> list[Line]:
    """NewtonNet's trials on every graph, each with the true ratio where it was measured."""
    measured = {line["key"]["dataset"]: line for line in own_lines(LEARNED_HOMOPHILY, results)}
    found = read_all(results, PAPER_GRAPHS, [HERO])
    return [{**line, "measured": measured.get(line["stored"].dataset, {})} for line in found]


def summarise(lines: Sequence[Line]) -> Report:
    """Learned and true ratios, and the paper's."""
    near_statement = f"The learned homophily is near the true one (within {CLOSE})"
    rows: list[dict[str, Value]] = []
    near: dict[str, bool] = {}
    sides: dict[str, tuple[int, int]] = {}
    data: dict[str, dict[str, float | None]] = {}
    for line in lines:
        name, trials = line["stored"].dataset, line["stored"].trials
        values = [value for value in best_trial(trials).homophily if value is not None]
        if not values:
            continue
        learned, spread, true = float(np.mean(values)), float(np.std(values)), line["measured"].get("true")
        if true is not None:
            near[name] = abs(learned - true) <= CLOSE
            pivot = 1 / line["measured"]["classes"]
            sides[name] = sum((value > pivot) == (true > pivot) for value in values), len(values)
        rows.append(
            {
                "graph": name,
                "learned": f"{learned:.3f} ± {spread:.3f}",
                "true": true,
                "on its side of 1/C": "{} of {}".format(*sides[name]) if name in sides else None,
                "learned, the paper": published.HOMOPHILY.get(name),
                "real, the paper": published.REAL_HOMOPHILY.get(name),
                "settings": len(trials),
            }
        )
        data[name] = {"learned": learned, "std": spread, "true": true, "paper": published.HOMOPHILY.get(name)}
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
        "Learned: the same share over predicted labels, with the true labels of training nodes.",
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
        ),
        tables=(table,),
        data=data,
    )


LEARNED_HOMOPHILY = define_claim(
    "homophily", summarise, units=units, load=load, cells=partial(model_cells, PAPER_GRAPHS, [HERO])
)
