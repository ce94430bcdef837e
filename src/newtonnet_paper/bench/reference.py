"""NewtonNet beside a plain PyTorch Geometric implementation of the same model, and its throughput as a population."""

import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from newtonnet.graphs import Graph
from newtonnet.training import Config, Setting

from .clock import Clock, epoch_clock, make_task, ratio, take_turns
from .epochs import equal_options
from .machine import free_memory

FILE = Path("benchmarks") / "pyg_newtonnet.py"
"""Where a checkout keeps the reference."""

ALONE, TOGETHER = 1, 64
"""Populations that are compared with the reference."""


SLOW = 1.0
"""Seconds of an epoch that is long enough to be timed alone."""


def find_reference(given: Path | None = None) -> Path | None:
    """The reference's file: the given one, or that of the checkout around the package or the working directory.

    Raises:
        ValueError: a file is given but is not there.
    """
    if given is not None:
        if not given.is_file():
            raise ValueError(f"there is no reference {given}; name a Python file such as {FILE}")
        return given
    starts = (Path(__file__).resolve(), Path.cwd() / "here")
    return next((folder / FILE for start in starts for folder in start.parents if (folder / FILE).is_file()), None)


def load_reference(path: Path) -> ModuleType:
    """Import the reference from its file."""
    spec = importlib.util.spec_from_file_location("newtonnet_reference", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file; name one such as {FILE}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # PyTorch Geometric looks up the types of a layer's messages there
    spec.loader.exec_module(module)
    if not hasattr(module, "Trainer"):
        raise ValueError(f"{path} has no class Trainer; see {FILE}")
    return module


def common_setting() -> Setting:
    """What both sides train with: K = 5, 64 hidden units, dropouts of one half, the released code's penalty."""
    config = Config(variant="code", gammas=(1.0, 1.0, 1.0))
    return Setting("common", equal_options("newtonnet", degree=5), config)


def make_trainer(module: ModuleType, graph: Graph, setting: Setting) -> Any:
    """The reference's trainer with the same data, split and settings as ours."""
    task = make_task(graph, "newtonnet", setting.options, setting.config)
    dense = graph.features.toarray() if isinstance(graph.features, sp.csr_array) else graph.features.copy()
    both = graph.adjacency.tocoo()
    masks = tuple(torch.zeros(graph.nodes, dtype=torch.bool) for _ in range(3))
    split = task.splits[0]
    for mask, part in zip(masks, (split.train, split.validation, split.test), strict=True):
        mask[torch.from_numpy(part)] = True
    options, config = setting.options, setting.config
    return module.Trainer(
        torch.from_numpy(dense),
        torch.from_numpy(np.stack([both.row, both.col]).astype(np.int64)),
        torch.from_numpy(graph.labels.copy()),
        masks,
        classes=graph.classes,
        hidden=options.hidden,
        degree=options.degree,
        dropout=options.dropout,
        propagation_dropout=options.propagation_dropout,
        learning_rate=config.rate("encoder"),
        filter_learning_rate=config.rate("filter"),
        weight_decay=config.weight_decay,
        gammas=config.gammas,
    )


def time_populations(
    graph: Graph,
    populations: Sequence[int],
    module: ModuleType | None,
    *,
    setting: Setting,
    rounds: int,
    seconds: float,
    threads: int | None = None,
    note: Callable[[str], None],
) -> dict[str, Any]:
    """Our populations and, where there is one, the reference, taking turns on one graph.

    Returns:
        Plain data: ``ours_ms`` for one model and epoch by P, ``throughput`` in models times epochs per second by P;
        with a reference also ``reference_ms`` and its ``ratio`` by P.
    """
    clocks: dict[str, Clock] = {}
    if module is not None and 16 * graph.nodes * graph.features.shape[1] > free_memory():
        note(f"reference: {graph.name} left out, its dense features would take too much memory")
    elif module is not None:
        clocks["reference"] = _reference_clock(make_trainer(module, graph, setting), seconds=seconds)
    for members in populations:
        task = make_task(graph, "newtonnet", setting.options, setting.config, members=members, threads=threads)
        clocks[str(members)] = epoch_clock(task, seconds=seconds)
    times = take_turns(clocks, rounds)
    each = {name: [t / int(name) for t in ts] for name, ts in times.items() if name != "reference"}
    result: dict[str, Any] = {
        "ours_ms": {name: 1e3 * median(ts) for name, ts in each.items()},
        "throughput": {name: 1 / median(ts) for name, ts in each.items()},
    }
    if "reference" in times:
        result["reference_ms"] = 1e3 * median(times["reference"])
        result["ratio"] = {name: ratio(times["reference"], ts) for name, ts in each.items()}
    return result


def _reference_clock(trainer: Any, *, seconds: float) -> Clock:
    """A clock of the reference's epochs, after two that are not counted."""
    trainer.epoch()
    began = time.perf_counter()
    trainer.epoch()
    taken = time.perf_counter() - began
    count = max(round(seconds / taken), 1 if taken > SLOW else 2)

    def mean() -> float:
        began = time.perf_counter()
        for _ in range(count):
            trainer.epoch()
        return (time.perf_counter() - began) / count

    return mean
