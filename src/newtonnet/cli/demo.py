"""``newtonnet demo``: two embedded graphs, opposite homophily, opposite filters, one page."""

import io
import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from newtonnet.files import check_writable, write_whole
from newtonnet.progress import console

from .app import app
from .options import MaxEpochs, command_line
from .train import run_splits

if TYPE_CHECKING:
    from newtonnet.report import RecordGroup


@app.command()
def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder for report.html, the records and the tables.")] = Path("out/demo"),
    splits: Annotated[int, typer.Option(help="Number of splits of each graph.")] = 3,
    max_epochs: MaxEpochs = 300,
) -> None:
    """Train NewtonNet on a homophilous and a heterophilous graph and show what it learned.

    It also writes two tables, nodes.csv and edges.csv, to try newtonnet fit on.

    Example: newtonnet demo
    """
    check_writable(out / "report.html")
    from pyarrow.csv import WriteOptions, write_csv

    from newtonnet.datasets import csbm, customers, digits, make_splits
    from newtonnet.report import RecordGroup, graph_homophily, render_records
    from newtonnet.search import find_setting

    started = time.monotonic()
    graphs = {
        "digits: 1797 images joined to their nearest neighbours": digits(),
        "block model: 1000 nodes that avoid their own class": csbm(0.05, nodes=1000, features=1000),
    }
    setting = find_setting("demo", "newtonnet", "default")
    setting = replace(setting, config=replace(setting.config, max_epochs=max_epochs, patience=100))
    groups = []
    for title, graph in graphs.items():
        records = run_splits(graph, "newtonnet", setting, make_splits(graph, count=splits))
        groups.append(RecordGroup(title, records, graph_homophily(graph), graph.classes))
    _print(groups)
    page = render_records("What NewtonNet learned on two graphs", groups, command=command_line(context))
    write_whole(out / "report.html", page)
    lines = [record.to_json() + "\n" for group in groups for record in group.records]
    write_whole(out / "records.jsonl", "".join(lines))
    console.print(f"{out / 'report.html'} written in {time.monotonic() - started:.0f} s", style="dim", soft_wrap=True)
    tables = (out / "nodes.csv", out / "edges.csv")
    for path, table in zip(tables, customers(), strict=True):
        write_csv(table, text := io.BytesIO(), WriteOptions(quoting_style="needed"))
        write_whole(path, text.getvalue().decode())
    nodes, edges = (shlex.quote(str(path)) for path in tables)
    command = f"newtonnet fit --nodes {nodes} --edges {edges} --label-column status --out run"
    console.print(f"next, on generated tables of customers: {command}", style="dim", soft_wrap=True)


def _print(groups: "list[RecordGroup]") -> None:
    from rich.columns import Columns
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table

    from newtonnet.report import decimal, draw_response
    from newtonnet.training import summarise

    output = Console()
    table = Table(title="NewtonNet, mean ± std over splits")
    for column in ("graph", "accuracy", "learned h", "true h", "chance"):
        table.add_column(column, justify="left" if column == "graph" else "right")
    panels = []
    for group in groups:
        summary = summarise(group.records)
        name = group.title.split(":")[0]
        numbers = (summary.homophily, group.homophily.measured, group.homophily.chance)
        table.add_row(name, summary.score(digits=1), *map(decimal, numbers))
        panels.append(Panel(draw_response(summary.response), title=f"learned filter: {name}", expand=False))
    output.print(table)
    output.print(Columns(panels))
    for group in groups:
        output.print(f"{group.title.split(':')[0]}: {group.headline}")
