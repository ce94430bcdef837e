"""The stages of out-of-core training on a generated graph, each in its own process, with its time and peak memory."""

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from newtonnet.datasets import Split
from newtonnet.nn import Options
from newtonnet.out_of_core import Batching, open_graph, propagate_to_disk, train_out_of_core
from newtonnet.training import Config, Setting

from .bench import forget_peak, resident
from .scale_graph import generate

STAGES = ("generate", "precompute", "train")


@dataclass(frozen=True)
class ScaleSize:
    """Size of the generated graph and of its training."""

    nodes: int
    edges: int
    features: int = 16
    degree: int = 5
    epochs: int = 5
    batch: int = 65536
    max_memory: int | None = None
    threads: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Stage:
    """The measurements of one stage.

    Attributes:
        name: one of :data:`STAGES`.
        seconds: wall time; None where the stage was done before.
        megabytes: peak resident memory (10^6 bytes), including the interpreter with everything imported.
        base: resident memory before the stage.
        facts: the results of the stage.
    """

    name: str
    seconds: float | None
    megabytes: float
    base: float
    facts: dict[str, Any]


def run_stage(name: str, size: ScaleSize, folder: Path) -> Stage:
    """Run one of the stages in a fresh process."""
    work = {"generate": _generate, "precompute": _precompute, "train": _train}[name]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_measure, name, partial(work, size, folder)).result()


def _measure(name: str, work: Callable[[], dict[str, Any] | None]) -> Stage:
    forget_peak()
    base, begun = resident("VmRSS"), time.monotonic()
    facts = work()
    seconds = time.monotonic() - begun
    return Stage(name, None if facts is None else seconds, resident("VmHWM") / 1e6, base / 1e6, facts or {})


def _generate(size: ScaleSize, folder: Path) -> dict[str, Any] | None:
    if (folder / "graph").exists():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    graph = generate(folder / "graph", nodes=size.nodes, edges=size.edges, features=size.features, seed=size.seed)
    return {"nodes": graph.nodes, "edges": graph.adjacency.edges, "checksum": graph.checksum}


def _precompute(size: ScaleSize, folder: Path) -> dict[str, Any] | None:
    graph = open_graph(folder / "graph")
    store = propagate_to_disk(
        graph, folder / "blocks", degree=size.degree, max_memory=size.max_memory, threads=size.threads
    )
    return {"columns": store.width, "checksum": store.checksum}


def _train(size: ScaleSize, folder: Path) -> dict[str, Any] | None:
    graph = open_graph(folder / "graph")
    order = np.random.default_rng([size.seed, 4]).permutation(graph.nodes)
    train, validation = 6 * graph.nodes // 10, 2 * graph.nodes // 10
    split = Split(order[:train], order[train : train + validation], order[train + validation :], protocol="random")
    config = Config(max_epochs=size.epochs, weight_decay=0.0, gammas=(0.01, 0.01, 0.01), history_interval=1)
    setting = Setting("scale", Options(degree=size.degree, dropout=0.2), config)
    record = train_out_of_core(
        graph,
        [split],
        setting,
        store=folder / "blocks",
        batching=Batching(batch=size.batch),
        max_memory=size.max_memory,
        threads=size.threads,
    )[0][0]
    outcome = record.outcome
    return {
        "seconds_per_epoch": outcome.seconds / max(outcome.epochs, 1),
        "epochs": outcome.epochs,
        "losses": list(record.history["loss"]),
        "test": outcome.test,
        "homophily": outcome.homophily,
        "values": list(outcome.values),
    }
