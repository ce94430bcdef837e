"""The page of a fit. Its headline is :func:`newtonnet.report.words.headline`; every section is a function below."""

from collections.abc import Sequence
from dataclasses import asdict
from html import escape

import numpy as np

from newtonnet.estimator import Importance
from newtonnet.meaning import counted
from newtonnet.polynomials import chebyshev_points

from . import figures
from .findings import (
    FilterShape,
    Findings,
    GraphHomophily,
    HeldOutResults,
    History,
    NumberResults,
    PrecisionRecall,
    Response,
    SetCoverage,
    Spectrum,
    filter_shape,
)
from .markup import document, facts, fill, paragraphs, plot, script_data, table
from .numbers import NUMBER_MEANINGS, number_sections, summary_numbers, target_facts
from .why import why_section
from .words import (
    DASH,
    KEEPS,
    capitalised,
    decimal,
    describe,
    duration,
    failures,
    is_known,
    metric_name,
    missing_filter,
    percent,
    percent_range,
    plain,
    share_interval,
    signed_points,
    threshold_words,
    too_brief,
)

MEANINGS = {
    "expected by chance": "Expected by chance: how often neighbours would share a label if edges ignored the classes "
    "and each class kept its number of edge ends.",
    "learned homophily": "Learned homophily: the share of edges whose two ends the model gives the same class; known "
    "labels are kept.",
}
"""Explanations of the numbers in the summary."""
FILTER_MEANING = (
    "The filter multiplies each frequency λ of the graph by g(λ). Low frequencies are what neighbours have in common, "
    "high frequencies how they differ."
)
NO_EDGES = "The graph has no edges for a filter to act on."
UNEVALUATED = "The predictions were not evaluated: cross-validation was skipped or stopped."
SLIGHT_ERROR = 0.01
"""Calibration error that the whole interval must exceed before a direction is named."""
LISTED_ERRORS = 20
"""Errors listed where there are too many classes for a matrix of numbers."""
NAMED_ERRORS = 3
"""Errors named in a sentence when several are equally common."""
MAX_POINTS = 14
"""Points that can be chosen in the playground; a filter with more keeps them."""
SAMPLED_POINTS = 11
"""Points at which the playground samples a filter that has none."""


def render_findings(findings: Findings) -> str:
    """The page of a fit as one self-contained HTML document, which loads nothing."""
    shape = filter_shape(findings.response) if findings.response is not None else None
    spectrum_alone = shape is None and findings.spectrum is not None and findings.data.edges > 0
    learned = counted(len(findings.data.class_names), "class")
    if findings.data.target is not None:
        learned = f"target {findings.data.target.name}"
    size = f"{counted(findings.data.nodes, 'node')}, {counted(findings.data.edges, 'edge')}, {learned}"
    numbers = findings.data.target is not None
    sections = {
        "quality": ("How good", _quality(findings)),
        "failing": ("For whom it fails", _failing(findings)),
        "sure": ("How sure", _sure(findings)),
        "why-section": ("Why these predictions", why_section(findings.explained, findings.data.class_names)),
        "matters": ("What matters", _matters(findings.importance)),
        "tried": ("What was tried", _tried(findings)),
        "filter": ("The graph's spectrum" if spectrum_alone else "The learned filter", _filter(findings, shape)),
        "play": ("Filter playground", _playground(findings, shape)),
        "training": (
            "Training",
            training_section(findings.history, findings.homophily, metric=findings.metric, numbers=numbers),
        ),
        "data": ("Data", _data(findings)),
        "again": ("Settings and command", _settings(findings) + _command(findings)),
    }
    if numbers:  # what they say of classes is said of numbers under the first
        sections = {name: part for name, part in sections.items() if name not in ("failing", "sure")}
    body = fill(
        "fit_page.html",
        title=escape(findings.title),
        subtitle=escape(f"{size}; model {findings.model}"),
        summary=_summary(findings),
        contents="".join(f'<li><a href="#{name}">{title}</a></li>' for name, (title, _) in sections.items()),
        sections="".join(_section(name, title, html) for name, (title, html) in sections.items()),
        version=escape(findings.version),
    )
    return document(findings.title, body, scripts=("page.js", "polynomial.js", "playground.js", "why.js"))


