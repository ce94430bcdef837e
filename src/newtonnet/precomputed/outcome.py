"""A training of the precomputed regime as a record, like any other run's."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from newtonnet.datasets import Split, describe_split
from newtonnet.training import NUMERICS, Config, Outcome, Record
from newtonnet.training.outcome import sample_filter

from .large_graph import LargeGraph
from .model import FilterFirst
from .training import Trained

MODEL = "newtonnet-precomputed"
"""The model's name in records."""


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
        id=_identify(graph, split, config, options),
        dataset=graph.name,
        checksum=graph.checksum,
        model=MODEL,
        options=dict(options),
        config=asdict(config),
        split=describe_split(split),
        outcome=outcome,
        history=history,
    )


def _identify(graph: LargeGraph, split: Split, config: Config, options: Mapping[str, Any]) -> str:
    """Hash of everything that decides a run's result; how many workers share a batch does not."""
    decisive = {key: value for key, value in asdict(config).items() if key != "history_interval"}
    parts = [NUMERICS, MODEL, dict(options), decisive, graph.checksum, split.checksum]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None
