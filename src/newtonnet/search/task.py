"""The unit of work: settings of one batch that have the same shape, trained on all splits as one population."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import torch

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.nn import build
from newtonnet.training import Progress, fit
from newtonnet.training.config import SHARED

from .propose import Proposal
from .study import Study, load_data
from .trial import Trial, make_trial


@dataclass(frozen=True)
class Task:
    """Plain data that any process on any machine with the data sets can turn into trials."""

    study: Study
    proposals: tuple[Proposal, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The trials it gives."""
        return tuple(proposal.number for proposal in self.proposals)


def group(study: Study, proposals: Sequence[Proposal]) -> list[Task]:
    """Proposals of equal shape put together, in order, into populations that the study allows.

    Equal shape: the same options of the model and the same loop. Rates, decays and gammas may differ.
    """
    shapes: dict[str, list[Proposal]] = {}
    for proposal in proposals:
        setting = study.setting(proposal.setting)
        shape = repr((setting.options, *(getattr(setting.config, name) for name in SHARED)))
        shapes.setdefault(shape, []).append(proposal)
    size = max(1, study.max_population // study.splits)
    tasks = [
        Task(study, tuple(alike[start : start + size]))
        for alike in shapes.values()
        for start in range(0, len(alike), size)
    ]
    return sorted(tasks, key=lambda task: task.numbers)


def run_task(
    task: Task, graph: Graph, splits: Sequence[Split], *, progress: Callable[[Progress], None] | None = None
) -> list[Trial]:
    """Train the task's settings on every split, on one thread, so that results do not depend on the machine's cores.

    Split i trains with seed i, as ``newtonnet train`` does.
    """
    settings = [task.study.setting(proposal.setting) for proposal in task.proposals]
    configs = [replace(setting.config, seed=split.index) for setting in settings for split in splits]
    with _one_thread():
        population = build(task.study.model, graph, settings[0].options, seeds=[config.seed for config in configs])
        records = fit(population, graph, [*splits] * len(settings), configs, progress=progress)
    return [
        make_trial(
            task.study.key,
            proposal.number,
            proposal.source,
            proposal.setting,
            beside=task.numbers,
            records=records[i * len(splits) : (i + 1) * len(splits)],
        )
        for i, proposal in enumerate(task.proposals)
    ]


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def make_runner(
    data_root: str | Path | None = None, *, progress: Callable[[Progress], None] | None = None
) -> Callable[[Task], list[Trial]]:
    """A function that runs tasks one after another and keeps the graphs it has loaded last."""
    load = lru_cache(maxsize=4)(partial(load_data, data_root=data_root))

    def run(task: Task) -> list[Trial]:
        study = task.study
        graph, splits = load(study.dataset, checksum=study.checksum, protocol=study.protocol, splits=study.splits)
        return run_task(task, graph, splits, progress=progress)

    return run