def _section(name: str, title: str, html: str) -> str:
    heading = f'<h2 id="{name}-title">{title}</h2>'
    return f'<section id="{name}" aria-labelledby="{name}-title">{heading}{html}</section>\n'


def _command(findings: Findings) -> str:
    return f"<h3>Command</h3><pre><code>{escape(findings.command)}</code></pre>"


def _summary(findings: Findings) -> str:
    """The headline, the scores, the most important numbers and the warnings."""
    first, *others = describe(findings)
    homophily = findings.homophily
    numbers, evaluation = (
        {
            "homophily": percent(homophily.measured),
            "expected by chance": percent(homophily.chance),
            "learned homophily": percent(homophily.learned),
            "total time": duration(findings.seconds),
        },
        findings.evaluation,
    )
    if findings.data.target is not None:
        found = evaluation if isinstance(evaluation, NumberResults) else None
        numbers = {**summary_numbers(homophily, found, findings.metric), "total time": duration(findings.seconds)}
    elif evaluation is not None:
        numbers = {f"held-out {metric_name(findings.metric)}": percent(evaluation.ours.mean), **numbers}
    shown = {name: value for name, value in numbers.items() if value != DASH}
    meanings = [text for name, text in (MEANINGS | NUMBER_MEANINGS).items() if name in shown]
    if isinstance(evaluation, HeldOutResults) and evaluation.method:
        meanings.insert(0, evaluation.method)
    warnings = [*findings.warnings, *findings.data.warnings]
    items = "".join(f"<li>{escape(text)}</li>" for text in warnings)
    notice = f'<div class="notice" role="note"><strong>Warnings</strong><ul>{items}</ul></div>' if warnings else ""
    tiles = f'<div class="numbers">{facts(shown)}</div>{paragraphs(*meanings, css_class="quiet")}'
    return f"{paragraphs(first, css_class='lead')}{paragraphs(*others)}{tiles}{notice}"


def _filter(findings: Findings, shape: FilterShape | None) -> str:
    spectrum = findings.spectrum
    if findings.data.edges == 0:
        return paragraphs(NO_EDGES)
    if shape is None and spectrum is None:
        return paragraphs(missing_filter(findings), "The graph's spectrum was not estimated, so there is no figure.")
    below = []
    numbers = ""
    if shape is None:
        above = f"{missing_filter(findings)} The figure shows the graph's spectrum."
        alternative = "The graph's spectrum."
    else:
        brief = "" if findings.cut_at is None else too_brief(findings.cut_at)
        above = f"{brief} {FILTER_MEANING}".lstrip()
        picks = [round(i * (len(shape.mean) - 1) / 4) for i in range(5)]
        amplitudes = ", ".join(f"{shape.mean[i]:.2f} at {shape.frequencies[i]:.2f}" for i in picks)
        what = brief or f"The filter {KEEPS[shape.kind]}."
        alternative = f"Response over frequencies from 0 to 2. {what} Mean amplitudes: {amplitudes}."
        response = "The response is" if len(shape.kinds) == 1 else f"Each of the {len(shape.kinds)} responses is"
        below.append(f"{response} divided by its largest magnitude: the encoder absorbs any constant factor.")
        if shape.points:
            rows = [(decimal(q, 2), decimal(value)) for q, value in zip(shape.points, shape.values, strict=True)]
            values = table(("point λ", "value"), rows, caption="Values at the points; the largest amplitude is 1")
            numbers = f"<details><summary>Values in numbers</summary>{values}</details>"
    if spectrum is None:
        below.append("The graph's spectrum was not estimated.")
    else:
        filled = " (predicted classes where labels are missing)" if spectrum.predicted else ""
        below.append(
            f"The spectrum is an estimate. The energy of the labels{filled} shows which frequencies separate the "
            "classes: a good filter keeps them."
            if findings.data.target is None
            else "The spectrum is an estimate. The energy of the numbers (predicted ones where they are unknown) shows "
            "which frequencies they have: a good filter keeps them."
        )
    picture = plot("filter-plot", figures.spectral_figure(shape, spectrum), alternative=alternative)
    return paragraphs(above) + picture + paragraphs(*below, css_class="quiet") + numbers


