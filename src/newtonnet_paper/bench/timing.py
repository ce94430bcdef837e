"""How time is measured: an epoch is the difference of a short and a long training, and methods take turns in rounds."""

import importlib.util
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import geometric_mean, median
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike

from newtonnet.datasets import Split, make_splits
from newtonnet.graphs import Graph
from newtonnet.nn import ZOO, Population, build, find_model
from newtonnet.training import Config, Setting, fit

from .machine import free_memory

Clock = Callable[[], float]
"""Does its work once and returns seconds."""

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

REFERENCE = Path("benchmarks") / "pyg_newtonnet.py"
"""Where a checkout keeps the reference implementation."""

ALONE, TOGETHER = 1, 64
"""Populations that are compared with the reference."""

SLOW = 1.0
"""Seconds of an epoch that is long enough to be timed alone."""


@dataclass(frozen=True)
class Timing:
    """How often methods take turns, about how long one timed run lasts, and the number of threads."""

    rounds: int
    seconds: float
    threads: int | None = None


@dataclass(frozen=True, eq=False)
class TimedTask:
    """What is trained to be timed: models of one kind, one for each split."""

    graph: Graph
    model: str
    setting: Setting
    splits: tuple[Split, ...]
    threads: int | None = None


def make_task(
    graph: Graph, model: str, setting: Setting | None = None, *, members: int = 1, threads: int | None = None
) -> TimedTask:
    """A task with a split for each member, the same ten in turn; by default with :func:`equal_setting`."""
    ten = make_splits(graph, count=min(members, 10))
    splits = tuple(ten[i % 10] for i in range(members))
    return TimedTask(graph, model, setting or equal_setting(model), splits, threads)


def equal_setting(method: str, **changes: Any) -> Setting:
    """A method's defaults with the width and dropouts that all methods share here, and these changes of options."""
    entry = find_model(method)
    known = {field.name for field in fields(entry.options)}
    options = {name: value for name, value in (EQUAL | changes).items() if name in known}
    return Setting("equal", replace(entry.options, **options), Config(**entry.training))


def common_setting() -> Setting:
    """The setting of ours and the reference: K = 5 and the penalty of the released code."""
    config = Config(variant="released", gammas=(1.0, 1.0, 1.0))
    return replace(equal_setting("newtonnet", degree=5), config=config)


def train(task: TimedTask, epochs: int, *, watch: Callable[[Population], None] | None = None) -> float:
    """Train for a number of epochs and return the seconds of ``fit``, including preparation and records.

    ``watch`` is called with the population before.
    """
    config = replace(task.setting.config, max_epochs=epochs, patience=None)
    configs = [replace(config, seed=i) for i in range(len(task.splits))]
    population = build(task.model, task.graph, task.setting.options, seeds=[one.seed for one in configs])
    if watch is not None:
        watch(population)
    began = time.perf_counter()
    fit(population, task.graph, list(task.splits), configs, threads=task.threads)
    return time.perf_counter() - began


def epoch_count(task: TimedTask, *, seconds: float, step: int) -> int:
    """About how many epochs take so long, a multiple of ``step`` and at most about 1000."""
    first = train(task, 1)
    more = train(task, 3)
    rough = max((more - first) / 2, more / 12)  # the first run may include work that is done only once
    return step * min(max(math.ceil(seconds / rough / step), 1), math.ceil(1000 / step))


def epoch_clock(task: TimedTask, *, seconds: float, step: int = 10) -> Clock:
    """A clock of one epoch of a population, without the set-up; it times a multiple of ``step`` epochs."""
    count = epoch_count(task, seconds=seconds, step=step)

    def epoch() -> float:
        short = train(task, 1)
        long = train(task, 1 + count)
        # Noise can make a very short run look longer than a long one; the whole time is then an upper bound.
        return (long - short) / count if long > short else long / (1 + count)

    return epoch


