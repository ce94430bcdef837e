"""``newtonnet predict``: the classes of every node by a model that was fitted before."""

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from newtonnet.estimator import NewtonNetClassifier
from newtonnet.estimator.scoring import score
from newtonnet.files import write_whole
from newtonnet.graphs import Graph
from newtonnet.report.quantities import percent, plural
from newtonnet.report.words import metric_name

from .app import app, print_json, talk
from .options import Json
from .own_tables import OnDisk, check_unchanged, edges_on_disk, read_again
from .precomputed_run import PRECOMPUTED
from .predictions import predictions_csv
from .run_folder import OWN, PREDICTIONS, Run, file_checksum, ids_checksum, read_run
from .splits import check_writable


@app.command()
def predict(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that newtonnet fit wrote.")],
    nodes: Annotated[
        Path | None,
        typer.Option(help="Table of nodes with the same columns; without both tables, those it was fitted on."),
    ] = None,
    edges: Annotated[Path | None, typer.Option(help="Table of their edges.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write; RUN/predictions.csv, for other tables it must be named.")
    ] = None,
    json: Json = False,
) -> None:
    """Predict the class of every node with a fitted model, for the tables it was fitted on or for others of that kind.

    Example: newtonnet predict run --nodes new_nodes.csv --edges new_edges.csv --out predictions.csv
    """
    if (nodes is None) != (edges is None):
        raise ValueError("--nodes and --edges belong together; give both, or none for the tables of the fit")
    if nodes is not None and out is None:
        raise ValueError(f"name the file for predictions on other tables with --out; {PREDICTIONS} is the fit's own")
    run, classifier = read_run(folder)
    place = folder / PREDICTIONS if out is None else out
    check_writable(place)
    if not place.absolute().parent.parent.exists():
        raise ValueError(f"there is no folder {place.parent.parent}; make it, or name another place")
    own = check_unchanged(run) if nodes is None or edges is None else (nodes, edges)
    _check_place(place, folder, own, others=nodes is not None)
    if nodes is not None:
        classifier.set_params(store=None)  # what is stored there belongs to the tables of the fit
    disk = context.with_resource(_disk(classifier)) if classifier.regime == PRECOMPUTED else None
    graph, notes = read_again(*own, run, disk=disk)
    _check_bound(classifier, graph, run)
    for note in notes if nodes is not None else ():
        talk.print(f"note: {note}", style="dim", soft_wrap=True)
    probabilities = classifier.predict_proba(graph)
    names = classifier.ensemble_.class_names
    reached, remark = _score(classifier.metric, graph, probabilities)
    if reached is not None and file_checksum(own[0]) == run.nodes.sha256:
        remark = "the model was fitted on them, so this is no measure of quality"
    write_whole(place, predictions_csv(graph, probabilities, names))
    talk.print(f"{place} written", style="dim")
    known = len(graph.labelled)
    counts = Counter(names[place] for place in probabilities.argmax(axis=1).tolist())
    if json:
        found = {"out": str(place), "nodes": graph.nodes, "predicted": {name: counts[name] for name in names}}
        print_json({**found, "labelled": known, "metric": classifier.metric, "score": reached, "remark": remark})
        return
    told = ", ".join(f"{name} {counts[name]:,}" for name in names)
    print(f"{plural(graph.nodes, 'node')}: {told}")
    if reached is not None:
        told = f"{metric_name(classifier.metric)} {percent(reached)} on {plural(known, 'labelled node')}"
        print(f"{told}; {remark}" if remark else told)
    elif remark:
        print(remark)


def _check_place(place: Path, folder: Path, tables: Sequence[Path], *, others: bool) -> None:
    """Refuse to write over what is read, or over the run's own files."""
    taken = [*tables, *(folder / name for name in OWN if others or name != PREDICTIONS)]
    if place.resolve() in {one.resolve() for one in taken}:
        raise ValueError(f"{place} would be written over, but it is one of the tables or of the run's own files")


def _disk(classifier: NewtonNetClassifier) -> AbstractContextManager[OnDisk]:
    store = None if classifier.store is None else Path(classifier.store)
    return edges_on_disk(store, classifier.max_memory)


def _score(metric: str, graph: Graph, probabilities: NDArray[np.float64]) -> tuple[float | None, str]:
    """The score on the nodes whose class is known, or else why there is none although some are."""
    known = graph.labelled
    if len(known) == 0:
        return None, ""
    try:
        return score(metric, probabilities[known], graph.labels[known]), ""
    except ValueError as reason:
        return None, f"There is no score on {plural(len(known), 'labelled node')}: {reason}."


def _check_bound(classifier: NewtonNetClassifier, graph: Graph, run: Run) -> None:
    """Refuse another graph than the model's own, or its nodes in another order, where it has weights for each node."""
    bound = {member.bound for member in classifier.ensemble_.members} - {None}
    if bound and (ids_checksum(graph.node_names) != run.ids or bound != {graph.structure}):
        raise ValueError(
            f"this model is bound to the graph it was fitted on, and {graph.name!r} is another one; fit with "
            "--transferable to predict on others"
        )
