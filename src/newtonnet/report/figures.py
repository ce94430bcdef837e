"""Pictures of records: the learned filter with its points and bands, and the curves of training."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from newtonnet.training import FREQUENCIES, Record

from .plot_style import BLUE, GREEN, GREY, ORANGE, shade_bands, styled


def filter_figure(records: Sequence[Record]) -> go.Figure:
    """Mean and spread over splits of the learned response, its points, and the three bands behind it."""
    responses = np.array([record.outcome.response for record in records])
    values = np.array([record.outcome.values for record in records])
    mean, low, high = responses.mean(axis=0), responses.min(axis=0), responses.max(axis=0)
    figure = go.Figure()
    shade_bands(figure, height=1.08 * max(float(high.max()), 1e-9))
    figure.add_scatter(x=FREQUENCIES, y=high, line={"width": 0}, hoverinfo="skip", showlegend=False)
    figure.add_scatter(
        x=FREQUENCIES,
        y=low,
        line={"width": 0},
        fill="tonexty",
        fillcolor="rgba(47,111,228,0.2)",
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
    return styled(figure)


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
    return styled(figure)
