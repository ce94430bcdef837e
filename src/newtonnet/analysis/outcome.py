"""What an analysis gives as plain data: the table of predictions, scores of known nodes, the outcome of run.json."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from newtonnet.drawing import small_table
from newtonnet.estimator import GraphEstimator, NewtonNetClassifier, NewtonNetRegressor, model_card, score
from newtonnet.graphs import Graph
from newtonnet.meaning import counted, listed
from newtonnet.report import (
    Findings,
    HeldOutResults,
    ModelScores,
    NumberResults,
    guess,
    headline,
    is_known,
    metric_name,
    percent,
    percent_range,
)

from .explaining import number_intervals, plausible_classes
from .run_folder import RunDescription, numbers_table, predictions_table


def predictions_of(estimator: GraphEstimator, graph: Graph, answers: NDArray[np.float64], *, added: int) -> pa.Table:
    """The rows of predictions.csv from the answers for all nodes, ``(n, C)``."""
    if isinstance(estimator, NewtonNetRegressor):
        numbers = answers[:, 0]
        return numbers_table(graph, numbers, number_intervals(estimator, graph, numbers), added=added)
    assert isinstance(estimator, NewtonNetClassifier)
    names, sets = estimator.ensemble_.class_names, plausible_classes(estimator, graph, answers)
    return predictions_table(graph, answers, names, sets, estimator.decide(answers), added=added)


def tally(table: pa.Table, estimator: GraphEstimator) -> dict[str, float]:
    """How many nodes are predicted to be of each class, or the lowest, mean and highest of predicted numbers."""
    if estimator.ensemble_.numbers:
        numbers = table["prediction"].to_numpy()
        return {name: float(getattr(np, name)(numbers)) for name in ("min", "mean", "max")}
    counts = Counter(table["label"].to_pylist())
    return {name: counts[name] for name in estimator.ensemble_.class_names}


def score_known(
    metric: str, graph: Graph, probabilities: NDArray[np.float64], seen: NDArray[np.bool_]
) -> tuple[int, float | None, str]:
    """Number of scored nodes, their score and a comment; nodes of the fit are scored only if there are no others."""
    known = graph.labelled
    new = known[~seen]
    scored = new if len(new) else known
    if not len(scored):
        return 0, None, ""
    try:
        reached = score(metric, probabilities[scored], graph.truth[scored])
    except ValueError as reason:
        return len(scored), None, f"No score on {counted(len(scored), 'labelled node')}: {reason}."
    remark = ""
    if not len(new):
        remark = "the model was fitted on these nodes, so this does not measure its quality"
    elif seen.any():
        remark = f"{counted(int(seen.sum()), 'node')} of the fit left out"
    return len(scored), reached, remark


def make_outcome(findings: Findings, classifier: GraphEstimator, *, stopped: bool) -> dict[str, Any]:
    """The results as plain data; the names are part of the format of run.json."""
    evaluation = findings.evaluation
    return {
        "model": findings.model,
        "metric": findings.metric,
        "nodes": findings.data.nodes,
        "edges": findings.data.edges,
        "labelled": findings.data.labelled,
        "cross_validation": None if evaluation is None else _scores(evaluation.ours),
        "others": {} if evaluation is None else {one.model: _scores(one) for one in evaluation.others},
        "guess": None if evaluation is None else guess(evaluation, findings.metric),
        "method": None if evaluation is None else evaluation.method,
        **_quality(findings),
        "validation": classifier.validation_score_,
        "homophily": {
            "known": findings.homophily.measured,
            "learned": findings.homophily.learned,
            "chance": findings.homophily.chance,
        },
        "headline": headline(findings),
        "tried": findings.tried,
        "complete": classifier.complete_,
        "stopped": stopped,
        "remarks": [*findings.warnings, *findings.data.warnings],
        "seconds": findings.seconds,
    }


def _quality(findings: Findings) -> dict[str, Any]:
    """What only classes, or only numbers, have."""
    evaluation, target = findings.evaluation, findings.data.target
    if target is None:
        found = evaluation if isinstance(evaluation, HeldOutResults) else None
        return {
            "classes": list(findings.data.class_names),
            "threshold": _threshold(findings),
            "calibration_error": None if found is None else found.calibration_error,
            "uncalibrated_error": None if found is None else found.uncalibrated_error,
        }
    numbers = evaluation if isinstance(evaluation, NumberResults) else None
    return {
        "target": target.name,
        "errors": None if numbers is None else asdict(numbers.errors),
        "intervals": None if numbers is None or numbers.intervals is None else asdict(numbers.intervals),
    }


def _threshold(findings: Findings) -> dict[str, Any] | None:
    """From which probability on which class is predicted, and its precision and recall where that was chosen."""
    chosen = None if findings.curve is None else findings.curve.chosen
    if chosen is None:
        return None
    name = findings.data.class_names[chosen.place]
    kept = {key: getattr(chosen, key) for key in ("rule", "value", "precision", "recall")}
    return {"class": name, **kept}


def _scores(scores: ModelScores) -> dict[str, Any]:
    interval = list(scores.interval) if all(map(is_known, scores.interval)) else None
    return {"mean": scores.mean, "interval": interval, "splits": list(scores.splits), "seconds": scores.seconds}


def card_of(model: GraphEstimator, run: RunDescription) -> str:
    """The model card of a run, with its tables, their features and the results."""
    files = {name: file for name, file in run.tables.items() if file.path is not None}
    tables = [
        f"The table of {name} is {Path(str(file.path)).name} (sha256 {str(file.sha256)[:16]}…)."
        for name, file in files.items()
    ]
    names = run.encoding.feature_names
    features = [f"Features: {listed(names)}."] if names else []
    outcome = {**run.outcome, "time_limit": run.arguments.get("time_limit")}
    return model_card(model, outcome, [*tables, *features], run.columns.label)


def outcome_html(model: GraphEstimator, outcome: Mapping[str, Any]) -> str:
    """Headline, held-out scores and filter for a notebook; nothing for a run that ended before its evaluation."""
    if not outcome:
        return ""
    ours, learned = outcome["cross_validation"], model.filter_
    scores = {} if ours is None else {outcome["model"]: ours, **outcome["others"]}
    rows = [
        (name, percent(one["mean"]) + (f" ({percent_range(one['interval'])})" if one["interval"] else ""))
        for name, one in scores.items()
    ]
    table = small_table(rows, caption=f"{metric_name(outcome['metric'])} on held-out nodes") if rows else ""
    drawn = learned._repr_html_() if learned is not None and outcome["edges"] else ""
    return f"<p>{escape(outcome['headline'])}</p>{table}{drawn}"
