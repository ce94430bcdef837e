"""``newtonnet demo``: two embedded graphs, opposite homophily, opposite filters, one page."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from newtonnet.files import check_writable, write_whole

from .app import app, console
from .options import command_line
from .train import run_splits

if TYPE_CHECKING:
    from newtonnet.report import Study


@app.command()
def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder for report.html and the records.")] = Path("out/demo"),
    splits: Annotated[int, typer.Option(help="Number of splits of each graph.")] = 3,
    max_epochs: Annotated[int, typer.Option(help="Maximum number of epochs.")] = 300,
) -> None:
    """Train NewtonNet on a homophilous and a heterophilous graph and show what it learned.

    Example: newtonnet demo
    """
    check_writable(out / "report.html")
    from newtonnet.datasets import csbm, digits, make_splits
    from newtonnet.graphs import homophily
    from newtonnet.report import Study, render
    from newtonnet.search.settings import find_setting

    started = time.monotonic()
    graphs = {
        "digits: 1797 images joined to their nearest neighbours": digits(),
        "block model: 1000 nodes that avoid their own class": csbm(0.05, nodes=1000, features=1000),
    }
    setting = find_setting("demo", "newtonnet", "default")
    setting = replace(setting, config=replace(setting.config, max_epochs=max_epochs, patience=100))
    studies = []
    for title, graph in graphs.items():
        records = run_splits(graph, "newtonnet", setting, make_splits(graph, count=splits))
        studies.append(Study(title, records, homophily(graph).edge, graph.classes))
    _print(studies)
    page = render("What NewtonNet learned on two graphs", studies, command=command_line(context))
    write_whole(out / "report.html", page)
    lines = [record.to_json() + "\n" for study in studies for record in study.records]
    write_whole(out / "records.jsonl", "".join(lines))
    console.print(f"{out / 'report.html'} written; {time.monotonic() - started:.0f} s", style="dim", soft_wrap=True)


def _print(studies: "list[Study]") -> None:
    from newtonnet.report import draw_response, headline
    from newtonnet.training import summarise

    output = Console()
    table = Table(title="NewtonNet, mean ± std over splits")
    for column in ("graph", "accuracy", "learned h", "true h", "1/C"):
        table.add_column(column, justify="left" if column == "graph" else "right")
    panels = []
    for study in studies:
        summary = summarise(study.records)
        learned = "none" if summary.homophily is None else f"{summary.homophily:.3f}"
        accuracy = summary.score(digits=1)
        name = study.title.split(":")[0]
        table.add_row(name, accuracy, learned, f"{study.homophily:.3f}", f"{1 / study.classes:.2f}")
        panels.append(Panel(draw_response(summary.response), title=f"learned filter: {name}", expand=False))
    output.print(table)
    output.print(Columns(panels))
    for study in studies:
        output.print(f"{study.title.split(':')[0]}: {headline(study)}")
