"""The pieces of HTML that pages are made of: tables, figures and data for scripts; all text is escaped here."""

import json
import math
from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from .plot_style import QUIET

LONG = 20
"""A table of more rows than this scrolls inside itself."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str, words: int = 1) -> str:
    """A table with a caption that scrolls inside itself where the screen is narrow.

    Args:
        header: a name for each column.
        rows: the cells; the first of each names its row.
        caption: what the table shows.
        words: how many columns from the left hold words; the others are numbers, aligned on the right.
    """
    heads = "".join(
        f'<th scope="col"{_numeric(i, words)}><span>{escape(name)}</span></th>' for i, name in enumerate(header)
    )
    body = "".join(_row(row, words) for row in rows)
    tall = " tall" if len(rows) > LONG else ""
    return (
        f'<div class="scroll{tall}" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption><span>{escape(caption)}</span></caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(row: Sequence[str], words: int) -> str:
    cells = "".join(f"<td{_numeric(i, words)}>{escape(cell)}</td>" for i, cell in enumerate(row[1:], 1))
    return f'<tr><th scope="row"><span>{escape(row[0])}</span></th>{cells}</tr>'


def _numeric(column: int, words: int) -> str:
    return "" if column < words else ' class="number"'


def facts(pairs: Mapping[str, str]) -> str:
    """Names and what they are, as a list of descriptions.

    >>> facts({"nodes": "<3>"})
    '<dl><div><dt>nodes</dt><dd>&lt;3&gt;</dd></div></dl>'
    """
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs.items())
    return f"<dl>{rows}</dl>"


def sentences(texts: Sequence[str], *, css_class: str = "") -> str:
    """A paragraph for each text."""
    opening = f'<p class="{escape(css_class)}">' if css_class else "<p>"
    return "".join(f"{opening}{escape(text)}</p>" for text in texts)


def plot(name: str, figure: go.Figure, *, alternative: str, caption: str = "", widest: int = 0) -> str:
    """A figure that the page's script draws from the data beside it.

    Args:
        name: unique on the page.
        figure: what to draw.
        alternative: what it shows, for those who do not see it.
        caption: text below it.
        widest: pixels it may take; as many as there are where 0.
    """
    drawn = json.loads(figure.to_json()) | {"config": QUIET}
    height = figure.layout.height or 340
    limit = f";max-width:{widest}px" if widest else ""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return (
        f'<figure><div class="plot" id="{name}" role="img" aria-label="{escape(alternative)}" '
        f'style="height:{height}px{limit}"></div>{below}{script_data(name + "-data", drawn)}</figure>'
    )


def script_data(identity: str, value: object) -> str:
    r"""Plain data for a script: no character in it can end the script or start a comment.

    >>> script_data("x", ["</script>", float("nan")])
    '<script type="application/json" id="x">["\\u003c/script\\u003e", null]</script>'
    """
    text = json.dumps(_finite(value), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{identity}">{text}</script>'


def _finite(value: object) -> object:
    """The same data with None in the place of numbers that JSON does not know."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case str():
            return value
        case Mapping():
            return {name: _finite(one) for name, one in value.items()}
        case Sequence():
            return [_finite(one) for one in value]
        case _:
            return value
