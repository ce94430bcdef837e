"""Arrays that may lie in a file: read some rows at a time, so that nothing of the file stays mapped."""

import mmap
from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

CHUNK = 1 << 22
"""Bytes that are looked at together."""


def read_rows(array: NDArray[Any], rows: slice) -> NDArray[Any]:
    """A copy of some rows of an array; from a file by plain reading, so that nothing of it stays mapped."""
    if not _is_file(array):
        return np.array(array[rows])
    width = int(np.prod(array.shape[1:], dtype=np.int64))
    count = max(rows.stop - rows.start, 0)
    offset = array.offset + rows.start * width * array.itemsize
    flat = np.fromfile(str(array.filename), array.dtype, count * width, offset=offset)
    return flat.reshape(count, *array.shape[1:])


def in_pieces(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """All rows in order, contiguous, about :data:`CHUNK` bytes at a time; copied only where they must be.

    >>> [piece.tolist() for piece in in_pieces(np.broadcast_to(np.float32(1), 3))]
    [[1.0, 1.0, 1.0]]
    """
    width = array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    step = max(1, CHUNK // max(width, 1))
    for start in range(0, len(array), step):
        rows = slice(start, min(start + step, len(array)))
        yield read_rows(array, rows) if _is_file(array) else np.ascontiguousarray(array[rows])


def _is_file(array: Any) -> TypeGuard["np.memmap[Any, Any]"]:
    """Whether it is a mapped file as it lies there; a part of one knows its file, but not its place in it."""
    base: object = array.base
    return isinstance(array, np.memmap) and isinstance(base, mmap.mmap) and bool(array.flags.c_contiguous)
