"""The search itself: propose a batch, run it, store what is finished, until there are enough trials."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from .executors import Executor, in_process
from .propose import cutoffs, propose
from .store import Store
from .study import HALF, Study, load_data
from .trials import Proposal, Task, Trial, group, run_task

EPOCHS = 3
"""Epochs that :func:`measure` times, after one that warms up."""
SETTINGS = 3
"""Settings of the first batch that :func:`measure` trains."""

REFERENCE = 8
"""With halving, the first settings, which all train to the end and are what the next ones are compared with."""

Stop = Callable[[float], bool]
"""From the seconds that the next task is expected to take to whether to stop before it."""


def sweep(
    study: Study, store: Store, *, executor: Executor | None = None, trials: int = 40, stop: Stop | None = None
) -> Iterator[Trial]:
    """Search one study until its store holds ``trials`` trials; yields each new trial once it is stored.

    Stored trials are never run again, and a search that was killed continues to the same trials as one that was not:
    proposals depend only on the study and on finished batches, and a population never spans two batches.

    Args:
        study: the study to search.
        store: its open file.
        executor: where tasks run; in this process if not given.
        trials: number of settings to try in all, including stored ones; fewer if the space has no more.
        stop: called before each task with the seconds it is expected to take; if it returns True no more are started.
    """
    for _, trial in sweep_all([(study, store, trials)], executor=executor, stop=stop):
        yield trial


def sweep_all(
    cells: Sequence[tuple[Study, Store, int]], *, executor: Executor | None = None, stop: Stop | None = None
) -> Iterator[tuple[Study, Trial]]:
    """Search several studies, earlier ones first; later ones use the workers that a batch leaves idle.

    Args:
        cells: each study with its open file and the number of settings to try in all, including stored ones.
        executor: where tasks run; in this process if not given.
        stop: called before each task with the seconds it is expected to take; if it returns True it is not started.
    """
    for _, _, trials in cells:
        if trials < 1:
            raise ValueError(f"at least 1 trial is needed, got {trials}")
    states = {study.key: _State(study, store, trials) for study, store, trials in cells}
    if len(states) < len(cells):
        raise ValueError("a study is given twice")

    def source() -> Task | None:
        for state in states.values():
            task = state.next_task()
            if task is not None and (stop is None or not stop(_expected(task, states.values()))):
                return state.start()
        return None

    with closing((executor or in_process())(source)) as results:
        for task, finished in results:
            states[task.study.key].finish(finished)
            for trial in finished:
                yield task.study, trial


def _open_batch(study: Study, trials: Sequence[Trial], wanted: int) -> tuple[list[Proposal], tuple[float, ...]]:
    """The untried settings of the first unfinished batch on the way to ``wanted`` trials, if any, and their cutoffs.

    With halving, the others wait for the first settings, which all train to the end.
    """
    there = {trial.number: trial for trial in trials}
    missing = next((number for number in range(wanted) if number not in there), None)
    if missing is None:
        return [], ()
    batch = missing // study.batch
    begin = batch * study.batch
    if study.rungs and missing < REFERENCE:
        begin, wanted = 0, min(wanted, REFERENCE)
    elif study.rungs:
        begin = max(begin, REFERENCE)
    proposals = propose(study, [there[number] for number in range(batch * study.batch)], batch)
    for proposal in proposals:
        if proposal.number in there and there[proposal.number].setting != proposal.setting:
            raise ValueError(
                f"trial {proposal.number} of {study.name} on {study.dataset} is not what is proposed here; continue "
                "with the versions of newtonnet and optuna that began this batch, or move its file away"
            )
    left = [proposal for proposal in proposals if proposal.number < wanted and proposal.number not in there]
    return left, cutoffs(study, [there[number] for number in range(begin)])


def count_left(study: Study, trials: Sequence[Trial], wanted: int) -> int:
    """Number of settings still to try of ``wanted``; 0 if the space has no others."""
    numbers = {trial.number for trial in trials}
    return sum(number not in numbers for number in range(wanted)) if _open_batch(study, trials, wanted)[0] else 0


class _State:
    """The state of one study: its trials, the tasks of its open batch, and how many of them are running."""

    def __init__(self, study: Study, store: Store, wanted: int) -> None:
        self.study, self.store, self.wanted = study, store, wanted
        self.trials = {trial.number: trial for trial in store.trials()}
        self.ready: deque[Task] = deque()
        self.running = 0

    def next_task(self) -> Task | None:
        """The next task that can run now; a batch is opened once the previous one is finished."""
        if not self.ready and not self.running:
            self.ready.extend(group(self.study, *_open_batch(self.study, list(self.trials.values()), self.wanted)))
        return self.ready[0] if self.ready else None

    def start(self) -> Task:
        self.running += 1
        return self.ready.popleft()

    def finish(self, trials: Sequence[Trial]) -> None:
        self.store.append(trials)
        self.running -= 1
        self.trials |= {trial.number: trial for trial in trials}


def _expected(task: Task, states: Iterable[_State]) -> float:
    """Expected seconds of a task: the slowest trial so far of its study, else of its graph, else of any; 0 if none."""
    begun = [state for state in states if state.trials]
    on_graph = [state for state in begun if state.study.dataset == task.study.dataset]
    own = [state for state in on_graph if state.study.key == task.study.key]
    known = [trial.seconds for state in own or on_graph or begun for trial in state.trials.values()]
    return max(known, default=0.0) * len(task.proposals)


@dataclass(frozen=True)
class TrialCost:
    """Seconds of one core that a setting of a study takes."""

    study: Study
    epoch: float
    """One epoch of one setting on all splits, the mean over a few settings."""

    @property
    def likely(self) -> float:
        """Seconds of a setting that trains for twice the patience, as most do; one of two passes a rung."""
        epochs = self.study.max_epochs if self.study.patience is None else 2 * self.study.patience
        ends = [min(end, epochs) for end in (0, *self.study.rungs, self.study.max_epochs)]
        return self.epoch * sum((end - start) * float(HALF) ** -k for k, (start, end) in enumerate(pairwise(ends)))

    @property
    def longest(self) -> float:
        """Seconds of a setting that uses all its epochs."""
        return self.epoch * self.study.max_epochs


def measure(study: Study, *, data_root: str | Path | None = None) -> TrialCost:
    """Train the study's first settings for a few epochs and measure the time."""
    data = load_data(*study.data, data_root=data_root)
    short = replace(study, max_epochs=1 + EPOCHS, patience=None, rungs=())
    seconds: list[float] = []
    ticks: list[float] = []
    for proposal in propose(study, [], 0)[:SETTINGS]:
        ticks.clear()
        run_task(Task(short, (proposal,)), *data, on_epoch=lambda _: ticks.append(time.monotonic()))
        parts = len(ticks) / short.max_epochs  # a population may train in parts, one after another; each part ticks
        seconds.append(parts * (ticks[-1] - ticks[0]) / max(len(ticks) - 1, 1))
    return TrialCost(study, sum(seconds) / len(seconds))