def _playground(findings: Findings, shape: FilterShape | None) -> str:
    """The playground from its template, and the run's numbers for its script."""
    response = findings.response
    if findings.data.edges == 0:
        return paragraphs(NO_EDGES)
    if shape is None or response is None:
        return paragraphs(f"There is no filter to edit. {missing_filter(findings)}")
    page = fill(
        "playground.html",
        most=str(max(MAX_POINTS, len(shape.points))),
        norm="‖t‖²" if response.squared else "‖t‖",
        pivot=decimal(response.pivot),
    )
    sampled = "" if shape.points else paragraphs("The learned filter has no points; it is sampled here.")
    return sampled + page + script_data("playground-data", _playground_data(shape, response, findings.spectrum))


def _playground_data(shape: FilterShape, response: Response, spectrum: Spectrum | None) -> dict[str, object]:
    """What reset returns to: the mean shape over splits at their mean scale."""
    scale = shape.scale if shape.scale > 0 else 1.0
    points, values = shape.points, shape.values
    if not points:
        points = chebyshev_points(SAMPLED_POINTS - 1).tolist()
        values = np.interp(points, shape.frequencies, shape.mean).tolist()
    return {
        "points": points,
        "values": [scale * value for value in values],
        "scale": scale,
        "nonnegative": response.nonnegative,
        "gammas": response.gammas,
        "pivot": response.pivot,
        "h": response.homophily if is_known(response.homophily) else response.pivot,
        "squared": response.squared,
        "spectrum": None if spectrum is None else asdict(spectrum),
    }


def training_section(
    history: Sequence[History],
    homophily: GraphHomophily,
    *,
    metric: str,
    name: str = "training",
    numbers: bool = False,
) -> str:
    """The training curves of all splits; ``name`` is a prefix of the figures' names that is unique on the page.

    Of ``numbers`` as targets homophily is a correlation.
    """
    history = [one for one in history if one.epochs]
    if not history:
        return paragraphs("The training curves were not recorded.")
    score = capitalised(metric_name(metric))
    best = sorted(one.best_epoch for one in history)
    scores = plot(
        f"{name}-plot",
        figures.training_figure(history, metric),
        alternative=f"{score} over epochs; the best epochs lie between {best[0]} and {best[-1]}.",
        caption=f"{score} on training and validation nodes. The model of the best epoch is kept.",
    )
    ends = [value for one in history for value in one.homophily[-1:] if is_known(value)]
    if not ends:
        return scores + paragraphs("This model does not learn a homophily.", css_class="quiet")
    known = f"Known labels: {percent(homophily.measured)}; chance: {percent(homophily.chance)}."
    if numbers:
        ends_at = f"{decimal(min(ends), 2)} to {decimal(max(ends), 2)} at the end"
        correlation = plot(
            f"{name}-homophily-plot",
            figures.homophily_figure(history, homophily, numbers=True),
            alternative=f"Correlation of neighbours over epochs, {ends_at}.",
            caption="Correlation of neighbours' predicted numbers; training nodes keep their own.",
        )
        return f'<div class="pair">{correlation}{scores}</div>'
    learned = plot(
        f"{name}-homophily-plot",
        figures.homophily_figure(history, homophily),
        alternative=f"Learned homophily over epochs, {percent(min(ends))} to {percent(max(ends))} at the end. {known}",
        caption="Homophily of the predicted classes; training nodes keep their labels.",
    )
    return f'<div class="pair">{learned}{scores}</div>'


def _quality(findings: Findings) -> str:
    """Scores beside those of other models, and of each class."""
    evaluation = findings.evaluation
    if evaluation is None:
        return paragraphs(UNEVALUATED)
    if isinstance(evaluation, NumberResults):
        return number_sections(evaluation, findings.data.class_names[0], _comparison(evaluation, findings.metric))
    names = findings.data.class_names
    return fill(
        "evaluation.html",
        comparison=_comparison(evaluation, findings.metric),
        rule=fill("comparison_rule.html") if evaluation.others else "",
        classes=_classes(evaluation, names),
        threshold=_threshold(findings.curve, names),
    )


