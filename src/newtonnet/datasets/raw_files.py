"""Raw files: where they are looked for, and whether their bytes are the known ones."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Literal

from .entry import Entry

Status = Literal["original", "remade", "unverified", "changed"]
"""``unverified``: no sum is known; ``changed``: that, and its bytes are not those of the first load."""


class DatasetNotFoundError(ValueError):
    """A data set that is not in the catalogue, or whose files are not there."""


class ChecksumError(ValueError):
    """A raw file whose bytes are not the known ones."""


@dataclass(frozen=True)
class RawFile:
    """One raw file as it was found.

    Attributes:
        path: below the data root.
        sha256: of its bytes.
        status: what is known of that sum.
        first_sha256: the sum at the first load, of a file that changed since.
    """

    path: str
    sha256: str
    status: Status
    first_sha256: str | None = None


def cache_folder() -> Path:
    """Where everything that this package writes by itself goes.

    ``$NEWTONNET_CACHE``, else ``$XDG_CACHE_HOME/newtonnet``, else ``~/.cache/newtonnet``.
    """
    if own := os.environ.get("NEWTONNET_CACHE"):
        return Path(own).expanduser()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "newtonnet"
    return Path.home() / ".cache" / "newtonnet"


def download_root() -> Path:
    """Where downloaded raw files are kept."""
    return cache_folder() / "raw"


def data_roots(data_root: str | os.PathLike[str] | None = None) -> list[Path]:
    """Folders that may hold raw files: the given one or ``$NEWTONNET_DATA``, then the downloads.

    The given folder is only ever read.
    """
    named = os.environ.get("NEWTONNET_DATA") if data_root is None else data_root
    if not named:
        return [download_root()]
    given, what = Path(named).expanduser(), "NEWTONNET_DATA" if data_root is None else "the data root"
    if not given.is_dir():
        raise DatasetNotFoundError(f"{what} {str(given)!r} is not a folder; name one that holds raw files")
    return [given, download_root()]


def find_root(paths: Sequence[str], roots: Sequence[Path]) -> Path | None:
    """The first root that holds all the files, or None."""
    return next((root for root in roots if all((root / path).is_file() for path in paths)), None)


def present_files(entry: Entry, root: Path) -> tuple[str, ...]:
    """The raw files that are used: those that must be there, and the fixed splits if they are."""
    return (*entry.files, *([entry.splits] if entry.splits and (root / entry.splits).is_file() else []))


def inspect(root: Path, paths: Sequence[str]) -> tuple[RawFile, ...]:
    """Hash raw files and judge them; a file whose original sum is known and that differs from it is refused.

    Args:
        root: the folder that the paths start from.
        paths: files that exist.
    """
    return tuple(_judge(root / path, path) for path in paths)


def _judge(location: Path, path: str) -> RawFile:
    with location.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    known = known_sums()
    if status := known.get((path, found)):
        return RawFile(path, found, status)
    originals = [sha256 for (name, sha256), status in known.items() if name == path and status == "original"]
    if originals:
        raise ChecksumError(
            f"wrong checksum of {location}: expected sha256 {' or '.join(originals)}, got {found}; "
            "the file is damaged or another one, fetch it again"
        )
    return RawFile(path, found, "unverified")


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
