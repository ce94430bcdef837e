"""The HTML that pages are made of: tables, paragraphs, figures, data for scripts, and the document. Text is escaped."""

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template

from .figures import Figure

LONG = 20
"""A table with more rows than this scrolls."""
PLOT_CONFIG = {
    "displaylogo": False,
    "showSendToCloud": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d"],
}
"""Plots without a logo and without a button that uploads them."""


def document(title: str, body: str, *, scripts: tuple[str, ...] = ()) -> str:
    """A self-contained HTML page.

    Args:
        title: title of the window, as text.
        body: HTML.
        scripts: names of this package's scripts, run after the body.
    """
    from plotly.offline import get_plotlyjs

    own = "".join(f"<script>{asset(script)}</script>" for script in scripts)
    parts = {"style": asset("page.css"), "plotly": get_plotlyjs(), "body": body, "scripts": own}
    return fill("document.html", title=escape(title), **parts)


def fill(template: str, **parts: str) -> str:
    """A template of this package with HTML for each of its ``$names``."""
    return Template(asset(template)).substitute(parts)


def asset(name: str) -> str:
    """The text of a file that is stored beside this module."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str, words: int = 1) -> str:
    """A table that scrolls horizontally on a narrow screen.

    Args:
        header: name of each column.
        rows: cells; the first cell of a row is its header.
        caption: what the table shows.
        words: number of leading columns that hold words; the others are numbers, aligned right.
    """
    classes = ["" if i < words else ' class="number"' for i in range(len(header))]
    heads = "".join(
        f'<th scope="col"{kind}><span>{escape(name)}</span></th>' for name, kind in zip(header, classes, strict=True)
    )
    body = ""
    for first, *rest in rows:
        cells = "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(rest, classes[1:], strict=True))
        body += f'<tr><th scope="row"><span>{escape(first)}</span></th>{cells}</tr>'
    tall = " tall" if len(rows) > LONG else ""
    return (
        f'<div class="scroll{tall}" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption><span>{escape(caption)}</span></caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def facts(pairs: Mapping[str, str]) -> str:
    """A description list of names and values.

    >>> facts({"nodes": "<3>"})
    '<dl><div><dt>nodes</dt><dd>&lt;3&gt;</dd></div></dl>'
    """
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs.items())
    return f"<dl>{rows}</dl>"


def paragraphs(*texts: str, css_class: str = "") -> str:
    """A paragraph for each text."""
    opening = f'<p class="{css_class}">' if css_class else "<p>"
    return "".join(f"{opening}{escape(text)}</p>" for text in texts)


def plot(name: str, figure: Figure, *, alternative: str, caption: str = "", max_width: int = 0) -> str:
    """A figure, stored as data that the page's script draws.

    Args:
        name: unique on the page.
        figure: what to draw.
        alternative: description for readers who cannot see it.
        caption: text below it.
        max_width: in pixels; 0 for the full width.
    """
    limit = f";max-width:{max_width}px" if max_width else ""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return (
        f'<figure><div class="plot" id="{name}" role="img" aria-label="{escape(alternative)}" '
        f'style="height:{figure["layout"]["height"]}px{limit}"></div>{below}'
        f"{script_data(name + '-data', figure | {'config': PLOT_CONFIG})}</figure>"
    )


def script_data(identity: str, value: object) -> str:
    r"""Data for a script; no character in it can end the script or start a comment.

    >>> script_data("x", ["</script>", float("nan")])
    '<script type="application/json" id="x">["\\u003c/script\\u003e", null]</script>'
    """
    text = json.dumps(_without_nan(value), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{identity}">{text}</script>'


def _without_nan(value: object) -> object:
    """The data with None for numbers that JSON cannot represent."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case str():
            return value
        case Mapping():
            return {name: _without_nan(one) for name, one in value.items()}
        case Sequence():
            return [_without_nan(one) for one in value]
        case _:
            return value
