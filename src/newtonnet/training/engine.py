"""``fit``: train a population on a graph in memory, from its checks to its records."""

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from newtonnet.datasets import Split, check_split
from newtonnet.files import named_errors
from newtonnet.graphs import Graph, check_trainable
from newtonnet.kernels import kept_memory, use_threads
from newtonnet.metrics import METRICS, NUMBER_METRICS
from newtonnet.nn import Population

from .checkpoint import deferred_interrupt, load_checkpoint, save_checkpoint
from .config import NUMBER_LOSSES, Config, check_configs
from .loop import Keep, OnEpoch
from .parts import Parts
from .record import Record, make_records, record_id


def fit(
    model: Population,
    graph: Graph,
    splits: Sequence[Split],
    configs: Sequence[Config],
    *,
    device: torch.device | str = "cpu",
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 60.0,
    resumable: bool = False,
    threads: int | None = None,
    max_memory: int | None = None,
    stop: Callable[[], bool] | None = None,
    on_epoch: OnEpoch | None = None,
    rungs: Sequence[int] = (),
    keep: Keep | None = None,
) -> list[Record]:
    """Train every member on its split and leave the model at its members' best validation states.

    Members finish by themselves: when the epochs are used up, when patience runs out, or when their loss is no longer
    a number (such a member fails and the others go on). A member's result does not depend on who trains beside it,
    except for rounding.

    Args:
        model: a population of P members.
        graph: the graph with its labels.
        splits: one for each member.
        configs: one for each member; loop options must agree.
        device: where to train; anything but the CPU is untested here.
        checkpoint: a file to save the run's state to now and then and on an interruption, and to resume from where it
            exists; it is removed at the end.
        checkpoint_seconds: time between two saves.
        resumable: keep the checkpoint of a run that ``stop`` ended, so that the next call goes on from there.
        threads: threads to train with; None takes torch's number. A large population is cut into parts that fit the
            cache, and parts train side by side, each in a thread of its own.
        max_memory: bytes that training may take beside the graph; parts are made small enough.
        stop: called after every epoch, or now and then where parts train side by side; where it returns True, training
            ends there as if the epochs were used up. Members that had not begun fail.
        on_epoch: called as often as ``stop`` with the progress so far.
        rungs: epochs, ascending, at which all members wait for each other and ``keep`` decides who trains on; not
            together with ``checkpoint``.
        keep: called at every rung with where the members are; the others end there as if their epochs were used up.

    Returns:
        One record for each member, in order.

    References:
        Xu et al., Shape-aware Graph Spectral Learning, 2024, Algorithm 1.
    """
    _check(model, graph, splits, configs)
    _check_device(device)
    checkpoint = None if checkpoint is None else Path(checkpoint)
    ids = [record_id(model, graph, split, config) for split, config in zip(splits, configs, strict=True)]
    size = f"{graph.features.shape[1]} features, {graph.classes} classes"  # empty ones are in no checksum
    fingerprint = hashlib.sha256("".join([*ids, size]).encode()).hexdigest()
    model.to(device)
    if rungs and (checkpoint is not None or keep is None):
        raise ValueError("rungs need a function keep, and no checkpoint")
    if list(rungs) != sorted({*rungs}) or any(rung < 1 for rung in rungs):
        raise ValueError(f"rungs must be ascending epochs from 1 on, got {tuple(rungs)}")
    threads = torch.get_num_threads() if threads is None else threads
    if threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    parts = Parts(model, graph, splits, configs, device=device, threads=threads, max_memory=max_memory)
    if checkpoint is not None and checkpoint.exists():
        parts.restore(load_checkpoint(checkpoint, fingerprint=fingerprint))
    saved, stopped = time.monotonic(), False
    try:
        with deferred_interrupt() as release, kept_memory():

            def after() -> bool:
                nonlocal saved, stopped
                if on_epoch is not None:
                    on_epoch(parts.report())
                if checkpoint is not None and time.monotonic() - saved > checkpoint_seconds:
                    with parts.paused():
                        save_checkpoint(checkpoint, parts.state(), fingerprint=fingerprint)
                    saved = time.monotonic()
                release()
                stopped = stop is not None and stop()
                return stopped

            for rung in rungs:
                parts.train(after, until=rung)
                if stopped:
                    break
                if keep is not None:
                    parts.drop(keep(parts.rung(rung)))
            if not stopped:
                parts.train(after, until=configs[0].max_epochs)
            release()
    except KeyboardInterrupt:
        with parts.paused():
            if checkpoint is not None and not parts.broken:  # half an epoch would resume to another result
                save_checkpoint(checkpoint, parts.state(), fingerprint=fingerprint)
            parts.keep_best()
        raise
    parts.keep_best()
    seconds, records = parts.seconds() / len(configs), list[Record]()
    with use_threads(threads):  # records say how many there were
        for run, members in zip(parts.runs, parts.sizes, strict=True):
            own = slice(len(records), len(records) + members)
            records += make_records(
                run,
                ids=ids[own],
                graph=graph,
                model=model.name,
                options=model.options,
                configs=configs[own],
                splits=splits[own],
                seconds=seconds,
            )
    if checkpoint is not None and resumable and not all(run is not None and run.finished for run in parts.runs):
        save_checkpoint(checkpoint, parts.state(), fingerprint=fingerprint)
    elif checkpoint is not None:
        with named_errors(checkpoint):
            checkpoint.unlink(missing_ok=True)
    return records


