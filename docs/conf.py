"""How `make docs` builds the site: MyST pages, the reference from docstrings, formulas as MathML, no network."""

from typing import Any

from latex2mathml.converter import convert

import newtonnet

project = "newtonnet"
author = "the newtonnet developers"
version = release = newtonnet.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # generated pages begin with third-level headings

autodoc_typehints = "none"  # signatures show them already, and unions written out twice are hard to read
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = False

html_theme = "furo"
html_title = "newtonnet"
html_copy_source = False
html_show_sourcelink = False
html_static_path: list[str] = []


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(convert(node.astext()))
    raise _skip()


def _block(writer: Any, node: Any) -> None:
    writer.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise _skip()


def _skip() -> Exception:
    from docutils.nodes import SkipNode

    return SkipNode()


def setup(app: Any) -> None:
    """Formulas become MathML, which browsers draw by themselves."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
