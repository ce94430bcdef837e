"""Runs every example of examples/gallery and writes its page: what it asks, its code, its output, its figure.

A page is made again only if its example or the library has changed since.
"""

import ast
import contextlib
import hashlib
import io
import runpy
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent
PAGES = PROJECT / "docs/gallery"
ORDER = (
    "customers",
    "new_nodes",
    "next_month",
    "without_torch",
    "rare",
    "prediction_sets",
    "explain",
    "homophily",
    "few_labels",
    "directed",
    "own_filter",
    "pyg_layer",
    "pyg_regulariser",
    "search_on_ray",
)


def build(app: Any) -> None:
    """Write the pages that are missing or outdated, and the index of the gallery."""
    library = b"".join(path.read_bytes() for path in sorted((PROJECT / "src/newtonnet").rglob("*.py")))
    found = {path.stem for path in (PROJECT / "examples/gallery").glob("*.py")}
    names = [*(name for name in ORDER if name in found), *sorted(found - set(ORDER))]
    PAGES.mkdir(exist_ok=True)
    for name in names:
        source = (PROJECT / f"examples/gallery/{name}.py").read_bytes()
        stamp = f"<!-- {hashlib.sha256(library + source).hexdigest()} -->"
        page = PAGES / f"{name}.md"
        if not page.exists() or not page.read_text(encoding="utf-8").startswith(stamp):
            page.write_text(f"{stamp}\n\n{render(name)}", encoding="utf-8")
    cards = "".join(f"## [{parts(name)[0]}]({name}.md)\n\n![]({name}.svg)\n\n" for name in names)
    intro = "Each example is one file in `examples/gallery`, runs in seconds, and needs newtonnet with its extras.\n\n"
    toctree = "```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n\n"
    (PAGES / "index.md").write_text(f"# Gallery\n\n{intro}{toctree}{cards}", encoding="utf-8")


def parts(name: str) -> tuple[str, str, str]:
    """Title, text and code of an example."""
    source = (PROJECT / f"examples/gallery/{name}.py").read_text(encoding="utf-8")
    first, _, text = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")
    return first, text, source.split('"""', 2)[2].strip()


def render(name: str) -> str:
    """Run an example and write its page; its figure goes beside it."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = name
    import matplotlib.pyplot as plt

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        values = runpy.run_path(str(PROJECT / f"examples/gallery/{name}.py"))
    values["figure"].savefig(PAGES / f"{name}.svg", metadata={"Date": None})
    plt.close("all")
    first, text, code = parts(name)
    output = f"```text\n{printed.getvalue().rstrip()}\n```"
    page = f"# {first}\n\n{text}\n\n```python\n{code}\n```\n\nIt prints\n\n{output}\n\n"
    return f"{page}![figure of the example]({name}.svg)\n"
