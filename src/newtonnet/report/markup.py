"""The HTML that pages are made of: tables, paragraphs, figures, data for scripts, and the document. Text is escaped."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

LONG = 20
"""A table with more rows than this scrolls."""


def document(title: str, body: str, *, scripts: tuple[str, ...] = (), plots: bool = True) -> str:
    """A self-contained HTML page that runs some of this package's scripts after its body; ``plots``: with plotly."""
    from plotly.offline import get_plotlyjs

    own = "".join(f"<script>{asset(script)}</script>" for script in scripts)
    parts = {"style": asset("page.css"), "plotly": get_plotlyjs() if plots else "", "body": body, "scripts": own}
    return fill("document.html", title=escape(title), **parts)


def fill(template: str, **parts: str) -> str:
    """A template of this package with HTML for each of its ``$names``."""
    return Template(asset(template)).substitute(parts)


def asset(name: str) -> str:
    """The text of a file that is stored beside this module."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str, words: int = 1) -> str:
    """A table that scrolls horizontally on a narrow screen; after the leading columns of words come numbers."""
    classes = ["" if i < words else ' class="number"' for i in range(len(header))]
    columns = zip(header, classes, strict=True)
    heads = "".join(f'<th scope="col"{kind}><span>{escape(name)}</span></th>' for name, kind in columns)
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


def plot(name: str, figure: dict[str, Any], *, alternative: str, caption: str = "", max_width: int = 0) -> str:
    """A figure, stored as data that the page's script draws, with a description for readers who cannot see it."""
    limit = f";max-width:{max_width}px" if max_width else ""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return (
        f'<figure><div class="plot" id="{name}" role="img" aria-label="{escape(alternative)}" '
        f'style="height:{figure["layout"]["height"]}px{limit}"></div>{below}'
        f"{script_data(name + '-data', figure)}</figure>"
    )


def script_data(identity: str, value: object) -> str:
    r"""Data for a script, null for NaN; no character in it can end the script or start a comment.

    >>> script_data("x", ["</script>", float("nan")])
    '<script type="application/json" id="x">["\\u003c/script\\u003e", null]</script>'
    """
    text = json.dumps(json.loads(json.dumps(value), parse_constant=lambda _: None))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{identity}">{text}</script>'
