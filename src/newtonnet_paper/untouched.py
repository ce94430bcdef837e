"""The classifier with its defaults on graphs that nobody tuned for, compared with an MLP and a GCN tuned as long."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from newtonnet.datasets import load_dataset, load_splits
from newtonnet.estimator import NewtonNetClassifier, cross_validate
from newtonnet.search import UNTOUCHED
from newtonnet.training import estimate

from .claim import Line, Request, Unit, define_claim
from .exhibit import Finding, Report, Value, Verdict, make_table, nothing_stored
from .scores import split_ratio

PROTOCOLS = dict.fromkeys(UNTOUCHED, "fixed") | {"reed98": "random", "amherst41": "random"}
"""Published splits where the files have them."""

MODELS = {"newtonnet": "NewtonNet", "mlp": "MLP", "gcn": "GCN"}
SPLITS = 10
SECONDS = {"quick": 20.0, "paper": 120.0}
"""Time for all splits of one model on one graph."""

_STATEMENT = (
    "Without manual tuning NewtonNet is not worse than the better of an MLP and a GCN, tuned for the same time, by "
    "more than one standard error of the paired difference"
)


def units(request: Request) -> list[Unit]:
    """One unit for each model, split and graph; the three models of a split run one after another."""
    chosen = request.options.get("datasets") or UNTOUCHED
    unknown = set(chosen) - set(UNTOUCHED)
    if unknown:
        raise ValueError(f"{min(unknown)} is not one of the untouched graphs; available: {', '.join(UNTOUCHED)}")
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
    """Fit the classifier on the training and validation nodes of one split and score its test nodes."""
    loaded = load_dataset(dataset)
    split = load_splits(dataset, PROTOCOLS[dataset], count=SPLITS)[index]
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


def summarise(lines: Sequence[Line]) -> Report:
    """Means over splits, and NewtonNet's difference to the better of the other two with its standard error."""
    longest = max((line["key"]["budget"] for line in lines), default=0.0)
    used = [line for line in lines if line["key"]["budget"] == longest]
    rows: list[dict[str, Value]] = []
    verdicts: dict[str, bool] = {}
    for dataset in UNTOUCHED:
        scores = {model: _scores(used, dataset, model) for model in MODELS}
        common = sorted(set.intersection(*(set(own) for own in scores.values())))
        if len(common) < 2:
            continue
        columns = {model: np.array([own[split] for split in common]) for model, own in scores.items()}
        rival = max(("mlp", "gcn"), key=lambda model: columns[model].mean())
        difference = columns["newtonnet"] - columns[rival]
        error = difference.std(ddof=1) / math.sqrt(len(common))
        corrected = estimate((100 * difference).tolist(), split_ratio(dataset, PROTOCOLS[dataset]))
        verdicts[dataset] = bool(difference.mean() >= -error)
        gap = f"{100 * difference.mean():+.2f} ± {100 * error:.2f} ({rival.upper()})"
        rows.append(
            {
                "graph": dataset,
                "splits": len(common),
                **{MODELS[name]: f"{100 * one.mean():.2f} ± {100 * one.std():.1f}" for name, one in columns.items()},
                "NewtonNet − the better, ± standard error": gap,
                "95% interval": None if corrected is None else f"[{corrected.low:+.2f}, {corrected.high:+.2f}]",
            }
        )
    if not rows:
        return nothing_stored(_STATEMENT, "not in the paper")
    table = make_table(
        "Graphs that nobody tuned for",
        rows,
        f"`NewtonNetClassifier` with its defaults and {longest:g} s for each fit, the other models in the same way. "
        "All are fitted on the training and validation nodes of a split. No search ran on these graphs, but "
        "wisconsin has siblings among those that the list of settings was made on (texas and cornell), and so have "
        "reed98 and amherst41 (johnshopkins55); actor has none. "
        "Test accuracy in percent, mean ± std over splits: published ones on wisconsin and actor, "
        "protocol random on reed98 and amherst41. The difference is paired by split; its standard error "
        "treats splits as independent, its 95% interval corrects for the nodes they share (Nadeau and Bengio).",
        "Command: `newtonnet-paper reproduce untouched --profile paper`",
    )
    good = [name for name, fine in verdicts.items() if fine]
    ours = f"true on {len(good)} of {len(verdicts)}" + (f" ({', '.join(good)})" if good else "")
    finding = Finding(_STATEMENT, ours, "not in the paper", Verdict.by_count(len(good), len(verdicts)))
    return Report((finding,), tables=(table,), headline=replace(table, notes=()))


def _scores(lines: Sequence[Line], dataset: str, model: str) -> dict[int, float]:
    wanted = {"dataset": dataset, "model": model}
    return {line["key"]["split"]: line["test"] for line in lines if wanted.items() <= line["key"].items()}


UNTOUCHED_GRAPHS = define_claim("untouched", summarise, units=units, options=("datasets",))
