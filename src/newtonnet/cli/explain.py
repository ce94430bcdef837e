"""``newtonnet explain``: why a model that was fitted before predicts the class or the number of a node."""

from pathlib import Path
from typing import Annotated, Any

import typer

from newtonnet.files import check_writable
from newtonnet.progress import console

from .app import app, print_json
from .options import Json


@app.command()
def explain(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that newtonnet fit wrote.")],
    node: Annotated[list[str], typer.Option(help="Id of a node, as in the table; repeatable.")],
    nodes: Annotated[
        Path | None,
        typer.Option(help="Table of nodes with the same columns. Default: the tables that the model was fitted on."),
    ] = None,
    edges: Annotated[Path | None, typer.Option(help="Table of their edges.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of nodes and of features to name.")] = 10,
    out: Annotated[Path | None, typer.Option(help="Page to write, with a drawing of the neighbourhood.")] = None,
    json: Json = False,
) -> None:
    """Say which nodes, features and frequencies made the model prefer a node's class, or predict its number.

    Example: newtonnet explain run --node C-017 --out why.html
    """
    from newtonnet.analysis import Analysis

    if out is not None:
        check_writable(out)
    found = Analysis.load(folder).explain(node, nodes, edges)
    if out is not None:
        found.report(out)
        console.print(f"{out} written", style="dim", soft_wrap=True)
    described = found.describe(top)
    if json:
        print_json(described)
        return
    for one in described:
        _print(one)


def _print(one: dict[str, Any]) -> None:
    """An explanation as tables."""
    from rich.console import Console
    from rich.table import Table

    screen = Console(highlight=False, markup=False)
    title, written, least = f"{one['node']}: ", "+.3f", 5e-4
    if "target" in one:
        title += f"{one['target']} {one['prediction']:.6g}"
        written, least = "+.4g", 5e-4 * abs(one["total"])
    else:
        title += f"{one['class']} ({one['probability']:.0%}) rather than {one['against']}"
    screen.print(title, style="bold")
    screen.print(f"contributions sum to {one['total']:{written}}; {one['method']}", style="dim", soft_wrap=True)
    ends = [("bias", "", one["bias"])]
    ends += [("remainder", "", one["remainder"])] if abs(one["remainder"]) > least else []
    hops = {0: "the node itself", 1: "neighbour", -1: "not linked"}
    nodes = [(row["node"], hops.get(row["hops"], f"{row['hops']} hops"), row["contribution"]) for row in one["nodes"]]
    features = [(row["feature"], "", row["contribution"]) for row in one["features"]]
    tables = {
        "node": [*nodes, ("all other nodes", "", one["other_nodes"])],
        "feature": [*features, ("all other features", "", one["other_features"])],
        "frequencies": [(name, "", value) for name, value in one["bands"].items()],
    }
    for title, rows in tables.items():
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column(title)
        table.add_column("")
        table.add_column("contribution", justify="right")
        for name, note, value in [*rows, *ends]:
            table.add_row(name, note, f"{value:{written}}")
        screen.print(table)
        screen.print()