def _failing(findings: Findings) -> str:
    """Which classes are taken for which, and which nodes are predicted wrong most often."""
    evaluation, names = findings.evaluation, findings.data.class_names
    if not isinstance(evaluation, HeldOutResults):
        return paragraphs(UNEVALUATED)
    said = failures(evaluation, names) or "No class and no group of nodes is clearly worse than the others."
    rows = [
        (group.name, f"{group.nodes:,}", percent(group.right), percent_range(group.interval))
        for group in evaluation.groups
    ]
    caption = "Held-out nodes by their neighbours"
    groups = table(("nodes with", "nodes", "right", "95% interval"), rows, caption=caption) if rows else ""
    return paragraphs(said) + groups + _confusion(evaluation, names)


def _sure(findings: Findings) -> str:
    """How far the probabilities are off, and the sets of plausible classes."""
    sets = _sets(findings.sets, findings.data.class_names)
    evaluation = findings.evaluation
    calibration = _calibration(evaluation) if isinstance(evaluation, HeldOutResults) else paragraphs(UNEVALUATED)
    return f"<h3>Probabilities</h3>{calibration}<h3>Prediction sets</h3>{sets}"


def _matters(importance: Importance | None) -> str:
    """How much worse held-out nodes are predicted without a column, or without edges."""
    if importance is None:
        return paragraphs(
            "This was not measured, since it would have taken too long; newtonnet explain RUN without a node does it."
        )
    name, features = metric_name(importance.metric), importance.of("feature")
    text = (
        f"On {counted(importance.nodes, 'held-out node')} the {name} is {percent(importance.score)}. The values of one "
        "column at a time are shuffled among all nodes, and the nodes are predicted again by the members that were not "
        "trained on them: the more the score drops, the more the model relies on the column. Columns that say the same "
        "replace each other, so that each of them alone drops little."
    )
    if importance.untested:
        text += f" {counted(importance.untested, 'column')} contributed less or had no time and were not shuffled."
    effects = [*features, *importance.of("structure")]
    picture = plot(
        "importance-plot",
        figures.importance_figure(effects, importance.metric),
        alternative="; ".join(f"{one.name}: {signed_points(-one.drop)} points" for one in effects[:12]) + ".",
        caption=f"Drop of the {name} in points, with 95% intervals over nodes and shuffles.",
    )
    rows = [
        (one.name, signed_points(one.drop), " to ".join(map(signed_points, one.interval)), f"{one.repeats}")
        for one in effects
    ]
    numbers = table(("change", "drop, points", "95% interval", "repeats"), rows, caption=f"Drop of the {name}")
    return paragraphs(text) + picture + f"<details><summary>Drops in numbers</summary>{numbers}</details>"


def _tried(findings: Findings) -> str:
    """The leaderboard: every setting that was tried, with score, time and share of the average."""
    rows = [
        (
            row["model"],
            "; ".join(f"{name} {plain(value)}" for name, value in row["setting"].items()) or "defaults",
            percent(row["score"]),
            f"{row['folds']}",
            duration(row["seconds"]),
            percent(row["weight"], 0) if row["weight"] else DASH,
        )
        for row in findings.leaderboard
    ]
    if not rows:
        return paragraphs("What was tried was not recorded.")
    header = ("family", "setting, where it differs from the defaults", "score", "folds", "time", "share")
    said = (
        f"Scores are the {metric_name(findings.metric)} on validation nodes, over as many folds as there was time for; "
        "the share is that of the average which predicts. These scores chose the model, so they are optimistic."
    )
    caption = f"Leaderboard: {counted(len(rows), 'setting')}, those of the average first"
    return paragraphs(said) + table(header, rows, caption=caption, words=2)


def _comparison(evaluation: HeldOutResults | NumberResults, metric: str) -> str:
    models = (evaluation.ours, *evaluation.others)
    name = metric_name(metric)
    means = "; ".join(f"{scores.model} {percent(scores.mean)}" for scores in models)
    picture = plot(
        "comparison-plot",
        figures.comparison_figure(evaluation, metric),
        alternative=f"Mean {name} over the same splits: {means}.",
        caption="Each dot is one split. Diamonds are means with their 95% interval over nodes.",
    )
    rows = [(one.model, percent(one.mean), percent_range(one.interval), duration(one.seconds)) for one in models]
    caption = f"Held-out {name} over {counted(len(evaluation.ours.splits), 'split')}"
    return picture + table(("model", name, "95% interval", "time"), rows, caption=caption)


