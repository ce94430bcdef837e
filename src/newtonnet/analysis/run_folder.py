"""The run folder: a model, its predictions, its page, and run.json, which says how the tables were read."""

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from newtonnet.estimator import NewtonNetClassifier
from newtonnet.files import check_writable, write_whole
from newtonnet.graphs import Graph
from newtonnet.tables import Columns, Encoding

FORMAT = 1
"""Version of run.json; raised when an older program could not read a newer folder."""

MODEL, PREDICTIONS, PAGE, RECORDS, RUN = (
    "model.safetensors",
    "predictions.csv",
    "report.html",
    "records.jsonl",
    "run.json",
)
FILES = (RUN, MODEL, PREDICTIONS, RECORDS, PAGE)
"""Names of all files of a run."""
HEADER = "newtonnet"

FIXED = ("node", "label", "probability", "known")
"""Columns of the predictions before those of the classes: id, most probable class, its probability, given class."""
DIGITS = 6
"""Decimals of a probability in the predictions."""
ROWS = 10_000
"""Rows that are written at once."""


@dataclass(frozen=True)
class TableFile:
    """A table that was read: its path and its checksum, both None for a table in memory."""

    path: str | None
    sha256: str | None


@dataclass(frozen=True)
class RunDescription:
    """The contents of run.json: all that is needed to read tables in the same way, and how the run went."""

    nodes: TableFile
    edges: TableFile
    columns: Columns
    text_encoding: str
    encoding: Encoding
    class_names: tuple[str, ...]
    ids: str
    """Checksum of the nodes' ids in order: a model without features is tied to its nodes and their order."""
    model: str
    """Checksum of the model file."""
    arguments: Mapping[str, Any]
    finished: bool
    """False while later steps are still to come."""
    outcome: Mapping[str, Any]
    """Scores and the like, as ``fit --json`` prints them."""


def check_folder(folder: Path, *, tables: Sequence[Path | None], force: bool) -> None:
    """Refuse a folder that cannot become the run folder of two tables, before any work is done.

    Args:
        folder: where the run is to be written.
        tables: files of the nodes and the edges, None for a table in memory.
        force: allow a folder that holds something else, or the run of other tables.
    """
    check_writable(folder / RUN)
    for table in tables:
        if table is not None and table.resolve() in {(folder / name).resolve() for name in FILES}:
            raise ValueError(f"{table} is a file that this run would write over; copy it to another place first")
    if force or not folder.is_dir() or not any(folder.iterdir()):
        return
    held = _held_run(folder)
    if held is None:
        raise ValueError(f"{folder} is not empty and not a run folder; choose another, or write into it with --force")
    nodes = tables[0]
    if held.path is not None and (nodes is None or Path(held.path).resolve() != nodes.resolve()):
        raise ValueError(
            f"{folder} holds the run of {held.path}; choose another folder, or replace that run with --force"
        )


def _held_run(folder: Path) -> TableFile | None:
    """The table of nodes of the run in a folder, with no path if run.json does not say; None if there is no run."""
    try:
        described = json.loads((folder / RUN).read_text(encoding="utf-8"))
        if HEADER not in described:
            return None
    except (OSError, ValueError, TypeError):
        return None
    try:
        return TableFile(**described["tables"]["nodes"])
    except (TypeError, KeyError):
        return TableFile(None, None)


def write_model(folder: Path, classifier: NewtonNetClassifier, predictions: pa.Table) -> str:
    """Write a model, its predictions and its records, and remove an older page. Returns the model's checksum."""
    classifier.save(folder / MODEL)
    write_whole(folder / PREDICTIONS, predictions_csv(predictions))
    lines = [member.record.to_json() + "\n" for member in classifier.ensemble_.members]
    write_whole(folder / RECORDS, "".join(lines))
    (folder / PAGE).unlink(missing_ok=True)  # it would describe a model that no longer exists
    return file_checksum(folder / MODEL)


