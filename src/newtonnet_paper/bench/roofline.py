"""A roofline of an epoch: the time of each phase, what it computes and moves, and its share of the machine's limits.

Time is taken inside ``fit``, by hooks of torch, as the difference of a short and a long training; phases add up to the
epoch. Where parts of a population train side by side, it is the mean over their threads.
"""

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from threading import get_ident
from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from newtonnet.graphs import Graph
from newtonnet.nn import Population

from .machine import Limits, product_bytes
from .stacks import SHAPE, forward_operations
from .timing import TimedTask, Timing, common_setting, epoch_count, equal_setting, make_task, train

NEWTONNET = (
    "encoder forward",
    "propagation forward",
    "loss",
    "propagation backward",
    "encoder backward",
    "optimiser",
    "evaluation",
    "rest",
)
"""Phases of an epoch of NewtonNet in their order; the rest is scores, homophily, copies of best states and Python."""

STACK = ("forward", "loss", "backward", "optimiser", "evaluation", "rest")
"""Those of a stack, whose layers are not divided."""

NUMBER, ENTRY = 4, 8
"""Bytes of a float32, and of an entry of a sparse matrix with its index."""


@dataclass(frozen=True)
class Work:
    """What a phase has to do in one epoch, for all members.

    Attributes:
        operations: floating-point operations, those of products above all.
        moved: bytes that are read or written at least once, if everything else stays in the caches.
        gathered: bytes of rows that sparse products read entry by entry; the second cache should hold them.
    """

    operations: float = 0.0
    moved: float = 0.0
    gathered: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.operations + other.operations, self.moved + other.moved, self.gathered + other.gathered)

    def shares(self, seconds: float, limits: Limits) -> dict[str, float | None]:
        """The share of each limit that is reached in this time; None where the time was too short to be measured."""
        least = {
            "bandwidth": self.moved / limits.bandwidth,
            "l2": self.gathered / limits.l2_bandwidth,
            "peak": self.operations / (2 * limits.multiply_adds),
        }
        return {name: bound / seconds if seconds > 0 else None for name, bound in least.items()}


def newtonnet_work(task: TimedTask, cache: int) -> dict[str, Work]:
    """What the phases of NewtonNet have to do; dropped entries of sparse features are not multiplied.

    Of dense features, the backward pass computes the hidden layer again instead of reading it.
    """
    graph, options, members = task.graph, task.setting.options, len(task.splits)
    features, n = graph.features, graph.nodes
    sparse = isinstance(features, sp.csr_array)
    stored = features.nnz if isinstance(features, sp.csr_array) else features.size
    hidden, columns = options.hidden * members, graph.classes * members
    weights = hidden * features.shape[1]
    second = 2 * n * hidden * graph.classes

    def first(entries: float) -> Work:
        """The product of the features with the first weights, or its gradient."""
        moved = (ENTRY if sparse else NUMBER) * entries + NUMBER * (weights + (n * hidden if sparse else 0))
        return Work(2 * entries * hidden, moved, NUMBER * entries * hidden if sparse else 0.0)

    kept = stored * (1 - options.dropout) if sparse else stored
    again = Work() if sparse else Work(2 * stored * hidden, NUMBER * stored)
    degree, entries = options.degree, int(graph.adjacency.nnz)
    filtered = Work(
        2 * degree * entries * columns,
        degree * product_bytes(n, entries, columns, cache=cache),
        degree * NUMBER * entries * columns,
    )
    return {
        "encoder forward": first(kept) + Work(second, NUMBER * n * columns),
        "propagation forward": filtered,
        "loss": _loss(task),
        "propagation backward": filtered + Work(2 * (degree + 1) * n * columns),
        "encoder backward": first(kept) + again + Work(2 * second, 2 * NUMBER * n * columns),
        "optimiser": _adam(weights + hidden + hidden * graph.classes + columns + (degree + 1) * members),
        "evaluation": first(stored) + Work(second, NUMBER * n * columns) + filtered,
        "rest": Work(),
    }


def stack_work(task: TimedTask) -> dict[str, Work]:
    """What the phases of a Newton stack have to do.

    A layer reads its input and writes two halves of its width, which are read again and leave one result.
    """
    graph, hidden = task.graph, task.setting.options.hidden
    layers, entries = SHAPE["layers"], int(graph.adjacency.nnz)
    forward = Work(
        forward_operations(graph, hidden),
        layers * NUMBER * (6 * graph.nodes * hidden + entries),
        layers * NUMBER * entries * hidden,
    )
    first = (graph.features.shape[1] + graph.classes) * 2 * hidden
    return {
        "forward": forward,
        "loss": _loss(task),
        "backward": forward + forward,
        "optimiser": _adam(first + (layers - 1) * 2 * hidden**2 + hidden * graph.classes),
        "evaluation": forward,
        "rest": Work(),
    }


def _loss(task: TimedTask) -> Work:
    """Softmax of the training nodes' logits and its gradient, which is written for all nodes."""
    logits = task.graph.classes * sum(len(split.train) for split in task.splits)
    return Work(8 * logits, NUMBER * (3 * logits + task.graph.nodes * task.graph.classes * len(task.splits)))


