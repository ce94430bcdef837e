"""A run folder: what ``fit`` leaves behind, how it is written, and how ``predict`` reads it again."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from newtonnet.estimator import NewtonNetClassifier
from newtonnet.files import write_whole
from newtonnet.tables import Columns, Encoding

from .splits import check_writable

FORMAT = 1
"""Version of run.json; raised when an older program could not read a newer folder."""

MODEL, PREDICTIONS, PAGE, RECORDS, RUN = (
    "model.safetensors",
    "predictions.csv",
    "report.html",
    "records.jsonl",
    "run.json",
)
HEADER = "newtonnet"


@dataclass(frozen=True)
class TableFile:
    """A table that was read: where it was, and what it held."""

    path: str
    sha256: str


@dataclass(frozen=True)
class Run:
    """What run.json holds: everything that is needed to read tables in the same way, and how the run went."""

    nodes: TableFile
    edges: TableFile
    columns: Columns
    text_encoding: str
    encoding: Encoding
    class_names: tuple[str, ...]
    ids: str
    """Checksum of the nodes' ids in order: a model whose nodes have no features knows them by their place."""
    model: str
    """Checksum of the model file."""
    arguments: Mapping[str, Any]
    finished: bool
    """False while later steps are still to come."""
    outcome: Mapping[str, Any]
    """Scores and the like, as ``fit --json`` prints them."""


OWN = (RUN, MODEL, PREDICTIONS, RECORDS, PAGE)
"""Names of all files of a run."""


def check_folder(folder: Path, *, nodes: Path, force: bool) -> None:
    """Refuse a place that cannot become the run folder of a table of nodes, before any work is done for it."""
    check_writable(folder / RUN)
    if force or not folder.is_dir() or not any(folder.iterdir()):
        return
    if not _is_ours(folder):
        raise ValueError(f"{folder} is not empty and no run folder; name another, or use --force to write into it")
    held = _table_of(folder)
    if held is not None and held.resolve() != nodes.resolve():
        raise ValueError(f"{folder} holds the run of {held}; name another folder, or use --force to replace that run")


def check_not_read(folder: Path, tables: Sequence[Path]) -> None:
    """Refuse tables that the run would write over."""
    for table in tables:
        if table.resolve() in {(folder / name).resolve() for name in OWN}:
            raise ValueError(f"{table} is a file that this run would write over; copy it to another place first")


def _is_ours(folder: Path) -> bool:
    try:
        return HEADER in json.loads((folder / RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def _table_of(folder: Path) -> Path | None:
    """The table of nodes that a run was fitted on; None where it does not tell, as of one that is damaged."""
    try:
        return Path(json.loads((folder / RUN).read_text(encoding="utf-8"))["tables"]["nodes"]["path"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_model(folder: Path, classifier: NewtonNetClassifier, predictions: str) -> str:
    """Write the model, what it predicts and its records; an older page goes. Returns the model's checksum."""
    classifier.save(folder / MODEL)
    write_whole(folder / PREDICTIONS, predictions)
    lines = [member.record.to_json() + "\n" for member in classifier.ensemble_.members]
    write_whole(folder / RECORDS, "".join(lines))
    # It would describe a model that is no longer there.
    (folder / PAGE).unlink(missing_ok=True)
    return file_checksum(folder / MODEL)


def run_text(run: Run) -> str:
    """What run.json holds."""
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


def write_run(folder: Path, run: Run) -> None:
    """Write run.json."""
    write_whole(folder / RUN, run_text(run))


def read_run(folder: Path) -> tuple[Run, NewtonNetClassifier]:
    """The run and its model; refused where either is damaged, newer, or the two do not belong together."""
    if not (folder / RUN).is_file():
        raise ValueError(f"{folder} is no run folder: it has no {RUN}; give the folder that newtonnet fit wrote")
    run = _read(folder / RUN)
    classifier = NewtonNetClassifier.load(folder / MODEL)
    features = len(run.encoding.feature_names) or classifier.n_features_in_
    fits = run.class_names == classifier.ensemble_.class_names and features == classifier.n_features_in_
    if not fits or file_checksum(folder / MODEL) != run.model:
        raise ValueError(f"{folder / MODEL} is not the model that {RUN} describes; fit it again")
    return run, classifier


def _read(path: Path) -> Run:
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
        if int(described["format"]) > FORMAT:
            raise _NewerError
        return Run(
            nodes=TableFile(**described["tables"]["nodes"]),
            edges=TableFile(**described["tables"]["edges"]),
            columns=_columns(described["columns"]),
            text_encoding=described["text_encoding"],
            encoding=Encoding.from_json(json.dumps(described["encoding"])),
            class_names=tuple(described["class_names"]),
            ids=described["ids"],
            model=described["model"],
            arguments=described["arguments"],
            finished=described["finished"],
            outcome=described["outcome"],
        )
    except _NewerError:
        raise ValueError(f"{path} was written by a newer newtonnet; install that one") from None
    except (ValueError, KeyError, TypeError) as reason:
        raise ValueError(f"{path} cannot be read ({type(reason).__name__}: {reason}); fit again") from reason


class _NewerError(Exception):
    """The folder was written by a newer program."""


def file_checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def ids_checksum(names: Sequence[str]) -> str:
    """SHA-256 of ids in their order."""
    return hashlib.sha256(json.dumps(list(names)).encode()).hexdigest()


def _columns(described: Mapping[str, Any]) -> Columns:
    return Columns(**{**described, "unused": tuple(described.get("unused", ()))})