def run_text(run: RunDescription) -> str:
    """The text of run.json."""
    described = {
        HEADER: version("newtonnet"),
        "format": FORMAT,
        "finished": run.finished,
        "tables": {"nodes": asdict(run.nodes), "edges": asdict(run.edges)},
        "columns": asdict(run.columns),
        "text_encoding": run.text_encoding,
        "class_names": list(run.class_names),
        "ids": run.ids,
        "model": run.model,
        "arguments": dict(run.arguments),
        "outcome": dict(run.outcome),
        "encoding": json.loads(run.encoding.to_json()),
    }
    return json.dumps(described, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def read_run(folder: Path) -> tuple[RunDescription, NewtonNetClassifier]:
    """Read a run and its model; refused if either is damaged or newer, or if they do not belong together."""
    if not (folder / RUN).is_file():
        raise ValueError(f"{folder} is not a run folder: it has no {RUN}; give the folder that newtonnet fit wrote")
    run = _description(folder / RUN)
    classifier = NewtonNetClassifier.load(folder / MODEL)
    features = len(run.encoding.feature_names) or classifier.n_features_in_
    fits = run.class_names == classifier.ensemble_.class_names and features == classifier.n_features_in_
    if not fits or file_checksum(folder / MODEL) != run.model:
        raise ValueError(f"{folder / MODEL} is not the model that {RUN} describes; fit it again")
    return run, classifier


def _description(path: Path) -> RunDescription:
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
        run = None if int(described["format"]) > FORMAT else _rebuild(described)
    except (ValueError, KeyError, TypeError, AttributeError) as reason:
        raise ValueError(f"{path} cannot be read ({type(reason).__name__}: {reason}); fit again") from reason
    if run is None:
        raise ValueError(f"{path} was written by a newer newtonnet; install that version")
    return run


def _rebuild(described: dict[str, Any]) -> RunDescription:
    tables, columns = described["tables"], described["columns"]
    same = ("text_encoding", "ids", "model", "arguments", "finished", "outcome")
    return RunDescription(
        nodes=TableFile(**tables["nodes"]),
        edges=TableFile(**tables["edges"]),
        columns=Columns(**{**columns, "unused": tuple(columns.get("unused", ()))}),
        encoding=Encoding.from_json(json.dumps(described["encoding"])),
        class_names=tuple(described["class_names"]),
        **{name: described[name] for name in same},
    )


def file_checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def ids_checksum(names: Sequence[str]) -> str:
    """SHA-256 of ids in their order."""
    return hashlib.sha256(json.dumps(list(names)).encode()).hexdigest()


def predictions_table(graph: Graph, probabilities: NDArray[np.float64], classes: Sequence[str]) -> pa.Table:
    """Predictions with one row for each node, in the order of the graph.

    Args:
        graph: the graph; its node names are the ids.
        probabilities: of every class, shape ``(n, C)``.
        classes: names of the classes.
    """
    shares = round_rows(probabilities) / 10**DIGITS
    names = np.array([*classes, None], dtype=object)
    best = probabilities.argmax(axis=1)
    columns = {
        "node": pa.array(list(graph.node_names), pa.string()),
        "label": pa.array(names[best], pa.string()),
        "probability": shares[np.arange(len(best)), best],
        "known": pa.array(names[graph.labels], pa.string()),  # -1, unknown, is the last name, None
    }
    return pa.table({**columns, **{f"p({name})": shares[:, place] for place, name in enumerate(classes)}})


def predictions_csv(table: pa.Table) -> str:
    """Predictions as the text of a CSV file; an unknown class is blank."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches(max_chunksize=ROWS):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            writer.writerow(
                [f"{cell:.{DIGITS}f}" if isinstance(cell, float) else "" if cell is None else cell for cell in row]
            )
    return text.getvalue()


def read_predictions(path: Path) -> pa.Table:
    """Read a file that :func:`predictions_csv` made."""
    with path.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    if tuple(header[: len(FIXED)]) != FIXED:
        raise ValueError(f"{path} does not hold predictions; expected the columns {', '.join(FIXED)}, ...")
    node, label, probability, known, *shares = zip(*rows, strict=True)
    texts = (list(node), list(label), [name or None for name in known])
    numbers = (np.array(column, dtype=np.float64) for column in (probability, *shares))
    node, label, known = (pa.array(column, pa.string()) for column in texts)
    return pa.table([node, label, next(numbers), known, *numbers], names=header)


def round_rows(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round to millionths that sum to a million in every row: the largest remainders are rounded up.

    >>> round_rows(np.array([[1 / 3, 1 / 3, 1 / 3], [0.5, 0.25, 0.25]])).tolist()
    [[333334, 333333, 333333], [500000, 250000, 250000]]
    """
    scaled = probabilities / probabilities.sum(axis=1, keepdims=True) * 10**DIGITS
    parts = np.floor(scaled).astype(np.int64)
    lacking = 10**DIGITS - parts.sum(axis=1, keepdims=True)
    order = np.argsort(parts - scaled, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(scaled.shape[1]), scaled.shape), axis=1)
    return np.asarray(parts + (rank < lacking))
