"""The figures: of a learned filter, its training and its evaluation for pages, and of a filter for the terminal.

A figure is plain data, ``{"data": [traces], "layout": {...}}``; the page's script draws it with plotly.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.drawing import BLUE, GREEN, GREY, ORANGE, label
from newtonnet.estimator import Effect
from newtonnet.graphs import BANDS

from .findings import FilterShape, GraphHomophily, HeldOutResults, History, NumberResults, PrecisionRecall, Spectrum
from .markup import asset
from .words import guess, is_known, metric_name, share_interval

Figure = dict[str, Any]
Trace = dict[str, Any]

BANDS_DRAWN = {"low": "rgba(47,111,228,0.09)", "middle": "rgba(122,134,153,0.09)", "high": "rgba(221,107,32,0.09)"}
MANY_CLASSES = 15
"""With more classes than this, the confusion matrix is drawn without counts and column names."""
BARS = 31
"""Bars of the histogram of residuals."""
NODE = {"color": BLUE, "size": 5, "opacity": 0.5}
"""How a held-out node is drawn among many."""
BLOCKS = " ▁▂▃▄▅▆▇█"


def spectral_figure(shape: FilterShape | None, spectrum: Spectrum | None) -> Figure:
    """The filter with its points, and the graph's spectrum below it; one of the two may be missing."""
    traces, axes, top = [], {}, 1.1
    if shape is not None:
        traces += _filter_traces(shape)
        bottom = min([0.0, *shape.lowest, *shape.values])
        axes["yaxis"] = _axis("amplitude", range=[bottom - 0.05, 1.18])
    if spectrum is not None:
        second = "" if shape is None else "2"
        traces += [{**trace, "yaxis": f"y{second}"} for trace in _spectrum_traces(spectrum)]
        highest = max(filter(is_known, (*spectrum.density, *spectrum.label_energy)), default=1.0)
        axes[f"yaxis{second}"] = _axis("density", range=[0, 1.15 * highest or 1])
        top = top if shape is not None else 1.08 * highest
    if len(axes) == 2:
        axes["yaxis"]["domain"], axes["yaxis2"]["domain"] = [0.436, 1], [0, 0.376]
    axes["xaxis"] = _axis("frequency λ", range=[-0.03, 2.03], zeroline=False, anchor="y2" if "yaxis2" in axes else "y")
    figure = _figure(traces, axes, height=520 if "yaxis2" in axes else 380)
    bands = list(zip(BANDS_DRAWN.items(), (0.0, *BANDS), (*BANDS, 2.0), strict=True))
    box = {"type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "line": {"width": 0}, "layer": "below"}
    name = {"y": top, "showarrow": False, "font": {"size": 12}}
    figure["layout"] |= {
        "shapes": [{**box, "x0": left, "x1": right, "fillcolor": fill} for (_, fill), left, right in bands],
        "annotations": [{**name, "x": (left + right) / 2, "text": text} for (text, _), left, right in bands],
    }
    return figure


def _filter_traces(shape: FilterShape) -> list[Trace]:
    traces: list[Trace] = []
    one = len(shape.kinds) == 1
    if not one:
        shared = {"hoverinfo": "skip", "legendgroup": "range"}
        fill = {"fill": "tonexty", "fillcolor": "rgba(47,111,228,0.2)"}
        traces.append(_line(shape.frequencies, shape.highest, "", BLUE, width=0) | shared | {"showlegend": False})
        traces.append(_line(shape.frequencies, shape.lowest, "range over splits", BLUE, width=0) | shared | fill)
    name = "filter g(λ)" if one else "filter g(λ), mean"
    hover = "λ = %{x:.2f}<br>g = %{y:.3f}<extra></extra>"
    traces.append(_line(shape.frequencies, shape.mean, name, BLUE, width=3) | {"hovertemplate": hover})
    if shape.points:
        marker = {"color": ORANGE, "size": 10, "line": {"color": "white", "width": 1}}
        hover = "point λ = %{x:.2f}<br>value %{y:.3f}<extra></extra>"
        traces.append(_dots(shape.points, shape.values, "values at the points", marker) | {"hovertemplate": hover})
    return traces


def _spectrum_traces(spectrum: Spectrum) -> list[Trace]:
    hover = {"hovertemplate": "λ = %{x:.2f}<br>%{y:.3f} per unit"}
    fill = {"fill": "tozeroy", "fillcolor": "rgba(122,134,153,0.25)"}
    density = _line(spectrum.frequencies, spectrum.density, "graph's frequencies", GREY) | fill
    return [density | hover, _line(spectrum.frequencies, spectrum.label_energy, "energy of the labels", GREEN) | hover]


def homophily_figure(history: Sequence[History], homophily: GraphHomophily, *, numbers: bool = False) -> Figure:
    """Learned homophily (of numbers a correlation) over epochs, a line for each split, with the measured and chance."""
    shown = ".2f" if numbers else ".1%"
    traces = [_curve(i, one, one.homophily, BLUE, "learned h, each split", shown) for i, one in enumerate(history)]
    last = max((epoch for one in history for epoch in one.epochs), default=1)
    levels = ((homophily.measured, "known labels", GREEN, "dash"), (homophily.chance, "chance", GREY, "dot"))
    for level, name, colour, dash in levels:
        if is_known(level):
            hover = {"hovertemplate": f"%{{y:{shown}}}"}
            traces.append(_line([0, last], [level, level], name, colour, dash=dash) | hover)
    title, ticks = ("correlation of neighbours", ".2f") if numbers else ("homophily", ".0%")
    x, y = _axis("epoch", rangemode="tozero"), _axis(title, tickformat=ticks, rangemode="tozero")
    return _figure(traces, {"xaxis": x, "yaxis": y})


def training_figure(history: Sequence[History], metric: str) -> Figure:
    """Scores on training and validation nodes over epochs; a ring marks the best epoch of each split."""
    traces = []
    for i, one in enumerate(history):
        traces.append(_curve(i, one, one.train, GREY, "training"))
        traces.append(_curve(i, one, one.validation, BLUE, "validation"))
    best = [(one.best_epoch, score) for one in history if is_known(score := _best_score(one))]
    ring = {"color": ORANGE, "size": 9, "symbol": "circle-open", "line": {"width": 2}}
    hover = "best epoch %{x}<br>%{y:.1%}<extra></extra>"
    traces.append(_dots([x for x, _ in best], [y for _, y in best], "best epoch", ring) | {"hovertemplate": hover})
    x, y = _axis("epoch", rangemode="tozero"), _axis(metric_name(metric), tickformat=".0%")
    return _figure(traces, {"xaxis": x, "yaxis": y})


def _curve(
    order: int, one: History, heights: Sequence[float | None], colour: str, name: str, shown: str = ".1%"
) -> Trace:
    """One split's curve; the splits of one name share an entry of the legend."""
    hover = f"split {order + 1}, epoch %{{x}}<br>%{{y:{shown}}}"
    shared = {"opacity": 0.7, "legendgroup": name, "showlegend": order == 0, "hovertemplate": hover}
    return _line(one.epochs, heights, name, colour, width=1.5) | shared


def _best_score(one: History) -> float | None:
    """The validation score at the best epoch, or at the nearest epoch recorded."""
    known = [(abs(e - one.best_epoch), v) for e, v in zip(one.epochs, one.validation, strict=True) if is_known(v)]
    return min(known, default=(0, None), key=lambda pair: pair[0])[1]


def comparison_figure(evaluation: HeldOutResults | NumberResults, metric: str) -> Figure:
    """Each model's score on every split, its mean with the 95% interval, and the score of guessing."""
    models = (evaluation.ours, *evaluation.others)
    traces: list[Trace] = []
    for i, scores in enumerate(models):
        marker = {"color": GREY, "size": 8, "opacity": 0.65}
        texts = [f"split {number + 1}" for number in range(len(scores.splits))]
        shared = {"legendgroup": "splits", "showlegend": i == 0, "hovertemplate": "%{text}: %{x:.1%}<extra></extra>"}
        heights = [i + 0.16] * len(scores.splits)
        traces.append(_dots(scores.splits, heights, "one split", marker) | shared | {"text": texts})
        low, high = scores.interval if all(map(is_known, scores.interval)) else (scores.mean, scores.mean)
        reach = {"array": [high - scores.mean], "arrayminus": [scores.mean - low]}
        diamond = {"color": BLUE if i == 0 else ORANGE, "size": 11, "symbol": "diamond"}
        bar = {"error_x": {"type": "data", "symmetric": False, **reach}, "showlegend": False}
        hover = {"hovertemplate": "mean %{x:.1%}<extra></extra>"}
        traces.append(_dots([scores.mean], [i - 0.16], "mean", diamond) | bar | hover)
    by_guess = guess(evaluation, metric)
    ends = [-0.6, len(models) - 0.4]
    traces.append(_line([by_guess] * 2, ends, "guessing", GREY, dash="dot") | {"hovertemplate": "%{x:.1%}"})
    seen = [by_guess, *(x for scores in models for x in (*scores.splits, *scores.interval) if is_known(x))]
    gap = 0.04 * (max(seen) - min(seen)) + 0.005
    x = _axis(metric_name(metric), tickformat=".0%", zeroline=False, range=[min(seen) - gap, max(seen) + gap])
    names = [label(scores.model, 16) for scores in models]
    y = _category_axis("", names, range=ends[::-1])
    return _figure(traces, {"xaxis": x, "yaxis": y}, height=120 + 62 * len(models))


def importance_figure(effects: Sequence[Effect], metric: str) -> Figure:
    """A bar for each change of the graph: how many points the score drops, with its 95% interval."""
    points = [100 * one.drop for one in effects]
    bars: Trace = {"type": "bar", "orientation": "h", "x": points, "y": list(range(len(effects)))}
    reach = {
        "array": [100 * (one.interval[1] - one.drop) for one in effects],
        "arrayminus": [100 * (one.drop - one.interval[0]) for one in effects],
    }
    colours = [BLUE if one.kind == "feature" else ORANGE for one in effects]
    bars |= {"error_x": {"type": "data", "symmetric": False, **reach}, "marker": {"color": colours}}
    bars |= {"showlegend": False, "hovertemplate": "%{x:.1f} points<extra></extra>"}
    x = _axis(f"drop of the {metric_name(metric)}, points", zeroline=True)
    y = _category_axis("", [label(one.name, 28) for one in effects], autorange="reversed")
    return _figure([bars], {"xaxis": x, "yaxis": y}, height=110 + 26 * len(effects), top=8)


def predicted_figure(evaluation: NumberResults, name: str) -> Figure:
    """Predicted against true numbers of held-out nodes."""
    both = [*evaluation.truth, *evaluation.predicted]
    ends = [min(both), max(both)]
    traces = [
        _dots(evaluation.truth, evaluation.predicted, "held-out nodes", NODE),
        _line(ends, ends, "predicted = true", GREY, dash="dot") | {"hoverinfo": "skip"},
    ]
    short = label(name)
    return _figure(traces, {"xaxis": _axis(f"true {short}"), "yaxis": _axis(f"predicted {short}")}, height=420)


def residual_figure(evaluation: NumberResults, name: str) -> Figure:
    """Residuals of held-out nodes against their predicted numbers."""
    predicted = evaluation.predicted
    residual = [one - other for one, other in zip(predicted, evaluation.truth, strict=True)]
    traces = [
        _dots(predicted, residual, "held-out nodes", NODE),
        _line([min(predicted), max(predicted)], [0, 0], "no error", GREY, dash="dot") | {"hoverinfo": "skip"},
    ]
    return _figure(traces, {"xaxis": _axis(f"predicted {label(name)}"), "yaxis": _axis("predicted minus true")})


def residual_histogram(residuals: NDArray[np.float64]) -> Figure:
    """How many held-out nodes have residuals of each size."""
    counts, edges = np.histogram(residuals, bins=BARS)
    middle, hover = ((edges[1:] + edges[:-1]) / 2).tolist(), "about %{x:.3g}: %{y} nodes<extra></extra>"
    bars = {"type": "bar", "x": middle, "y": counts.tolist(), "name": "nodes", "marker": {"color": GREEN}}
    axes = {"xaxis": _axis("predicted minus true"), "yaxis": _axis("nodes")}
    return _figure([bars | {"hovertemplate": hover}], axes)


def precision_recall_figure(curve: PrecisionRecall, name: str) -> Figure:
    """Precision over recall of one class, with the chosen threshold."""
    hover = {"customdata": curve.threshold, "hovertemplate": "from %{customdata:.2f} on: %{y:.1%} of %{x:.1%}"}
    traces = [
        _line([0, 1], [curve.share] * 2, "guessing", GREY, dash="dot"),
        _line(curve.recall, curve.precision, label(name, 40), BLUE) | hover,
    ]
    if curve.chosen is not None:
        ring = {"color": ORANGE, "size": 11, "symbol": "circle-open", "line": {"width": 3}}
        traces.append(_dots([curve.chosen.recall], [curve.chosen.precision], "chosen threshold", ring))
    x, y = (_axis(title, tickformat=".0%", range=[-0.02, 1.04]) for title in ("recall", "precision"))
    return _figure(traces, {"xaxis": x, "yaxis": y})


def confusion_figure(confusion: Sequence[Sequence[int]], names: Sequence[str]) -> Figure:
    """Share of each true class (rows) predicted as each class (columns), with counts if there are few classes."""
    many = len(names) > MANY_CLASSES
    shares = [[round(cell / max(sum(row), 1), 4) for cell in row] for row in confusion]
    colours = {"colorscale": [[0, "#f4f7fd"], [0.5, "#8fb1f2"], [1, "#1f4fb8"]], "zmin": 0, "zmax": 1}
    cells: Trace = {"type": "heatmap", "z": shares, **colours, "showscale": False}
    if many:
        cells["hoverinfo"] = "skip"
    else:
        full = [label(name, 60) for name in names]
        cells |= {"text": [[str(cell) for cell in row] for row in confusion], "texttemplate": "%{text}"}
        cells["customdata"] = [
            [f"true: {true}<br>predicted: {other}<br>nodes: {cell}" for other, cell in zip(full, row, strict=True)]
            for true, row in zip(full, confusion, strict=True)
        ]
        cells |= {"hovertemplate": "%{customdata}<br>%{z:.1%} of the true class<extra></extra>", "xgap": 2, "ygap": 2}
    short = [label(name, 12) for name in names]
    x = _category_axis("predicted class", [""] * len(names) if many else short)
    y = _category_axis("true class", short, autorange="reversed", tickfont={"size": 11})
    return _figure([cells], {"xaxis": x, "yaxis": y}, height=min(160 + 36 * len(names), 820), top=8)


def calibration_figure(bins: Sequence[tuple[float, float, int]]) -> Figure:
    """Reliability diagram: share right against confidence, with 95% intervals."""
    sure, right, counts = zip(*bins, strict=True)
    hover = "confidence %{x:.1%}<br>right %{y:.1%}<br>nodes: %{customdata}<extra></extra>"
    predictions = _line(sure, right, "predictions", BLUE) | {"customdata": counts, "hovertemplate": hover}
    ends = [share_interval(share, count) for share, count in zip(right, counts, strict=True)]
    reach = {
        "array": [high - share for (_, high), share in zip(ends, right, strict=True)],
        "arrayminus": [share - low for (low, _), share in zip(ends, right, strict=True)],
    }
    predictions |= {"mode": "lines+markers", "marker": {"size": 9, "opacity": 0.85}}
    predictions["error_y"] = {"type": "data", "symmetric": False, **reach}
    perfect = _line([0, 1], [0, 1], "confidence = share right", GREY, dash="dot") | {"hoverinfo": "skip"}
    x = _axis("mean confidence", range=[max(min(sure) - 0.06, 0), 1.02], tickformat=".0%", zeroline=False)
    y = _axis("share right", range=[0, 1.05], tickformat=".0%", zeroline=False)
    return _figure([perfect, predictions], {"xaxis": x, "yaxis": y}, height=400)


def _figure(traces: list[Trace], axes: dict[str, Any], *, height: int = 340, top: int = 34) -> Figure:
    """Traces and axes in the style of the page, whose script adds the colours of text and grid."""
    style = json.loads(asset("plot.json"))
    own = {"height": height, "margin": {"l": 62, "r": 14, "t": top, "b": 56}, **axes}
    return {"data": traces, "layout": style["layout"] | own, "config": style["config"]}


def _axis(title: str, **options: Any) -> dict[str, Any]:
    return {"title": {"text": title, "font": {"size": 13}}, **options}


def _category_axis(title: str, names: Sequence[str], **options: Any) -> dict[str, Any]:
    ticks = {"tickvals": list(range(len(names))), "ticktext": list(names)}
    return _axis(title, **ticks, showgrid=False, zeroline=False, automargin=True, **options)


def _line(
    x: Iterable[float], y: Iterable[float | None], name: str, colour: str, *, width: float = 2, dash: str = "solid"
) -> Trace:
    line = {"color": colour, "width": width, "dash": dash}
    return {"type": "scatter", "mode": "lines", "x": list(x), "y": list(y), "name": name, "line": line}


def _dots(x: Iterable[float], y: Iterable[float], name: str, marker: dict[str, Any]) -> Trace:
    return {"type": "scatter", "mode": "markers", "x": list(x), "y": list(y), "name": name, "marker": marker}


def draw_response(response: Sequence[float], *, height: int = 6) -> str:
    """A filter for the terminal: a bar for each frequency from 0 to 2; a dot marks a negative amplitude.

    Args:
        response: amplitudes at equispaced frequencies.
        height: rows of the drawing; the largest amplitude fills them.

    >>> print(draw_response([0.0, 1.0, 2.0, 1.0, 0.5] + 10 * [0.0], height=2))
    2.0 ┤  █
        ┤ ███▄
        └───────────────
          low  mid  high
    """
    top = max(max(response), 1e-9)
    scale = f"{top:.1f}"
    pad = " " * len(scale)
    lines = []
    for row in range(height - 1, -1, -1):
        cells = [min(max(value / top * height - row, 0), 1) for value in response]
        bars = "".join(BLOCKS[round(8 * cell)] for cell in cells)
        if row == 0:
            bars = "".join("·" if value < 0 else bar for value, bar in zip(response, bars, strict=True))
        lines.append(f"{scale if row == height - 1 else pad} ┤{bars}".rstrip())
    lines.append(f"{pad} └{'─' * len(response)}")
    third = len(response) // 3
    axis = "low".center(third) + "mid".center(len(response) - 2 * third) + "high".center(third)
    lines.append(f"{pad}  {axis}".rstrip())
    return "\n".join(lines)
