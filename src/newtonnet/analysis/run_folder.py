"""The run folder: a model, its predictions, its page, and run.json, which says how the tables were read."""

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.csv import ConvertOptions, ParseOptions, read_csv

from newtonnet import __version__
from newtonnet.estimator import REGRESSOR, GraphEstimator, NewtonNetClassifier, NewtonNetRegressor, stored_kind
from newtonnet.files import (
    COMMITTED,
    OWN,
    check_writable,
    current,
    file_checksum,
    finish,
    locked,
    parse_json,
    whole_files,
    write_whole,
)
from newtonnet.graphs import Graph
from newtonnet.meaning import one_line
from newtonnet.tables import Columns, Encoding

FORMAT = 1
"""Version of run.json; raised when an older program could not read a newer folder."""

RUN, MODEL, PREDICTIONS, RECORDS = "run.json", "model.safetensors", "predictions.csv", "records.jsonl"
PAGE, CARD = "report.html", "model_card.md"
FILES = (RUN, MODEL, PREDICTIONS, RECORDS, PAGE, CARD)
"""Names of all files of a run."""
HEADER = "newtonnet"
FIXED = ("node", "label", "probability", "known")
"""Columns of the predictions before those of the classes: id, most probable class, its probability, given class."""
NUMBERS = ("node", "prediction", "known", "lower", "upper")
"""Columns of predicted numbers: id, number, given number, and the ends of its interval."""
ATTEMPTS = 20
"""How often a run is read that other processes replace meanwhile."""
SET, JOIN = "prediction_set", "|"
"""Column after these with the classes that are plausible for a node, and what is between their names."""
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
    if force or not folder.is_dir() or all(path.name.startswith(OWN) for path in folder.iterdir()):
        return
    try:
        described = parse_json(current(folder, RUN).read_bytes())
        held = described[HEADER] and described["tables"]["nodes"]["path"]
    except (OSError, ValueError, TypeError, KeyError):
        raise ValueError(
            f"{folder} is not empty and not a run folder; choose another, or write into it with --force"
        ) from None
    nodes = tables[0]
    if held is not None and (nodes is None or Path(held).resolve() != nodes.resolve()):
        raise ValueError(f"{folder} holds the run of {held}; choose another folder, or replace that run with --force")


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Make a folder and keep other processes from writing to it; one that was made in vain is removed again."""
    fresh = not folder.exists()
    busy = ValueError(f"another process is writing to {folder}; wait for it or name another folder")
    try:
        with locked(folder / f"{OWN}.lock", busy=busy):
            finish(folder)
            yield
    finally:
        if fresh:
            with suppress(OSError):  # it is not empty
                folder.rmdir()


def is_finished(folder: Path) -> bool:
    """Whether a folder holds a run that reached its end."""
    try:
        return bool(parse_json(current(folder, RUN).read_bytes())["finished"])
    except (OSError, ValueError, TypeError, KeyError):
        return False


def write_run(
    folder: Path,
    run: RunDescription,
    *,
    model: GraphEstimator | None = None,
    predictions: pa.Table | None = None,
    page: str | None = None,
    card: str = "",
) -> RunDescription:
    """Write the files of a run that are given, all in one step; the folder is locked. Returns it with its checksum."""
    with whole_files(folder) as new:
        if model is not None and predictions is not None:
            model.save(new / MODEL)
            run = replace(run, model=file_checksum(new / MODEL))
            (new / PREDICTIONS).write_bytes(predictions_csv(predictions).encode())
            lines = "".join(member.record.to_json() + "\n" for member in model.ensemble_.members)
            (new / RECORDS).write_bytes(lines.encode())
        if page is None:
            (folder / PAGE).unlink(missing_ok=True)  # there is no finished run that it could belong to
        else:
            (new / PAGE).write_bytes(page.encode())
        (new / CARD).write_bytes(card.encode())
        (new / RUN).write_bytes(run_text(run).encode())
    return run


def replace_predictions(folder: Path, run: RunDescription, predictions: pa.Table) -> None:
    """Write the predictions of a run that was read from the folder, unless another one is there by now."""
    with locked_folder(folder):
        check_same(folder, run)
        write_whole(folder / PREDICTIONS, predictions_csv(predictions))


def run_text(run: RunDescription) -> str:
    """The text of run.json."""
    described = {HEADER: __version__, "format": FORMAT, **asdict(run)}
    described["encoding"] = json.loads(run.encoding.to_json())
    if not run.columns.numbers:  # older programs do not know it
        del described["columns"]["numbers"]
    return json.dumps(described, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def read_run(folder: Path) -> tuple[RunDescription, GraphEstimator]:
    """Read a run and its model; refused if either is damaged or newer, or if they do not belong together."""
    for _ in range(ATTEMPTS):
        before = _version(folder)
        try:
            found = _read_run(folder)
            if _version(folder) == before:
                return found
        except (ValueError, FileNotFoundError):
            if _version(folder) == before:
                raise
    raise ValueError(f"{folder} is replaced again and again while it is read; wait for the processes that write to it")


def _version(folder: Path) -> tuple[bool, int, int]:
    """What changes when another process replaces the run of a folder, also if by the same one."""
    try:
        found = current(folder, RUN).stat()
        return (folder / COMMITTED).exists(), found.st_ino, found.st_mtime_ns
    except OSError:
        return False, 0, 0


def check_same(folder: Path, run: RunDescription) -> None:
    """Refuse a folder whose run is not, or no longer, the given one."""
    if _description(current(folder, RUN)).model != run.model:
        raise ValueError(f"{folder} has got another run since it was read; read it again")


def _read_run(folder: Path) -> tuple[RunDescription, GraphEstimator]:
    if not current(folder, RUN).is_file():
        raise ValueError(f"{folder} is not a run folder: it has no {RUN}; give the folder that newtonnet fit wrote")
    run, path = _description(current(folder, RUN)), current(folder, MODEL)
    kind = NewtonNetRegressor if stored_kind(path) == REGRESSOR else NewtonNetClassifier
    classifier: GraphEstimator = kind.load(path)
    features = len(run.encoding.feature_names) or classifier.n_features_in_
    fits = run.class_names == classifier.ensemble_.class_names and features == classifier.n_features_in_
    if not fits or file_checksum(path) != run.model:
        raise ValueError(f"{folder / MODEL} is not the model that {RUN} describes; fit it again")
    return run, classifier


def _description(path: Path) -> RunDescription:
    try:
        described = parse_json(path.read_bytes())
        if int(described["format"]) <= FORMAT:
            return RunDescription(**_parts(described))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as reason:
        raise ValueError(f"{path} cannot be read ({type(reason).__name__}: {one_line(reason)}); fit again") from reason
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


def ids_checksum(names: Sequence[str]) -> str:
    """SHA-256 of ids in their order."""
    return hashlib.sha256(json.dumps(list(names)).encode()).hexdigest()


def predictions_table(
    graph: Graph,
    probabilities: NDArray[np.float64],
    classes: Sequence[str],
    sets: NDArray[np.bool_] | None = None,
    predicted: NDArray[np.int64] | None = None,
    *,
    added: int = 0,
) -> pa.Table:
    """Predictions with one row for each node but the ``added`` last ones, from probabilities of shape ``(n, C)``.

    ``sets`` says which classes belong to a node's prediction set, ``(n, C)``; their names are joined, the most probable
    first. ``predicted`` is the class of each node, ``(n,)``, the most probable one if not given.
    """
    rows = graph.nodes - added
    probabilities = probabilities[:rows]
    shares = round_rows(probabilities) / 10**DIGITS
    names = np.array([*classes, None], dtype=object)
    best = probabilities.argmax(axis=1) if predicted is None else predicted[:rows]
    columns = {
        "node": pa.array(graph.node_names[:rows], pa.string()),
        "label": pa.array(names[best], pa.string()),
        "probability": shares[np.arange(len(best)), best],
        "known": pa.array(names[graph.labels[:rows]], pa.string()),  # -1, unknown, is the last name, None
    }
    if sets is not None:
        order = np.argsort(-shares, axis=1, kind="stable")
        named = ([classes[c] for c in falling if own[c]] for falling, own in zip(order, sets[:rows], strict=True))
        columns[SET] = pa.array([JOIN.join(row) for row in named], pa.string())
    return pa.table({**columns, **{f"p({name})": shares[:, place] for place, name in enumerate(classes)}})


def numbers_table(
    graph: Graph, predicted: NDArray[np.float64], intervals: NDArray[np.float64] | None, *, added: int = 0
) -> pa.Table:
    """Predicted numbers ``(n,)`` with one row for each node but the ``added`` last ones.

    ``intervals`` are the ends of each node's interval, ``(n, 2)``; the columns are blank without them.
    """
    rows = graph.nodes - added
    known = graph.truth.astype(np.float64) if graph.targets is not None else np.full(graph.nodes, np.nan)
    ends = np.full((graph.nodes, 2), np.nan) if intervals is None else intervals
    numbers = (predicted[:rows], known[:rows], ends[:rows, 0], ends[:rows, 1])
    columns = [pa.array(one, pa.float64(), from_pandas=True) for one in numbers]
    return pa.table([pa.array(graph.node_names[:rows], pa.string()), *columns], names=list(NUMBERS))


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A text that begins with one of these is a formula for spreadsheets."""


