"""Figures of a learned filter, of the graph's spectrum below it, and of the training that led there."""

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .filter_shape import FilterShape
from .findings import Agreement, History, Spectrum
from .plot_style import BLUE, GREEN, GREY, ORANGE, shade_bands, styled
from .quantities import is_known
from .words import metric_name


def spectral_figure(shape: FilterShape | None, spectrum: Spectrum | None) -> go.Figure:
    """The filter with its points above the graph's own spectrum; either may be missing, not both."""
    rows = (shape is not None) + (spectrum is not None)
    heights = [0.6, 0.4] if rows == 2 else [1.0]
    figure = make_subplots(rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=heights)
    top = 1.1
    if shape is not None:
        _add_filter(figure, shape)
    if spectrum is not None:
        highest = _add_spectrum(figure, spectrum, row=rows)
        top = top if shape is not None else 1.08 * highest
    shade_bands(figure, height=top)
    figure.update_xaxes(range=[-0.03, 2.03], zeroline=False)
    figure.update_xaxes(title="frequency λ", row=rows)
    return styled(figure, height=520 if rows == 2 else 380)


def _add_filter(figure: go.Figure, shape: FilterShape) -> None:
    one = len(shape.kinds) == 1
    if not one:
        edge = {"width": 0, "color": BLUE}
        shared = {"x": shape.frequencies, "line": edge, "hoverinfo": "skip", "legendgroup": "range"}
        figure.add_scatter(y=shape.highest, showlegend=False, mode="lines", row=1, col=1, **shared)
        figure.add_scatter(
            y=shape.lowest,
            name="range over splits",
            mode="lines",
            fill="tonexty",
            fillcolor="rgba(47,111,228,0.2)",
            row=1,
            col=1,
            **shared,
        )
    figure.add_scatter(
        x=shape.frequencies,
        y=shape.mean,
        mode="lines",
        line={"color": BLUE, "width": 3},
        name="filter g(λ)" if one else "filter g(λ), mean",
        hovertemplate="λ = %{x:.2f}<br>g = %{y:.3f}<extra></extra>",
        row=1,
        col=1,
    )
    if shape.points:
        figure.add_scatter(
            x=shape.points,
            y=shape.values,
            mode="markers",
            marker={"color": ORANGE, "size": 10, "line": {"color": "white", "width": 1}},
            name="its points",
            hovertemplate="point λ = %{x:.2f}<br>value %{y:.3f}<extra></extra>",
            row=1,
            col=1,
        )
    bottom = min([0.0, *shape.lowest, *shape.values])
    figure.update_yaxes(title="amplitude", range=[bottom - 0.05, 1.18], zeroline=True, row=1, col=1)


def _add_spectrum(figure: go.Figure, spectrum: Spectrum, *, row: int) -> float:
    """The density and the labels' energy; returns the highest of them."""
    series = (
        (spectrum.density, "graph's frequencies", GREY, "rgba(122,134,153,0.25)"),
        (spectrum.label_energy, "energy of the labels", GREEN, None),
    )
    for heights, name, colour, fill in series:
        figure.add_scatter(
            x=list(spectrum.frequencies),
            y=list(heights),
            mode="lines",
            line={"color": colour, "width": 2},
            fill="tozeroy" if fill else None,
            fillcolor=fill,
            name=name,
            hovertemplate="λ = %{x:.2f}<br>%{y:.3f} per unit<extra>" + name + "</extra>",
            row=row,
            col=1,
        )
    highest = max([value for heights, *_ in series for value in heights if is_known(value)], default=1.0)
    figure.update_yaxes(title="density", range=[0, 1.15 * highest or 1], row=row, col=1)
    return float(highest)


def homophily_figure(history: Sequence[History], agreement: Agreement) -> go.Figure:
    """Learned homophily over epochs, a line for each split, beside the known part's and chance."""
    figure = go.Figure()
    for i, one in enumerate(history):
        figure.add_scatter(**_line(i, one, one.homophily, BLUE, "learned h, each split"))
    last = max((epoch for one in history for epoch in one.epochs), default=1)
    levels = ((agreement.known, "known labels", GREEN, "dash"), (agreement.chance, "chance", GREY, "dot"))
    for level, name, colour, dash in levels:
        if is_known(level):
            figure.add_scatter(
                x=[0, last],
                y=[level, level],
                mode="lines",
                line={"color": colour, "dash": dash, "width": 2},
                name=name,
                hovertemplate="%{y:.1%}<extra>" + name + "</extra>",
            )
    figure.update_xaxes(title="epoch", rangemode="tozero")
    figure.update_yaxes(title="homophily", tickformat=".0%", rangemode="tozero")
    return styled(figure)


def training_figure(history: Sequence[History], metric: str) -> go.Figure:
    """Scores over epochs on training and validation nodes; a ring marks each split's best epoch."""
    figure = go.Figure()
    for i, one in enumerate(history):
        figure.add_scatter(**_line(i, one, one.train, GREY, "training"))
        figure.add_scatter(**_line(i, one, one.validation, BLUE, "validation"))
    best = [(one.best_epoch, _at(one, one.best_epoch)) for one in history]
    marked = [(epoch, score) for epoch, score in best if is_known(score)]
    figure.add_scatter(
        x=[epoch for epoch, _ in marked],
        y=[score for _, score in marked],
        mode="markers",
        marker={"color": ORANGE, "size": 9, "symbol": "circle-open", "line": {"width": 2}},
        name="best epoch",
        hovertemplate="best epoch %{x}<br>%{y:.1%}<extra></extra>",
    )
    figure.update_xaxes(title="epoch", rangemode="tozero")
    figure.update_yaxes(title=metric_name(metric), tickformat=".0%")
    return styled(figure)


def _line(order: int, one: History, heights: Sequence[float | None], colour: str, name: str) -> dict[str, object]:
    return {
        "x": list(one.epochs),
        "y": list(heights),
        "mode": "lines",
        "line": {"color": colour, "width": 1.5},
        "opacity": 0.7,
        "name": name,
        "legendgroup": name,
        "showlegend": order == 0,
        "hovertemplate": f"split {order + 1}, epoch %{{x}}<br>%{{y:.1%}}<extra>{name}</extra>",
    }


def _at(one: History, epoch: int) -> float | None:
    """The validation score at an epoch, or at the nearest one that was kept."""
    known = [(abs(e - epoch), v) for e, v in zip(one.epochs, one.validation, strict=True) if is_known(v)]
    return min(known, default=(0, None), key=lambda pair: pair[0])[1]
