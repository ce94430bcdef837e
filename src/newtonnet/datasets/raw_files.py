"""Raw files of data sets: where they are, how missing ones are downloaded, and whether their checksums are known."""

import logging
import os
import socket
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Literal

from newtonnet import files
from newtonnet.meaning import lacking

from .entries import DatasetEntry

PATIENCE = 30.0
"""Seconds without an answer from a server after which a download has failed."""

Status = Literal["original", "remade", "unverified", "changed"]
"""``unverified``: no checksum is known; ``changed``: the same, and the bytes are not those of the first load."""


class DatasetNotFoundError(ValueError):
    """A data set that is not in the catalogue, or whose files are missing."""


class ChecksumError(ValueError):
    """A raw file whose bytes are not the known ones."""


class ChangedFileWarning(UserWarning):
    """A raw file whose bytes are not those of its first load."""


@dataclass(frozen=True)
class RawFile:
    """One raw file as it was found.

    Attributes:
        path: path below the data root.
        sha256: checksum of its bytes.
        status: what is known about that checksum.
        first_sha256: checksum at the first load, for a file that has changed since.
    """

    path: str
    sha256: str
    status: Status
    first_sha256: str | None = None


# Folders


def cache_folder() -> Path:
    """The folder for everything that this package writes on its own.

    ``$NEWTONNET_CACHE``, else ``$XDG_CACHE_HOME/newtonnet``, else ``~/.cache/newtonnet``.
    """
    shared = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.environ.get("NEWTONNET_CACHE") or f"{shared}/newtonnet").expanduser()


def download_root() -> Path:
    """The folder of downloaded raw files."""
    return cache_folder() / "raw"


def data_roots(data_root: str | os.PathLike[str] | None = None) -> list[Path]:
    """Folders that may hold raw files: the given one or ``$NEWTONNET_DATA``, which is only read, then the downloads."""
    named = os.environ.get("NEWTONNET_DATA") if data_root is None else data_root
    if not named:
        return [download_root()]
    given, what = Path(named).expanduser(), "NEWTONNET_DATA" if data_root is None else "the data root"
    if not given.is_dir():
        raise DatasetNotFoundError(f"{what} {str(given)!r} is not a folder; expected one with raw files")
    return [given, download_root()]


def find_root(paths: Sequence[str], roots: Sequence[Path]) -> Path | None:
    """The first root that holds all the files, or None."""
    return next((root for root in roots if all((root / path).is_file() for path in paths)), None)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file that is about to be written; another process waits here."""
    try:
        files.make_folder(path.parent)
    except OSError as reason:
        raise OSError(f"cannot write to the cache folder {path.parent} ({reason}); set NEWTONNET_CACHE") from reason
    with files.locked(path.with_suffix(".lock")):
        yield


def scratch() -> AbstractContextManager[Path]:
    """A temporary folder in the cache."""
    return files.scratch(cache_folder(), "work-")


# Checksums


def inspect(entry: DatasetEntry, root: Path) -> tuple[RawFile, ...]:
    """Compute the checksums of the raw files below a data root: the required ones, and fixed splits if they exist.

    An unverified file with other bytes than at its first load is ``changed``; one that differs from a known original
    raises an error.
    """
    splits = [entry.splits] if entry.splits and (root / entry.splits).is_file() else []
    first = _recorded()
    return tuple(_inspect(root / path, path, first.get(path)) for path in (*entry.files, *splits))


def _inspect(location: Path, path: str, first: str | None) -> RawFile:
    found = files.file_checksum(location)
    known = known_sums()
    if status := known.get((path, found)):
        return RawFile(path, found, status)
    originals = [sha256 for (name, sha256), status in known.items() if name == path and status == "original"]
    if originals:
        raise ChecksumError(
            f"wrong checksum of {location}: expected sha256 {' or '.join(originals)}, got {found}; the file is damaged "
            "or a different one: download it again"
        )
    return RawFile(path, found, "unverified") if first in (None, found) else RawFile(path, found, "changed", first)


@cache
def known_sums() -> dict[tuple[str, str], Status]:
    """Status of every known pair of path and sha256, from ``checksums.txt``."""
    status: Status = "original"
    known: dict[tuple[str, str], Status] = {}
    for line in (resources(__package__) / "checksums.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# Remade"):
            status = "remade"
        if line and not line.startswith("#"):
            sha256, path = line.split(maxsplit=1)
            known[path, sha256] = status
    return known


# Checksums at the first load, for files without a known one


def first_loads_path() -> Path:
    """The record in the format of sha256sum; delete a line to accept a changed file."""
    return cache_folder() / "first-loads.txt"


def record_first_load(found: Sequence[RawFile]) -> None:
    """Record the unverified files that have no record yet, and warn of each file that has changed since."""
    sums = {file.path: file.sha256 for file in found if file.status == "unverified"}
    if not sums.keys() <= _recorded().keys():
        with locked(first_loads_path()):
            sums |= _recorded()
            files.write_whole(
                first_loads_path(), "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(sums.items()))
            )
    announce([file for file in found if file.status == "unverified"])
    for file in found:
        if file.status == "changed":
            warnings.warn(
                f"{file.path} changed since its first load: its sha256 was {file.first_sha256} and is {file.sha256}; "
                f"if this is intended, delete its line in {first_loads_path()}",
                ChangedFileWarning,
                stacklevel=4,  # the caller of load
            )


def announce(found: Sequence[RawFile]) -> None:
    """Say which files have no known checksum."""
    for file in found:
        if file.status in ("unverified", "changed"):
            logging.getLogger("newtonnet").warning("%s has no known checksum; its sha256 is %s", file.path, file.sha256)


def _recorded() -> dict[str, str]:
    """Checksums by path; other lines are skipped."""
    try:
        lines = first_loads_path().read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.split(maxsplit=1) for line in lines)
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}


# Downloads


def download(entry: DatasetEntry, *, wanted: Path) -> Path:
    """Download the raw files of a data set, check them, keep them only if they are complete, and return their folder.

    ``wanted`` is the folder where the message of a failed download asks the user to put them.
    """
    try:
        from .sources import download_source  # imports torch_geometric
    except Exception as error:  # a broken installation can raise anything
        raise lacking(f"downloading data set {entry.name!r} needs PyTorch Geometric", "pyg", error) from None
    place, timeout = download_root(), socket.getdefaulttimeout()
    with scratch() as work:
        try:
            socket.setdefaulttimeout(PATIENCE)
            download_source(entry, work)
            found = inspect(entry, work)
        except ChecksumError:
            raise
        except Exception as reason:  # anything that the network or the dataset class may raise
            raise DatasetNotFoundError(_missing(entry, reason, wanted)) from reason
        finally:
            socket.setdefaulttimeout(timeout)
        for file in found:
            files.make_folder((place / file.path).parent)
            files.sync(work / file.path)
            files.rename(work / file.path, place / file.path)
    return place


def _missing(entry: DatasetEntry, reason: Exception, wanted: Path) -> str:
    lacking = [wanted / path for path in entry.files if not (wanted / path).is_file()]
    folders = dict.fromkeys(path.parent for path in lacking)
    where = " and ".join(f"{', '.join(p.name for p in lacking if p.parent == f)} into {f}" for f in folders)
    because = " ".join(str(reason).split()) or type(reason).__name__
    return f"data set {entry.name!r} is not here: put {where} (from {entry.source}; the download failed: {because})"