def formula_warning(graph: Graph) -> str | None:
    """A warning if ids or classes would be formulas in a spreadsheet."""
    found = next((name for name in (*graph.class_names, *graph.node_names) if name.startswith(FORMULA)), None)
    if found is None:
        return None
    return f"a spreadsheet takes some ids or classes, such as {found!r}, for formulas; see --spreadsheet-safe"


def spreadsheet_safe(table: pa.Table) -> pa.Table:
    """Predictions with an apostrophe before every text that a spreadsheet would take for a formula."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            texts = [f"'{text}" if text and text.startswith(FORMULA) else text for text in table[place].to_pylist()]
            table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table


def predictions_csv(table: pa.Table) -> str:
    """Predictions as the text of a CSV file; an unknown class or number is blank."""
    text = io.StringIO()
    digits = ".9g" if tuple(table.column_names) == NUMBERS else f".{DIGITS}f"
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches(max_chunksize=10_000):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            writer.writerow([format(cell, digits) if isinstance(cell, float) else cell for cell in row])
    return text.getvalue()


def read_predictions(path: Path) -> pa.Table:
    """Read a file that :func:`predictions_csv` made."""
    try:
        with path.open(encoding="utf-8") as file:
            numbers = file.readline().strip() == ",".join(NUMBERS)
        types = dict.fromkeys(("node", "label", "known", SET), pa.string())
        if numbers:
            types = {name: pa.string() if name == "node" else pa.float64() for name in NUMBERS}
        convert = ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True)
        table = read_csv(path, parse_options=ParseOptions(newlines_in_values=True), convert_options=convert)
    except (pa.ArrowException, UnicodeDecodeError) as reason:
        raise ValueError(f"{path} does not hold predictions ({one_line(reason)})") from reason
    if not numbers and tuple(table.column_names[: len(FIXED)]) != FIXED:
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
