"""Tasks on a Ray cluster: graphs are placed once in its object store, and what a dead worker or node took runs again.

The driver, which is this process, owns everything: it proposes, places graphs, hands out tasks and stores trials. So
only its own end ends a search, and the same command goes on with it.
"""

import warnings
from collections import Counter
from collections.abc import Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from newtonnet.cluster import connected, last_line
from newtonnet.datasets import Split
from newtonnet.graphs import Graph

from .executors import Executor, Result, Source
from .study import Study, load_data
from .task import Task, run_task
from .trial import Trial

LOSSES = 3
"""How often a task may be lost and run again; one that is lost once more may itself be what kills."""


@contextmanager
def on_ray(
    address: str | None = None, *, workers: int | None = None, data_root: str | Path | None = None
) -> Iterator[Executor]:
    """Connect to Ray and run tasks on its machines, each on one core; leave it at the end.

    A graph and its splits are loaded here and travel to every node at most once, so the nodes need no data sets, but
    the same newtonnet. Executions inside one connection share them. A task that is lost with its worker or its node
    is reported by a warning and run again; after :data:`LOSSES` times the search stops with a ``ChildProcessError``.

    Args:
        address: ``auto`` for the cluster this machine belongs to, or ``HOST:PORT`` of its head; if not given, a Ray of
            its own on this machine, unless this process is connected to one already.
        workers: tasks that run at once; if not given, as many as the cluster has cores, also when nodes come and go.
        data_root: folder with raw data sets.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"at least 1 worker is needed, got {workers}")
    with connected(address, cores=workers) as ray:
        yield _executor(_Shelf(ray, data_root), workers)


@dataclass(frozen=True)
class _Shelf:
    """Graphs in Ray's object store; this process keeps and owns the references."""

    ray: ModuleType
    data_root: str | Path | None
    placed: dict[Hashable, Any] = field(default_factory=dict)

    def reference(self, study: Study) -> Any:
        """The study's graph and splits, placed where they are not there yet."""
        key = (study.dataset, study.checksum, study.protocol, study.splits)
        if key not in self.placed:
            dataset, checksum, protocol, splits = key
            data = load_data(dataset, checksum=checksum, protocol=protocol, splits=splits, data_root=self.data_root)
            self.placed[key] = self.ray.put(data)
        return self.placed[key]

    def forget(self, reference: Any) -> None:
        """Place what this refers to anew when it is asked for next."""
        for key in [key for key, known in self.placed.items() if known == reference]:
            del self.placed[key]


def _executor(shelf: _Shelf, workers: int | None) -> Executor:
    ray = shelf.ray
    # Ray's own retries are silent, and endless where a node's memory is short; so the driver runs lost tasks again.
    remote = ray.remote(num_cpus=1, max_retries=0)(_work)

    def execute(source: Source) -> Generator[Result, None, None]:
        running: dict[Any, tuple[Task, Any]] = {}
        again: list[Task] = []
        losses: Counter[tuple[str, tuple[int, ...]]] = Counter()
        try:
            while True:
                room = _cores(ray) if workers is None else workers
                while len(running) < room and (task := again.pop() if again else source()) is not None:
                    data = shelf.reference(task.study)
                    running[remote.remote(task, data)] = (task, data)
                if not running:
                    return
                for answer in ray.wait(list(running))[0]:
                    task, data = running.pop(answer)
                    trials, loss = _take(ray, task, answer)
                    if loss is None:
                        yield task, trials
                        continue
                    if isinstance(loss, ray.exceptions.ObjectLostError):
                        shelf.forget(data)
                    _report(task, loss, losses)
                    again.append(task)
        finally:
            for answer in running:
                ray.cancel(answer, force=True)

    return execute


def _cores(ray: ModuleType) -> int:
    """Cores of all nodes that are there now; at least 1, so that a task waits for the first node to come."""
    return max(1, int(ray.cluster_resources().get("CPU", 0)))


def _work(task: Task, data: tuple[Graph, Sequence[Split]]) -> list[Trial] | Exception:
    """What a node does: trials, or the error as a value, since Ray would wrap a raised one in its own."""
    try:
        return run_task(task, *data)
    except Exception as error:
        return error


def _take(ray: ModuleType, task: Task, reference: Any) -> tuple[list[Trial], Exception | None]:
    """A finished task's trials, or how it was lost; an error of the task itself is raised here."""
    errors = ray.exceptions
    try:
        answer: list[Trial] | Exception = ray.get(reference)
    except errors.RayError as error:
        cause = getattr(error, "cause", error)
        lost = (errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError, errors.ObjectLostError)
        if isinstance(cause, lost):
            return [], cause
        raise ChildProcessError(
            f"{_name(task)} cannot run on a node: {last_line(cause)}; has every node the newtonnet, Python and Ray "
            "that are installed here?"
        ) from error
    if isinstance(answer, Exception):
        raise answer
    if any(trial.study != task.study.key for trial in answer):
        raise ValueError(f"a node runs another version of newtonnet than this one (seen on {_name(task)})")
    return answer, None


def _report(task: Task, loss: Exception, losses: Counter[tuple[str, tuple[int, ...]]]) -> None:
    name = (task.study.key, task.numbers)
    losses[name] += 1
    if losses[name] > LOSSES:
        raise ChildProcessError(
            f"{_name(task)} was lost {losses[name]} times ({type(loss).__name__}); is memory short?"
        )
    warnings.warn(f"{_name(task)} was lost ({type(loss).__name__}) and runs again", RuntimeWarning, stacklevel=3)


def _name(task: Task) -> str:
    return f"{task.study.name} on {task.study.dataset}, trials {', '.join(map(str, task.numbers))}"
