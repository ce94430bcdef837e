"""A training of the precomputed regime as a record, like any other run's."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from newtonnet.datasets import Split, describe_split
from newtonnet.training import NUMERICS, Config, Outcome, Record, sample_filter

from .keeping import State
from .large_graph import LargeGraph
from .model import FilterFirst

MODEL = "newtonnet-precomputed"
"""The model's name in records."""


@dataclass(frozen=True, eq=False)
class Trained:
    """What a training ended with.

    Attributes:
        state: parameters at the best validation epoch.
        failed: the loss, or a prediction, was not a number in the last epoch.
        epochs: how many were begun.
        best_epoch: the first with the best validation score; 0 for none.
        scores: on train, validation and test nodes, at that epoch.
        accuracy: on the test nodes.
        homophily: learned h on the sample of edges, at that epoch.
        largest: largest magnitude of a raw filter value at any step.
        losses: mean loss of every epoch.
        curve: epoch, loss, validation score and homophily of the epochs that are kept.
        seconds: wall time.
    """

    state: State
    failed: bool
    epochs: int
    best_epoch: int
    scores: tuple[float, float, float]
    accuracy: float
    homophily: float
    largest: float
    losses: tuple[float, ...]
    curve: tuple[tuple[float, ...], ...]
    seconds: float


def make_record(
    trained: Trained,
    model: FilterFirst,
    graph: LargeGraph,
    split: Split,
    config: Config,
    *,
    options: Mapping[str, Any],
) -> Record:
    """What was trained, what decided it, and what came out; scores of epochs that were not taken are null."""
    tried = trained.best_epoch > 0
    wrong = (
        f"the loss was not a number at epoch {trained.epochs}" if trained.epochs else "it was stopped before it began"
    )
    points, values, response = sample_filter(model.filter, model.filter_parameters(), members=1)
    outcome = Outcome(
        status="failed" if trained.failed else "done",
        reason=wrong if trained.failed else "",
        epochs=trained.epochs,
        best_epoch=trained.best_epoch,
        train=_known(trained.scores[0]),
        validation=_known(trained.scores[1]),
        test=_known(trained.scores[2]),
        test_accuracy=_known(trained.accuracy),
        homophily=trained.homophily if tried else None,
        points=points,
        values=tuple(values[:, 0].tolist()),
        response=tuple(response[:, 0].tolist()),
        largest_value=trained.largest,
        seconds=trained.seconds,
    )
    nothing = [None] * len(trained.curve)
    epochs, losses, validation, homophily = ([row[i] for row in trained.curve] for i in range(4))
    history: dict[str, list[float | None]] = {
        "epoch": [int(epoch) for epoch in epochs],
        "loss": [round(loss, 6) for loss in losses],
        "train": [*nothing],
        "validation": [round(score, 6) for score in validation],
        "test": [*nothing],
        "homophily": [round(h, 6) for h in homophily],
    }
    return Record(
        id=identify(graph, split, config, options),
        dataset=graph.name,
        checksum=graph.checksum,
        model=MODEL,
        options=dict(options),
        config=asdict(config),
        split=describe_split(split),
        outcome=outcome,
        history=history,
    )


def identify(graph: LargeGraph, split: Split, config: Config, options: Mapping[str, Any]) -> str:
    """Hash of everything that decides a run's result; how many workers share a batch does not."""
    decisive = {key: value for key, value in asdict(config).items() if key != "history_interval"}
    parts = [NUMERICS, MODEL, dict(options), decisive, graph.checksum, split.checksum]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None
