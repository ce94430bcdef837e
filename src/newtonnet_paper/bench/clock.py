"""How time is taken: an epoch is the slope between a short and a long training, rivals take turns in rounds."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from newtonnet.datasets import Split, make_splits
from newtonnet.graphs import Graph
from newtonnet.nn import build
from newtonnet.training import Config, fit

Clock = Callable[[], float]
"""Does its work once and returns seconds, of whatever it counts."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is trained to be timed: ``members`` models of one kind, over at most ten splits of a graph."""

    graph: Graph
    model: str
    options: Any
    config: Config
    splits: tuple[Split, ...]
    threads: int | None = None
    """Given to ``fit``; None leaves the choice to it."""

    @property
    def members(self) -> int:
        """Size P of the population."""
        return len(self.splits)


def make_task(
    graph: Graph, model: str, options: Any, config: Config, *, members: int = 1, threads: int | None = None
) -> Task:
    """A task with a split for each member, the same ten in turn."""
    ten = make_splits(graph, count=min(members, 10))
    return Task(graph, model, options, config, tuple(ten[i % 10] for i in range(members)), threads)


def train(task: Task, epochs: int) -> float:
    """Train for so many epochs; the seconds that ``fit`` takes, with everything it prepares and records."""
    configs = [replace(task.config, seed=i, max_epochs=epochs, patience=None) for i in range(task.members)]
    population = build(task.model, task.graph, task.options, seeds=[config.seed for config in configs])
    began = time.perf_counter()
    fit(population, task.graph, list(task.splits), configs, threads=task.threads)
    return time.perf_counter() - began


def epoch_clock(task: Task, *, seconds: float, step: int = 10) -> Clock:
    """A clock of one epoch of the whole population: a training step and an evaluation, without the set-up.

    Args:
        task: what is trained; it is warmed up here.
        seconds: about how long the epochs between the short and the long training shall last.
        step: their number is a multiple of it; 10 gives work of every tenth epoch its share.
    """
    first = train(task, 1)
    more = train(task, 3)
    rough = max((more - first) / 2, more / 12)  # the first run may hold what only a first run does
    count = step * min(max(math.ceil(seconds / rough / step), 1), math.ceil(1000 / step))

    def slope() -> float:
        short = train(task, 1)
        long = train(task, 1 + count)
        # Noise can make a very short run look longer than a long one; its whole time is then an upper bound.
        return (long - short) / count if long > short else long / (1 + count)

    return slope


def take_turns(clocks: Mapping[str, Clock], rounds: int) -> dict[str, list[float]]:
    """Let every clock run once in each round, so that a disturbance of the machine meets all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in clocks}
    for _ in range(rounds):
        for name, clock in clocks.items():
            times[name].append(clock())
    return times


def ratio(over: list[float], under: list[float]) -> float:
    """The median over rounds of the ratio within a round.

    >>> ratio([2.0, 8.0, 9.0], [1.0, 2.0, 3.0])
    3.0
    """
    return median(a / b for a, b in zip(over, under, strict=True))


def repeat(call: Callable[[], object], *, seconds: float, least: int = 3) -> float:
    """The median time of a call that is repeated for so long, after one call that is not counted."""
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return median(times)


def exponent(sizes: ArrayLike, costs: ArrayLike) -> float:
    r"""The b of :math:`y = a x^b`, by least squares of logarithms.

    >>> round(exponent([1.0, 10.0, 100.0], [3.0, 300.0, 30000.0]), 6)
    2.0
    """
    slope, _ = np.polyfit(np.log(np.asarray(sizes, float)), np.log(np.asarray(costs, float)), 1)
    return float(slope)


def line(sizes: ArrayLike, costs: ArrayLike) -> tuple[float, float]:
    """The a and b of ``y = a + b x``, by least squares.

    >>> [round(number, 6) for number in line([1.0, 2.0, 3.0], [5.0, 7.0, 9.0])]
    [3.0, 2.0]
    """
    slope, intercept = np.polyfit(np.asarray(sizes, float), np.asarray(costs, float), 1)
    return float(intercept), float(slope)