def _check(model: Population, graph: Graph, splits: Sequence[Split], configs: Sequence[Config]) -> None:
    if not len(model.seeds) == len(splits) == len(configs):
        raise ValueError(
            f"a population of {len(model.seeds)} needs as many splits and configs, got {len(splits)} and {len(configs)}"
        )
    if tuple(config.seed for config in configs) != model.seeds:
        raise ValueError("the model's seeds must be those of the configs, in order; build it with seeds=[c.seed ...]")
    check_trainable(graph)
    check_configs(configs)
    check_splits(graph, splits, configs[0].metric)
    numbers, metric, loss = graph.targets is not None, configs[0].metric, configs[0].loss
    if numbers != (metric in NUMBER_METRICS) or numbers != (loss in NUMBER_LOSSES):
        what = ("numbers", NUMBER_LOSSES, NUMBER_METRICS) if numbers else ("classes", ("cross-entropy",), METRICS)
        expected = f"a loss such as {what[1][0]} and a metric such as {what[2][0]}"
        raise ValueError(f"graph {graph.name!r} has {what[0]} to learn, which need {expected}; got {loss} and {metric}")
    shaped = any(any(config.gammas) for config in configs)
    learned = {name for filter in model.filters.values() for name in filter.start}
    if not learned and shaped:
        raise ValueError(f"model {model.name!r} learns no spectral filter, so its gammas must be 0")
    if configs[0].penalises_raw and shaped and "values" not in learned:
        raise ValueError(
            f"variant 'released' penalises raw values, which {model.name!r} has none of; use variant 'paper'"
        )
    weights = configs[0].class_weight
    if weights is not None and len(weights) != graph.classes:
        raise ValueError(f"class_weight has {len(weights)} numbers, graph {graph.name!r} has {graph.classes} classes")
    if configs[0].loss == "binary" and graph.classes != 2:
        raise ValueError(f"loss 'binary' is for two classes, graph {graph.name!r} has {graph.classes}")


def check_splits(graph: Any, splits: Sequence[Split], metric: str) -> None:
    """Raise an error if splits or metric do not fit the labels of a graph, which may be in memory or on disk."""
    for split in splits:
        check_split(graph, split)
    if metric != "accuracy" and metric not in NUMBER_METRICS:
        needed = "both classes" if graph.classes == 2 else "two classes"
        for split in splits:
            if any(len(np.unique(graph.labels[part])) < 2 for part in (split.validation, split.test) if len(part)):
                raise ValueError(f"{metric} needs {needed} among validation and test nodes of split {split.index}")


def _check_device(device: torch.device | str) -> None:
    try:
        place = torch.empty(0, device=device).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device {str(device)!r} cannot be used here ({reason}); use cpu") from error
    if place.type == "meta":
        raise ValueError("device 'meta' holds no numbers; use cpu")
