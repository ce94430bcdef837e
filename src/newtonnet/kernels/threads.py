"""Work in several threads: how many there are, and parts of it that run side by side."""

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray


@contextmanager
def use_threads(count: int | None) -> Iterator[None]:
    """So many threads for everything inside, torch's own operations included; None leaves things as they are."""
    if count is not None and count < 1:
        raise ValueError(f"threads must be at least 1, got {count}")
    before = torch.get_num_threads()
    try:
        if count is not None:
            torch.set_num_threads(count)
        yield
    finally:
        torch.set_num_threads(before)


def in_step(jobs: Sequence[Callable[[], None]]) -> None:
    """Run all jobs at the same time, one of them in this thread; the others may wait for it and for each other."""
    others: list[Future[None]] = [_pool().submit(job) for job in jobs[1:]]
    jobs[0]()
    for other in others:
        other.result()


def equal_parts(rows: NDArray[np.int32], count: int) -> list[int]:
    """Rows that cut a CSR matrix into parts of equal work: its entries, and a little for every row."""
    if count == 1:
        return [0, len(rows) - 1]
    work = rows + 2 * np.arange(len(rows))
    inside = np.searchsorted(work, np.linspace(0, work[-1], count + 1)[1:-1])
    return [0, *map(int, inside), len(rows) - 1]


@functools.cache
def _pool() -> ThreadPoolExecutor:
    # Jobs of one call wait for each other, so none of them may queue behind another call's.
    return ThreadPoolExecutor(max_workers=512, thread_name_prefix="newtonnet")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not follow a process into its copy
