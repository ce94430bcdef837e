"""Where tasks run: in this process, or in several.

An executor pulls: whenever it has room it asks its source for a task. The source answers None where nothing can be run
before the next result is known; when nothing runs either, the executor is done. It yields results as they finish.
Whoever consumes them may change what the source says next.
"""

import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path

from newtonnet.training import Progress

from .task import Task, make_runner
from .trial import Trial

Source = Callable[[], Task | None]
Result = tuple[Task, list[Trial]]
Executor = Callable[[Source], Generator[Result, None, None]]


def in_process(*, data_root: str | Path | None = None) -> Executor:
    """Run tasks here, one after another."""

    def execute(source: Source) -> Generator[Result, None, None]:
        run = make_runner(data_root)
        while (task := source()) is not None:
            yield task, run(task)

    return execute


def processes(workers: int, *, data_root: str | Path | None = None) -> Executor:
    """Run tasks in ``workers`` processes of this machine, each on one thread and with its graphs kept.

    A worker that dies (killed, or out of memory) is reported by a warning and its task is run once more by another;
    if that one dies too, the search stops with a ``ChildProcessError``.
    """
    if workers < 1:
        raise ValueError(f"at least 1 worker is needed, got {workers}")

    def execute(source: Source) -> Generator[Result, None, None]:
        context = multiprocessing.get_context("spawn")
        idle: list[_Worker] = []
        running: dict[Connection, tuple[_Worker, Task]] = {}
        again: list[Task] = []
        lost: set[tuple[str, tuple[int, ...]]] = set()
        try:
            while True:
                while len(running) < workers and (task := again.pop() if again else source()) is not None:
                    worker = idle.pop() if idle else _start(context, data_root)
                    running[worker.connection] = (worker, task)
                    worker.give(task)
                if not running:
                    return
                finished: list[Result] = []
                dead: list[tuple[_Worker, Task]] = []
                errors: list[Exception] = []
                for connection in [end for end in wait(list(running)) if isinstance(end, Connection)]:
                    worker, task = running.pop(connection)
                    answer = worker.take()
                    if answer is None:
                        dead.append((worker, task))
                        continue
                    idle.append(worker)
                    if isinstance(answer, Exception):
                        errors.append(answer)
                    else:
                        finished.append((task, answer))
                yield from finished  # before anything is raised: what was trained beside an error is kept
                for worker, task in dead:
                    _report(worker, task, lost)
                    again.append(task)
                for error in errors:
                    raise error
        finally:
            for worker in [*idle, *(worker for worker, _ in running.values())]:
                worker.end()

    return execute


@dataclass(frozen=True)
class _Worker:
    process: SpawnProcess
    connection: Connection

    def give(self, task: Task) -> None:
        with suppress(OSError):  # it has died; taking its answer will tell
            self.connection.send(task)

    def take(self) -> list[Trial] | Exception | None:
        """Its answer, or None where it has died."""
        try:
            answer: list[Trial] | Exception = self.connection.recv()
            return answer
        except (EOFError, OSError):
            self.process.join()
            return None

    def end(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join()


def _report(worker: _Worker, task: Task, lost: set[tuple[str, tuple[int, ...]]]) -> None:
    what = f"{task.study.name} on {task.study.dataset}, trials {', '.join(map(str, task.numbers))}"
    name = (task.study.key, task.numbers)
    if name in lost:
        raise ChildProcessError(f"two workers died on {what} (exit code {worker.process.exitcode}); is memory short?")
    lost.add(name)
    warnings.warn(
        f"a worker died on {what} (exit code {worker.process.exitcode}); they run again", RuntimeWarning, stacklevel=3
    )


def _start(context: SpawnContext, data_root: str | Path | None) -> _Worker:
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, data_root, os.getpid()), daemon=True)
    with _interrupts_blocked():
        process.start()
    theirs.close()
    return _Worker(process, ours)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """A process started inside never sees Ctrl-C: it is this process that ends its workers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(connection: Connection, data_root: str | Path | None, parent: int) -> None:
    """A worker's life: tasks in, trials or an error out, until the parent is gone."""

    def stay_with_parent(_: Progress) -> None:
        if os.getppid() != parent:
            raise SystemExit

    run = make_runner(data_root, progress=stay_with_parent)
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        try:
            answer: list[Trial] | Exception = run(task)
        except Exception as error:  # handed to the parent, which raises it
            answer = error
        try:
            connection.send(answer)
        except OSError:
            return
