"""Figures of how good the predictions are: beside other models, class by class, and how far to trust them."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from .findings import Evaluation
from .plot_style import BLUE, GREY, ORANGE, label, styled
from .quantities import is_known
from .words import guess, metric_name

CROWDED = 15
"""With more classes than this, cells show no counts and columns no names: texts for every cell would fill the page."""


def comparison_figure(evaluation: Evaluation, metric: str) -> go.Figure:
    """Every model's score on every split as a dot, its mean and interval above, and what guessing reaches."""
    models = (evaluation.ours, *evaluation.others)
    figure = go.Figure()
    for i, scores in enumerate(models):
        shared = {"legendgroup": "splits", "showlegend": i == 0, "mode": "markers"}
        figure.add_scatter(
            x=list(scores.splits),
            y=[i + 0.16] * len(scores.splits),
            text=[f"split {number + 1}" for number in range(len(scores.splits))],
            marker={"color": GREY, "size": 8, "opacity": 0.65},
            name="one split",
            hovertemplate="%{text}: %{x:.1%}<extra></extra>",
            **shared,
        )
        known = is_known(scores.mean) and all(map(is_known, scores.interval))
        low, high = scores.interval if known else (scores.mean, scores.mean)
        figure.add_scatter(
            x=[scores.mean],
            y=[i - 0.16],
            mode="markers",
            marker={"color": BLUE if i == 0 else ORANGE, "size": 11, "symbol": "diamond"},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [high - scores.mean],
                "arrayminus": [scores.mean - low],
            },
            showlegend=False,
            hovertemplate="mean %{x:.1%}<extra></extra>",
        )
    by_guess = guess(evaluation, metric)
    if is_known(by_guess):
        figure.add_scatter(
            x=[by_guess, by_guess],
            y=[-0.6, len(models) - 0.4],
            mode="lines",
            line={"color": GREY, "dash": "dot", "width": 2},
            name="guessing",
            hovertemplate="guessing: %{x:.1%}<extra></extra>",
        )
    names = [label(scores.model, 16) for scores in models]
    positions = list(range(len(models)))
    figure.update_yaxes(
        tickvals=positions,
        ticktext=names,
        range=[len(models) - 0.4, -0.6],
        showgrid=False,
        zeroline=False,
        automargin=True,
    )
    seen = [x for scores in models for x in (*scores.splits, *scores.interval, by_guess) if is_known(x)]
    if seen:
        gap = 0.04 * (max(seen) - min(seen)) + 0.005
        figure.update_xaxes(range=[min(seen) - gap, max(seen) + gap])
    figure.update_xaxes(title=metric_name(metric), tickformat=".0%", zeroline=False)
    return styled(figure, height=120 + 62 * len(models))


def confusion_figure(confusion: Sequence[Sequence[int]], names: Sequence[str]) -> go.Figure:
    """Share of each true class (rows) that got each predicted class (columns), with counts where they fit."""
    totals = [max(sum(row), 1) for row in confusion]
    shares = [[round(cell / total, 4) for cell in row] for row, total in zip(confusion, totals, strict=True)]
    crowded = len(names) > CROWDED
    texts = {} if crowded else _cell_texts(confusion, names)
    figure = go.Figure(
        go.Heatmap(
            z=shares,
            **texts,
            hoverinfo="skip" if crowded else None,
            colorscale=[[0, "#f4f7fd"], [0.5, "#8fb1f2"], [1, "#1f4fb8"]],
            zmin=0,
            zmax=1,
            xgap=0 if crowded else 2,
            ygap=0 if crowded else 2,
            showscale=False,
        )
    )
    short = [label(name, 12) for name in names]
    ticks = {"tickvals": list(range(len(names))), "showgrid": False, "zeroline": False, "automargin": True}
    figure.update_xaxes(**ticks, ticktext=[""] * len(names) if crowded else short, title="predicted class")
    figure.update_yaxes(**ticks, ticktext=short, autorange="reversed", title="true class", tickfont={"size": 11})
    return styled(figure, height=min(160 + 36 * len(names), 820)).update_layout(margin_t=8)


def _cell_texts(confusion: Sequence[Sequence[int]], names: Sequence[str]) -> dict[str, Any]:
    """The count in every cell, and what hovering tells of it."""
    full = [label(name, 60) for name in names]
    return {
        "text": [[str(cell) for cell in row] for row in confusion],
        "texttemplate": "%{text}",
        "customdata": [
            [f"true: {true}<br>predicted: {told}<br>nodes: {cell}" for told, cell in zip(full, row, strict=True)]
            for true, row in zip(full, confusion, strict=True)
        ],
        "hovertemplate": "%{customdata}<br>%{z:.1%} of the true class<extra></extra>",
    }


def calibration_figure(bins: Sequence[tuple[float, float, int]]) -> go.Figure:
    """Reliability diagram: share correct against confidence, the area of a dot by its number of nodes."""
    largest = max((count for *_, count in bins), default=1)
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        line={"color": GREY, "dash": "dot", "width": 2},
        name="perfectly calibrated",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=[confidence for confidence, _, _ in bins],
        y=[correct for _, correct, _ in bins],
        customdata=[count for *_, count in bins],
        mode="lines+markers",
        line={"color": BLUE, "width": 2},
        marker={"size": [max(6.0, 24 * (count / max(largest, 1)) ** 0.5) for *_, count in bins], "opacity": 0.85},
        name="predictions",
        hovertemplate="confidence %{x:.1%}<br>correct %{y:.1%}<br>nodes: %{customdata}<extra></extra>",
    )
    figure.update_xaxes(title="mean confidence", range=[0, 1.03], tickformat=".0%", zeroline=False)
    figure.update_yaxes(title="share correct", range=[0, 1.05], tickformat=".0%", zeroline=False)
    return styled(figure, height=400)
