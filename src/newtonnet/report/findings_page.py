"""The page about one person's graph: what was found, why, how good it is, and how to do it again."""

from dataclasses import dataclass
from html import escape

from .evaluation_section import evaluation_section
from .filter_shape import FilterShape, filter_shape
from .findings import Findings
from .findings_figures import homophily_figure, spectral_figure, training_figure
from .frame import document
from .markup import facts, plot, sentences, table
from .playground import SCRIPTS, playground
from .quantities import DASH, decimal, duration, is_known, percent, plain, plural
from .words import KEEPS, describe, metric_name, missing_filter, too_brief

MEANINGS = {
    "by chance": "By chance: how often neighbours would share a label if edges ignored the classes, each class being "
    "at the ends of edges as often as it is here.",
    "learned homophily": "Learned homophily: the share of edges whose two ends the model gives the same class, known "
    "labels taken as they are.",
}
"""What numbers of the summary mean."""
NO_EDGES = "There are no edges for a filter to act on."


@dataclass(frozen=True)
class Section:
    """A part of the page that the table of contents names."""

    anchor: str
    title: str
    body: str


def render_findings(findings: Findings) -> str:
    """One self-contained HTML page; it loads nothing, and names from outside are escaped."""
    shape = filter_shape(findings.response) if findings.response is not None else None
    sections = [
        _filter_section(findings, shape),
        _playground_section(findings, shape),
        Section("training", "Training", _training(findings)),
        Section("quality", "How good it is", evaluation_section(findings)),
        Section("data", "The data", _data(findings)),
        Section("again", "Settings, and how to repeat it", _again(findings)),
    ]
    contents = "".join(f'<li><a href="#{one.anchor}">{escape(one.title)}</a></li>' for one in sections)
    main = "".join(
        f'<section id="{one.anchor}" aria-labelledby="{one.anchor}-title">'
        f'<h2 id="{one.anchor}-title">{escape(one.title)}</h2>{one.body}</section>'
        for one in sections
    )
    body = (
        f'<a class="skip" href="#main">Skip to the findings</a><header><h1>{escape(findings.title)}</h1>'
        f'<p class="quiet">{escape(_subtitle(findings))}</p></header><main id="main">{_summary(findings)}'
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav>{main}</main>'
        f"<footer><p>Made by newtonnet {escape(findings.version)}. This file needs nothing else and sends nothing "
        f"anywhere.</p></footer>"
    )
    return document(findings.title, body, scripts=("page.js", *SCRIPTS))


def _subtitle(findings: Findings) -> str:
    data = findings.data
    size = f"{plural(data.nodes, 'node')}, {plural(data.edges, 'edge')}, "
    return size + f"{plural(len(data.class_names), 'class', 'classes')}; model {findings.model}"


def _summary(findings: Findings) -> str:
    first, *others = describe(findings)
    agreement = findings.agreement
    numbers = {
        "neighbours agree": percent(agreement.known),
        "by chance": percent(agreement.chance),
        "learned homophily": percent(agreement.learned),
        "whole run": duration(findings.seconds),
    }
    if findings.evaluation is not None:
        score = f"{metric_name(findings.metric)}, held out"
        numbers = {score: percent(findings.evaluation.ours.mean), **numbers}
    shown = {name: value for name, value in numbers.items() if value != DASH}
    meanings = [text for name, text in MEANINGS.items() if name in shown]
    notes = [*findings.remarks, *findings.data.warnings]
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    notice = f'<div class="notice" role="note"><strong>Please note</strong><ul>{items}</ul></div>' if notes else ""
    tiles = f'<div class="numbers">{facts(shown)}</div>{sentences(meanings, css_class="quiet")}'
    return f"{sentences([first], css_class='lead')}{sentences(others)}{tiles}{notice}"


def _filter_section(findings: Findings, shape: FilterShape | None) -> Section:
    if findings.data.edges == 0:
        return Section("filter", "The learned filter", sentences([NO_EDGES]))
    spectrum = findings.spectrum
    title = "The learned filter" if shape is not None else "The graph's spectrum"
    if shape is None and spectrum is None:
        missing = [missing_filter(findings), "The graph's spectrum was not estimated either, so there is no picture."]
        return Section("filter", "The learned filter", sentences(missing))
    texts = []
    if shape is None:
        texts.append(f"{missing_filter(findings)} The graph's own frequencies are shown alone.")
        alternative = "The graph's spectrum."
    else:
        texts.append(
            "The filter multiplies each frequency λ of the graph by g(λ): low frequencies are what neighbours share, "
            "high ones how they differ."
        )
        texts.append(_scaling(shape))
        what = f"The filter {KEEPS[shape.kind]}." if findings.cut_at is None else too_brief(findings.cut_at)
        texts[0] = texts[0] if findings.cut_at is None else f"{what} {texts[0]}"
        alternative = f"Response over frequencies from 0 to 2. {what} {_in_numbers(shape)}"
    if spectrum is None:
        texts.append("The graph's spectrum was not estimated.")
    else:
        energy = "the labels and, where there are none, the predictions" if spectrum.predicted else "the labels"
        texts.append(f"The spectrum is an estimate; the energy is that of {energy}, each class against its mean.")
        texts.append(
            "The energy of the labels says at which frequencies the classes live: a filter that lets those through "
            "keeps what tells the classes apart."
        )
    picture = plot("filter-plot", spectral_figure(shape, spectrum), alternative=alternative)
    numbers = _points_table(shape) if shape is not None and shape.points else ""
    return Section("filter", title, sentences(texts[:1]) + picture + sentences(texts[1:], css_class="quiet") + numbers)


