"""The search itself: propose a batch, have it run, store what is finished, until there are enough trials."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing

from .executors import Executor, in_process
from .propose import Proposal, propose
from .store import Store
from .study import Study
from .task import Task, group
from .trial import Trial

Stop = Callable[[float], bool]
"""Told how many seconds the next task is expected to take, whether to leave it."""


def sweep(
    study: Study, store: Store, *, executor: Executor | None = None, trials: int = 40, stop: Stop | None = None
) -> Iterator[Trial]:
    """Search one study until its store holds ``trials`` trials; yields each new one when it is stored.

    What is in the store is never run again, and a search that was killed anywhere goes on to the same trials as one
    that was not: proposals depend on the study and on finished batches only, and populations are put together within a
    batch.

    Args:
        study: what is searched.
        store: its opened file.
        executor: where tasks run; in this process if not given.
        trials: settings to try in all, those in the store included; fewer where the space has no more.
        stop: asked before each task, with the seconds it is expected to take; where it says yes the task is not begun.
    """
    for _, trial in sweep_all([(study, store, trials)], executor=executor, stop=stop):
        yield trial


def sweep_all(
    cells: Sequence[tuple[Study, Store, int]], *, executor: Executor | None = None, stop: Stop | None = None
) -> Iterator[tuple[Study, Trial]]:
    """Search several studies, the earlier ones first; a later one fills in where a batch leaves workers idle.

    Args:
        cells: each study with its opened file and the settings to try in all, those in the file included.
        executor: where tasks run; in this process if not given.
        stop: asked before each task, with the seconds it is expected to take; where it says yes the task is not begun.
    """
    for _, _, trials in cells:
        if trials < 1:
            raise ValueError(f"at least 1 trial is needed, got {trials}")
    courses = {study.key: _Course(study, store, trials) for study, store, trials in cells}
    if len(courses) < len(cells):
        raise ValueError("a study is given twice")

    def source() -> Task | None:
        for course in courses.values():
            task = course.next_task()
            if task is not None and (stop is None or not stop(_expected(task, courses.values()))):
                return course.begin()
        return None

    with closing((executor or in_process())(source)) as results:
        for task, finished in results:
            courses[task.study.key].finish(finished)
            for trial in finished:
                yield task.study, trial


def open_batch(study: Study, trials: Sequence[Trial], wanted: int) -> list[Proposal]:
    """The settings that are still to be tried of the first batch that is not finished; none where the search is done.

    Args:
        study: what is searched.
        trials: those that are finished.
        wanted: how many there shall be in the end.
    """
    there = {trial.number: trial for trial in trials}
    missing = next((number for number in range(wanted) if number not in there), None)
    if missing is None:
        return []
    batch = missing // study.batch
    proposals = propose(study, [there[number] for number in range(batch * study.batch)], batch)
    for proposal in proposals:
        if proposal.number in there and there[proposal.number].setting != proposal.setting:
            raise ValueError(
                f"trial {proposal.number} of {study.name} on {study.dataset} is not what is proposed here; go on with "
                "the versions of newtonnet and optuna that began this batch, or move its file away"
            )
    return [proposal for proposal in proposals if proposal.number < wanted and proposal.number not in there]


def count_left(study: Study, trials: Sequence[Trial], wanted: int) -> int:
    """Settings that are still to be tried of ``wanted``; none where the space has no others."""
    numbers = {trial.number for trial in trials}
    return sum(number not in numbers for number in range(wanted)) if open_batch(study, trials, wanted) else 0


class _Course:
    """How far one study is: its trials, the tasks of its open batch, and how many of them run."""

    def __init__(self, study: Study, store: Store, wanted: int) -> None:
        self.study, self.store, self.wanted = study, store, wanted
        self.trials = {trial.number: trial for trial in store.trials()}
        self.ready: deque[Task] = deque()
        self.running = 0

    def next_task(self) -> Task | None:
        """The next task that can run now; the next batch is opened when all of the last is finished."""
        if not self.ready and not self.running:
            self.ready.extend(group(self.study, open_batch(self.study, list(self.trials.values()), self.wanted)))
        return self.ready[0] if self.ready else None

    def begin(self) -> Task:
        self.running += 1
        return self.ready.popleft()

    def finish(self, trials: Sequence[Trial]) -> None:
        self.store.append(trials)
        self.running -= 1
        self.trials |= {trial.number: trial for trial in trials}


def _expected(task: Task, courses: Iterable[_Course]) -> float:
    """Seconds for a task: for each setting the longest so far of its study, or else of its graph, or else of any.

    0 where nothing has been tried yet.
    """
    begun = [course for course in courses if course.trials]
    on_graph = [course for course in begun if course.study.dataset == task.study.dataset]
    own = [course for course in on_graph if course.study.key == task.study.key]
    known = [trial.seconds for course in own or on_graph or begun for trial in course.trials.values()]
    return max(known, default=0.0) * len(task.proposals)
