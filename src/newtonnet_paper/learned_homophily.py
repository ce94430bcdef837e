"""Learned homophily as a claim: what NewtonNet's selected setting estimates beside the true ratio."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from newtonnet.datasets import summarise as describe
from newtonnet.search import best_trial
from newtonnet.search.published import DATASETS, HOMOPHILY, REAL_HOMOPHILY

from .cells import Cell
from .claim import Claim, Request, Unit, own_lines
from .exhibit import FAILS, HOLDS, OPEN, PARTLY, Finding, Report, Table
from .results import Line
from .scores import how_made
from .stored import read_stored
from .table1 import chosen_datasets, trials_of

CLOSE = 0.05
"""How near the truth the paper's own estimates are, but for cornell."""


def cells(request: Request, results: Path) -> list[Cell]:
    """The searches of Table 1, of NewtonNet."""
    names = chosen_datasets(request, DATASETS)
    return [Cell(dataset, "newtonnet", trials_of(request.profile, dataset)) for dataset in names]


def units(request: Request) -> list[Unit]:
    """The true homophily of every graph at hand."""
    return [Unit({"dataset": name}, partial(_measure, name)) for name in chosen_datasets(request, DATASETS)]


def _measure(name: str) -> Mapping[str, Any]:
    summary = describe(name)
    return {"true": summary.homophily, "nodes": summary.nodes, "edges": summary.edges, "classes": summary.classes}


def load(results: Path) -> list[Line]:
    """NewtonNet's trials on every graph, each with the true ratio where it was measured."""
    measured = {line["key"]["dataset"]: line for line in own_lines(LEARNED_HOMOPHILY, results)}
    found = [read_stored(results, dataset, "newtonnet") for dataset in DATASETS]
    return [{"stored": one, "measured": measured.get(one.dataset, {})} for one in found if one is not None]


def summarise(lines: Sequence[Line]) -> Report:
    """Learned and true ratios beside the paper's."""
    statement = f"The learned homophily is near the true one (within {CLOSE})"
    steers = "The learned homophily is on the true one's side of 1/C, which decides where the filter is pulled"
    rows, near, known = [], [], []
    sides: dict[str, tuple[int, int]] = {}
    data: dict[str, dict[str, float | None]] = {}
    for line in lines:
        stored = line["stored"]
        values = [value for value in best_trial(stored.trials).homophily if value is not None]
        if not values:
            continue
        learned, spread, true = float(np.mean(values)), float(np.std(values)), line["measured"].get("true")
        if true is not None:
            known.append(stored.dataset)
            near += [stored.dataset] * (abs(learned - true) <= CLOSE)
            pivot = 1 / line["measured"]["classes"]
            sides[stored.dataset] = sum((value > pivot) == (true > pivot) for value in values), len(values)
        rows.append(
            (
                stored.dataset,
                f"{learned:.3f} ± {spread:.3f}",
                true,
                "{} of {}".format(*sides[stored.dataset]) if stored.dataset in sides else None,
                HOMOPHILY.get(stored.dataset),
                REAL_HOMOPHILY.get(stored.dataset),
                len(stored.trials),
            )
        )
        data[stored.dataset] = {"learned": learned, "std": spread, "true": true, "paper": HOMOPHILY.get(stored.dataset)}
    if not rows:
        return Report((Finding(statement, "nothing stored", "Table 6", OPEN),))
    verdict = OPEN if not known else HOLDS if len(near) == len(known) else PARTLY if near else FAILS
    far = [name for name in known if name not in near]
    ours = f"on {len(near)} of {len(known)} graphs" + (f"; not on {', '.join(far)}" if far else "")
    notes = (
        "Mean ± std over splits, at the best validation epoch of the setting that the paper's selection takes. "
        f"{how_made([line['stored'] for line in lines])} True: share of edges between equal labels; no self-loops. "
        "Learned: the same share over predicted labels, those of training nodes replaced by the true ones.",
        "Command: `newtonnet reproduce homophily --profile paper`",
    )
    columns = ("graph", "learned", "true", "on its side of 1/C", "learned, the paper", "real, the paper", "settings")
    wrong = {name: splits - right for name, (right, splits) in sides.items() if right < splits}
    told = ", ".join(f"{count} on {name}" for name, count in wrong.items())
    steered = f"on {len(sides) - len(wrong)} of {len(sides)} graphs" + (
        f"; splits on the other side: {told}" if told else ""
    )
    sided = OPEN if not sides else HOLDS if not wrong else PARTLY if len(wrong) < len(sides) else FAILS
    return Report(
        findings=(
            Finding(statement, ours, "on all but cornell", verdict),
            Finding(steers, steered, "implied", sided),
        ),
        tables=(Table("Learned homophily", columns, tuple(rows), notes),),
        data=data,
    )


LEARNED_HOMOPHILY = Claim(
    name="homophily",
    statement="NewtonNet learns the homophily of a graph well enough to steer its filter by it.",
    place="Appendix E.2, Table 6",
    units=units,
    summarise=summarise,
    options=frozenset({"datasets"}),
    load=load,
    cells=cells,
)
