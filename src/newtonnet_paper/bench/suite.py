"""One run of all sections of the benchmark, as one plain object that is saved and printed."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from newtonnet.graphs import Graph
from newtonnet.kernels import use_threads
from newtonnet.search import published

from . import timing
from .fresh import FreshRun, peak_memory, store, time_kernels
from .machine import BUSY, Limits, build_gather, describe_machine, load, measure_limits, time_kernel
from .roofline import measure_newtonnet, measure_stack
from .sizes import SIZES, GraphSize, Profile, grown, real_or_sized, sized_graph
from .stacks import time_stack
from .timing import Timing

Say = Callable[[str], None]
"""Prints a line while the benchmark runs."""


def run_bench(
    profile: Profile, *, reference: Path | None = None, threads: int | None = None, say: Say = lambda _: None
) -> dict[str, Any]:
    """Measure everything in the profile.

    Args:
        profile: what to measure.
        reference: file of the PyTorch Geometric implementation; its section is skipped if not given.
        threads: number of torch's threads; torch's choice if not given.
        say: called with a line before every part, and with every note.

    Returns:
        Plain data: ratios (``epoch_ratio``, ``population_ratio``, ``rivals_ratio``, ``kernels_off``,
        ``stack_ratio``, ``kernel_fraction``, ``arithmetic_fraction``, ``growth_exponent``, ``peak_mb``, ``costs``,
        ``throughput``), the measurements that they were computed from, the machine, and notes.
    """
    began = time.perf_counter()
    notes: list[str] = []

    def note(text: str) -> None:
        notes.append(text)
        say(text)

    if load() > BUSY:
        note(f"the machine is busy (load average {load():.2f}): wait until it is idle, or do not rely on these figures")
    if reference is None:
        note("no reference: benchmarks/pyg_newtonnet.py was not found, so its comparison is skipped; see --reference")
    module = timing.load_reference(reference) if reference is not None else None
    with use_threads(threads), tempfile.TemporaryDirectory(prefix="newtonnet-bench-") as folder:
        say("the machine's limits")
        limits = measure_limits(copy_bytes=profile.copy_bytes, seconds=5 * profile.seconds)
        machine = describe_machine(limits)
        run = _Sections(profile, threads, Path(folder), say, note, {})
        result = {
            **_time_methods(run),
            **_time_kernels_off(run),
            **_time_stacks(run),
            **_time_reference(run, module),
            **_time_kernels(run, limits),
            **_time_phases(run, limits),
            **_measure_growth(run),
            **_measure_memory(run),
            **_measure_costs(run),
        }
    seconds = round(time.perf_counter() - began, 1)
    front = {"profile": profile.name, "seconds": seconds, "machine": machine, "notes": notes}
    return {**front, **_tidy(result)}


@dataclass(frozen=True, eq=False)
class _Sections:
    """What the sections of one run share."""

    profile: Profile
    threads: int | None
    folder: Path
    say: Say
    note: Say
    made: dict[GraphSize, Graph]
    """Generated graphs by their size, regardless of their name."""

    def timing(self, rounds: int) -> Timing:
        return Timing(max(rounds, 1), self.profile.seconds, self.threads)

    def sized(self, size: GraphSize) -> Graph:
        key = replace(size, name="")
        if key not in self.made:
            self.say(f"generating a graph of {size.nodes:,} nodes and {size.edges:,} edges")
            self.made[key] = sized_graph(size)
        return self.made[key]

    def graph(self, size: GraphSize) -> Graph:
        """The real graph of that name where the profile wants it and it is available."""
        wanted = (*self.profile.graphs, *self.profile.costs, *(size for size, _ in self.profile.roofline))
        if not self.profile.real or size not in wanted or size.name not in SIZES:
            return self.sized(size)
        graph = real_or_sized(size.name)
        if graph.name == f"{size.name}-sized":
            self.note(f"{size.name} is not available: a generated graph of its size is used instead")
        return graph

    def stored(self, size: GraphSize) -> str:
        return store(self.graph(size), self.folder, name=size.name)


def _time_methods(run: _Sections) -> dict[str, Any]:
    profile = run.profile
    ratios, costs = {}, {}
    for size in profile.graphs:
        graph = run.graph(size)
        run.say(f"epochs: rivals on {size.name}")
        ratios[size.name], known = timing.time_rivals(graph, run.timing(3 * profile.rounds))
        run.say(f"epochs: all methods on {size.name}")
        costs[size.name] = timing.time_zoo(graph, profile.methods, known, run.timing(profile.rounds // 3))
    return {"rivals_ratio": timing.mean_ratios(list(ratios.values())), "rivals": ratios, "epochs": costs}


def _time_kernels_off(run: _Sections) -> dict[str, Any]:
    rows = {}
    for size in run.profile.kernels_off:
        run.say(f"epochs: kernels on and off on {size.name}")
        rows[size.name] = time_kernels(run.stored(size), run.timing(run.profile.rounds // 2))
    return {"kernels_off": rows}


def _time_stacks(run: _Sections) -> dict[str, Any]:
    rows = {}
    for size in run.profile.stacks:
        run.say(f"epochs: the Newton stack and plain torch on {size.name}")
        rows[size.name] = time_stack(run.graph(size), run.timing(run.profile.rounds))
    return {"stack_ratio": {name: row["ratio"] for name, row in rows.items()}, "stacks": rows}


def _time_reference(run: _Sections, module: ModuleType | None) -> dict[str, Any]:
    profile = run.profile
    sizes = dict.fromkeys(profile.graphs, profile.populations)
    if profile.large is not None:
        sizes[profile.large] = (timing.ALONE,)
    rows = {}
    for size, populations in sizes.items():
        run.say(f"populations{' and the reference' if module else ''} on {size.name}")
        rows[size.name] = timing.time_populations(
            run.graph(size), populations, module, run.timing(profile.rounds), note=run.note
        )

    def pick(members: int) -> dict[str, float]:
        found = {name: row.get("ratio", {}).get(str(members)) for name, row in rows.items()}
        return {name: ratio for name, ratio in found.items() if ratio is not None}

    return {
        "epoch_ratio": pick(timing.ALONE),
        "population_ratio": pick(timing.TOGETHER),
        "throughput": {name: row["throughput"] for name, row in rows.items()},
        "reference": rows,
    }


def _time_kernels(run: _Sections, limits: Limits) -> dict[str, Any]:
    rows = {}
    gather = build_gather()
    if gather is None:
        run.note("no C++ compiler: sparse products are not compared with a loop that only reads")
    for size, widths in run.profile.kernel:
        graph = run.sized(size)
        run.say(f"kernel: {size.name}")
        rows[size.name] = time_kernel(graph, widths, limits, seconds=run.profile.seconds, note=run.note, gather=gather)

    def pick(field: str) -> dict[str, Any]:
        return {name: {c: cell[field] for c, cell in row["products"].items()} for name, row in rows.items()}

    return {
        "kernel_fraction": pick("fraction"),
        "arithmetic_fraction": pick("arithmetic_fraction"),
        "kernel": rows,
    }


def _time_phases(run: _Sections, limits: Limits) -> dict[str, Any]:
    how = run.timing(run.profile.rounds // 2)
    rows: dict[str, dict[str, Any]] = {}
    for size, populations in run.profile.roofline:
        run.say(f"phases of an epoch: {size.name}")
        graph = run.graph(size)
        for members in populations:
            kind = f"NewtonNet, P = {members}"
            rows.setdefault(size.name, {})[kind] = measure_newtonnet(graph, members, limits, how)
    for size in run.profile.stacks:
        for hidden in run.profile.stack_widths:
            run.say(f"phases of an epoch: a stack of {hidden} units on {size.name}")
            kind = f"stack of {hidden} units"
            rows.setdefault(size.name, {})[kind] = measure_stack(run.graph(size), hidden, limits, how)
    return {"roofline": rows}


def _measure_growth(run: _Sections) -> dict[str, Any]:
    profile = run.profile
    how = run.timing(profile.rounds // 2)
    rows: list[dict[str, float]] = []
    runs = []
    for edges in profile.growth_edges:
        size = grown(profile.growth_size, edges)
        graph = sized_graph(size)
        run.say(f"growth: {edges:,} edges")
        rows.append({"edges": edges, "nodes": graph.nodes, "ms": 1e3 * timing.time_epoch(graph, how)})
        runs.append(FreshRun(store(graph, run.folder, name=size.name), threads=run.threads))
        del graph
    run.say("growth: memory")
    for row, mb in zip(rows, peak_memory(runs), strict=True):
        row["mb"] = mb
    run.say("growth: degrees")
    by_degree = timing.time_degrees(run.sized(profile.degree_size), profile.degrees, how)
    fits = timing.fit_growth(rows, by_degree)
    growth = {"edges": rows, "degree": by_degree, "degree_line": fits["degree_line"]}
    return {"growth_exponent": fits["exponents"], "growth": growth}


def _measure_memory(run: _Sections) -> dict[str, Any]:
    run.say("memory")
    runs = [FreshRun(run.stored(size), threads=run.threads) for size in run.profile.memory]
    return {"peak_mb": dict(zip([size.name for size in run.profile.memory], peak_memory(runs), strict=True))}


def _measure_costs(run: _Sections) -> dict[str, Any]:
    """Time and memory of the methods of the paper's cost tables, at its degrees and on graphs of its sizes."""
    methods = [
        (model, one)
        for model, degree in published.RUNNING_TIME
        for one in ((5, 10) if model == "gprgnn" else (degree,))
    ]
    rows: dict[str, list[dict[str, Any]]] = {}
    for size in run.profile.costs:
        graph = run.graph(size)
        run.say(f"costs: {graph.name}")
        times = timing.time_methods(graph, methods, run.timing(run.profile.rounds // 2))
        path = store(graph, run.folder, name=f"costs-{size.name}")
        peaks = peak_memory([FreshRun(path, model, degree, threads=run.threads) for model, degree in methods])
        rows[graph.name] = [
            {"model": model, "degree": degree, "ms": ms, "mb": mb}
            for (model, degree), ms, mb in zip(methods, times, peaks, strict=True)
        ]
    return {"costs": rows}


def _tidy(value: Any) -> Any:
    """Round to four significant digits, more than any of these figures has."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _tidy(item) for key, item in value.items()}
    return [_tidy(item) for item in value] if isinstance(value, list) else value
