"""``newtonnet-paper bench``: what this machine makes of the package, as ratios of one run."""

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer
from newtonnet.cli.splits import check_writable
from rich import box
from rich.console import Console
from rich.table import Table

from newtonnet.cli.app import print_json, talk
from newtonnet.cli.options import Json
from newtonnet.files import write_whole
from newtonnet_paper.bench import FULL, QUICK, Sheet, find_reference, read_results, run_bench, sheets, update_page

from .app import app

RESULTS = Path("results/bench")
PAGES = (Path("docs/speed.md"), Path("README.md"))
"""Pages whose marked tables are made from the results."""

WIDTH = 120
"""Columns of the tables where they do not go to a terminal."""


@app.command()
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Three minutes instead of a quarter of an hour.")] = False,
    json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Where to save the figures; results/bench or else out/bench, PROFILE.json, if not given."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads for everything; torch's own choice if not given.")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(help="The PyTorch Geometric model to compare with; benchmarks/pyg_newtonnet.py.")
    ] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Measure nothing; rebuild docs/speed.md from the saved figures.")
    ] = False,
) -> None:
    """Measure epochs, populations, the kernel, growth and memory on this machine, side by side in one run.

    Example: newtonnet bench --quick
    """
    if page:
        if quick or json or out is not None or threads is not None or reference is not None:
            raise typer.BadParameter("--page measures nothing; give it alone")
        if not RESULTS.is_dir():
            raise ValueError(f"there are no figures in {RESULTS}; run newtonnet bench first, in the project's folder")
        _update_pages()
        return
    if threads is not None and threads < 1:
        raise typer.BadParameter(f"--threads must be at least 1, got {threads}")
    profile = QUICK if quick else FULL
    path = out or (RESULTS if Path("results").is_dir() else Path("out/bench")) / f"{profile.name}.json"
    check_writable(path)
    result = run_bench(profile, reference=find_reference(reference), threads=threads, say=_say)
    write_whole(path, jsonlib.dumps(result, indent=1, allow_nan=False) + "\n")
    talk.print(f"saved {path}", style="dim")
    if path.parent == RESULTS:
        _update_pages()
    show(result)
    if json:
        print_json(result)


def show(result: dict[str, Any]) -> None:
    """Print all tables of a run on standard output."""
    console = Console()
    if not console.is_terminal:
        console.width = WIDTH
    for sheet in sheets(result):
        console.print(sheet.title, style="bold", highlight=False)
        console.print(_table(sheet))


def _table(sheet: Sheet) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    words = len(sheet.header) == 2
    for i, name in enumerate(sheet.header):
        table.add_column(name, justify="left" if i == 0 or words else "right")
    for row in sheet.rows:
        table.add_row(*row)
    return table


def _say(text: str) -> None:
    talk.print(f"newtonnet: {text}", soft_wrap=True)


def _update_pages() -> None:
    results = read_results(RESULTS)
    for path in PAGES:
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            if (new := update_page(text, results)) != text:
                write_whole(path, new)
                talk.print(f"updated {path}", style="dim")
