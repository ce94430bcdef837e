"""What the classifier does by itself on graphs nobody ever tuned for, beside an MLP and a GCN tuned for as long."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from newtonnet.datasets import Split, load_dataset, load_splits, make_splits
from newtonnet.estimator import NewtonNetClassifier, cross_validate
from newtonnet.search.settings import UNTOUCHED
from newtonnet.training.statistics import Estimate, estimate

from .claim import Claim, Request, Unit
from .exhibit import FAILS, HOLDS, OPEN, PARTLY, Cell, Finding, Report, Table
from .results import Line
from .scores import split_ratio

PROTOCOLS = dict.fromkeys(UNTOUCHED, "fixed") | {"reed98": "random", "amherst41": "random"}
"""Published splits where the files have them."""

MODELS = ("newtonnet", "mlp", "gcn")
SPLITS = 10
SECONDS = {"quick": 20.0, "paper": 120.0}
"""Time for all splits of one model on one graph."""


def units(request: Request) -> list[Unit]:
    """One model on one split of one graph at a time; the three models of a split follow each other."""
    chosen = request.options.get("datasets") or UNTOUCHED
    strange = set(chosen) - set(UNTOUCHED)
    if strange:
        raise ValueError(f"{min(strange)} is not one of the untouched graphs {', '.join(UNTOUCHED)}")
    seconds = SECONDS[request.profile] / SPLITS
    return [
        Unit(
            {"dataset": dataset, "model": model, "split": split, "protocol": PROTOCOLS[dataset], "budget": seconds},
            partial(_fit, dataset, model, split, seconds),
        )
        for dataset in UNTOUCHED
        if dataset in chosen
        for split in range(SPLITS)
        for model in MODELS
    ]


def _fit(dataset: str, model: str, index: int, seconds: float) -> dict[str, Any]:
    """The classifier's defaults on one split: its training and validation nodes in, its test nodes out."""
    loaded = load_dataset(dataset)
    split = _split(dataset, index)
    classifier = NewtonNetClassifier(model, metric=loaded.entry.metric, time_limit=seconds)
    result = cross_validate(classifier, loaded.graph, [split])
    (fitted,) = result.estimators
    return {
        "metric": loaded.entry.metric,
        "test": result.mean,
        "validation": fitted.validation_score_,
        "tried": fitted.tried_,
        "complete": fitted.complete_,
        "homophily": None if math.isnan(fitted.homophily_) else fitted.homophily_,
        "kept": [{"model": one["model"], "weight": one["weight"]} for one in fitted.settings_],
        "fit_seconds": round(float(result.seconds[0]), 2),
    }


def _split(dataset: str, index: int) -> Split:
    if PROTOCOLS[dataset] == "fixed":
        return load_splits(dataset, "fixed", count=SPLITS)[index]
    return make_splits(load_dataset(dataset).graph, PROTOCOLS[dataset], count=SPLITS)[index]


def summarise(lines: Sequence[Line]) -> Report:
    """Means over splits, and NewtonNet's difference to the better of the other two with its standard error."""
    longest = max((line["key"]["budget"] for line in lines), default=0.0)
    used = [line for line in lines if line["key"]["budget"] == longest]
    rows: list[tuple[Cell, ...]] = []
    verdicts: dict[str, bool] = {}
    for dataset in UNTOUCHED:
        scores = {model: _scores(used, dataset, model) for model in MODELS}
        common = sorted(set.intersection(*(set(own) for own in scores.values())))
        if len(common) < 2:
            continue
        columns = {model: np.array([own[split] for split in common]) for model, own in scores.items()}
        rival = max(MODELS[1:], key=lambda model: columns[model].mean())
        difference = columns["newtonnet"] - columns[rival]
        error = difference.std(ddof=1) / math.sqrt(len(common))
        corrected = estimate((100 * difference).tolist(), split_ratio(dataset, PROTOCOLS[dataset]))
        verdicts[dataset] = bool(difference.mean() >= -error)
        cells = [f"{100 * column.mean():.2f} ± {100 * column.std():.1f}" for column in columns.values()]
        gap = f"{100 * difference.mean():+.2f} ± {100 * error:.2f} ({rival.upper()})"
        rows.append((dataset, len(common), *cells, gap, None if corrected is None else _interval(corrected)))
    if not rows:
        return Report((Finding(_STATEMENT, "nothing stored", "not in the paper", OPEN),))
    table = Table(
        "Graphs that nobody tuned for",
        ("graph", "splits", "NewtonNet", "MLP", "GCN", "NewtonNet − the better, ± standard error", "95% interval"),
        tuple(rows),
        (
            f"`NewtonNetClassifier` with its defaults and {longest:g} s for each fit, the others in the same way; test "
            "accuracy in percent (ROC-AUC on tolokers), mean ± std over splits: published ones on wisconsin, actor and "
            "tolokers, protocol random on reed98 and amherst41. The difference is paired by split; its standard error "
            "takes splits as independent, its 95% interval corrects for the nodes they share (Nadeau and Bengio).",
            "Command: `newtonnet reproduce untouched --profile paper`",
        ),
    )
    good = [name for name, fine in verdicts.items() if fine]
    ours = f"so on {len(good)} of {len(verdicts)}" + (f" ({', '.join(good)})" if good else "")
    verdict = HOLDS if len(good) == len(verdicts) else PARTLY if good else FAILS
    return Report((Finding(_STATEMENT, ours, "not in the paper", verdict),), tables=(table,), headline=table)


def _interval(found: Estimate) -> str:
    return f"[{found.low:+.2f}, {found.high:+.2f}]"


def _scores(lines: Sequence[Line], dataset: str, model: str) -> dict[int, float]:
    wanted = {"dataset": dataset, "model": model}
    return {line["key"]["split"]: line["test"] for line in lines if wanted.items() <= line["key"].items()}


_STATEMENT = (
    "Without any tuning by hand NewtonNet is not worse than the better of an MLP and a GCN, tuned for as long, by more "
    "than one standard error of the paired difference"
)

UNTOUCHED_GRAPHS = Claim(
    name="untouched",
    statement="The classifier's defaults on graphs that no search and no choice of a default ever saw.",
    place="not in the paper",
    units=units,
    summarise=summarise,
    options=frozenset({"datasets"}),
)
