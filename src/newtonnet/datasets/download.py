"""Raw files that are not here, by way of the dataset class's own download."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

from .cache import scratch
from .entry import Entry
from .raw_files import ChecksumError, DatasetNotFoundError, download_root, inspect, present_files

PATIENCE = 30.0
"""Seconds that a server may stay silent before a download counts as failed."""


def download(entry: Entry, *, wanted: Path) -> Path:
    """Fetch the raw files with the dataset class's own download, check them, and keep them only if they are whole.

    Args:
        entry: the data set.
        wanted: the folder where a message tells the user to put them.

    Returns:
        The folder that holds them now.
    """
    from .sources import read_source

    place = download_root()
    with scratch() as work:

        def keep() -> None:
            inspect(work, present_files(entry, work))
            for path in present_files(entry, work):
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                (work / path).replace(place / path)
            raise _KeptError

        try:
            with _silence_limit():
                read_source(entry.kind, entry.options, root=work / entry.root, processed=work / "processed", check=keep)
        except _KeptError:
            return place
        except ChecksumError:
            raise
        except Exception as reason:  # whatever the network or the class's way to it may raise
            raise DatasetNotFoundError(_missing(entry, reason, wanted)) from reason
    raise AssertionError("a dataset class that does not process its files")


class _KeptError(Exception):
    """The raw files are in place: parsing starts anew from there."""


def _missing(entry: Entry, reason: Exception, wanted: Path) -> str:
    lacking = [wanted / path for path in entry.files if not (wanted / path).is_file()]
    folders = dict.fromkeys(path.parent for path in lacking)
    where = " and ".join(f"{', '.join(p.name for p in lacking if p.parent == f)} into {f}" for f in folders)
    because = " ".join(str(reason).split()) or type(reason).__name__
    return f"data set {entry.name!r} is not here: put {where} (from {entry.source}; the download failed: {because})"


@contextlib.contextmanager
def _silence_limit() -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
