"""Where tasks run: in this process, in several processes, or on a Ray cluster.

An executor pulls: whenever it has room it asks its source for a task. The source returns None while nothing can run
before the next result is known; when nothing is running either, the executor is done. It yields results as they
finish, and the caller may react to one before the next task is pulled.
"""

import multiprocessing
import os
import signal
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from types import ModuleType
from typing import Any

from newtonnet.cluster import connected, last_line
from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.training import OnEpoch, Progress

from .study import load_data
from .trials import Task, Trial, make_runner, run_task

LOSSES = 3
"""How often a task on Ray may be lost and run again; one that is lost more often may itself be the cause."""

Source = Callable[[], Task | None]
Result = tuple[Task, list[Trial]]
Executor = Callable[[Source], Generator[Result, None, None]]


@dataclass(frozen=True)
class _Loss:
    """The answer of a task whose worker or data were lost."""

    reason: str
    of_data: bool = False


Answer = list[Trial] | Exception | _Loss


def in_process(*, data_root: str | Path | None = None, on_epoch: OnEpoch | None = None) -> Executor:
    """Run tasks in this process, one after another; ``on_epoch`` is called after every epoch of a task."""

    def execute(source: Source) -> Generator[Result, None, None]:
        run = make_runner(data_root, on_epoch=on_epoch)
        while (task := source()) is not None:
            yield task, run(task)

    return execute


def processes(workers: int, *, data_root: str | Path | None = None) -> Executor:
    """Run tasks in several processes of this machine, each on one thread.

    If a worker dies (killed, or out of memory) there is a warning and its task runs again; if it is lost once more,
    the search stops with a ``ChildProcessError``.

    Args:
        workers: number of processes.
        data_root: folder with raw data sets.
    """
    if workers < 1:
        raise ValueError(f"at least 1 worker is needed, got {workers}")

    def execute(source: Source) -> Generator[Result, None, None]:
        context = multiprocessing.get_context("spawn")
        started: dict[Any, SpawnProcess] = {}
        idle: list[Any] = []

        def start(task: Task) -> Any:
            if not idle:
                connection, started[connection] = _start_worker(context, data_root)
                idle.append(connection)
            connection = idle.pop()
            with suppress(OSError):  # it has died; taking its answer will show that
                connection.send(task)
            return connection

        def collect(running: Mapping[Any, Task]) -> list[tuple[Any, Answer]]:
            answers = [(ended, _take_from_worker(ended, started[ended])) for ended in wait(list(running))]
            idle.extend(connection for connection, answer in answers if not isinstance(answer, _Loss))
            return answers

        try:
            yield from _run_tasks(source, room=lambda: workers, start=start, collect=collect, losses=1)
        finally:
            for connection, process in started.items():
                connection.close()
                process.terminate()
                process.join()

    return execute


