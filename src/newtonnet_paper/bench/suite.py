"""One run of all sections, as one plain object that is saved and printed."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from newtonnet.graphs import Graph
from newtonnet.nn import ZOO

from .epochs import mean_ratios, time_rivals, time_zoo
from .growth import fit_growth, grown, time_degrees, time_epoch
from .kernel import time_kernel
from .machine import BUSY, Limits, describe_machine, load, measure_limits
from .memory import Weighing, store, weigh
from .profiles import Profile
from .reference import ALONE, TOGETHER, common_setting, load_reference, time_populations
from .sized_graphs import Size, real_or_sized, sized_graph

Say = Callable[[str], None]
"""Takes a line for the reader while the benchmark runs."""


def run_bench(
    profile: Profile, *, reference: Path | None = None, threads: int | None = None, say: Say = lambda _: None
) -> dict[str, Any]:
    """Measure everything the profile asks for.

    Args:
        profile: what to measure.
        reference: the PyTorch Geometric implementation's file; its section is left out if not given.
        threads: how many threads torch takes; its own choice if not given.
        say: takes a line before every part, and every remark.

    Returns:
        Plain data: ratios in front (``epoch_ratio``, ``population_ratio``, ``rivals_ratio``, ``kernel_fraction``,
        ``arithmetic_fraction``, ``growth_exponent``, ``peak_mb``, ``methods_mb``, ``throughput``), then what they were
        computed from, the machine, and notes.
    """
    began = time.perf_counter()
    notes: list[str] = []

    def note(text: str) -> None:
        notes.append(text)
        say(text)

    if load() > BUSY:
        note(f"the machine is busy (load average {load():.2f}): wait until it is quiet, or do not trust these figures")
    if reference is None:
        note("no reference: benchmarks/pyg_newtonnet.py is not here, so its comparison is skipped; see --reference")
    module = load_reference(reference) if reference is not None else None
    with _thread_count(threads), tempfile.TemporaryDirectory(prefix="newtonnet-bench-") as folder:
        say("the machine's limits")
        limits = measure_limits(copy_bytes=profile.copy_bytes, seconds=5 * profile.seconds)
        machine = describe_machine(limits)
        run = _Run(profile, threads, Path(folder), say, note, {})
        result = {
            **_time_methods(run),
            **_time_reference(run, module),
            **_time_kernels(run, limits),
            **_measure_growth(run),
            **_measure_memory(run),
        }
    seconds = round(time.perf_counter() - began, 1)
    front = {"profile": profile.name, "seconds": seconds, "machine": machine, "notes": notes}
    return {**front, **_tidy(result)}


@contextmanager
def _thread_count(threads: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, eq=False)
class _Run:
    """What the sections of one run share."""

    profile: Profile
    threads: int | None
    folder: Path
    say: Say
    note: Say
    made: dict[Size, Graph]
    """Generated graphs by their size, whatever they are called."""

    def sized(self, size: Size) -> Graph:
        key = replace(size, name="")
        if key not in self.made:
            self.say(f"generating a graph of {size.nodes:,} nodes and {size.edges:,} edges")
            self.made[key] = sized_graph(size)
        return self.made[key]

    def graph(self, size: Size) -> Graph:
        """The real graph of that name where the profile wants it and it is at hand."""
        graph = real_or_sized(size.name) if self.profile.real else self.sized(size)
        if graph.name == f"{size.name}-sized":
            self.note(f"{size.name} is not at hand: a generated graph of its size stands in for it")
        return graph


def _time_methods(run: _Run) -> dict[str, Any]:
    profile = run.profile
    ratios, costs = {}, {}
    for size in profile.graphs:
        graph = run.graph(size)
        run.say(f"epochs: rivals on {size.name}")
        ratios[size.name], known = time_rivals(
            graph, rounds=3 * profile.rounds, seconds=profile.seconds, threads=run.threads
        )
        run.say(f"epochs: all methods on {size.name}")
        rows = time_zoo(
            graph,
            profile.methods,
            known,
            rounds=max(profile.rounds // 3, 1),
            seconds=profile.seconds,
            threads=run.threads,
        )
        costs[size.name] = {method: asdict(cost) for method, cost in rows.items()}
    return {"rivals_ratio": mean_ratios(list(ratios.values())), "rivals": ratios, "epochs": costs}


def _time_reference(run: _Run, module: ModuleType | None) -> dict[str, Any]:
    profile = run.profile
    rows = {}
    for size in profile.graphs:
        run.say(f"populations{' and the reference' if module else ''} on {size.name}")
        rows[size.name] = _time_populations(run, size.name, run.graph(size), profile.populations, module)
    if profile.large is not None:
        run.say(f"{'the reference and ' if module else ''}newtonnet on {profile.large.name}")
        rows[profile.large.name] = _time_populations(
            run, profile.large.name, run.sized(profile.large), (ALONE,), module
        )
    compared = {name: row["ratio"] for name, row in rows.items() if "ratio" in row}
    return {
        "epoch_ratio": {name: ratio[str(ALONE)] for name, ratio in compared.items() if str(ALONE) in ratio},
        "population_ratio": {name: r[str(TOGETHER)] for name, r in compared.items() if str(TOGETHER) in r},
        "throughput": {name: row["throughput"] for name, row in rows.items()},
        "reference": rows,
    }


def _time_populations(
    run: _Run, name: str, graph: Graph, populations: tuple[int, ...], module: ModuleType | None
) -> dict[str, Any]:
    return time_populations(
        graph,
        populations,
        module,
        setting=common_setting(),
        rounds=run.profile.rounds,
        seconds=run.profile.seconds,
        threads=run.threads,
        note=run.note,
    )


def _time_kernels(run: _Run, limits: Limits) -> dict[str, Any]:
    rows = {}
    for size, widths in run.profile.kernel:
        graph = run.sized(size)
        run.say(f"kernel: {size.name}")
        rows[size.name] = time_kernel(graph, widths, limits, seconds=run.profile.seconds, note=run.note)

    def pick(field: str) -> dict[str, Any]:
        return {name: {c: cell[field] for c, cell in row["products"].items()} for name, row in rows.items()}

    return {
        "kernel_fraction": pick("fraction"),
        "arithmetic_fraction": pick("arithmetic_fraction"),
        "kernel": rows,
    }


def _measure_growth(run: _Run) -> dict[str, Any]:
    profile = run.profile
    rows: list[dict[str, float]] = []
    weighings = []
    for edges in profile.growth_edges:
        size = grown(profile.growth_size, edges)
        graph = sized_graph(size)
        run.say(f"growth: {edges:,} edges")
        taken = time_epoch(graph, rounds=max(profile.rounds // 2, 1), seconds=profile.seconds, threads=run.threads)
        rows.append({"edges": edges, "nodes": graph.nodes, "ms": 1e3 * taken})
        weighings.append(Weighing(store(graph, run.folder, name=size.name), threads=run.threads))
        del graph
    run.say("growth: memory")
    for row, mb in zip(rows, weigh(weighings), strict=True):
        row["mb"] = mb
    run.say("growth: degrees")
    by_degree = time_degrees(
        run.sized(profile.degree_size),
        profile.degrees,
        rounds=max(profile.rounds // 2, 1),
        seconds=profile.seconds,
        threads=run.threads,
    )
    fits = fit_growth(rows, by_degree)
    growth = {"edges": rows, "degree": by_degree, "degree_line": fits["degree_line"]}
    return {"growth_exponent": fits["exponents"], "growth": growth}


def _measure_memory(run: _Run) -> dict[str, Any]:
    run.say("memory")
    methods = {size.name: list(run.profile.methods or ZOO) for size in run.profile.methods_memory}
    wanted = {size.name: store(run.graph(size), run.folder, name=size.name) for size in run.profile.methods_memory}
    for size in run.profile.memory:
        methods[size.name] = ["newtonnet"]
        wanted[size.name] = store(run.sized(size), run.folder, name=size.name)
    weighings = [Weighing(wanted[name], method, threads=run.threads) for name in wanted for method in methods[name]]
    cells = iter(weigh(weighings))
    methods_mb = {name: {method: next(cells) for method in methods[name]} for name in wanted}
    return {
        "peak_mb": {name: row["newtonnet"] for name, row in methods_mb.items() if "newtonnet" in row},
        "methods_mb": methods_mb,
    }


def _tidy(value: Any) -> Any:
    """Four significant digits are more than any of these figures has."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _tidy(item) for key, item in value.items()}
    return [_tidy(item) for item in value] if isinstance(value, list) else value
