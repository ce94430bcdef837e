"""The figures of a run as tables, for the terminal and for markdown pages."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from newtonnet_paper.exhibit import Table
from newtonnet_paper.pages import fill_marked, table_markdown

Result = Mapping[str, Any]
"""What ``run_bench`` returns."""


def tables(result: Result) -> dict[str, Table]:
    """All tables of a run that have rows, by their names in a page's markers."""
    made = {key: make(result) for key, make in _TABLES.items()}
    return {key: table for key, table in made.items() if table.rows}


def read_results(folder: Path) -> dict[str, Result]:
    """Saved runs by the name of their profile."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def update_page(text: str, results: Mapping[str, Result]) -> str:
    """Put tables between the markers of a page.

    ``<!-- bench PROFILE KEY -->`` and ``<!-- end -->`` enclose what is replaced; the key is a table's, or ``all``. A
    marker whose profile was not run, or has no such table, keeps its contents.
    """

    def make(rest: str) -> str | None:
        profile, key = rest.split()
        found = tables(results[profile]) if profile in results else {}
        chosen = [table for name, table in found.items() if key in ("all", name)]
        return "\n\n".join(table_markdown(table, titled=key == "all", align="---:") for table in chosen) or None

    return fill_marked(text, "bench", make)


def _machine(result: Result) -> Table:
    machine = result.get("machine", {})
    rows = [("profile", f"{result['profile']}, {result['seconds']:.0f} s")] if machine else []
    words = {"cpu": "CPU", "memory_gb": "memory, GB", "load": "load average at the start"}
    words |= {"l2_bandwidth_gb_per_s": "bandwidth of additions within L2, GB/s"}
    words |= {"bandwidth_gb_per_s": "copy bandwidth, GB/s", "multiply_adds_g_per_s": "float32 multiply-adds, 10⁹/s"}
    for key, value in machine.items():
        text = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
        rows.append((words.get(key, key), text))
    rows += [("note", note) for note in result.get("notes", ())]
    return Table("The machine", ("property", "value"), tuple(rows))


def _three(value: float) -> str:
    """Three significant digits, or all before the decimal point."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _headline(result: Result) -> Table:
    alone, together = result.get("epoch_ratio", {}), result.get("population_ratio", {})
    rows = []
    for graph, ratio in alone.items():
        row = result["reference"][graph]
        ours = row["ours_ms"]
        shared = f"{ours['64']:.3g}" if "64" in ours else "–"
        both = f"{together[graph]:.1f}×" if graph in together else "–"
        rows.append((graph, _three(row["reference_ms"]), f"{ours['1']:.3g}", f"{ratio:.1f}×", shared, both))
    header = ("graph", "PyG, ms", "alone, ms", "faster", "one of 64, ms", "faster")
    return Table("One epoch of NewtonNet and of plain PyTorch Geometric", header, tuple(rows))


def _kernels_off(result: Result) -> Table:
    rows = [
        (graph, _three(row["on_ms"]), _three(row["off_ms"]), f"{row['ratio']:.2f}×")
        for graph, row in result.get("kernels_off", {}).items()
    ]
    header = ("graph", "kernels on, ms", "kernels off, ms", "off / on")
    return Table("One epoch of NewtonNet with the kernels on and off", header, tuple(rows))


def _stacks(result: Result) -> Table:
    rows = [
        (
            graph,
            _three(row["plain_ms"]),
            f"{row['plain_gflops']:.3g}",
            _three(row["ms"]),
            f"{row['gflops']:.3g}",
            f"{row['ratio']:.2f}×",
        )
        for graph, row in result.get("stacks", {}).items()
    ]
    header = ("graph", "plain torch, ms", "GFLOP/s", "Newton stack, ms", "GFLOP/s", "faster")
    return Table("One epoch of a stack of 12 layers and 64 units with labels as inputs", header, tuple(rows))


def _throughput(result: Result) -> Table:
    table = result.get("throughput", {})
    sizes = list(dict.fromkeys(p for row in table.values() for p in row))
    rows = [(graph, *(f"{row[p]:.4g}" if p in row else "–" for p in sizes)) for graph, row in table.items()]
    header = ("graph", *(f"P = {p}" for p in sizes))
    return Table("Throughput of a population, models × epochs per second", header, tuple(rows))


def _rivals(result: Result) -> Table:
    table, means = result.get("rivals", {}), result.get("rivals_ratio", {})
    rows = [(pair, *(f"{row[pair]:.2f}" for row in table.values()), f"{mean:.2f}") for pair, mean in means.items()]
    return Table("Time of an epoch as a ratio, at one degree K", ("pair @ K", *table, "mean"), tuple(rows))