@contextmanager
def on_ray(
    address: str | None = None, *, workers: int | None = None, data_root: str | Path | None = None
) -> Iterator[Executor]:
    """Connect to Ray and run tasks on its machines, each on one core; disconnect at the end.

    A graph and its splits are loaded here and sent to every node at most once, so the nodes need no data sets, but
    they need the same version of newtonnet. This process proposes settings and stores trials: only its own end stops
    a search, and the same command continues it. If a task is lost with its worker or its node, there is a warning and
    it runs again; after :data:`LOSSES` times the search stops with a ``ChildProcessError``.

    Args:
        address: ``auto`` for the cluster this machine belongs to, or ``HOST:PORT`` of its head; if not given, a local
            Ray, unless this process is already connected to one.
        workers: number of tasks that run at once; if not given, the number of cores of the cluster at the time.
        data_root: folder with raw data sets.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"at least 1 worker is needed, got {workers}")
    with connected(address, cores=workers) as ray:
        placed: dict[Hashable, Any] = {}  # graphs in Ray's object store, shared by all executions
        used: dict[Any, Any] = {}  # the graph of each running task
        # Ray's own retries are silent, and endless when a node runs out of memory; lost tasks are run again here.
        remote = ray.remote(num_cpus=1, max_retries=0)(_work_on_ray)

        def room() -> int:  # at least 1, so that a task waits for the first node
            return max(1, int(ray.cluster_resources().get("CPU", 0))) if workers is None else workers

        def start(task: Task) -> Any:
            key = task.study.data
            if key not in placed:
                placed[key] = ray.put(load_data(*key, data_root=data_root))
            reference = remote.remote(task, placed[key])
            used[reference] = placed[key]
            return reference

        def collect(running: Mapping[Any, Task]) -> list[tuple[Any, Answer]]:
            answers = []
            for reference in ray.wait(list(running))[0]:
                answer, graph = _take_from_ray(ray, running[reference], reference), used.pop(reference)
                if isinstance(answer, _Loss) and answer.of_data:  # lost with its node: place the graph again
                    for key in [key for key, known in placed.items() if known == graph]:
                        del placed[key]
                answers.append((reference, answer))
            return answers

        def execute(source: Source) -> Generator[Result, None, None]:
            try:
                yield from _run_tasks(source, room=room, start=start, collect=collect, losses=LOSSES)
            finally:
                for reference in used:
                    ray.cancel(reference, force=True)
                used.clear()

        yield execute


def _run_tasks(
    source: Source,
    *,
    room: Callable[[], int],
    start: Callable[[Task], Any],
    collect: Callable[[Mapping[Any, Task]], list[tuple[Any, Answer]]],
    losses: int,
) -> Generator[Result, None, None]:
    """Keep tasks running while there is room, run lost ones again, and yield results as they are collected."""
    running: dict[Any, Task] = {}
    again: list[Task] = []
    lost: Counter[tuple[str, tuple[int, ...]]] = Counter()
    while True:
        while len(running) < room() and (task := again.pop() if again else source()) is not None:
            running[start(task)] = task
        if not running:
            return
        answers = [(running.pop(handle), answer) for handle, answer in collect(running)]
        for task, answer in answers:
            if isinstance(answer, list):  # first, so that trials which finish together with an error are kept
                yield task, answer
        for task, answer in answers:
            if isinstance(answer, _Loss):
                name = (task.study.key, task.numbers)
                lost[name] += 1
                if lost[name] > losses:
                    times = f"{lost[name]} times" if lost[name] > 1 else "once"
                    raise ChildProcessError(f"{task} was lost {times} ({answer.reason}); is there enough memory?")
                warnings.warn(f"{task} was lost ({answer.reason}) and runs again", RuntimeWarning, stacklevel=3)
                again.append(task)
        for _, answer in answers:
            if isinstance(answer, Exception):
                raise answer


def _start_worker(context: SpawnContext, data_root: str | Path | None) -> tuple[Connection, SpawnProcess]:
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, data_root, os.getpid()), daemon=True)
    # A process started with SIGINT blocked never sees Ctrl-C: this process ends its workers itself.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()
    return ours, process


def _work(connection: Connection, data_root: str | Path | None, parent: int) -> None:
    """The loop of a worker process: tasks in, trials or an error out, until the parent is gone."""

    def exit_with_parent(_: Progress) -> None:
        if os.getppid() != parent:
            raise SystemExit

    run = make_runner(data_root, on_epoch=exit_with_parent)
    with suppress(EOFError, OSError):
        while True:
            task = connection.recv()
            try:
                answer: list[Trial] | Exception = run(task)
            except Exception as error:  # raised by the parent
                answer = error
            connection.send(answer)


def _take_from_worker(connection: Any, process: SpawnProcess) -> Answer:
    """The answer of a worker that has finished its task or died."""
    try:
        answer: Answer = connection.recv()
        return answer
    except (EOFError, OSError):
        process.join()
        return _Loss(f"exit code {process.exitcode}")


def _work_on_ray(task: Task, data: tuple[Graph, Sequence[Split]]) -> list[Trial] | Exception:
    """What a node does: trials, or the error as a value, since Ray would wrap a raised one in its own."""
    try:
        return run_task(task, *data)
    except Exception as error:
        return error


def _take_from_ray(ray: ModuleType, task: Task, reference: Any) -> Answer:
    """The answer of a finished task."""
    errors = ray.exceptions
    try:
        answer: list[Trial] | Exception = ray.get(reference)
    except errors.RayError as error:
        cause = getattr(error, "cause", error)
        lost = (errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError, errors.ObjectLostError)
        if isinstance(cause, lost):
            return _Loss(type(cause).__name__, of_data=isinstance(cause, errors.ObjectLostError))
        return ChildProcessError(
            f"{task} cannot run on a node: {last_line(cause)}; check that every node has the same versions of "
            "newtonnet, Python and Ray as this machine"
        )
    if isinstance(answer, list) and any(trial.study != task.study.key for trial in answer):
        return ValueError(f"a node runs another version of newtonnet than this one (seen on {task})")
    return answer
