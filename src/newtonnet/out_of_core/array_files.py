"""Arrays in files: room is reserved first, so that a full disk gives one clear error and leaves nothing behind."""

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.files import write_whole

FORMAT = 1
"""Of graphs, adjacencies and feature stores on disk; other formats are refused."""
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
    building = folder.with_name(f".{folder.name}.building")
    shutil.rmtree(building, ignore_errors=True)  # left by a killed process
    try:
        building.mkdir(parents=True)
        yield building
        building.replace(folder)
    except OSError as error:
        raise full_disk(error, folder.parent) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)


def write_manifest(path: Path, about: Mapping[str, Any]) -> None:
    """Write what :func:`read_manifest` reads."""
    write_whole(path, json.dumps({"format": FORMAT, **about}) + "\n")


@contextmanager
def read_manifest(path: Path, holds: str, *, again: str) -> Iterator[dict[str, Any]]:
    """Yield what a manifest says; if it, or what the caller looks for in it, is missing, the error says what to do."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        if about["format"] != FORMAT:
            raise ValueError(f"{path.parent} has format {about['format']}, expected {FORMAT}; {again}")
        yield about
    except FileNotFoundError:
        raise ValueError(f"{path.parent} holds no {holds}") from None
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} cannot be read ({error}); {again}") from error


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