def _classes(evaluation: HeldOutResults, names: Sequence[str]) -> str:
    counts = map(sum, evaluation.confusion)
    columns = zip(names, counts, evaluation.precision, evaluation.recall, evaluation.f1, strict=True)
    rows = [(name, f"{count:,}", *map(percent, scores)) for name, count, *scores in columns]
    return table(("class", "nodes", "precision", "recall", "F1"), rows, caption="Held-out scores of each class")


def _confusion(evaluation: HeldOutResults, names: Sequence[str]) -> str:
    """The confusion matrix, with its numbers or, for many classes, the most common errors."""
    cells = np.ndenumerate(np.array(evaluation.confusion))
    errors = sorted(((int(n), i, j) for (i, j), n in cells if n and i != j), key=lambda one: -one[0])
    worst = _worst(errors, names)
    picture = plot(
        "confusion-plot",
        figures.confusion_figure(evaluation.confusion, names),
        alternative=f"Confusion matrix of {counted(len(names), 'class')}. {worst}",
        caption=f"Rows are true classes, columns predicted classes. The colour is the share of the row. {worst}",
        max_width=280 + 90 * len(names),
    )
    if len(names) <= figures.MANY_CLASSES:
        rows = [(name, *(f"{cell:,}" for cell in row)) for name, row in zip(names, evaluation.confusion, strict=True)]
        numbers = table(("true \\ predicted", *names), rows, caption="Nodes of each true class by predicted class")
        return f"{picture}<details><summary>Matrix in numbers</summary>{numbers}</details>"
    rows = [
        (names[true], names[other], f"{count:,}", percent(count / sum(evaluation.confusion[true])))
        for count, true, other in errors[:LISTED_ERRORS]
    ]
    header = ("true class", "predicted class", "nodes", "share of the true class")
    return picture + (table(header, rows, caption="Most common errors", words=2) if rows else "")


def _worst(errors: Sequence[tuple[int, int, int]], names: Sequence[str]) -> str:
    """The most common errors in a sentence."""
    if not errors:
        return "There are no errors."
    most = errors[0][0]
    same = [f"{names[true]} predicted as {names[other]}" for count, true, other in errors if count == most]
    if len(same) == 1:
        return f"Most common error: {same[0]} ({counted(most, 'node')})."
    more = f" and {len(same) - NAMED_ERRORS} more" if len(same) > NAMED_ERRORS else ""
    return f"Most common errors: {', '.join(same[:NAMED_ERRORS])}{more} ({counted(most, 'node')} each)."


def _calibration(evaluation: HeldOutResults) -> str:
    bins, error, interval = evaluation.bins, evaluation.calibration_error, evaluation.calibration_interval
    surplus = sum((confidence - correct) * count for confidence, correct, count in bins)
    ends = f" (95% interval {100 * interval[0]:.1f} to {100 * interval[1]:.1f})" if is_known(interval[0]) else ""
    before = evaluation.uncalibrated_error
    compared = f"; out of fold it was {100 * before:.1f} before calibration" if before is not None else ""
    text = (
        f"Confidence, the probability of the predicted class, and the share of right predictions differ by "
        f"{100 * error:.1f} points on average over the bins below{ends}{compared}."
    )
    if is_known(interval[0]) and interval[0] > SLIGHT_ERROR:
        text += f" The model is {'overconfident' if surplus > 0 else 'underconfident'}."
    sure, right, count = max(bins, key=lambda one: abs(one[0] - one[1]))
    text += (
        f" In the worst bin, {counted(count, 'node')} with a mean confidence of {percent(sure, 0)}, "
        f"{percent(right, 0)} are right (95% interval {percent_range(share_interval(right, count))})."
    )
    picture = plot(
        "calibration-plot",
        figures.calibration_figure(bins),
        alternative=f"Share correct against confidence in {counted(len(bins), 'bin')}. {text}",
        caption="On the dotted line, 70% of predictions with confidence 70% are right. Bins hold about the same number "
        "of nodes; lines are 95% intervals.",
        max_width=560,
    )
    rows = [
        (percent(sure), f"{count:,}", percent(right), percent_range(share_interval(right, count)))
        for sure, right, count in bins
    ]
    numbers = table(("mean confidence", "nodes", "right", "95% interval"), rows, caption="Bins by confidence")
    return paragraphs(text) + picture + f"<details><summary>Bins in numbers</summary>{numbers}</details>"


