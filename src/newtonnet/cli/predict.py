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
from newtonnet.report import metric_name, percent, plural

from .app import app, print_json, talk
from .options import Json
from .own_tables import OnDisk, check_unchanged, edges_on_disk, read_again
from .precomputed_run import PRECOMPUTED
from .predictions import predictions_csv, read_known
from .run_folder import OWN, PREDICTIONS, Run, file_checksum, ids_checksum, read_run
from .splits import check_writable

SAME = 0.9
"""Share of ids with the class they had in the fit, from which on they are taken for the same nodes."""


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
    known = graph.labelled
    same = file_checksum(own[0]) == run.nodes.sha256
    seen = np.ones(len(known), dtype=bool) if same else _seen(graph, names, folder)
    new = known[~seen]
    # Of nodes that the model was fitted on a score tells nothing, so others speak where there are any.
    judged = new if len(new) else known
    reached, remark = _score(classifier.metric, graph, probabilities, judged)
    if reached is not None and not len(new):
        remark = "the model was fitted on them, so this is no measure of quality"
    elif reached is not None and seen.any():
        remark = f"{plural(int(seen.sum()), 'other')}, on which the model was fitted, {_are(seen)} left out"
    write_whole(place, predictions_csv(graph, probabilities, names))
    talk.print(f"{place} written", style="dim")
    counts = Counter(names[place] for place in probabilities.argmax(axis=1).tolist())
    if json:
        found = {"out": str(place), "nodes": graph.nodes, "predicted": {name: counts[name] for name in names}}
        counted = {"labelled": len(known), "judged": len(judged)}
        print_json({**found, **counted, "metric": classifier.metric, "score": reached, "remark": remark})
        return
    told = ", ".join(f"{name} {counts[name]:,}" for name in names)
    print(f"{plural(graph.nodes, 'node')}: {told}")
    if reached is not None:
        told = f"{metric_name(classifier.metric)} {percent(reached)} on {plural(len(judged), 'labelled node')}"
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


def _seen(graph: Graph, names: Sequence[str], folder: Path) -> NDArray[np.bool_]:
    """Which of the graph's labelled nodes the model was fitted on, by their ids.

    Ids such as row numbers stand for other nodes in another graph: then classes do not agree, and none is taken for one
    of the fit's.
    """
    fitted = read_known(folder / PREDICTIONS)
    ids = [graph.node_names[node] for node in graph.labelled.tolist()]
    seen = np.array([name in fitted for name in ids], dtype=bool)
    classes = [names[place] for place in graph.labels[graph.labelled].tolist()]
    agreeing = sum(fitted.get(name) == kind for name, kind in zip(ids, classes, strict=True))
    return seen if agreeing >= SAME * seen.sum() else np.zeros_like(seen)


def _are(seen: NDArray[np.bool_]) -> str:
    return "is" if seen.sum() == 1 else "are"


def _score(
    metric: str, graph: Graph, probabilities: NDArray[np.float64], known: NDArray[np.int64]
) -> tuple[float | None, str]:
    """The score on nodes whose class is known, or else why there is none although there are some."""
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
