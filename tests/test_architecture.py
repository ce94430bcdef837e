"""Imports go downhill and through doors, the library never imports the laboratory, and every module has one idea."""

import ast
import tomllib
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
LIBRARY, LABORATORY = "newtonnet", "newtonnet_paper"
TOP = "the package itself"
ORDER = [
    "files",
    "meaning",
    "memory",
    "progress",
    "drawing",
    "metrics",
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
    "bank",
    "explanations",
    "estimator",
    "report",
    "analysis",
    "cli",
    "pyg",
    TOP,
]
"""Rooms of the library bottom-up: each may import those before it."""
LEVEL = {room: level for level, room in enumerate(ORDER)}
LONG = 600
Doors = dict[tuple[str, ...], set[str]]
MODULES = sorted(path for package in (LIBRARY, LABORATORY) for path in (SOURCE / package).rglob("*.py"))


def name_of(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


@cache
def parsed(code: str) -> ast.Module:
    return ast.parse(code)


@cache
def imported(code: str, package: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Absolute dotted names of our own packages that a module in ``package`` imports."""
    found = []
    for node in ast.walk(parsed(code)):
        if isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            stem = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                stem = package[: len(package) - node.level + 1] + stem
            names = [(*stem, alias.name) for alias in node.names]
        else:
            continue
        found += [name for name in names if name[0] in (LIBRARY, LABORATORY)]
    return found


def uphill(code: str, package: tuple[str, ...], room: str) -> set[str]:
    """Rooms of the library that a module in ``room`` must not import but does; the laboratory is never allowed."""
    rooms = set()
    for name in imported(code, package):
        if name == (LIBRARY, "__version__"):  # the one name that the package itself has, and loads nothing
            continue
        # The package itself re-exports from many levels, so importing it, or a name from it, counts as the top.
        other = name[1] if len(name) > 1 and name[1] in LEVEL else TOP
        if name[0] == LABORATORY or (other != room and LEVEL[other] >= LEVEL[room]):
            rooms.add(name[0] if name[0] == LABORATORY else other)
    return rooms


def past_doors(code: str, package: tuple[str, ...], modules: set[tuple[str, ...]], doors: Doors) -> set[str]:
    """Modules inside another room that are imported by their own name, although the room's door does not offer them."""
    found = set()
    for name in imported(code, package):
        target = name
        while target not in modules and len(target) > 1:
            target = target[:-1]
        offered = target == name and name[-1] in doors.get(name[:-1], ())
        if len(target) > 2 and target[:2] != package[:2] and not offered:
            found.add(".".join(target))
    return found


def offers(path: Path) -> set[str]:
    """The names in a door's ``__all__``."""
    for node in parsed(path.read_text()).body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets):
            return set(ast.literal_eval(node.value))
    return set()


def of(path: Path) -> str:
    return ".".join(name_of(path))


ALL = {name_of(path) for path in MODULES}
DOORS = {name_of(path): offers(path) for path in MODULES if path.name == "__init__.py"}
IN_LIBRARY = [path for path in MODULES if name_of(path)[0] == LIBRARY and len(name_of(path)) > 1]


@pytest.mark.parametrize("path", IN_LIBRARY, ids=of)
def test_imports_go_downhill_and_never_to_the_laboratory(path):
    name = name_of(path)
    assert name[1] in LEVEL, f"{name[1]} has no level; give it one"
    package = name if path.name == "__init__.py" else name[:-1]
    assert not uphill(path.read_text(), package, name[1])


@pytest.mark.parametrize("path", MODULES, ids=of)
def test_packages_are_entered_through_their_doors(path):
    name = name_of(path)
    package = name if path.name == "__init__.py" else name[:-1]
    assert not past_doors(path.read_text(), package, ALL, DOORS)


@pytest.mark.parametrize(
    ("code", "package", "room"),
    [
        ("from newtonnet.training import fit", ("newtonnet", "graphs"), "graphs"),
        ("import newtonnet.cli", ("newtonnet", "nn"), "nn"),
        ("from newtonnet import report", ("newtonnet", "training"), "training"),
        ("from ..training import fit", ("newtonnet", "graphs"), "graphs"),
        ("from newtonnet import fit", ("newtonnet", "graphs"), "graphs"),
        ("from .. import fit", ("newtonnet", "graphs"), "graphs"),
        ("import newtonnet", ("newtonnet", "nn"), "nn"),
        ("from newtonnet.graphs import Graph", ("newtonnet", "polynomials"), "polynomials"),
        ("def f():\n    from newtonnet.nn import build", ("newtonnet", "datasets"), "datasets"),
        ("from newtonnet_paper.claim import Claim", ("newtonnet", "cli"), "cli"),
        ("def f():\n    import newtonnet_paper", ("newtonnet", "cli"), "cli"),
    ],
)
def test_an_import_uphill_or_from_the_laboratory_is_noticed(code, package, room):
    assert uphill(code, package, room)


@pytest.mark.parametrize(
    "code",
    [
        "from newtonnet.graphs.propagate import x",
        "from newtonnet.graphs import propagate",
        "import newtonnet.graphs.propagate",
    ],
)
def test_an_import_past_a_door_is_noticed(code):
    modules = {("newtonnet",), ("newtonnet", "graphs"), ("newtonnet", "graphs", "propagate")}
    assert past_doors(code, ("newtonnet", "nn"), modules, {})
    assert not past_doors(code, ("newtonnet", "graphs"), modules, {})


def test_a_module_that_a_door_offers_may_be_imported_from_it():
    modules = {("newtonnet",), ("newtonnet", "graphs"), ("newtonnet", "graphs", "propagate")}
    doors = {("newtonnet", "graphs"): {"propagate"}}
    assert not past_doors("from newtonnet.graphs import propagate", ("newtonnet", "nn"), modules, doors)
    assert past_doors("from newtonnet.graphs.propagate import x", ("newtonnet", "nn"), modules, doors)


@pytest.mark.parametrize("path", MODULES, ids=of)
@pytest.mark.filterwarnings("default:.*lines.*:UserWarning")
def test_modules_have_a_docstring_and_one_idea(path):
    text = path.read_text()
    assert ast.get_docstring(parsed(text)), "say in one line what the module is for"
    assert path.stem not in {"utils", "common", "misc", "helpers", "base"}
    if (lines := text.count("\n")) > LONG:
        warnings.warn(f"{of(path)} has {lines} lines; a second idea may have moved in", stacklevel=1)


def test_two_classes_never_share_a_name():
    names = Counter(
        node.name
        for path in MODULES
        for node in parsed(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert not [name for name, count in names.items() if count > 1]


@pytest.mark.parametrize("package", [LIBRARY, LABORATORY])
def test_every_data_file_is_installed(package):
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())
    installed = project["tool"]["setuptools"]["package-data"][package]
    found = {path for path in (SOURCE / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    data = {path for path in found if path.suffix not in {".py", ".so", ".pyd"}}
    assert data == {path for pattern in installed for path in (SOURCE / package).glob(pattern)}