def _methods(result: Result) -> Table:
    table = result.get("epochs", {})
    rows = []
    for method, cost in next(iter(table.values()), {}).items():
        cells = [f"{row[method]['ms']:.3g} ({row[method]['ratio']:.2f})" for row in table.values()]
        rows.append((method, "–" if cost["degree"] is None else str(cost["degree"]), *cells))
    title = "One epoch of every method, ms (ratio to NewtonNet at the same degree)"
    return Table(title, ("method", "K", *table), tuple(rows))


def _kernel(result: Result) -> Table:
    table = result.get("kernel", {})
    rows = []
    for graph, row in table.items():
        for columns, cell in row["products"].items():
            names = ("fraction", "arithmetic_fraction", "gather_fraction", "prefetched_gather_fraction")
            found = [cell.get(name) for name in names]
            shares = ("–" if share is None else f"{100 * share:.0f}%" for share in found)
            rows.append((graph, columns, _three(cell["ms"]), _three(cell["bound_ms"]), *shares))
    limits = ("of the bandwidth bound", "of the arithmetic", "of the gather bound", "with prefetching")
    header = ("graph", "columns", "ms", "bound, ms", *limits)
    return Table("One sparse product and the machine's limits", header, tuple(rows))


def _roofline(result: Result) -> Table:
    rows = []
    for graph, row in result.get("roofline", {}).items():
        for kind, phases in row.items():
            for phase, cell in phases.items():
                work = (f"{cell[name]:.3g}" for name in ("gflop", "moved_gb", "gathered_gb"))
                shares = [cell[name] for name in ("share", "bandwidth", "l2", "peak")]
                reached = ("–" if share is None else f"{100 * share:.0f}%" for share in shares)
                rows.append((graph, kind, phase, _three(cell["ms"]), *work, *reached))
    amounts, limits = ("GFLOP", "GB moved", "GB gathered"), ("of the bandwidth", "of L2's", "of the arithmetic")
    header = ("graph", "model", "phase", "ms", *amounts, "of the epoch", *limits)
    return Table("The phases of an epoch and the machine's limits", header, tuple(rows))


def _edges(result: Result) -> Table:
    rows = result.get("growth", {}).get("edges", ())
    cells = [(f"{r['edges']:,}", f"{r['nodes']:,}", f"{r['ms']:.4g}", f"{r['mb']:.4g}") for r in rows]
    powers = result.get("growth_exponent", {})
    if cells:
        memory = f"{powers['memory_edges']:.2f}" if "memory_edges" in powers else "–"
        cells.append(("fitted exponent", "", f"{powers['edges']:.2f}", memory))
    return Table("Growth with the edges", ("edges", "nodes", "epoch, ms", "peak, MB"), tuple(cells))


def _degrees(result: Result) -> Table:
    growth = result.get("growth", {})
    cells = [(str(row["degree"]), f"{row['ms']:.4g}") for row in growth.get("degree", ())]
    if cells:
        a, b = growth["degree_line"]["fixed_ms"], growth["degree_line"]["ms_per_degree"]
        cells.append(("fitted exponent", f"{result['growth_exponent']['degree']:.2f}"))
        cells.append(("fitted line", f"{a:.3g} + {b:.3g} K"))
    return Table("Growth with the degree", ("K", "epoch, ms"), tuple(cells))


def _costs(result: Result) -> Table:
    table = result.get("costs", {})
    rows = []
    for i, first in enumerate(next(iter(table.values()), ())):
        cells = [f"{_three(row[i]['ms'])} ({row[i]['mb']:.0f})" for row in table.values()]
        rows.append((first["model"], "–" if first["degree"] is None else str(first["degree"]), *cells))
    title = "One epoch, ms, and peak memory above the interpreter's, MB in brackets"
    return Table(title, ("method", "K", *table), tuple(rows))


def _memory(result: Result) -> Table:
    rows = tuple((graph, f"{mb:.0f}") for graph, mb in result.get("peak_mb", {}).items())
    return Table("Peak resident memory of NewtonNet above the interpreter's, MB", ("graph", "MB"), rows)


_TABLES: dict[str, Callable[[Result], Table]] = {
    "machine": _machine,
    "headline": _headline,
    "kernels": _kernels_off,
    "stacks": _stacks,
    "throughput": _throughput,
    "rivals": _rivals,
    "methods": _methods,
    "kernel": _kernel,
    "roofline": _roofline,
    "edges": _edges,
    "degrees": _degrees,
    "memory": _memory,
    "costs": _costs,
}
