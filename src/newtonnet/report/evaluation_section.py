"""The part of a page that says how good the predictions are, and how it compares with simpler models."""

from collections.abc import Sequence

from .evaluation_figures import CROWDED, calibration_figure, comparison_figure, confusion_figure
from .findings import Evaluation, Findings
from .markup import plot, sentences, table
from .quantities import decimal, duration, is_known, percent, percent_range, plural
from .words import comparison_rule, metric_name

COMMONEST = 20
"""Errors that are listed where there are too many classes for a matrix in numbers."""
TIES = 3
"""Errors that are named where several are the commonest."""
WIDTH = (
    "The wider the interval, the less the score is worth: with other nodes held out it could well have been anywhere "
    "within."
)
MISSING = (
    "How good the predictions are was not measured: for that, labelled nodes have to be held out and the model trained "
    "again without them."
)


def evaluation_section(findings: Findings) -> str:
    """Comparison, classes, confusion and calibration; a sentence where nothing was measured."""
    evaluation = findings.evaluation
    if evaluation is None:
        return sentences([MISSING])
    names, counts = findings.data.class_names, findings.data.class_counts
    return (
        f"<h3>Beside other models</h3>{_comparison(evaluation, findings.metric)}"
        f"<h3>Class by class</h3>{_classes(evaluation, names, counts)}{_confusion(evaluation, names)}"
        f"<h3>How far to trust the probabilities</h3>{_calibration(evaluation)}"
    )


def _comparison(evaluation: Evaluation, metric: str) -> str:
    models = (evaluation.ours, *evaluation.others)
    name = metric_name(metric)
    said = "; ".join(f"{scores.model} {percent(scores.mean)}" for scores in models)
    picture = plot(
        "comparison-plot",
        comparison_figure(evaluation, metric),
        alternative=f"Mean {name} over the same splits: {said}.",
        caption="Every dot is one split; diamonds are means with their 95% interval.",
    )
    rows = [
        (scores.model, percent(scores.mean), percent_range(scores.interval), duration(scores.seconds))
        for scores in models
    ]
    columns = ("model", name, "95% interval", "time")
    numbers = table(columns, rows, caption=f"Held-out {name} over {plural(len(evaluation.ours.splits), 'split')}")
    rules = [WIDTH, *([comparison_rule(evaluation.ours)] if evaluation.others else [])]
    return f"{picture}{numbers}{sentences(rules, css_class='quiet')}"


def _classes(evaluation: Evaluation, names: Sequence[str], counts: Sequence[int]) -> str:
    rows = [
        (name, f"{count:,}", percent(precision), percent(recall), percent(f1))
        for name, count, precision, recall, f1 in zip(
            names, counts, evaluation.precision, evaluation.recall, evaluation.f1, strict=True
        )
    ]
    meaning = (
        "Precision: of the nodes given a class, the share that has it. Recall: of the nodes that have it, the share "
        "found. F1: their harmonic mean."
    )
    numbers = table(("class", "nodes", "precision", "recall", "F1"), rows, caption="Held-out results of each class")
    return numbers + sentences([meaning], css_class="quiet")


def _confusion(evaluation: Evaluation, names: Sequence[str]) -> str:
    picture = plot(
        "confusion-plot",
        confusion_figure(evaluation.confusion, names),
        alternative=f"Confusion matrix of {plural(len(names), 'class', 'classes')}. {_worst(evaluation, names)}",
        caption=f"Rows are true classes, columns predicted ones; colour is the share of the row. "
        f"{_worst(evaluation, names)}",
        widest=280 + 90 * len(names),
    )
    if len(names) > CROWDED:
        return picture + _errors_table(evaluation, names)
    rows = [(name, *(f"{cell:,}" for cell in row)) for name, row in zip(names, evaluation.confusion, strict=True)]
    numbers = table(("true \\ predicted", *names), rows, caption="Nodes of each true class by predicted class")
    return f"{picture}<details><summary>The matrix in numbers</summary>{numbers}</details>"


def _errors_table(evaluation: Evaluation, names: Sequence[str]) -> str:
    """The commonest errors in numbers, where a matrix would have too many."""
    rows = [
        (names[true], names[told], f"{count:,}", percent(count / sum(evaluation.confusion[true])))
        for count, true, told in _errors(evaluation)[:COMMONEST]
    ]
    header = ("true class", "predicted class", "nodes", "share of the true class")
    return table(header, rows, caption="The commonest errors", words=2) if rows else ""


def _errors(evaluation: Evaluation) -> list[tuple[int, int, int]]:
    """Nodes, true class and predicted class of every kind of error there is, the commonest first."""
    cells = [
        (cell, i, j) for i, row in enumerate(evaluation.confusion) for j, cell in enumerate(row) if cell and i != j
    ]
    return sorted(cells, key=lambda one: -one[0])


def _worst(evaluation: Evaluation, names: Sequence[str]) -> str:
    """The largest count off the diagonal, in words."""
    errors = _errors(evaluation)
    if not errors:
        return "No node was taken for another class."
    most = errors[0][0]
    alike = [f"{names[true]} taken for {names[told]}" for count, true, told in errors if count == most]
    if len(alike) == 1:
        return f"The commonest error: {plural(most, 'node')} of class {alike[0]}."
    more = f" and {len(alike) - TIES} more" if len(alike) > TIES else ""
    return f"The commonest errors, {plural(most, 'node')} each: {', '.join(alike[:TIES])}{more}."


def _calibration(evaluation: Evaluation) -> str:
    if not evaluation.bins:
        return sentences(["The probabilities were not kept."])
    error = evaluation.calibration_error
    confident = sum(confidence * count for confidence, _, count in evaluation.bins)
    correct = sum(right * count for _, right, count in evaluation.bins)
    side = "too sure of itself" if confident > correct else "not sure enough of itself"
    judged = "its probabilities can be taken at their word" if error < 0.05 else f"on the whole the model is {side}"
    text = f"Expected calibration error {decimal(error)}: {judged}." if is_known(error) else ""
    picture = plot(
        "calibration-plot",
        calibration_figure(evaluation.bins),
        alternative=f"Share correct against confidence in {plural(len(evaluation.bins), 'bin')}. {text}",
        caption="On the dotted line a confidence of 70% is right 70% of the time; larger dots hold more nodes.",
        widest=560,
    )
    return sentences([text] if text else []) + picture