def _scaling(shape: FilterShape) -> str:
    how = "divided by its own largest magnitude, because the encoder before the filter absorbs any factor"
    if len(shape.kinds) == 1:
        return f"The response is {how}."
    return f"Before averaging over {len(shape.kinds)} splits, each split's response is {how}."


def _in_numbers(shape: FilterShape) -> str:
    picks = [round(i * (len(shape.mean) - 1) / 4) for i in range(5)]
    return "Mean amplitudes: " + ", ".join(f"{shape.mean[i]:.2f} at {shape.frequencies[i]:.2f}" for i in picks) + "."


def _points_table(shape: FilterShape) -> str:
    rows = [(decimal(point, 2), decimal(value)) for point, value in zip(shape.points, shape.values, strict=True)]
    numbers = table(("point λ", "value"), rows, caption="Values at the filter's points, largest amplitude = 1")
    return f"<details><summary>The values in numbers</summary>{numbers}</details>"


def _playground_section(findings: Findings, shape: FilterShape | None) -> Section:
    if findings.data.edges == 0:
        return Section("play", "Filter playground", sentences([NO_EDGES]))
    if shape is None or findings.response is None:
        missing = f"There is nothing to play with. {missing_filter(findings)}"
        return Section("play", "Filter playground", sentences([missing]))
    hint = (
        '<p class="screen-only">Drag the points, or move to one with the Tab key and use the arrow keys, Home and End. '
        "The curve is the polynomial through them, wiggles included.</p>"
    )
    sampled = "" if shape.points else sentences(["The learned filter has no points of its own; it is sampled here."])
    return Section(
        "play", "Filter playground", hint + sampled + playground(shape, findings.response, findings.spectrum)
    )


def _training(findings: Findings) -> str:
    history = [one for one in findings.history if one.epochs]
    if not history:
        return sentences(["The course of the training was not kept."])
    metric = findings.metric
    best = sorted(one.best_epoch for one in history)
    scores = plot(
        "training-plot",
        training_figure(history, metric),
        alternative=f"{metric_name(metric)} over epochs; the best epochs lie between {best[0]} and {best[-1]}.",
        caption=f"{metric_name(metric).capitalize() if metric == 'accuracy' else metric_name(metric)} on training and "
        "validation nodes. The state of the best epoch is kept.",
    )
    ends = [value for one in history for value in one.homophily[-1:] if is_known(value)]
    if not ends:
        return scores + sentences(["This model does not learn a homophily."], css_class="quiet")
    agreement = findings.agreement
    homophily = plot(
        "homophily-plot",
        homophily_figure(history, agreement),
        alternative=f"Learned homophily over epochs; it ends between {percent(min(ends))} and {percent(max(ends))}. "
        f"Known labels: {percent(agreement.known)}; chance: {percent(agreement.chance)}.",
        caption="Homophily as the model sees it: its predictions, with training labels put in.",
    )
    return f'<div class="pair">{homophily}{scores}</div>'


def _data(findings: Findings) -> str:
    data, agreement = findings.data, findings.agreement
    rows = {
        "nodes": f"{data.nodes:,}, of which {data.labelled:,} labelled",
        "edges": f"{data.edges:,}{', weighted' if data.weighted else ''}",
        "features": f"{data.features:,} ({data.feature_kind})",
        "nodes without an edge": f"{data.isolated:,}",
        "connected components": f"{data.components:,}",
        "edges between labelled nodes": f"{agreement.known_edges:,}",
    }
    total = max(data.labelled, 1)
    classes = table(
        ("class", "labelled nodes", "share"),
        [
            (name, f"{count:,}", percent(count / total))
            for name, count in zip(data.class_names, data.class_counts, strict=True)
        ],
        caption="Labelled nodes of each class",
    )
    read = sentences([f"The columns were read as {data.columns}."]) if data.columns else ""
    return f'<div class="facts">{facts(rows)}</div>{read}{classes}'


def _again(findings: Findings) -> str:
    parts = findings.parts
    if not parts:
        chosen = "No settings were recorded."
    elif len(parts) > 1:
        chosen = (
            f"The model is an average: {len(parts)} of {findings.tried:,} settings that were tried, chosen and "
            "weighted by the score on validation nodes."
        )
    elif findings.tried > 1:
        chosen = f"These settings were the best of {findings.tried:,} tried, by the score on validation nodes."
    else:
        chosen = "These settings were used; no others were tried."
    listed = _parts_table(findings) if parts else ""
    return f"{sentences([chosen])}{listed}<h3>The command</h3><pre><code>{escape(findings.command)}</code></pre>"


def _parts_table(findings: Findings) -> str:
    """A column for each part of the average."""
    parts = findings.parts
    names = dict.fromkeys(name for part in parts for name in part.settings)
    rows = [
        ("model", *(part.model for part in parts)),
        ("weight", *(percent(part.weight) for part in parts)),
        ("filter", *("the one shown" if part.drawn else DASH for part in parts)),
        *((name, *(plain(part.settings.get(name)) for part in parts)) for name in names),
    ]
    header = ("setting", *(f"part {number}" for number in range(1, len(parts) + 1)))
    return table(header, rows, caption="Settings of each part of the model", words=len(header))
