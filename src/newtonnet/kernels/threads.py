"""How many threads the kernels use, and memory that the process keeps while it trains."""

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

WORTH_A_THREAD = 6_000_000
"""Multiplications below which another thread costs more than it saves."""

_count: ContextVar[int | None] = ContextVar("threads", default=None)


def thread_count() -> int:
    """Number of threads that a kernel may use: as set by :func:`use_threads`, or torch's number."""
    return _count.get() or torch.get_num_threads()


def threads_for(work: int) -> int:
    """Number of threads for so many multiplications: one where more do not pay."""
    return thread_count() if work > WORTH_A_THREAD else 1


@contextmanager
def use_threads(count: int | None, *, torch_count: int | None = None) -> Iterator[None]:
    """Set the number of threads for the kernels, and for torch's own operations unless these get another number.

    Torch's threads look for work for milliseconds after each operation and keep a core busy that others could use.
    Where torch's operations are short, one thread is faster.

    Args:
        count: threads of a kernel, at least 1; None changes nothing.
        torch_count: threads of torch's operations; ``count`` if not given.
    """
    if count is None:
        yield
        return
    if count < 1:
        raise ValueError(f"threads must be at least 1, got {count}")
    before, token = torch.get_num_threads(), _count.set(count)
    torch.set_num_threads(count if torch_count is None else torch_count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        _count.reset(token)


TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD, MMAP_MAX = -1, -2, -3, -4
"""Numbers of glibc's ``mallopt`` parameters."""

KEEPING = ((MMAP_MAX, 0), (TRIM_THRESHOLD, 2**31 - 1), (TOP_PAD, 128 << 20))
"""No block is mapped on its own, the end of the heap is not given back until it is 2 GB too long, and the last free
heap of another thread is not given back either."""

USUAL = ((MMAP_MAX, 65_536), (MMAP_THRESHOLD, 4 << 20), (TRIM_THRESHOLD, 64 << 20), (TOP_PAD, 128 << 10))
"""As glibc begins, but blocks below 4 MB stay on the heap. Larger ones are mapped on their own and given back when they
are freed: on the heap, where glibc would take up to 32 MB, the gaps between them add a quarter to the peak of a fit."""

OWN_CHOICE = ("MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_TRIM_THRESHOLD_")
"""Environment variables by which people set the same."""

_users = 0
_door = threading.Lock()


def _open_door() -> None:
    """A forked process does not wait for a thread of its parent."""
    global _door
    _door = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_door)


@contextmanager
def kept_memory() -> Iterator[None]:
    """Inside, freed blocks wait for the next of their size; at the end they are given back.

    An epoch needs the same blocks as the one before, and the system clears every page that it hands out, which takes
    longer than most passes over it. Nothing changes where the C library is not glibc, or where the environment has set
    these parameters already. Blocks beyond 64 MB are kept on the main thread only: glibc gives the heaps of other
    threads, and of a main thread that has once been refused memory, no more than that.
    """
    library = _glibc()
    if library is None:
        yield
        return
    _enter(library.mallopt)
    try:
        yield
    finally:
        _leave(library.mallopt, library.malloc_trim)


def _enter(set_to: Callable[[int, int], int]) -> None:
    global _users
    with _door:
        _users += 1
        if _users == 1:
            for parameter, value in KEEPING:
                set_to(parameter, value)


def _leave(set_to: Callable[[int, int], int], trim: Callable[[int], int]) -> None:
    global _users
    with _door:
        _users -= 1
        if _users == 0:
            for parameter, value in USUAL:
                set_to(parameter, value)
            trim(0)


def _glibc() -> ctypes.CDLL | None:
    """The C library if it is glibc and its parameters are ours to set."""
    if any(name in os.environ for name in OWN_CHOICE) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return None
    try:
        library = ctypes.CDLL(None)
        _ = library.gnu_get_libc_version, library.mallopt, library.malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
    return library
