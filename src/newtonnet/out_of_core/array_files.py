"""Arrays in files: room is reserved first, so that a full disk gives one clear error and leaves nothing behind."""

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.files import parse_json, rename, scratch, sync, write_whole
from newtonnet.graphs import hash_arrays, in_pieces, read_rows, row_chunks

FORMAT = 1
"""Of graphs, adjacencies and feature stores on disk; other formats are refused."""
WHOLE = 1 << 30
"""Bytes up to which everything is compared with its checksum when it is opened; of more, only samples."""
SAMPLES = 16
"""Number of pieces in a sample."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""System errors that mean: no room left on the disk, in the quota or in the file."""


def reserve(sizes: Mapping[Path, int]) -> None:
    """Create files of these sizes in bytes, or none of them if the disk has no room for all.

    The room is allocated for real: in a sparse file, a later write through a memory map could kill the process.
    """
    made: list[Path] = []
    try:
        for path, size in sizes.items():
            with path.open("xb") as stream:
                made.append(path)
                if size and hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(stream.fileno(), 0, size)
                else:
                    stream.truncate(size)
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
        raise full_disk(error, path.parent, sum(sizes.values())) from error


def full_disk(error: OSError, folder: Path, size: int | None = None) -> OSError:
    """The same error, or a clear one if it means that the disk is full."""
    if error.errno not in FULL:
        return error
    needed, room = "more room" if size is None else f"{size / 1e6:,.1f} MB", ""
    with suppress(OSError):
        room = f", {shutil.disk_usage(folder).free / 1e6:,.1f} MB are free"
    return OSError(f"no room in {folder}: {needed} needed{room}; free some or name a folder on another disk")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder to build in; it is renamed to ``folder`` at the end and removed after an error."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} already exists; remove it or name another folder")
    try:
        with scratch(folder.parent, f".{folder.name}.building-") as building:
            new = building / folder.name
            new.mkdir()
            yield new
            for path in (*new.rglob("*"), new):
                sync(path)
            rename(new, folder)
    except OSError as error:
        raise full_disk(error, folder.parent) from error


def write_manifest(path: Path, about: Mapping[str, Any]) -> None:
    """Write what :func:`read_manifest` reads."""
    write_whole(path, json.dumps({"format": FORMAT, **about}) + "\n")


@contextmanager
def read_manifest(path: Path, holds: str, *, again: str) -> Iterator[dict[str, Any]]:
    """Yield what a manifest says; if it, or what the caller looks for in it, is missing, the error says what to do."""
    try:
        about = parse_json(path.read_bytes())
        if about["format"] != FORMAT:
            raise ValueError(f"{path.parent} has format {about['format']!r:.60}, expected {FORMAT}; {again}")
        yield about
    except FileNotFoundError:
        raise ValueError(f"{path.parent} holds no {holds}") from None
    except (KeyError, TypeError, OverflowError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read ({type(error).__name__}: {error}); {again}") from error


def checked_count(value: object) -> int:
    """A number of things from a manifest."""
    if type(value) is not int or not 0 <= value < 2**62:
        raise TypeError(f"expected a number of things, got {value!r:.60}")
    return value


def sample_checksum(*arrays: NDArray[Any], columns: slice | None = None) -> str:
    """Short hash of the sizes of arrays and of :data:`SAMPLES` pieces of each, the first and the last among them.

    With ``columns``, only these columns count.
    """
    parts = []
    for array in arrays:
        width = array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
        pieces = list(row_chunks(len(array), SAMPLES * width))
        chosen = sorted({i * (len(pieces) - 1) // (SAMPLES - 1) for i in range(SAMPLES)}) if pieces else []
        parts += [np.array([len(array)]), *(read_rows(array, pieces[i]) for i in chosen)]
    parts = parts if columns is None else [part if part.ndim == 1 else part[:, columns] for part in parts]
    return hash_arrays(*parts)


def check_sums(
    arrays: Sequence[NDArray[Any]], *, whole: str, sample: str | None, verify: bool | None, where: Path, again: str
) -> None:
    """Compare arrays with the hash of all of them, or with that of a sample.

    Args:
        arrays: mapped from files.
        whole: what ``hash_arrays`` gave when they were written.
        sample: what :func:`sample_checksum` gave; None in folders from before there were samples.
        verify: True reads everything, False nothing; None reads everything up to :data:`WHOLE` bytes, else samples.
        where: for the message.
        again: what to do, for the message.
    """
    small = sum(array.nbytes for array in arrays) <= WHOLE
    if verify or (verify is None and small):
        same = hash_arrays(*arrays) == whole
    else:
        same = verify is False or sample is None or sample_checksum(*arrays) == sample
    if not same:
        raise ValueError(f"{where} was changed after it was written: its checksum differs; {again}")


def check_range(array: NDArray[np.integer[Any]], low: int, high: int, where: Path) -> None:
    """Every number of a file is at least ``low`` and below ``high``; it may have been edited."""
    for piece in in_pieces(array):
        if piece.min() < low or piece.max() >= high:
            raise ValueError(f"{where} holds numbers outside {low}..{high - 1}; build the folder again")


def read_array(path: Path, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Map a file as a read-only array; a file of another size is an error."""
    expected = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if not path.exists():
        raise ValueError(f"{path} is missing; build the folder again")
    if (found := path.stat().st_size) != expected:
        raise ValueError(f"{path} has {found} bytes, expected {expected}; build the folder again")
    if expected == 0:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype=dtype, mode="r", shape=shape)


def take_rows(array: NDArray[Any], indices: NDArray[np.int64], out: NDArray[Any], *, window: int) -> None:
    """Copy the rows at ascending indices; at most ``window`` bytes of a file are mapped at a time, none afterwards.

    The system counts every page near an accessed one as memory of this process until it is unmapped.
    """
    if not isinstance(array, np.memmap):
        np.take(array, indices, axis=0, out=out, mode="clip")  # the default mode copies twice
        return
    width = array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    step = max(1, window // width)
    starts = np.arange(0, len(array), step)
    cuts = np.append(np.searchsorted(indices, starts), len(indices))
    for i in np.flatnonzero(np.diff(cuts)):
        start, chosen = int(starts[i]), slice(cuts[i], cuts[i + 1])
        shape = (min(step, len(array) - start), *array.shape[1:])
        rows = np.memmap(str(array.filename), dtype=array.dtype, mode="r", offset=start * width, shape=shape)
        np.take(rows, indices[chosen] - start, axis=0, out=out[chosen], mode="clip")
