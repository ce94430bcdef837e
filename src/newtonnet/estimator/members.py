"""Ensemble members and what every family of them provides: training on folds, and prediction on a graph."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.training import Progress, Record, Setting

NONE = np.zeros((0, 0), dtype=np.float32)

FeatureFolder = str | PathLike[str] | None
"""A folder for propagated features; None: a temporary one."""


Kind = tuple[str, bool, bool]
"""What settings that do well on the same graphs share: the model, labels as inputs, weights for every node."""


class Candidate(NamedTuple):
    """A model and how to train it; some are tried only in time that all others leave."""

    model: str
    setting: Setting
    spare: bool = False

    @property
    def kind(self) -> Kind:
        """What other settings it resembles in what it is good for."""
        options = self.setting.options
        return self.model, reads_labels(options), bool(getattr(options, "branch", 0))


@dataclass(frozen=True, eq=False)
class TrainingOptions:
    """How members of any setting are trained."""

    seed: int = 0
    threads: int | None = None
    max_memory: int | None = None
    device: str = "cpu"
    store: FeatureFolder = None
    """For out-of-core training."""
    paused: Path | None = None
    """Folder in which a training that was stopped can be resumed by the next one of the same members."""
    kept: dict[Hashable, Any] = field(default_factory=dict)
    """What trainings on one graph leave for later ones: its eigenvectors, and members of filter banks, ended or not."""
    sample: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Unlabelled nodes whose probabilities every member keeps, to compare single members with their average."""


@dataclass(frozen=True, eq=False)
class Member:
    """One setting trained on one fold."""

    model: str
    options: Any
    """The model's options; points are numbers, so that it can be built for another graph."""
    seed: int
    state: Mapping[str, Tensor]
    """What it has learned; parameters of a population have a population axis of length 1."""
    bound: str | None
    """For a transductive model, checksum of the edges of the training graph; otherwise None."""
    record: Record
    held: NDArray[np.float32] = field(default_factory=lambda: NONE)
    """Predicted probabilities of the fold's validation nodes, shape ``(v, C)``; of numbers predictions, ``(v, 1)``."""
    sampled: NDArray[np.float32] = field(default_factory=lambda: NONE)
    """The same of the sample of unlabelled nodes."""

    @property
    def sound(self) -> bool:
        """Whether it was trained and its loss is finite."""
        return self.record.outcome.status == "done"

    @property
    def validation(self) -> float:
        """Best score on its validation nodes."""
        return self.record.outcome.validation or 0.0


def reads_labels(options: Any) -> bool:
    """Whether a model with these options reads known labels at prediction."""
    return bool(getattr(options, "labels", 0) or getattr(options, "label_hops", 0))


def settings_of(record: Record) -> dict[str, Any]:
    """A run's options and training fields by name, without the seeds."""
    both = {**record.options, **{name: value for name, value in record.config.items() if "seed" not in name}}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in both.items()}


class Family(Protocol):
    """A kind of member, such as populations of networks: how it is trained, and how it predicts."""

    def train(
        self,
        graph: Graph,
        candidates: Sequence[Candidate],
        folds: Sequence[Split],
        options: TrainingOptions,
        *,
        stop: Callable[[], bool],
        progress: Callable[[Progress], None],
    ) -> list[list[Member]]:
        """Train candidates of one shape on every fold; for each candidate a member for each fold, in order."""

    def predict(
        self, members: Sequence[Member], graph: Graph, options: TrainingOptions
    ) -> Iterator[NDArray[np.floating[Any]]]:
        """Probabilities of every class for every node, ``(n, C)``, or numbers, ``(n, 1)``, of members of one shape.

        The labels of the graph are those that may be shown: all that were known during fitting on the same graph, none
        on another.
        """
