"""``newtonnet predict``: the class or number of every node by a model that was fitted before."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from newtonnet.files import check_writable
from newtonnet.meaning import escaped
from newtonnet.progress import console
from newtonnet.tables import UnknownEdges

from .app import app, load_torch, print_json
from .options import UNKNOWN, Json, SpreadsheetSafe


@app.command()
def predict(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that newtonnet fit wrote.")],
    nodes: Annotated[
        Path | None,
        typer.Option(help="Table of nodes with the same columns. Default: the tables that the model was fitted on."),
    ] = None,
    edges: Annotated[Path | None, typer.Option(help="Table of their edges.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; required for other tables. Default: RUN/predictions.csv."),
    ] = None,
    safe_cells: SpreadsheetSafe = False,
    unknown_edges: Annotated[UnknownEdges | None, typer.Option(help=f"{UNKNOWN} Default: as in the fit.")] = None,
    json: Json = False,
) -> None:
    """Predict the class, or number, of every node with a fitted model, on the same tables or on new ones.

    Example: newtonnet predict run --nodes new_nodes.csv --edges new_edges.csv --out predictions.csv
    """
    if (nodes is None) != (edges is None):
        raise ValueError("--nodes and --edges belong together; give both, or neither for the tables of the fit")
    load_torch()
    from newtonnet.analysis import FILES, PREDICTIONS, Analysis, replace_predictions, spreadsheet_safe
    from newtonnet.meaning import counted
    from newtonnet.report import amount, metric_name, percent

    if nodes is not None and out is None:
        raise ValueError(f"name the file for predictions on other tables with --out; {PREDICTIONS} belongs to the fit")
    analysis = Analysis.load(folder)
    place = folder / PREDICTIONS if out is None else out
    check_writable(place)
    if not place.absolute().parent.parent.exists():
        raise ValueError(f"there is no folder {place.parent.parent}; create it, or name another place")
    tables = analysis.fitted_tables() if nodes is None or edges is None else (nodes, edges)
    own = (folder / name for name in FILES if nodes is not None or name != PREDICTIONS)
    if place.resolve() in {taken.resolve() for taken in (*tables, *own)}:
        raise ValueError(f"{place} would be overwritten, but it is one of the tables or of the run's own files")
    found = analysis.predict(nodes, edges, unknown_edges=unknown_edges)
    table = spreadsheet_safe(found.table) if safe_cells else found.table
    for note in found.notes:
        if not (safe_cells and "--spreadsheet-safe" in note):
            console.print(escaped(f"note: {note}"), style="dim", soft_wrap=True)
    if out is None:
        replace_predictions(folder, analysis.run, table)
    else:
        replace(found, table=table).save(place)
    console.print(f"{place} written", style="dim", soft_wrap=True)
    summary = found.summary
    if json:
        print_json({"out": str(place), **summary})
        return
    shown = amount if analysis.run.columns.numbers else "{:,}".format
    counts = ", ".join(f"{name} {shown(count)}" for name, count in summary["predicted"].items())
    print(escaped(f"{counted(summary['nodes'], 'node')}: {counts}"))
    remark = summary["remark"]
    if summary["score"] is not None:
        reached = f"{metric_name(summary['metric'])} {percent(summary['score'])}"
        reached += f" on {counted(summary['judged'], 'labelled node')}"
        print(f"{reached}; {remark}" if remark else reached)
    elif remark:
        print(remark)
