"""Drawings from plain numbers: figures of plotly, and small pictures and tables for notebooks. Names are escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

BLUE, ORANGE, GREEN, GREY = "#2f6fe4", "#dd6b20", "#0f9d7a", "#7a8699"
"""Readable on white and on a dark page."""
CLASS_COLOURS = (BLUE, ORANGE, GREEN, "#b83280", "#6b46c1", "#b7791f", "#0987a0", "#c53030", "#4a5568", "#2f855a")
WIDTH, HEIGHT, EDGE = 300, 130, 14
"""Size of a small picture, and the room around its curve."""


def label(text: str, length: int = 40) -> str:
    """A name as plotly draws it literally: shortened, and without markup.

    >>> label("<b>bold</b> & more", 12)
    '&lt;b&gt;bold&lt;/b&gt;…'
    """
    line = " ".join(text.split())
    # Plotly decodes only the entities of < > &, so quotes are left as they are.
    return escape(line if len(line) <= length else line[: length - 1] + "…", quote=False)


def figure(traces: Sequence[dict[str, Any]], **layout: Any) -> "Figure":
    """A figure of plotly in the house's style."""
    from plotly.graph_objects import Figure

    style = {"template": "plotly_white", "margin": {"l": 60, "r": 20, "t": 40, "b": 50}}
    return Figure(data=list(traces), layout={**style, **layout})


def filter_plot(
    frequencies: Iterable[float],
    responses: Sequence[Sequence[float]],
    *,
    points: Iterable[float] = (),
    values: Iterable[float] = (),
) -> "Figure":
    """Amplitude over frequency: the mean of all responses, each of them thinly, and the values at the points.

    Args:
        frequencies: in [0, 2], shape ``(m,)``.
        responses: amplitudes of each filter, shape ``(M, m)``.
        points: where the shape is evaluated, shape ``(Q,)``.
        values: mean amplitudes there, shape ``(Q,)``.
    """
    x = list(frequencies)
    hover = "λ = %{x:.2f}<br>g = %{y:.3f}<extra></extra>"
    line = {"type": "scatter", "mode": "lines", "x": x, "hovertemplate": hover}
    thin = {"line": {"color": BLUE, "width": 1}, "opacity": 0.35, "showlegend": False}
    traces = [{**line, "y": list(one), **thin} for one in responses] if len(responses) > 1 else []
    thick = {"line": {"color": BLUE, "width": 3}, "name": "filter g(λ)"}
    traces.append({**line, "y": _mean(responses), **thick})
    dots = {
        "type": "scatter",
        "mode": "markers",
        "marker": {"color": ORANGE, "size": 10},
        "name": "values at the points",
    }
    traces.append({**dots, "x": list(points), "y": list(values), "hovertemplate": hover})
    return figure(traces, xaxis={"title": "frequency λ", "range": [-0.03, 2.03]}, yaxis={"title": "amplitude"})


def bar_plot(groups: Sequence[tuple[str, Sequence[tuple[str, float]]]], title: str) -> "Figure":
    """Horizontal bars of named numbers, one block of bars for each group, the first at the top.

    Args:
        groups: title and bars of each group, as names and numbers.
        title: text above all.
    """
    rows = [(f"{label(name, 28)} ", value, group) for group, bars in groups for name, value in bars]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": label(group),
            "y": [[label(group)] * len(bars), [f"{label(name, 28)} " for name, _ in bars]],
            "x": [value for _, value in bars],
            "marker": {"color": [BLUE if value >= 0 else ORANGE for _, value in bars]},
            "hovertemplate": "%{x:+.3f}<extra></extra>",
            "showlegend": False,
        }
        for group, bars in groups
        if bars
    ]
    axis = {"autorange": "reversed", "automargin": True, "title": ""}
    return figure(traces, title=label(title, 120), yaxis=axis, height=120 + 24 * len(rows))


def filter_picture(frequencies: Sequence[float], responses: Sequence[Sequence[float]], *, alternative: str) -> str:
    """A small SVG of filters over frequency, the mean in front, with the three bands behind them.

    >>> filter_picture([0, 2], [[0, 1]], alternative="<up>").count("&lt;up&gt;")
    1
    """
    flat = [0.0, *(value for one in responses for value in one)]
    low, high = min(flat), max(flat)
    span = (high - low) or 1.0

    def path(values: Sequence[float]) -> str:
        places = (
            f"{EDGE + (WIDTH - 2 * EDGE) * x / 2:.1f},{HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (y - low) / span:.1f}"
            for x, y in zip(frequencies, values, strict=True)
        )
        return "M" + " L".join(places)

    third, inside = (WIDTH - 2 * EDGE) / 3, HEIGHT - 2 * EDGE
    bands = "".join(
        f'<rect x="{EDGE + i * third:.1f}" y="{EDGE}" width="{third:.1f}" height="{inside}" fill="{colour}" '
        f'fill-opacity="0.08"/><text x="{EDGE + (i + 0.5) * third:.1f}" y="{HEIGHT - 2}" font-size="9" '
        f'text-anchor="middle" fill="{GREY}">{name}</text>'
        for i, (name, colour) in enumerate((("low", BLUE), ("middle", GREY), ("high", ORANGE)))
    )
    thin = "".join(
        f'<path d="{path(one)}" fill="none" stroke="{BLUE}" stroke-opacity="0.3"/>'
        for one in (responses if len(responses) > 1 else ())
    )
    return (
        f'<svg role="img" aria-label="{escape(alternative)}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" xmlns="http://www.w3.org/2000/svg">{bands}{thin}'
        f'<path d="{path(_mean(responses))}" fill="none" stroke="{BLUE}" stroke-width="2"/></svg>'
    )


def small_table(rows: Sequence[tuple[str, str]], *, caption: str = "") -> str:
    """A table of names and values for a notebook.

    >>> small_table([("a<b", "1")])
    '<table><tbody><tr><th>a&lt;b</th><td>1</td></tr></tbody></table>'
    """
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    return f"<table>{above}<tbody>{body}</tbody></table>"


def _mean(responses: Sequence[Sequence[float]]) -> list[float]:
    return [sum(column) / len(responses) for column in zip(*responses, strict=True)]