def _threshold(curve: PrecisionRecall | None, names: Sequence[str]) -> str:
    """The precision-recall curve of the rarer of two classes, and the threshold; nothing for more classes."""
    if curve is None:
        return ""
    name, text = names[curve.place], threshold_words(curve, names)
    picture = plot(
        "precision-recall-plot",
        figures.precision_recall_figure(curve, name),
        alternative=f"Precision of {name} over its recall, for every threshold. {text}",
        caption=f"Each point is a threshold. Guessing has a precision of {percent(curve.share)}.",
        max_width=560,
    )
    return f"<h3>Threshold</h3>{paragraphs(text)}{picture}"


def _sets(sets: SetCoverage | None, names: Sequence[str]) -> str:
    """What the prediction sets reach on held-out nodes, for all and for each class."""
    if sets is None:
        return paragraphs("There are no held-out predictions to calibrate sets with.")
    text = (
        f"The column prediction_set names the classes that are plausible for a node: the true one is among them for "
        f"{percent(sets.aim)} of the nodes. On held-out nodes it was for {percent(sets.reached)}, with {sets.size:.2f} "
        f"of {len(names)} classes on average; {percent(sets.alone)} of the sets name one class."
    )
    doubt = (
        "This holds for nodes like the labelled ones. It is doubtful for nodes of a later time, of another graph, or "
        "that were left unlabelled for a reason."
    )
    if sets.own_split:
        doubt = (
            "The sets were calibrated on the validation nodes of your own split. If these were not drawn like the "
            f"nodes to predict, as in a split by time, the coverage is doubtful. {doubt}"
        )
    rows = [
        (name, percent(share), DASH if size is None else f"{size:.2f}")
        for name, (share, size) in zip(names, sets.by_class, strict=True)
    ]
    caption = "Prediction sets of the held-out nodes of each class"
    return (
        paragraphs(text)
        + paragraphs(doubt, css_class="quiet")
        + table(("class", "covered", "classes in a set"), rows, caption=caption)
    )


def _data(findings: Findings) -> str:
    data = findings.data
    rows = {
        "nodes": f"{data.nodes:,} ({data.labelled:,} labelled)",
        "edges": f"{data.edges:,}{' (weighted)' if data.weighted else ''}",
        "features": f"{data.features:,} ({data.feature_kind})",
        "nodes without an edge": f"{data.isolated:,}",
        "connected components": f"{data.components:,}",
        "edges between labelled nodes": f"{findings.homophily.labelled_edges:,}",
    }
    read = paragraphs(f"Columns were read as {data.columns}.") if data.columns else ""
    if data.target is not None:
        return f'<div class="facts">{facts(rows)}</div>{read}{target_facts(data)}'
    counts = zip(data.class_names, data.class_counts, strict=True)
    cells = [(name, f"{count:,}", percent(count / data.labelled)) for name, count in counts]
    classes = table(("class", "labelled nodes", "share"), cells, caption="Labelled nodes of each class")
    return f'<div class="facts">{facts(rows)}</div>{read}{classes}'


def _settings(findings: Findings) -> str:
    """How the model was chosen, and the settings of each member of the ensemble in a column."""
    members = findings.ensemble
    if len(members) > 1:
        count = f"{len(members)} of the {findings.tried:,}"
        chosen = f"The model is an ensemble of {count} settings tried, weighted by validation score."
    elif findings.tried > 1:
        chosen = f"These settings had the best validation score of {findings.tried:,} tried."
    else:
        chosen = "Only these settings were tried."
    names = dict.fromkeys(name for member in members for name in member.settings)
    rows = [
        ("model", *(member.model for member in members)),
        ("weight", *(percent(member.weight) for member in members)),
        ("filter", *("shown above" if member.drawn else DASH for member in members)),
        *((name, *(plain(member.settings.get(name)) for member in members)) for name in names),
    ]
    header = ("setting", *(f"member {number}" for number in range(1, len(members) + 1)))
    caption = "Settings of each member of the ensemble"
    if len(members) == 1:
        header, caption = ("setting", "value"), "Settings of the model"
    return paragraphs(chosen) + table(header, rows, caption=caption, words=len(header))