def take_turns(clocks: Mapping[str, Clock], rounds: int) -> dict[str, list[float]]:
    """Run every clock once in each round, so that a disturbance of the machine affects all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in clocks}
    for _ in range(rounds):
        for name, clock in clocks.items():
            times[name].append(clock())
    return times


def ratio(over: list[float], under: list[float]) -> float:
    """The median over rounds of the ratio within a round."""
    return median(a / b for a, b in zip(over, under, strict=True))


def exponent(sizes: ArrayLike, costs: ArrayLike) -> float:
    """The b of ``y = a x^b``, by least squares of logarithms."""
    power, _ = np.polyfit(np.log(np.asarray(sizes, float)), np.log(np.asarray(costs, float)), 1)
    return float(power)


def line(sizes: ArrayLike, costs: ArrayLike) -> tuple[float, float]:
    """The a and b of ``y = a + b x``, by least squares."""
    b, a = np.polyfit(np.asarray(sizes, float), np.asarray(costs, float), 1)
    return float(a), float(b)


def time_rivals(graph: Graph, timing: Timing) -> tuple[dict[str, float], dict[str, float]]:
    """NewtonNet and its rivals, taking turns: ratios by the names of :data:`RIVALS`, and ms by ``method@K``."""
    times = _time_labels(graph, [side for pair in RIVALS for side in _sides(pair)], timing)
    ratios = {pair: ratio(*(times[side] for side in _sides(pair))) for pair in RIVALS}
    return ratios, {name: 1e3 * median(values) for name, values in times.items()}


def time_zoo(
    graph: Graph, methods: Sequence[str] | None, known: Mapping[str, float], timing: Timing
) -> dict[str, dict[str, Any]]:
    """``ms``, ``degree`` and ``ratio`` to NewtonNet at that degree, of each method; ``known`` ms are used again."""
    own = find_model("newtonnet").options.degree
    degrees = {method: getattr(find_model(method).options, "degree", None) for method in methods or ZOO}
    wanted = [_label(method, degree) for method, degree in degrees.items()]
    wanted += [_label("newtonnet", degree or own) for degree in degrees.values()]
    times = _time_labels(graph, [name for name in wanted if name not in known], timing)
    ms = {**known, **{name: 1e3 * median(values) for name, values in times.items()}}
    costs = {}
    for method, degree in degrees.items():
        cost = ms[_label(method, degree)]
        costs[method] = {"ms": cost, "degree": degree, "ratio": cost / ms[_label("newtonnet", degree or own)]}
    return costs


def mean_ratios(ratios: Sequence[dict[str, float]]) -> dict[str, float]:
    """The geometric mean over graphs of each ratio."""
    return {pair: geometric_mean(row[pair] for row in ratios) for pair in (ratios[0] if ratios else ())}


def _time_labels(graph: Graph, labels: Iterable[str], timing: Timing) -> dict[str, list[float]]:
    """Seconds of an epoch of each ``method`` or ``method@K``, all taking turns."""
    clocks = {}
    for label in dict.fromkeys(labels):
        method, _, degree = label.partition("@")
        setting = equal_setting(method, degree=int(degree)) if degree else equal_setting(method)
        task = make_task(graph, method, setting, threads=timing.threads)
        clocks[label] = epoch_clock(task, seconds=timing.seconds, step=2)
    return take_turns(clocks, timing.rounds)


def _sides(pair: str) -> tuple[str, str]:
    """``a/b@K`` to ``a@K`` and ``b@K``."""
    both, degree = pair.split("@")
    over, under = both.split("/")
    return f"{over}@{degree}", f"{under}@{degree}"


def _label(method: str, degree: int | None) -> str:
    return method if degree is None else f"{method}@{degree}"


def time_methods(graph: Graph, methods: Iterable[tuple[str, int | None]], timing: Timing) -> list[float]:
    """Milliseconds of one epoch of each method at a degree K, all taking turns."""
    labels = [_label(method, degree) for method, degree in methods]
    times = _time_labels(graph, labels, timing)
    return [1e3 * median(times[label]) for label in labels]


def time_epoch(graph: Graph, timing: Timing) -> float:
    """Seconds of one epoch of NewtonNet with its default settings."""
    return min(_time_labels(graph, ["newtonnet"], timing)["newtonnet"])


def time_degrees(graph: Graph, degrees: Sequence[int], timing: Timing) -> list[dict[str, float]]:
    """Milliseconds of one epoch for each degree K, the degrees taking turns."""
    # The filter's products dominate the time; equispaced points of degree 20 lose too many digits.
    narrow = {"points": "chebyshev", "hidden": 16, "dropout": 0.0, "propagation_dropout": 0.0}
    clocks = {}
    for degree in degrees:
        setting = equal_setting("newtonnet", degree=degree, **narrow)
        plain = replace(setting, config=replace(setting.config, gammas=(0.0, 0.0, 0.0)))
        task = make_task(graph, "newtonnet", plain, threads=timing.threads)
        clocks[str(degree)] = epoch_clock(task, seconds=timing.seconds, step=5)
    times = take_turns(clocks, timing.rounds)
    return [{"degree": degree, "ms": 1e3 * min(times[str(degree)])} for degree in degrees]


def fit_growth(by_edges: Sequence[dict[str, float]], by_degree: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Exponents of log-log fits, from which nothing is subtracted, and the line ``a + b K`` of the degrees."""
    degrees, ms = ([row[name] for row in by_degree] for name in ("degree", "ms"))
    fixed, each = line(degrees, ms)
    weighed = [row for row in by_edges if row.get("mb")]
    exponents = {
        "edges": exponent([row["edges"] for row in by_edges], [row["ms"] for row in by_edges]),
        "degree": exponent(degrees, ms),
    }
    if len(weighed) > 1:
        exponents["memory_edges"] = exponent([row["edges"] for row in weighed], [row["mb"] for row in weighed])
    return {"exponents": exponents, "degree_line": {"fixed_ms": fixed, "ms_per_degree": each}}


