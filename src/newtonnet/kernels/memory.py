"""Memory that stays with the process while it trains, instead of going back to the system after every operation."""

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TRIM_THRESHOLD, MMAP_THRESHOLD, MMAP_MAX = -1, -3, -4
"""Numbers of glibc's ``mallopt`` parameters."""

KEEPING = ((MMAP_MAX, 0), (TRIM_THRESHOLD, 2**31 - 1))
"""No block is mapped on its own, and the end of the heap is not given back until it is 2 GB too long."""

USUAL = ((MMAP_MAX, 65_536), (MMAP_THRESHOLD, 32 << 20), (TRIM_THRESHOLD, 64 << 20))
"""Where glibc arrives by itself in a process that frees large blocks."""

OWN_CHOICE = ("MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")
"""Environment variables by which people set the same."""

_users = 0
_door = threading.Lock()


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
