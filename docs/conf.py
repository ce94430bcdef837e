"""How `make docs` builds the site: MyST pages, the gallery, the reference from docstrings, formulas as MathML."""

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

import newtonnet

sys.path.insert(0, str(Path(__file__).parent))
from build_gallery import build

project = "newtonnet"
author = copyright = "the newtonnet developers"
version = release = newtonnet.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # generated pages begin with third-level headings

highlight_language = "text"  # of blocks that name no language: commands and tables
toc_object_entries_show_parents = "hide"

autodoc_typehints = "none"  # names and defaults; types are in the text, where unions can be read
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = False
napoleon_attr_annotations = False  # the text says what an attribute is; its type would be longer than the text

html_theme = "furo"
html_title = "newtonnet"
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it would fetch pages, which browsers refuse for files
html_static_path = ["static"]
html_css_files = ["site.css"]


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: Any) -> None:
    writer.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


PUBLIC = re.compile(r"[A-Z]\w+|\w+[._]\w[\w.]*")
"""Code that may be the name of a class, or is too long to be an ordinary word."""


def _find(app: Any, name: str) -> Any:
    """The documented object with this name, with or without its packages; None if there is none or several."""
    short = name.removesuffix("()").removeprefix("newtonnet.")
    objects = app.env.get_domain("py").objects
    found = {place.node_id: place for full, place in objects.items() if f".{full}".endswith(f".{short}")}
    return next(iter(found.values())) if len(found) == 1 else None


def _link(app: Any, page: str, place: Any, content: Any) -> Any:
    uri = f"{app.builder.get_relative_uri(page, place.docname)}#{place.node_id}"
    return nodes.reference("", "", content, internal=True, refuri=uri)


def _link_names(app: Any, doctree: Any, page: str) -> None:
    """Code that names something public becomes a link to the reference."""
    for code in list(doctree.findall(nodes.literal)):
        if PUBLIC.fullmatch(code.astext().removesuffix("()")) and not isinstance(code.parent, nodes.reference):
            place = _find(app, code.astext())
            if place is not None:
                code.replace_self(_link(app, page, place, code.deepcopy()))


def _resolve(app: Any, env: Any, node: Any, content: Any) -> Any:
    """References to names that can be imported from ``newtonnet`` itself."""
    place = _find(app, node["reftarget"]) if node.get("refdomain") == "py" else None
    return None if place is None else _link(app, node["refdoc"], place, content)


def _skip(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to estimators, and the fields of named tuples, which the class describes."""
    added = name.startswith("set_") and name.endswith("_request")
    return True if added or type(member).__name__ == "_tuplegetter" else None


def setup(app: Any) -> None:
    """Run the gallery, link names, and write formulas as MathML, which browsers draw by themselves."""
    app.connect("builder-inited", build)
    app.connect("doctree-resolved", _link_names)
    app.connect("missing-reference", _resolve)
    app.connect("autodoc-skip-member", _skip)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
