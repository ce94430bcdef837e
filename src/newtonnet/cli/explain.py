"""``newtonnet explain``: why a model that was fitted before predicts the class or the number of a node."""

from pathlib import Path
from typing import Annotated, Any

import typer

from newtonnet.files import check_writable
from newtonnet.progress import console

from .app import app, print_json
from .options import Json, seconds


@app.command()
def explain(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that newtonnet fit wrote.")],
    node: Annotated[
        list[str] | None,
        typer.Option(help="Id of a node, as in the table; repeatable. Without: what the model relies on."),
    ] = None,
    nodes: Annotated[
        Path | None,
        typer.Option(help="Table of nodes with the same columns. Default: the tables that the model was fitted on."),
    ] = None,
    edges: Annotated[Path | None, typer.Option(help="Table of their edges.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of nodes and of features to name.")] = 10,
    out: Annotated[Path | None, typer.Option(help="Page to write, with a drawing of the neighbourhood.")] = None,
    time_limit: Annotated[str, typer.Option(metavar="TIME", help="Time for shuffles, without a node.")] = "60s",
    json: Json = False,
) -> None:
    """Say which nodes, features and frequencies made the model prefer a node's class, or predict its number.

    Without a node, say how much worse held-out nodes are predicted when a column is shuffled, or without edges.

    Example: newtonnet explain run --node C-017 --out why.html
    """
    from newtonnet.analysis import Analysis

    if not node:
        if out is not None:
            raise ValueError("a page needs a node; give --node, or leave --out away")
        from newtonnet.estimator import describe_importance

        limit = seconds(time_limit)

        measured = describe_importance(Analysis.load(folder).importance(nodes, edges, time_limit=limit))
        print_json(measured) if json else _print_importance(measured, top)
        return
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


def _print_importance(measured: dict[str, Any], top: int) -> None:
    """What the model relies on, as a table."""
    from rich.console import Console
    from rich.table import Table

    from newtonnet.report import metric_name

    screen, name = Console(highlight=False, markup=False), metric_name(measured["metric"])
    screen.print(f"{name} {measured['score']:.1%} on {measured['nodes']:,} held-out nodes", style="bold")
    features = [row for row in measured["effects"] if row["kind"] == "feature"]
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("shuffled or removed", "drop, points", "95% interval"):
        table.add_column(title, justify="left" if title.startswith("s") else "right")
    for row in [*features[:top], *(row for row in measured["effects"] if row["kind"] != "feature")]:
        low, high = row["interval"]
        table.add_row(row["name"], f"{100 * row['drop']:+.1f}", f"{100 * low:+.1f} to {100 * high:+.1f}")
    screen.print(table)
    others = len(features[top:])
    if others or measured["untested"]:
        screen.print(f"{others} further columns dropped less, {measured['untested']} were not shuffled", style="dim")


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
