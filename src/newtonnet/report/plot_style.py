"""The look that all plotly figures share: colours, the three bands, quiet buttons, and text that is only text."""

from html import escape

import plotly.graph_objects as go

from newtonnet.graphs import BANDS

BLUE, ORANGE, GREEN, GREY = "#2f6fe4", "#dd6b20", "#0f9d7a", "#7a8699"
"""Readable on white and on the dark page alike."""
BAND_NAMES = ("low", "middle", "high")
BAND_FILLS = ("rgba(47,111,228,0.09)", "rgba(122,134,153,0.09)", "rgba(221,107,32,0.09)")

QUIET = {
    "displaylogo": False,
    "showSendToCloud": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d"],
}
"""Plots without a logo and without a button that would send them away."""


def label(text: str, length: int = 40) -> str:
    """A name as plotly should draw it: its own little HTML switched off, and cut where it would crowd the plot.

    >>> label("<b>bold</b> & more", 12)
    '&lt;b&gt;bold&lt;/b&gt;…'
    """
    line = " ".join(text.split())
    # Plotly knows the entities of < > & alone; quotes have no meaning to it.
    return escape(line if len(line) <= length else line[: length - 1] + "…", quote=False)


def shade_bands(figure: go.Figure, *, height: float) -> None:
    """The three thirds of the spectrum behind all rows, each with its name at a height of the first row."""
    edges = (0.0, *BANDS, 2.0)
    for name, fill, left, right in zip(BAND_NAMES, BAND_FILLS, edges, edges[1:], strict=False):
        figure.add_shape(
            type="rect",
            xref="x",
            yref="paper",
            x0=left,
            x1=right,
            y0=0,
            y1=1,
            fillcolor=fill,
            line_width=0,
            layer="below",
        )
        figure.add_annotation(x=(left + right) / 2, y=height, yref="y", text=name, showarrow=False, font={"size": 12})


def styled(figure: go.Figure, *, height: int = 340) -> go.Figure:
    """The figure in the page's look; its colours of text and grid come from the page, light or dark."""
    figure.update_layout(
        template="none",
        height=height,
        font={"family": "system-ui, sans-serif", "size": 13},
        margin={"l": 62, "r": 14, "t": 34, "b": 56},
        legend={"orientation": "h", "x": 0, "y": 1.0, "xanchor": "left", "yanchor": "bottom", "font": {"size": 12}},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={"namelength": -1},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": GREY, "activecolor": BLUE},
    )
    figure.update_xaxes(title_font_size=13)
    figure.update_yaxes(title_font_size=13)
    return figure
