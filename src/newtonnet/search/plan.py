"""How long a search will take: a few epochs of a few settings, measured before it begins."""

import time
from dataclasses import dataclass, replace
from pathlib import Path

from newtonnet.training import Progress

from .propose import propose
from .study import Study, load_data
from .task import Task, run_task

EPOCHS = 3
"""Measured after the first one, which also warms up."""
SETTINGS = 3
"""Settings of the first batch that are measured."""


@dataclass(frozen=True)
class Plan:
    """Seconds of one core for a study's settings."""

    study: Study
    epoch: float
    """One epoch of one setting on all splits, the mean over a few settings."""

    @property
    def likely(self) -> float:
        """Seconds for a setting that trains twice as long as the patience, as most do."""
        epochs = self.study.max_epochs if self.study.patience is None else 2 * self.study.patience
        return self.epoch * min(epochs, self.study.max_epochs)

    @property
    def longest(self) -> float:
        """Seconds for a setting that uses all its epochs."""
        return self.epoch * self.study.max_epochs


def measure(study: Study, *, data_root: str | Path | None = None) -> Plan:
    """Train the study's first settings for a few epochs and take the time."""
    graph, splits = load_data(
        study.dataset, checksum=study.checksum, protocol=study.protocol, splits=study.splits, data_root=data_root
    )
    seconds = []
    short = replace(study, max_epochs=1 + EPOCHS, patience=None)
    for proposal in propose(study, [], 0)[:SETTINGS]:
        ticks: list[float] = []

        def tick(_: Progress, ticks: list[float] = ticks) -> None:
            ticks.append(time.monotonic())

        run_task(Task(short, (proposal,)), graph, splits, progress=tick)
        parts = len(ticks) / short.max_epochs  # of the population, which train one after another and tick each
        seconds.append(parts * (ticks[-1] - ticks[0]) / max(len(ticks) - 1, 1))
    return Plan(study, sum(seconds) / len(seconds))
