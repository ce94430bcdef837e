"""What a run leaves behind: its configuration and outcome as one JSON line, and summaries of several."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from newtonnet import kernels
from newtonnet.datasets import Split, describe_split
from newtonnet.files import parse_json
from newtonnet.graphs import Graph
from newtonnet.meaning import one_line
from newtonnet.nn import Population

from .config import Config
from .loop import CURVES, Run

NUMERICS = 2
"""Raised whenever a change can move a result, so that old records are not taken for new ones."""

ADDED: Mapping[str, Any] = {
    "branch": 0,
    "branch_dropout": 0.8,
    "branch_learning_rate": None,
    "values_start": "ones",
    "loss": "cross-entropy",
    "reduction": "mean",
    "class_weight": None,
    "label_smoothing": 0.0,
    "slices": None,
    "flipped": False,
    "unit": False,
    "homophily": "predicted",
    "homophily_start": "pivot",
}
"""Settings that came after the first records, left out of ids at these defaults so that older records keep theirs."""

FREQUENCIES = tuple(round(0.05 * i, 2) for i in range(41))
"""Where a record keeps the learned filter's response."""


@dataclass(frozen=True)
class Outcome:
    """What training ended with; scores are those at the best validation epoch."""

    status: str
    """``done``, or ``failed`` with a reason."""
    reason: str
    epochs: int
    best_epoch: int
    train: float | None
    validation: float | None
    test: float | None
    test_accuracy: float | None
    """Accuracy on the test nodes whatever the metric is."""
    homophily: float | None
    """Learned h: share of edges whose ends are predicted alike, training labels put in."""
    points: tuple[float, ...]
    values: tuple[float, ...]
    """The filter's amplitudes at its points."""
    response: tuple[float, ...]
    """Its amplitudes at :data:`FREQUENCIES`."""
    largest_value: float | None
    """Largest magnitude of a raw filter parameter at any epoch."""
    seconds: float
    """Wall time of the run divided by its members."""


UNBEGUN = Outcome("failed", "it was stopped before it began", 0, 0, None, None, None, None, None, (), (), (), None, 0.0)
"""What is left of a member that was stopped before its first epoch."""


@dataclass(frozen=True)
class Record:
    """One member's run: everything that decided it, what came out, and the curves on the way."""

    id: str
    dataset: str
    checksum: str
    model: str
    options: Mapping[str, Any]
    config: Mapping[str, Any]
    split: Mapping[str, Any]
    outcome: Outcome
    history: Mapping[str, Sequence[float | None]]
    machine: Mapping[str, Any] | None = None
    """Kernels and number of threads, which may move the last digits and are no part of the id; None in older lines."""

    def to_json(self) -> str:
        """One line of JSON; numbers that are not finite become null."""
        fields = {name: value for name, value in asdict(self).items() if name != "machine" or value is not None}
        return json.dumps(json.loads(json.dumps(fields), parse_constant=lambda _: None))

    @classmethod
    def from_json(cls, line: str) -> "Record":
        """Read one line back; refused where it is not a record of this version."""
        try:
            data = parse_json(line)
            outcome = data.pop("outcome")
            lists = {key: tuple(value) for key, value in outcome.items() if isinstance(value, list)}
            return cls(**data, outcome=Outcome(**outcome | lists))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not a record of newtonnet: {one_line(error)}") from error


def describe_machine(threads: int | None = None) -> dict[str, Any]:
    """Who computes here: the kernels, and so many threads, or as many as :func:`use_threads` allows."""
    return {"kernels": kernels.kind(), "threads": threads or kernels.thread_count()}


def record_id(model: Population, graph: Graph, split: Split, config: Config) -> str:
    """Hash of everything that decides a run's result."""
    decisive = {k: v for k, v in asdict(config).items() if k != "history_interval"}
    settings = [
        {k: v for k, v in part.items() if k not in ADDED or v != ADDED[k]} for part in (model.options, decisive)
    ]
    parts = [NUMERICS, str(model.dtype), model.name, *settings, graph.checksum, split.checksum]
    text = json.dumps(json.loads(json.dumps(parts), parse_int=float), sort_keys=True)  # 0 and 0.0 are one setting
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_records(
    run: Run | None,
    *,
    ids: Sequence[str],
    graph: Any,
    model: str,
    options: Mapping[str, Any],
    configs: Sequence[Config],
    splits: Sequence[Split],
    seconds: float,
) -> list[Record]:
    """Put the best states into the run's model and write down what every member has reached.

    Args:
        run: the training, ended; None where it never began.
        ids: for each member, hash of everything that decided its result.
        graph: the graph it was trained on, in memory or on disk; its ``name`` and ``checksum`` are read.
        model: the model's name.
        options: the model's options.
        configs: the training of each member.
        splits: the nodes of each member.
        seconds: wall time of one member.
    """
    outcomes, curves = [UNBEGUN] * len(ids), torch.zeros(0, 1 + len(CURVES), len(ids))
    if run is not None and run.epoch > 0:
        outcomes = _outcomes(run, splits, seconds)
        curves = torch.stack(run.curves) if run.curves else curves
    return [
        Record(
            id=ids[p],
            dataset=graph.name,
            checksum=graph.checksum,
            model=model,
            options=dict(options),
            config=asdict(configs[p]),
            split=describe_split(splits[p]),
            outcome=outcome,
            history=_history(curves[:, :, p], outcome.epochs),
            machine=describe_machine(),
        )
        for p, outcome in enumerate(outcomes)
    ]


