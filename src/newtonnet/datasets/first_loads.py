"""Raw files that no known checksum vouches for: their sums at the first load, and whether they changed since."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from newtonnet.files import write_whole

from .cache import locked
from .raw_files import RawFile, cache_folder


class ChangedFileWarning(UserWarning):
    """A raw file whose bytes are not those of its first load."""


def first_loads_path() -> Path:
    """The record, in the format of sha256sum; who means a change deletes the file's line."""
    return cache_folder() / "first-loads.txt"


def judge_by_first_load(files: Sequence[RawFile]) -> tuple[RawFile, ...]:
    """The same files; an unverified one with other bytes than at its first load is ``changed``."""
    first = _recorded()
    return tuple(
        replace(file, status="changed", first_sha256=first[file.path])
        if file.status == "unverified" and first.get(file.path, file.sha256) != file.sha256
        else file
        for file in files
    )


def record_first_load(files: Sequence[RawFile]) -> None:
    """Record the unverified files that have no record yet."""
    if not _new(files):
        return
    with locked(first_loads_path()):
        sums = {**{file.path: file.sha256 for file in _new(files)}, **_recorded()}
        write_whole(first_loads_path(), "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(sums.items())))


def warn_of_changes(files: Sequence[RawFile]) -> None:
    """One warning for each file that changed."""
    for file in files:
        if file.status == "changed":
            warnings.warn(
                f"{file.path} changed since its first load: its sha256 was {file.first_sha256} and is {file.sha256}; "
                f"if that is meant, delete its line in {first_loads_path()}",
                ChangedFileWarning,
                stacklevel=4,  # who called load
            )


def _new(files: Sequence[RawFile]) -> list[RawFile]:
    recorded = _recorded()
    return [file for file in files if file.status == "unverified" and file.path not in recorded]


def _recorded() -> dict[str, str]:
    """Sums by path; lines that are no such pair are passed over."""
    try:
        lines = first_loads_path().read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.split(maxsplit=1) for line in lines)
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}
