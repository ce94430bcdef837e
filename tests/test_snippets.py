"""What the pages show can be pasted: every name is made, and every call is one that there is."""

import ast
import builtins
import importlib
import inspect
import re
import shutil
import sys
from pathlib import Path
from typing import get_args
from unittest.mock import create_autospec

import numpy as np
import pytest
import typer.main
from pyarrow.csv import write_csv

from newtonnet import graphs
from newtonnet.cli import app
from newtonnet.datasets import customers
from newtonnet.datasets.catalogue import Directed
from newtonnet.out_of_core import LargeGraph
from newtonnet.tables import TableOptions
from newtonnet_paper.cli import app as laboratory

pytestmark = pytest.mark.usefixtures("two_folds", "few_trees")
PROJECT = Path(__file__).parent.parent
DOCS = PROJECT / "docs"
PAGES = {path.stem: path for path in (PROJECT / "README.md", *sorted(DOCS.glob("*.md")))}
ON_TABLES = (
    "README",
    "classifier",
    "explanations",
    "imbalance",
    "index",
    "prediction_sets",
    "start",
    "tables",
    "transfer",
)
"""Pages whose snippets read nodes.csv and edges.csv, or new_nodes.csv and new_edges.csv."""
SNIPPETS = {
    f"{name} {place}": block
    for name in (*ON_TABLES, "clusters", "export", "extending", "regression", "scale")
    for place, block in enumerate(
        re.findall(r"```python\n(.*?)```", PAGES[name].read_text(encoding="utf-8"), flags=re.DOTALL)
    )
}


COMMANDS = sorted(
    {
        re.split(r"  +|#", found)[0].strip()
        for path in PAGES.values()
        for found in re.findall(
            r"^ *(?:\$ )?(newtonnet(?:-paper)? (?!on )[a-z]+.*)", path.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
    }
)
"""Lines of code blocks that are commands, without what is said about them."""


def shorter(block):
    """A snippet with time limits of one second."""
    return re.sub(r"time_limit=\d+", "time_limit=1", block)


def run(name):
    space = {}
    exec(compile(shorter(SNIPPETS[name]), name, "exec"), space)
    return space


def pretend(monkeypatch, name, answer=None):
    """Put something in a function's place that takes the same arguments and does nothing."""
    home, function = name.rsplit(".", 1)
    actor = create_autospec(getattr(importlib.import_module(home), function), return_value=answer)
    monkeypatch.setattr(name, actor)
    return actor


@pytest.mark.parametrize("name", [name for name in SNIPPETS if name.split()[0] not in (*ON_TABLES, "export")])
def test_every_name_is_made_in_the_snippet_itself(name):
    made, used = set(dir(builtins)), set()
    for node in ast.walk(ast.parse(SNIPPETS[name])):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            made |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
    assert not used - made


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_and_its_options_exist(line):
    program, command, *words = line.split()
    group = typer.main.get_command(app if program == "newtonnet" else laboratory)
    there = {name for one in group.commands[command].params for name in (*one.opts, *one.secondary_opts)}
    assert {word.split("=")[0] for word in words if word.startswith("--")} <= there


def test_every_page_with_python_is_run():
    shown = {name for name, path in PAGES.items() if "```python" in path.read_text(encoding="utf-8")}
    assert shown == {name.split()[0] for name in SNIPPETS}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for prefix, seed in (("", 0), ("new_", 1)):
        for name, table in zip(("nodes", "edges"), customers(160, seed=seed), strict=True):
            write_csv(table, folder / f"{prefix}{name}.csv")
    return folder


@pytest.mark.parametrize("page", ON_TABLES)
def test_the_snippets_of_a_page_on_tables_run_as_shown(page, tables, monkeypatch):
    """One after the other, as a reader would paste them, but for shorter time limits."""
    monkeypatch.chdir(tables)
    for path in tables.glob("run"):
        shutil.rmtree(path)
    space = {}
    blocks = [block for name, block in SNIPPETS.items() if name.split()[0] == page]
    assert blocks
    for block in blocks:
        exec(compile(shorter(block), page, "exec"), space)


def test_a_model_is_exported_and_scores_as_shown(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    space = {}
    shown = [block for name, block in SNIPPETS.items() if name.startswith("export")]
    assert len(shown) == 3
    for block in shown:
        exec(compile(shorter(block), "export", "exec"), space)
    printed = re.findall(r"print\(.*\)  # (.*)", "".join(shown))
    assert capsys.readouterr().out.splitlines() == printed
    sys.modules.pop("scorer")


def test_training_from_blocks_on_disk_runs_as_shown(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    space = run("scale 0")
    assert space["records"][0].outcome.status == "done"
    np.testing.assert_allclose(space["probabilities"].sum(axis=1), 1, atol=1e-5)


def test_a_graph_from_pieces_is_written_as_shown(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    graph = run("scale 1")["graph"]
    assert isinstance(graph, LargeGraph)
    assert graph.folder == Path("big")
    assert graph.adjacency.edges > graph.nodes


def test_training_on_several_machines_is_called_as_shown(monkeypatch):
    pretend(monkeypatch, "newtonnet.load")
    pretend(monkeypatch, "newtonnet.make_splits")
    made = pretend(monkeypatch, "newtonnet.out_of_core.propagate_to_disk")
    trained = pretend(monkeypatch, "newtonnet.out_of_core.train_on_ray", ([], []))
    run("clusters 1")
    assert made.call_args.args[1] == trained.call_args.kwargs["store"]
    assert made.call_args.kwargs["degree"] == trained.call_args.args[2].options.degree


def test_a_search_on_a_cluster_is_called_as_shown(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    study = object()
    pretend(monkeypatch, "newtonnet.search.make_study", study)
    on_ray = pretend(monkeypatch, "newtonnet.search.on_ray")
    open_store = pretend(monkeypatch, "newtonnet.search.open_store")
    for opened in (on_ray, open_store):
        opened.return_value = create_autospec(open, instance=True).return_value
    sweep = pretend(monkeypatch, "newtonnet.search.sweep", iter(["a trial"]))
    assert run("clusters 0")["trials"] == ["a trial"]
    assert sweep.call_args.args[0] is open_store.call_args.args[1] is study


def test_numbers_are_analysed_as_shown(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    space = run("regression 0")
    assert space["again"].table.column_names == ["node", "prediction", "known", "lower", "upper"]
    assert space["analysis"].summary["errors"]["mae"] < space["analysis"].summary["errors"]["constant_mae"]


def test_the_regressor_is_used_as_shown(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    space = run("regression 1")
    np.testing.assert_array_equal(space["loaded"].predict(space["graph"]), space["model"].predict(space["graph"]))
    assert space["explanation"].total == pytest.approx(space["model"].predict(space["graph"])[17], abs=1e-3)


def test_arrows_are_kept_as_the_page_on_design_says():
    (row,) = [line for line in (DOCS / "design.md").read_text().splitlines() if line.startswith("| directed data |")]
    here = row.split("|")[4]
    (value,) = re.findall(r"`load\(name, directed=(.*?)\)`", here)
    assert ast.literal_eval(value) in get_args(get_args(Directed)[0])
    named = re.findall(r"`(from_\w+|TableOptions)`", here)
    assert len(named) >= 3
    for name in named:
        function = TableOptions if name == "TableOptions" else getattr(graphs, name)
        assert inspect.signature(function).parameters["directed"].default is False