def _outcomes(run: Run, splits: Sequence[Split], seconds: float) -> list[Outcome]:
    final = run.finish()
    scores = np.where(np.isnan(run.best_scores), final.scores, run.best_scores)
    points, values, response = _sample_filter(run.whole)
    found = []
    for p, split in enumerate(splits):
        failed, epochs, best_epoch = bool(run.failed[p]), int(run.epochs[p]), int(run.best_epoch[p])
        tried, tested = best_epoch > 0, best_epoch > 0 and len(split.test) > 0
        found.append(
            Outcome(
                status="failed" if failed else "done",
                reason=f"the loss was not a number at epoch {epochs}" if failed else "",
                epochs=epochs,
                best_epoch=best_epoch,
                train=float(scores[0, p]) if tried else None,
                validation=float(scores[1, p]) if tried else None,
                test=float(scores[2, p]) if tested else None,
                test_accuracy=float(final.test_accuracies[p]) if tested else None,
                homophily=float(final.homophily[p]) if tried and run.whole_source.has_edges else None,
                points=points,
                values=tuple(values[:, p].tolist()),
                response=tuple(response[:, p].tolist()),
                largest_value=float(run.largest[p]),
                seconds=seconds,
            )
        )
    return found


def _history(curves: Tensor, epochs: int) -> dict[str, list[float | None]]:
    """A member's curves ``(m, 6)`` by name, up to its last epoch."""
    kept = curves[curves[:, 0] <= epochs]
    history: dict[str, list[float | None]] = {"epoch": kept[:, 0].long().tolist()}
    for i, name in enumerate(CURVES, 1):
        history[name] = [round(value, 6) if math.isfinite(value) else None for value in kept[:, i].tolist()]
    return history


def _sample_filter(model: Population) -> tuple[tuple[float, ...], Tensor, Tensor]:
    """Points, and all members' amplitudes there ``(Q, P)`` and at the record's frequencies, averaged over channels."""
    members = len(model.seeds)
    if model.filter is None:
        return (), torch.zeros(0, members), torch.zeros(0, members)
    learned = {name: value.detach().double().cpu() for name, value in model.filter_parameters().items()}
    points = model.filter.points
    both = model.filter.response(torch.cat([points, torch.tensor(FREQUENCIES, dtype=torch.float64)]), learned)
    if both.ndim == 1:  # a fixed filter is the same for every member
        both = both[:, None].expand(-1, members)
    both = both.mean(dim=2) if both.ndim == 3 else both
    both = torch.where(both.abs() < 1e-12 * both.abs().max(), 0, both)  # a value of 0 comes back as a rounding error
    return tuple(points.tolist()), both[: len(points)], both[len(points) :]


@dataclass(frozen=True)
class Summary:
    """Several records of one setting: mean and standard deviation (ddof 0, as in the paper) over their splits."""

    mean: float | None
    """None where no split has test nodes, and so the next."""
    std: float | None
    splits: tuple[float, ...]
    homophily: float | None
    points: tuple[float, ...]
    values: tuple[float, ...]
    response: tuple[float, ...]
    """The mean filter at :data:`FREQUENCIES`."""
    accuracy: float | None
    """Mean test accuracy, whatever the metric is."""
    failed: int

    def score(self, digits: int = 2) -> str:
        """Mean ± std in percent, for people."""
        if self.mean is None or self.std is None:
            return "none"
        return f"{100 * self.mean:.{digits}f} ± {100 * self.std:.{digits}f}"


def summarise(records: Sequence[Record]) -> Summary:
    """Test scores, learned homophily and filter values of the runs that did not fail."""
    done = [record.outcome for record in records if record.outcome.status == "done"]
    if not done:
        reasons = ", ".join(sorted({record.outcome.reason for record in records})) or "no records"
        raise ValueError(f"every run failed: {reasons}; lower the learning rates or the gammas")
    splits = tuple(outcome.test for outcome in done if outcome.test is not None)
    return Summary(
        mean=_mean(splits),
        std=float(np.std(splits)) if splits else None,
        splits=splits,
        homophily=_mean([outcome.homophily for outcome in done]),
        points=done[0].points,
        values=tuple(float(v) for v in np.mean([outcome.values for outcome in done], axis=0)),
        response=tuple(float(v) for v in np.mean([outcome.response for outcome in done], axis=0)),
        accuracy=_mean([outcome.test_accuracy for outcome in done]),
        failed=len(records) - len(done),
    )


def _mean(numbers: Sequence[float | None]) -> float | None:
    """Mean of the numbers there are."""
    known = [number for number in numbers if number is not None]
    return float(np.mean(known)) if known else None
