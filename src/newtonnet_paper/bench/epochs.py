"""Every method of the zoo for one epoch, and NewtonNet beside its rivals at the same degree."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from statistics import geometric_mean, median
from typing import Any

from newtonnet.graphs import Graph
from newtonnet.nn import ZOO, find_model
from newtonnet.training import Config

from .clock import Clock, epoch_clock, make_task, ratio, take_turns

RIVALS = (
    "newtonnet/gprgnn@5",
    "newtonnet/gprgnn@10",
    "newtonnet/chebnetii@5",
    "newtonnet/chebnetii@10",
    "bernnet/newtonnet@10",
)
"""Method over method at a degree K."""

EQUAL = {"hidden": 64, "dropout": 0.5, "propagation_dropout": 0.5}
"""Options that all methods share here, where they have them."""


@dataclass(frozen=True)
class Cost:
    """One method's epoch on one graph.

    Attributes:
        ms: milliseconds.
        degree: degree K, or None for a method without one.
        ratio: to NewtonNet at the same degree, or at its own default where the method has none.
    """

    ms: float
    degree: int | None
    ratio: float


def equal_options(method: str, **changes: Any) -> Any:
    """A method's default options with the width and dropouts that all methods share here, and these changes."""
    options = find_model(method).options
    known = {field.name for field in fields(options)}
    return replace(options, **{name: value for name, value in (EQUAL | changes).items() if name in known})


def time_rivals(
    graph: Graph, *, rounds: int, seconds: float, threads: int | None = None
) -> tuple[dict[str, float], dict[str, float]]:
    """NewtonNet and its rivals, taking turns: ratios by the names of :data:`RIVALS`, and ms by ``method@K``."""
    clocks: dict[str, Clock] = {}
    for pair in RIVALS:
        for name in _sides(pair):
            method, degree = name.split("@")
            if name not in clocks:
                clocks[name] = _clock(graph, method, int(degree), seconds=seconds, threads=threads)
    times = take_turns(clocks, rounds)
    ratios = {pair: ratio(*(times[side] for side in _sides(pair))) for pair in RIVALS}
    return ratios, {name: 1e3 * median(values) for name, values in times.items()}


def time_zoo(
    graph: Graph,
    methods: Sequence[str] | None,
    known: dict[str, float],
    *,
    rounds: int,
    seconds: float,
    threads: int | None = None,
) -> dict[str, Cost]:
    """Every method at its default degree beside NewtonNet at the same one.

    Args:
        graph: where they train.
        methods: which ones; the whole zoo if not given.
        known: ms by ``method@K`` that need not be taken again.
        rounds: how often they take turns.
        seconds: about how long one timed stretch lasts.
        threads: given to ``fit``.
    """
    chosen = list(methods or ZOO)
    own = find_model("newtonnet").options.degree
    degrees = {method: getattr(find_model(method).options, "degree", None) for method in chosen}
    wanted = [_label(method, degree) for method, degree in degrees.items()]
    wanted += [_label("newtonnet", degree or own) for degree in degrees.values()]
    clocks = {
        name: _clock(graph, *_method(name), seconds=seconds, threads=threads)
        for name in dict.fromkeys(wanted)
        if name not in known
    }
    ms = known | {name: 1e3 * median(times) for name, times in take_turns(clocks, rounds).items()}
    costs = {}
    for method, degree in degrees.items():
        cost = ms[_label(method, degree)]
        costs[method] = Cost(cost, degree, cost / ms[_label("newtonnet", degree or own)])
    return costs


def mean_ratios(ratios: Sequence[dict[str, float]]) -> dict[str, float]:
    """The geometric mean over graphs of each ratio.

    >>> mean_ratios([{"a/b": 2.0}, {"a/b": 8.0}])
    {'a/b': 4.0}
    """
    return {pair: geometric_mean(row[pair] for row in ratios) for pair in (ratios[0] if ratios else ())}


def _clock(graph: Graph, method: str, degree: int | None, *, seconds: float, threads: int | None) -> Clock:
    options = equal_options(method) if degree is None else equal_options(method, degree=degree)
    config = Config(**find_model(method).training)
    return epoch_clock(make_task(graph, method, options, config, threads=threads), seconds=seconds, step=2)


def _sides(pair: str) -> tuple[str, str]:
    """``a/b@K`` to ``a@K`` and ``b@K``."""
    both, degree = pair.split("@")
    over, under = both.split("/")
    return f"{over}@{degree}", f"{under}@{degree}"


def _label(method: str, degree: int | None) -> str:
    return method if degree is None else f"{method}@{degree}"


def _method(label: str) -> tuple[str, int | None]:
    method, _, degree = label.partition("@")
    return method, int(degree) if degree else None
