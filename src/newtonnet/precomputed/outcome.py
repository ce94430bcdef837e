"""A training of the precomputed regime as a record, like any other run's."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch

from newtonnet.datasets import Split
from newtonnet.training import FREQUENCIES, NUMERICS, Config, Outcome, Record

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
    points, values, response = _learned_filter(model)
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
        values=values,
        response=response,
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
        split={
            "protocol": split.protocol,
            "index": split.index,
            "checksum": split.checksum,
            **{part: len(getattr(split, part)) for part in ("train", "validation", "test")},
        },
        outcome=outcome,
        history=history,
    )


def _identify(graph: LargeGraph, split: Split, config: Config, options: Mapping[str, Any]) -> str:
    """Hash of everything that decides a run's result; how many workers share a batch does not."""
    decisive = {key: value for key, value in asdict(config).items() if key != "history_interval"}
    parts = [NUMERICS, MODEL, dict(options), decisive, graph.checksum, split.checksum]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _learned_filter(model: FilterFirst) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Points, and the amplitudes there and at the record's frequencies."""
    points = model.filter.points
    learned = {name: value.detach().double() for name, value in model.filter_parameters().items()}
    grid = torch.cat([points, torch.tensor(FREQUENCIES, dtype=torch.float64)])
    both = model.filter.response(grid, learned)[:, 0]
    both = torch.where(both.abs() < 1e-12 * both.abs().max(), 0, both)  # a value of 0 comes back as a rounding error
    return tuple(points.tolist()), tuple(both[: len(points)].tolist()), tuple(both[len(points) :].tolist())


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None
