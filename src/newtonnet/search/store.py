"""A study's trials in a file of JSON lines: the study in the first, then one for each trial, whole or not at all."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from .study import Study
from .trial import Trial


def store_path(results: str | Path, study: Study) -> Path:
    """The file of a study below a folder of results.

    >>> store_path("results", Study("cora", "", "mlp")).as_posix()
    'results/search/cora/mlp.jsonl'
    """
    return Path(results) / "search" / study.dataset / f"{study.name}.jsonl"


class BusyError(ValueError):
    """Another process has the study's file."""


@dataclass(frozen=True)
class Store:
    """The file of one study, held by this process alone; see :func:`open_store`."""

    path: Path
    header: str
    """Its first line."""

    def trials(self) -> list[Trial]:
        """All trials there are, in the order they were finished."""
        return read_trials(self.path)

    def append(self, trials: Sequence[Trial]) -> None:
        """Add the trials of one population, after the study if they are the first, and wait until they are on disk."""
        begun = self.path.exists() and self.path.stat().st_size > 0
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _append(self.path, [*([] if begun else [self.header]), *(trial.to_json() for trial in trials)])


@contextmanager
def open_store(results: str | Path, study: Study) -> Iterator[Store]:
    """Take a study's file for this process, mended if a crash has left half a line; a new one comes with its trials.

    Refused with a :class:`BusyError` where another process has it, and where it holds trials of another study.
    """
    path = store_path(results, study)
    lock = FileLock(lock_path(results, f"{study.dataset}-{study.name}"), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise BusyError(f"another process is searching {study.name} on {study.dataset} ({path})") from None
    try:
        header, trials, sound = _read(path)
        if trials and header is not None and header["key"] != study.key:
            raise ValueError(
                f"{path} holds another study ({_differences(header['study'], study.describe())}); "
                "move it away or name another folder of results"
            )
        if not trials:
            sound = 0  # of a study that was never begun
        if path.exists() and sound < path.stat().st_size:
            os.truncate(path, sound)
        yield Store(path, json.dumps({"key": study.key, "study": study.describe()}, separators=(",", ":")))
    finally:
        lock.release()


def read_trials(path: str | Path) -> list[Trial]:
    """The trials of a study's file, which is only read; those that a crash has cut off are left out."""
    return _read(Path(path))[1]


def read_study(path: str | Path) -> dict[str, Any] | None:
    """The description of the study that a file holds; None for a file that holds none."""
    header = _read(Path(path))[0]
    return None if header is None else header["study"]


def lock_path(results: str | Path, name: str) -> Path:
    """A file to lock, in a folder that git does not look into."""
    folder = Path(results) / "search" / ".locks"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    return folder / f"{name}.lock"


def _read(path: Path) -> tuple[dict[str, Any] | None, list[Trial], int]:
    """The first line, the trials, and how many bytes of the file are sound.

    A line counts when its end is there and it can be read, a trial when all that trained beside it are there too:
    anything else at the end of the file was being written when the writer was killed.
    """
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    header: dict[str, Any] | None = None
    trials: list[Trial] = []
    size = sound = whole = 0
    for i, line in enumerate(lines):
        try:
            if i == 0:
                header = _header(line)
            else:
                trials.append(Trial.from_json(line.decode()))
        except ValueError as error:
            if 0 < i == len(lines) - 1:
                break
            raise ValueError(f"{path}, line {i + 1}: {error}; mend it or move the file away") from error
        if header is None or (i > 0 and trials[-1].study != header["key"]):
            raise ValueError(f"{path}, line {i + 1}: a trial of another study; mend it or move the file away")
        size += len(line) + 1
        if i == 0 or trials[-1].number == trials[-1].beside[-1]:
            sound, whole = size, len(trials)
    numbers = [trial.number for trial in trials[:whole]]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"{path} holds a trial twice; mend it or move the file away")
    return header, trials[:whole], sound


def _header(line: bytes) -> dict[str, Any]:
    found = json.loads(line)
    if not isinstance(found, dict) or not isinstance(found.get("study"), dict) or "key" not in found:
        raise ValueError("expected a study with its key")
    lacking = {*(item.name for item in fields(Study)), "defaults", "numerics"} - found["study"].keys()
    if lacking:
        raise ValueError(f"expected a study with its {min(lacking)}")
    for name in ("space", "fixed", "defaults"):
        if not isinstance(found["study"][name], dict):
            raise ValueError(f"expected the study's {name} by name, got {found['study'][name]!r:.60}")
    return found


def _append(path: Path, lines: Sequence[str]) -> None:
    with path.open("ab") as file:
        file.write("".join(line + "\n" for line in lines).encode())
        file.flush()
        os.fsync(file.fileno())


def _differences(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    names = [name for name in ours if theirs.get(name) != ours[name]]
    simple = (str, int, float, bool, type(None))
    told = [
        f"{name} {theirs.get(name)}, here {ours[name]}" if isinstance(ours[name], simple) else f"another {name}"
        for name in names
    ]
    return "; ".join(told)