def find_reference(given: Path | None = None) -> Path | None:
    """The reference's file: the given one, or that of the checkout around the package or the working directory."""
    if given is not None:
        if not given.is_file():
            raise ValueError(f"there is no reference {given}; name a Python file such as {REFERENCE}")
        return given
    starts = (Path(__file__).resolve(), Path.cwd() / "here")
    paths = (folder / REFERENCE for start in starts for folder in start.parents)
    return next((path for path in paths if path.is_file()), None)


def load_reference(path: Path) -> ModuleType:
    """Import the reference from its file."""
    spec = importlib.util.spec_from_file_location("newtonnet_reference", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file; name one such as {REFERENCE}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # PyTorch Geometric looks up the types of a layer's messages there
    spec.loader.exec_module(module)
    if not hasattr(module, "Trainer"):
        raise ValueError(f"{path} has no class Trainer; see {REFERENCE}")
    return module


def make_trainer(module: ModuleType, graph: Graph, setting: Setting) -> Any:
    """The reference's trainer with the same data, split and settings as ours."""
    split = make_splits(graph, count=1)[0]
    dense = graph.features.toarray() if isinstance(graph.features, sp.csr_array) else graph.features.copy()
    both = graph.adjacency.tocoo()
    masks = tuple(torch.zeros(graph.nodes, dtype=torch.bool) for _ in range(3))
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
    timing: Timing,
    *,
    note: Callable[[str], None],
) -> dict[str, Any]:
    """Times of one model and epoch by the population's size, the reference and populations taking turns."""
    setting = common_setting()
    clocks: dict[str, Clock] = {}
    if module is not None and 16 * graph.nodes * graph.features.shape[1] > free_memory():
        note(f"reference: {graph.name} skipped, its dense features would take too much memory")
    elif module is not None:
        clocks["reference"] = _reference_clock(make_trainer(module, graph, setting), seconds=timing.seconds)
    for members in populations:
        task = make_task(graph, "newtonnet", setting, members=members, threads=timing.threads)
        clocks[str(members)] = epoch_clock(task, seconds=timing.seconds)
    times = take_turns(clocks, timing.rounds)
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
