"""Work in several threads: how many there are, and parts of it that run side by side."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

WORTH_A_THREAD = 6_000_000
"""Multiplications below which another thread costs more than it brings."""

KEPT_BYTES = 1 << 27
"""A thread keeps at most so much memory to work in; what needs more takes it anew each time."""

_count: ContextVar[int | None] = ContextVar("threads", default=None)


def thread_count() -> int:
    """Threads that a kernel may take here: as :func:`use_threads` says, or torch's number."""
    return _count.get() or torch.get_num_threads()


@contextmanager
def use_threads(count: int, *, torch_count: int | None = None) -> Iterator[None]:
    """So many threads for the kernels inside, and for torch's own operations unless these get another number.

    Torch's threads look for work for milliseconds after each operation, at the cost of whoever could use the core;
    where its operations are short it is better left with one.
    """
    if count < 1:
        raise ValueError(f"threads must be at least 1, got {count}")
    before, token = torch.get_num_threads(), _count.set(count)
    torch.set_num_threads(count if torch_count is None else torch_count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        _count.reset(token)


def in_step(jobs: Sequence[Callable[[], None]]) -> None:
    """Run all jobs at the same time, one of them in this thread; the others may wait for it and for each other."""
    if len(jobs) == 1:
        jobs[0]()
        return
    others = [_Job(job) for job in jobs[1:]]
    try:
        jobs[0]()
    finally:  # whatever ends this thread's share, the others still work in the caller's memory
        for other in others:
            other.wait()


def total(parts: Tensor) -> Tensor:
    """The sum of what each thread found, ``(threads, ...)``."""
    return parts[0] if len(parts) == 1 else parts.sum(dim=0)


def equal_parts(rows: NDArray[np.int32], count: int) -> list[int]:
    """Rows that cut a CSR matrix into parts of equal work: its entries, and a little for every row."""
    if count == 1:
        return [0, len(rows) - 1]
    work = rows + 2 * np.arange(len(rows))
    inside = np.searchsorted(work, np.linspace(0, work[-1], count + 1)[1:-1])
    return [0, *map(int, inside), len(rows) - 1]


def scratch(count: int, dtype: torch.dtype) -> Tensor:
    """At least so many numbers, of any values, for this thread to work in until it asks again.

    They are kept for the next call, since the system takes as long to hand out fresh memory as a product on a large
    graph takes to use it.
    """
    if count * dtype.itemsize > KEPT_BYTES:
        return torch.empty(count, dtype=dtype)
    kept: Tensor | None = getattr(_own, "scratch", None)
    if kept is None or kept.numel() * kept.itemsize < count * dtype.itemsize:
        kept = torch.empty(count * dtype.itemsize, dtype=torch.uint8)
        _own.scratch = kept
    return kept[: count * dtype.itemsize].view(dtype)


_own = threading.local()


class _Job:
    """A function that another thread calls; a thread without work is taken, or a new one if there is none."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.call, self.error = call, None
        self.done = threading.Lock()
        self.done.acquire()
        with _door:
            inbox = _idle.pop() if _idle else _new_thread()
        inbox.put(self)

    def wait(self) -> None:
        self.done.acquire()
        if self.error is not None:
            raise self.error

    error: BaseException | None


_Inbox = SimpleQueue[_Job]
_idle: list[_Inbox] = []
_door = threading.Lock()


def _new_thread() -> _Inbox:
    inbox: _Inbox = SimpleQueue()

    def work() -> None:
        while True:
            job = inbox.get()
            try:
                job.call()
            except BaseException as error:
                job.error = error
            with _door:
                _idle.append(inbox)
            job.done.release()

    threading.Thread(target=work, name="newtonnet-kernel", daemon=True).start()
    return inbox


os.register_at_fork(after_in_child=_idle.clear)  # threads do not follow a process into its copy
