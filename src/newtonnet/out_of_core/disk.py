"""Files of a known size, for which the room is taken first: a full disk is one clear line and leaves nothing behind."""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.graphs import read_rows

CHUNK = 1 << 22
"""Bytes that are read, written or hashed at once."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where a disk, a share of it or a file has no room left."""


def reserve(sizes: Mapping[Path, int]) -> None:
    """Make new files of these sizes in bytes; where one has no room, none of them stays.

    A file that is only promised its length would let a later write through a memory map end the process.
    """
    made: list[Path] = []
    try:
        for path, size in sizes.items():
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            made.append(path)
            try:
                _take_room(handle, size)
            finally:
                os.close(handle)
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
        raise full_disk(error, path.parent, sum(sizes.values())) from error


def _take_room(handle: int, size: int) -> None:
    if size == 0:
        return
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
    else:
        os.ftruncate(handle, size)


def full_disk(error: OSError, folder: Path, size: int | None = None) -> OSError:
    """The error itself, or one clear line where it says that a disk is full."""
    if error.errno not in FULL:
        return error
    needed = "more room" if size is None else f"{size / 1e6:,.1f} MB"
    try:
        room = f", {shutil.disk_usage(folder).free / 1e6:,.1f} MB are free"
    except OSError:
        room = ""
    return OSError(f"no room in {folder}: {needed} needed{room}; free some or name a folder on another disk")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder beside ``folder`` to build in; it becomes ``folder`` at the end, or goes where an error ends it."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} is there already; remove it or name another folder")
    building = folder.with_name(f".{folder.name}.building")
    shutil.rmtree(building, ignore_errors=True)  # of a process that was killed
    try:
        building.mkdir(parents=True)
        yield building
        building.replace(folder)
    except OSError as error:
        raise full_disk(error, folder.parent) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)


def read_array(path: Path, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """A file as an array that is read where it is looked at; refused where its size is another."""
    expected = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    try:
        found = path.stat().st_size
    except FileNotFoundError:
        raise ValueError(f"{path} is missing; build the folder again") from None
    if found != expected:
        raise ValueError(f"{path} has {found} bytes, expected {expected}; build the folder again")
    if expected == 0:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype=dtype, mode="r", shape=shape)


def take_rows(array: NDArray[Any], places: NDArray[np.int64], out: NDArray[Any], *, window: int) -> None:
    """Copy the rows at ascending places; of a file so many bytes are mapped at a time, and none stays mapped.

    The system counts every page near one that was looked at as this process's memory until it is unmapped.
    """
    if not isinstance(array, np.memmap):
        np.take(array, places, axis=0, out=out, mode="clip")  # the default mode copies twice
        return
    width = array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    step = max(1, window // width)
    starts = np.arange(0, len(array), step)
    cuts = np.append(np.searchsorted(places, starts), len(places))
    for i in np.flatnonzero(np.diff(cuts)):
        start, chosen = int(starts[i]), slice(cuts[i], cuts[i + 1])
        shape = (min(step, len(array) - start), *array.shape[1:])
        rows = np.memmap(str(array.filename), dtype=array.dtype, mode="r", offset=start * width, shape=shape)
        np.take(rows, places[chosen] - start, axis=0, out=out[chosen], mode="clip")


def hash_arrays(*arrays: NDArray[Any]) -> str:
    """Short hash of types, shapes and contents, read some rows at a time."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str((array.dtype.str, array.shape)).encode())
        for rows in row_chunks(len(array), array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))):
            digest.update(read_rows(array, rows).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]


def row_chunks(rows: int, width: int) -> Iterator[slice]:
    """Slices of so many rows of ``width`` bytes that hold about :data:`CHUNK` bytes each.

    >>> [part.stop for part in row_chunks(5, CHUNK // 2)]
    [2, 4, 5]
    """
    step = max(1, CHUNK // max(width, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))
