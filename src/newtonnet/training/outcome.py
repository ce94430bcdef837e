"""What every member of a finished run has reached, as records."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
import torch
from torch import Tensor

from newtonnet.datasets import Split, describe_split
from newtonnet.graphs import Graph
from newtonnet.nn import Population
from newtonnet.polynomials import Filter

from .config import Config
from .metrics import judge
from .parts import Crowd
from .record import FREQUENCIES, Outcome, Record
from .run import CURVES, Run
from .shape import predicted_homophily


def make_records(crowd: Crowd, ids: Sequence[str]) -> list[Record]:
    """Put the best states into the model and write down one record for each member."""
    crowd.keep_best()
    seconds = crowd.seconds() / len(crowd.configs)
    records = []
    for run, members in zip(crowd.runs, crowd.members, strict=True):
        mine = members.tolist()
        if run is not None and run.epoch > 0:
            records += _part_records(run, [ids[member] for member in mine], seconds)
        else:
            records += [_unbegun_record(crowd, member, ids[member]) for member in mine]
    return records


def _unbegun_record(crowd: Crowd, member: int, id: str) -> Record:
    """What is left of a member that was stopped before its first epoch."""
    outcome = Outcome(
        status="failed",
        reason="it was stopped before it began",
        epochs=0,
        best_epoch=0,
        train=None,
        validation=None,
        test=None,
        test_accuracy=None,
        homophily=None,
        points=(),
        values=(),
        response=(),
        largest_value=None,
        seconds=0.0,
    )
    curves = torch.zeros(0, 1 + len(CURVES))
    return _record(crowd.graph, crowd.model, id, crowd.splits[member], crowd.configs[member], outcome, curves)


def _part_records(run: Run, ids: Sequence[str], seconds: float) -> list[Record]:
    run.whole.put(run.best)
    with torch.no_grad():
        logits = run.whole(run.inputs)
        judgement = judge("accuracy", logits, run.all_targets)
        accuracies = judgement.accuracies[2].tolist()
        homophily = predicted_homophily(run.steering.pairs, judgement.classes).tolist()
        points, values, response = _learned_filter(run.whole)
    curves = torch.stack(run.curves) if run.curves else torch.zeros(0, 1 + len(CURVES), len(run.configs))
    records = []
    for p, (split, config) in enumerate(zip(run.splits, run.configs, strict=True)):
        tried = not bool(np.isnan(run.best_scores[1, p]))
        failed = bool(run.failed[p])
        train, validation, test = (float(score) if tried else None for score in run.best_scores[:, p])
        outcome = Outcome(
            status="failed" if failed else "done",
            reason=f"the loss was not a number at epoch {int(run.epochs[p])}" if failed else "",
            epochs=int(run.epochs[p]),
            best_epoch=int(run.best_epoch[p]),
            train=train,
            validation=validation,
            test=test if len(split.test) else None,
            test_accuracy=accuracies[p] if tried and len(split.test) else None,
            homophily=homophily[p] if tried and run.steering.pairs.shape[1] else None,
            points=points,
            values=tuple(values[:, p].tolist()),
            response=tuple(response[:, p].tolist()),
            largest_value=float(run.largest[p]),
            seconds=seconds,
        )
        records.append(_record(run.graph, run.whole, ids[p], split, config, outcome, curves[:, :, p]))
    return records


def _learned_filter(model: Population) -> tuple[tuple[float, ...], Tensor, Tensor]:
    """Points, and the amplitudes there and at the record's frequencies, averaged over channels."""
    if model.filter is None:
        return (), torch.zeros(0, len(model.seeds)), torch.zeros(0, len(model.seeds))
    return sample_filter(model.filter, model.filter_parameters(), members=len(model.seeds))


def sample_filter(
    filter: Filter, parameters: Mapping[str, Tensor], *, members: int
) -> tuple[tuple[float, ...], Tensor, Tensor]:
    """A filter's points, and its members' amplitudes there ``(Q, P)`` and at the record's frequencies ``(41, P)``."""
    learned = {name: value.detach().double().cpu() for name, value in parameters.items()}
    points = filter.points
    both = filter.response(torch.cat([points, torch.tensor(FREQUENCIES, dtype=torch.float64)]), learned)
    if both.ndim == 1:  # a fixed filter is the same for every member
        both = both[:, None].expand(-1, members)
    both = both.mean(dim=2) if both.ndim == 3 else both
    both = torch.where(both.abs() < 1e-12 * both.abs().max(), 0, both)  # a value of 0 comes back as a rounding error
    return tuple(points.tolist()), both[: len(points)], both[len(points) :]


def _record(
    graph: Graph, model: Population, id: str, split: Split, config: Config, outcome: Outcome, curves: Tensor
) -> Record:
    kept = curves[curves[:, 0] <= outcome.epochs]
    history = {"epoch": kept[:, 0].long().tolist()}
    history |= {name: [round(v, 6) for v in kept[:, i + 1].tolist()] for i, name in enumerate(CURVES)}
    return Record(
        id=id,
        dataset=graph.name,
        checksum=graph.checksum,
        model=model.name,
        options=model.options,
        config=asdict(config),
        split=describe_split(split),
        outcome=outcome,
        history=history,
    )
