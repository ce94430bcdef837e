"""The end of ``newtonnet fit``: what was found, for people and as JSON."""

import textwrap
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

from newtonnet.estimator import NewtonNetClassifier
from newtonnet.report import (
    Findings,
    ModelScores,
    comparisons,
    draw_response,
    duration,
    guess,
    headline,
    is_known,
    metric_name,
    percent,
    percent_range,
    plural,
)

from .run_folder import MODEL, PAGE, PREDICTIONS


def remarks_on(classifier: NewtonNetClassifier, *, stopped: bool) -> list[str]:
    """What a reader should know about how the run went, and whether the model can leave its graph."""
    remarks = []
    if stopped:
        remarks.append("The run was stopped before its end; what was done by then is shown.")
    elif not classifier.complete_:
        remarks.append(
            "Time ran out while the model was tuned: the best so far was kept, and more time may give a better one."
        )
    if any(member.bound is not None for member in classifier.ensemble_.members):
        remarks.append(
            "The model has weights for every node of this graph, so it predicts for these tables alone; with "
            "--transferable one is fitted that can be used on others."
        )
    return remarks


def outcome_of(findings: Findings, classifier: NewtonNetClassifier, *, stopped: bool) -> dict[str, Any]:
    """What a program wants to know, as plain data."""
    evaluation = findings.evaluation
    return {
        "model": findings.model,
        "metric": findings.metric,
        "nodes": findings.data.nodes,
        "edges": findings.data.edges,
        "labelled": findings.data.labelled,
        "classes": list(findings.data.class_names),
        "cross_validation": None if evaluation is None else _scores(evaluation.ours),
        "others": {} if evaluation is None else {one.model: _scores(one) for one in evaluation.others},
        "guess": None if evaluation is None else guess(evaluation, findings.metric),
        "calibration_error": None if evaluation is None else evaluation.calibration_error,
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


def _scores(scores: ModelScores) -> dict[str, Any]:
    interval = list(scores.interval) if all(map(is_known, scores.interval)) else None
    return {"mean": scores.mean, "interval": interval, "splits": list(scores.splits), "seconds": scores.seconds}


def print_summary(findings: Findings, classifier: NewtonNetClassifier, folder: Path, *, stopped: bool) -> None:
    """The result on standard output: scores beside those of others, what the filter does, where the files are."""
    data = findings.data
    print(
        f"{findings.model} on {plural(data.nodes, 'node')}, {plural(data.edges, 'edge')}, "
        f"{plural(data.features, 'feature')}, {plural(len(data.class_names), 'class', 'classes')}, "
        f"{data.labelled:,} labelled"
    )
    _print_scores(findings, classifier)
    print()
    _say(headline(findings))
    if classifier.filter_ is not None and data.edges and findings.cut_at is None:
        print(draw_response(classifier.filter_.scaled.mean(axis=0).tolist()))
    for note in (*findings.warnings, *data.warnings):
        _say(f"note: {note}")
    files = ", ".join((MODEL, PREDICTIONS, PAGE))
    print(f"\n{'stopped after' if stopped else 'done in'} {duration(findings.seconds)}; in {folder}: {files}")


def _print_scores(findings: Findings, classifier: NewtonNetClassifier) -> None:
    evaluation = findings.evaluation
    name = metric_name(findings.metric)
    if evaluation is None:
        reached = percent(classifier.validation_score_)
        print(f"\n{name} {reached} on labels held back in fitting: too good, since the model was chosen by them")
        return
    print(f"\n{name} on held-out nodes, {plural(len(evaluation.ours.splits), 'fold')}")
    for one in (evaluation.ours, *evaluation.others):
        within = f"   95% interval {percent_range(one.interval)}" if all(map(is_known, one.interval)) else ""
        print(f"  {one.model:<14}{percent(one.mean):>6}{within}")
    what = "a guess" if findings.metric == "roc_auc" else "largest class"
    print(f"  {what:<14}{percent(guess(evaluation, findings.metric)):>6}")
    for text in comparisons(findings):
        _say(text)


def _say(text: str) -> None:
    """Whole words on every line, however wide the terminal is."""
    print(textwrap.fill(text, get_terminal_size().columns, break_long_words=False, break_on_hyphens=False))
