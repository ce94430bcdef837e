"""Imports go downhill, modules stay small, and every package says what it is for."""

import ast
from pathlib import Path

import pytest

TOP = "the package itself"
SOURCE = Path(__file__).parent.parent / "src" / "newtonnet"
ORDER = [
    "files",
    "meaning",
    "cluster",
    "kernels",
    "polynomials",
    "graphs",
    "tables",
    "datasets",
    "nn",
    "training",
    "search",
    "out_of_core",
    "estimator",
    "report",
    "analysis",
    "cli",
    "pyg",
    TOP,
]
"""Rooms bottom-up: each may import those before it."""
LEVEL = {room: level for level, room in enumerate(ORDER)}
MODULES = sorted(SOURCE.rglob("*.py"))


def imported_rooms(code: str, package: tuple[str, ...]) -> set[str]:
    """Top-level rooms of newtonnet that a module in ``package`` imports."""
    rooms = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            stem = node.module.split(".") if node.module else []
            if node.level:
                stem = ["newtonnet", *package[: len(package) - node.level + 1], *stem]
            names = [[*stem, alias.name] for alias in node.names]
        else:
            continue
        ours = [name for name in names if name[0] == "newtonnet"]
        # The package itself re-exports from many levels, so importing it, or a name from it, counts as the top.
        rooms |= {name[1] if len(name) > 1 and name[1] in LEVEL else TOP for name in ours}
    return rooms


def uphill(code: str, package: tuple[str, ...], room: str) -> set[str]:
    return {other for other in imported_rooms(code, package) if other != room and LEVEL[other] >= LEVEL[room]}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_downhill(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    if parts == ("__init__",):
        return
    assert parts[0] in LEVEL, f"{parts[0]} has no level; give it one"
    assert not uphill(path.read_text(), parts[:-1], parts[0])


@pytest.mark.parametrize(
    ("code", "package", "room"),
    [
        ("from newtonnet.training import fit", ("graphs",), "graphs"),
        ("import newtonnet.cli", ("nn",), "nn"),
        ("from newtonnet import report", ("training",), "training"),
        ("from ..training import fit", ("graphs",), "graphs"),
        ("from newtonnet import fit", ("graphs",), "graphs"),
        ("from .. import fit", ("graphs",), "graphs"),
        ("import newtonnet", ("nn",), "nn"),
        ("from newtonnet.graphs import Graph", ("polynomials",), "polynomials"),
        ("def f():\n    from newtonnet.nn import build", ("datasets",), "datasets"),
    ],
)
def test_an_uphill_or_sideways_import_is_noticed(code, package, room):
    assert uphill(code, package, room)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_modules_have_a_docstring_and_one_idea(path):
    text = path.read_text()
    assert ast.get_docstring(ast.parse(text)), "say in one line what the module is for"
    assert text.count("\n") <= 600, "a second idea moved in; split the module"
    assert path.stem not in {"utils", "common", "misc", "helpers", "base"}