def _adam(parameters: int) -> Work:
    """Adam reads a parameter, its gradient and two moments, and writes all but the gradient."""
    return Work(12 * parameters, 7 * NUMBER * parameters)


@dataclass(frozen=True, eq=False)
class PhaseClock:
    """Seconds of each phase in each thread; a mark ends a phase, and the next begins."""

    seconds: dict[int, dict[str, float]] = field(default_factory=dict)
    last: dict[int, float] = field(default_factory=dict)
    parts: list[nn.Parameter] = field(default_factory=list)
    """The first parameter of every part that was trained."""

    def mark(self, phase: str) -> None:
        """End a phase of this thread."""
        thread, now = get_ident(), time.perf_counter()
        self.seconds.setdefault(thread, defaultdict(float))[phase] += now - self.last.get(thread, now)
        self.last[thread] = now

    def watch(self, model: Population) -> None:
        """Mark the phases of a population and of all parts that are taken from it."""
        model.register_forward_pre_hook(self._begin)
        model.register_forward_hook(self._end)
        if model.filter is not None:  # linked after the encoder, before the propagation
            model.filter = replace(model.filter, link=partial(self._link, model.filter.link))

    def _begin(self, model: nn.Module, inputs: tuple[Any, ...]) -> None:
        self.mark("rest" if _trains(inputs) else "optimiser")
        assert isinstance(model, Population)
        parameters = model.learned()
        first = next(iter(parameters.values()))
        if _trains(inputs) and not any(first is known for known in self.parts):
            self.parts.append(first)
            phase = "backward" if model.filter is None else "encoder backward"
            for name, parameter in parameters.items():
                if model.filter is None or model.groups[name] == "encoder":
                    parameter.register_post_accumulate_grad_hook(lambda _: self.mark(phase))  # type: ignore[no-untyped-call]

    def _link(self, link: Any, parameters: Mapping[str, Tensor]) -> Tensor:
        self.mark("encoder forward" if torch.is_grad_enabled() else "evaluation")
        linked: Tensor = link(parameters)
        if linked.requires_grad:
            linked.register_hook(lambda _: self.mark("propagation backward"))  # type: ignore[no-untyped-call]
        return linked

    def _end(self, model: nn.Module, inputs: tuple[Any, ...], logits: Tensor) -> None:
        if not _trains(inputs):
            self.mark("evaluation")
            return
        self.mark("forward" if getattr(model, "filter", None) is None else "propagation forward")
        if logits.requires_grad:
            logits.register_hook(lambda _: self.mark("loss"))  # type: ignore[no-untyped-call]

    def total(self, phase: str) -> float:
        """Seconds of a phase, the mean over the threads that trained; another one only waited for them."""
        trained = [own for own in self.seconds.values() if "loss" in own]
        return sum(own.get(phase, 0.0) for own in trained) / max(len(trained), 1)


def _trains(inputs: tuple[Any, ...]) -> bool:
    """Whether a model was called with noise."""
    return len(inputs) > 1 and inputs[1] is not None


def time_phases(task: TimedTask, phases: tuple[str, ...], timing: Timing) -> dict[str, float]:
    """Seconds of each phase of one epoch, the median over rounds."""
    count = epoch_count(task, seconds=timing.seconds, step=5)
    rounds: list[dict[str, float]] = []
    for _ in range(timing.rounds):
        short, long = PhaseClock(), PhaseClock()
        train(task, 1, watch=short.watch)
        train(task, 1 + count, watch=long.watch)
        rounds.append({phase: max(long.total(phase) - short.total(phase), 0.0) / count for phase in phases})
    return {phase: median(row[phase] for row in rounds) for phase in phases}


def measure_newtonnet(graph: Graph, members: int, limits: Limits, timing: Timing) -> dict[str, Any]:
    """The roofline of NewtonNet, as it is compared with the reference."""
    task = make_task(graph, "newtonnet", common_setting(), members=members, threads=timing.threads)
    return _rows(time_phases(task, NEWTONNET, timing), newtonnet_work(task, limits.cache), limits)


def measure_stack(graph: Graph, hidden: int, limits: Limits, timing: Timing) -> dict[str, Any]:
    """The roofline of a Newton stack of this width."""
    setting = equal_setting("newton-stack", **{**SHAPE, "hidden": hidden})
    task = make_task(graph, "newton-stack", setting, threads=timing.threads)
    return _rows(time_phases(task, STACK, timing), stack_work(task), limits)


def _rows(times: Mapping[str, float], work: Mapping[str, Work], limits: Limits) -> dict[str, Any]:
    """For each phase ms, share of the epoch, 10⁹ operations, GB moved and gathered, and shares of the limits."""
    whole = sum(times.values())
    return {
        phase: {
            "ms": 1e3 * seconds,
            "share": seconds / whole if whole else 0.0,
            "gflop": work[phase].operations / 1e9,
            "moved_gb": work[phase].moved / 1e9,
            "gathered_gb": work[phase].gathered / 1e9,
            **work[phase].shares(seconds, limits),
        }
        for phase, seconds in times.items()
    }
