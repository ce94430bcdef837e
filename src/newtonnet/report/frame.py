"""The frame of a self-contained page: its style, its scripts, and a policy that forbids it to load anything."""

from html import escape
from importlib.resources import files

from plotly.offline import get_plotlyjs

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; base-uri 'none'; form-action 'none'"
)


def document(title: str, body: str, *, scripts: tuple[str, ...] = ()) -> str:
    """A page as HTML.

    Args:
        title: of the window, escaped here.
        body: HTML.
        scripts: names of this package's own scripts, run after the body.
    """
    own = "".join(f"<script>{asset(name)}</script>" for name in scripts)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title><style>{asset("page.css")}</style><script>{get_plotlyjs()}</script></head>
<body>{body}{own}</body></html>
"""


def asset(name: str) -> str:
    """The text of a file that is shipped beside this module."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
