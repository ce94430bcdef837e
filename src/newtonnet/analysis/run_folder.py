"""The run folder: a model, its predictions, its page, and run.json, which says how the tables were read."""

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.csv import ConvertOptions, ParseOptions, read_csv

from newtonnet.estimator import NewtonNetClassifier
from newtonnet.files import check_writable, write_whole
from newtonnet.graphs import Graph
from newtonnet.tables import Columns, Encoding

FORMAT = 1
"""Version of run.json; raised when an older program could not read a newer folder."""

RUN, MODEL, PREDICTIONS, RECORDS = "run.json", "model.safetensors", "predictions.csv", "records.jsonl"
PAGE = "report.html"
FILES = (RUN, MODEL, PREDICTIONS, RECORDS, PAGE)
"""Names of all files of a run."""
HEADER = "newtonnet"
FIXED = ("node", "label", "probability", "known")
"""Columns of the predictions before those of the classes: id, most probable class, its probability, given class."""
DIGITS = 6
"""Decimals of a probability in the predictions."""


@dataclass(frozen=True)
class TableFile:
    """A table that was read: its path and its checksum, both None for a table in memory."""

    path: str | None
    sha256: str | None


@dataclass(frozen=True)
class RunDescription:
    """The contents of run.json: all that is needed to read tables in the same way, and how the run went."""

    tables: Mapping[str, TableFile]
    """Those of the ``nodes`` and the ``edges``."""
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
    """Refuse a folder that cannot become the run folder of two tables; with force, it may hold anything else."""
    check_writable(folder / RUN)
    for table in tables:
        if table is not None and table.resolve() in {(folder / name).resolve() for name in FILES}:
            raise ValueError(f"{table} is a file that this run would write over; copy it to another place first")
    if force or not folder.is_dir() or not any(folder.iterdir()):
        return
    try:
        described = json.loads((folder / RUN).read_text(encoding="utf-8"))
        held = described[HEADER] and described["tables"]["nodes"]["path"]
    except (OSError, ValueError, TypeError, KeyError):
        raise ValueError(
            f"{folder} is not empty and not a run folder; choose another, or write into it with --force"
        ) from None
    nodes = tables[0]
    if held is not None and (nodes is None or Path(held).resolve() != nodes.resolve()):
        raise ValueError(f"{folder} holds the run of {held}; choose another folder, or replace that run with --force")


def write_model(folder: Path, classifier: NewtonNetClassifier, predictions: pa.Table) -> str:
    """Write a model, its predictions and its records, and remove an older page. Returns the model's checksum."""
    classifier.save(folder / MODEL)
    write_whole(folder / PREDICTIONS, predictions_csv(predictions))
    write_whole(folder / RECORDS, "".join(member.record.to_json() + "\n" for member in classifier.ensemble_.members))
    (folder / PAGE).unlink(missing_ok=True)  # it would describe a model that no longer exists
    return file_checksum(folder / MODEL)


def run_text(run: RunDescription) -> str:
    """The text of run.json."""
    described = {HEADER: version("newtonnet"), "format": FORMAT, **asdict(run)}
    described["encoding"] = json.loads(run.encoding.to_json())
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
        if int(described["format"]) <= FORMAT:
            return RunDescription(**_parts(described))
    except (ValueError, KeyError, TypeError, AttributeError) as reason:
        raise ValueError(f"{path} cannot be read ({type(reason).__name__}: {reason}); fit again") from reason
    raise ValueError(f"{path} was written by a newer newtonnet; install that version")


def _parts(described: dict[str, Any]) -> dict[str, Any]:
    """The fields of a description from run.json."""
    parts = {field.name: described[field.name] for field in fields(RunDescription)}
    columns = parts["columns"]
    return parts | {
        "tables": {name: TableFile(**parts["tables"][name]) for name in ("nodes", "edges")},
        "columns": Columns(**{**columns, "unused": tuple(columns.get("unused", ()))}),
        "encoding": Encoding.from_json(json.dumps(parts["encoding"])),
        "class_names": tuple(parts["class_names"]),
    }


def file_checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def ids_checksum(names: Sequence[str]) -> str:
    """SHA-256 of ids in their order."""
    return hashlib.sha256(json.dumps(list(names)).encode()).hexdigest()


def predictions_table(graph: Graph, probabilities: NDArray[np.float64], classes: Sequence[str]) -> pa.Table:
    """Predictions with one row for each node, in the order of the graph, from probabilities of shape ``(n, C)``."""
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
    for batch in table.to_batches(max_chunksize=10_000):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            writer.writerow([f"{cell:.{DIGITS}f}" if isinstance(cell, float) else cell for cell in row])
    return text.getvalue()


def read_predictions(path: Path) -> pa.Table:
    """Read a file that :func:`predictions_csv` made."""
    texts = dict.fromkeys(("node", "label", "known"), pa.string())
    convert = ConvertOptions(column_types=texts, null_values=[""], strings_can_be_null=True)
    table = read_csv(path, parse_options=ParseOptions(newlines_in_values=True), convert_options=convert)
    if tuple(table.column_names[: len(FIXED)]) != FIXED:
        raise ValueError(f"{path} does not hold predictions; expected the columns {', '.join(FIXED)}, ...")
    return table


def round_rows(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round to millionths that sum to a million in every row: the largest remainders are rounded up.

    >>> round_rows(np.array([[1 / 3, 1 / 3, 1 / 3], [0.5, 0.25, 0.25]])).tolist()
    [[333334, 333333, 333333], [500000, 250000, 250000]]
    """
    scaled = probabilities / probabilities.sum(axis=1, keepdims=True) * 10**DIGITS
    parts = np.floor(scaled).astype(np.int64)
    lacking = 10**DIGITS - parts.sum(axis=1, keepdims=True)
    rank = np.argsort(np.argsort(parts - scaled, axis=1, kind="stable"), axis=1)
    return np.asarray(parts + (rank < lacking))
