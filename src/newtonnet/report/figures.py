"""Pictures of records: the learned filter with its points and bands, and the curves of training."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from newtonnet.graphs import BANDS
from newtonnet.training import FREQUENCIES, Record

BLUE, ORANGE, GREEN, GREY = "#2563eb", "#ea580c", "#059669", "#64748b"
BAND_COLOURS = ("#dbeafe", "#f1f5f9", "#ffedd5")


def filter_figure(records: Sequence[Record]) -> go.Figure:
    """Mean and spread over splits of the learned response, its points, and the three bands behind it."""
    responses = np.array([record.outcome.response for record in records])
    values = np.array([record.outcome.values for record in records])
    mean, low, high = responses.mean(axis=0), responses.min(axis=0), responses.max(axis=0)
    figure = go.Figure()
    edges = (0.0, *BANDS, 2.0)
    for name, colour, left, right in zip(("low", "middle", "high"), BAND_COLOURS, edges, edges[1:], strict=False):
        figure.add_vrect(x0=left, x1=right, fillcolor=colour, opacity=0.6, line_width=0, layer="below")
        figure.add_annotation(x=(left + right) / 2, y=1.08, yref="paper", text=name, showarrow=False)
    figure.add_scatter(x=FREQUENCIES, y=high, line={"width": 0}, hoverinfo="skip", showlegend=False)
    figure.add_scatter(
        x=FREQUENCIES,
        y=low,
        line={"width": 0},
        fill="tonexty",
        fillcolor="rgba(37,99,235,0.2)",
        name="range over splits",
    )
    figure.add_scatter(x=FREQUENCIES, y=mean, line={"color": BLUE, "width": 3}, name="g(λ), mean over splits")
    figure.add_scatter(
        x=records[0].outcome.points,
        y=values.mean(axis=0),
        mode="markers",
        marker={"color": ORANGE, "size": 10},
        name="learned values",
    )
    figure.update_xaxes(title="frequency λ", range=[-0.03, 2.03])
    figure.update_yaxes(title="amplitude g(λ)", rangemode="tozero")
    return _styled(figure)


def history_figure(records: Sequence[Record], *, true_homophily: float, chance: float) -> go.Figure:
    """Validation score and learned homophily over epochs, for each split, beside the true ratio and chance."""
    figure = go.Figure()
    for i, record in enumerate(records):
        epochs = record.history["epoch"]
        for name, colour, label in (("validation", BLUE, "validation score"), ("homophily", GREEN, "learned h")):
            figure.add_scatter(
                x=epochs,
                y=record.history[name],
                mode="lines",
                line={"color": colour, "width": 1.5},
                name=label,
                showlegend=i == 0,
            )
    for level, label, dash in ((true_homophily, "true h", "solid"), (chance, "1/C", "dot")):
        figure.add_hline(y=level, line={"color": GREY, "dash": dash}, annotation_text=label)
    figure.update_xaxes(title="epoch")
    figure.update_yaxes(range=[0, 1.02])
    return _styled(figure)


def _styled(figure: go.Figure) -> go.Figure:
    figure.update_layout(
        template="plotly_white",
        height=360,
        margin={"l": 60, "r": 20, "t": 40, "b": 50},
        legend={"orientation": "h", "y": -0.25},
    )
    return figure
