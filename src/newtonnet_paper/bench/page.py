"""The figures of a run as tables, for the terminal and for Markdown pages; nothing is typed by hand."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from newtonnet.files import fill_marked

Result = Mapping[str, Any]
"""What ``run_bench`` returns."""


@dataclass(frozen=True)
class Sheet:
    """One table: words in the first column, figures in all others."""

    key: str
    """Its name in a page's markers."""
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sheets(result: Result) -> list[Sheet]:
    """All tables of a run that have rows."""
    made = [make(result) for make in _SHEETS]
    return [sheet for sheet in made if sheet.rows]


def read_results(folder: Path) -> dict[str, Result]:
    """Saved runs by the name of their profile."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def update_page(text: str, results: Mapping[str, Result]) -> str:
    """Put tables between the markers of a page.

    ``<!-- bench PROFILE KEY -->`` and ``<!-- end -->`` enclose what is replaced; the key is a sheet's, or ``all``. A
    marker whose profile was not run, or has no such table, keeps what it encloses.
    """

    def make(rest: str) -> str | None:
        profile, key = rest.split()
        chosen = [s for s in sheets(results.get(profile, {})) if key in ("all", s.key)] if profile in results else []
        return "\n\n".join(_markdown(sheet, titled=key == "all") for sheet in chosen) or None

    return fill_marked(text, "bench", make)


def _markdown(sheet: Sheet, *, titled: bool) -> str:
    lines = [f"**{sheet.title}**", ""] if titled else []
    rules = ["---", *["---:"] * (len(sheet.header) - 1)]
    lines += [f"| {' | '.join(cells)} |" for cells in (sheet.header, rules, *sheet.rows)]
    return "\n".join(lines)


def _machine(result: Result) -> Sheet:
    machine = result.get("machine", {})
    rows = [("profile", f"{result['profile']}, {result['seconds']:.0f} s")] if machine else []
    words = {"cpu": "CPU", "memory_gb": "memory, GB", "load": "load average at the start"}
    words |= {"bandwidth_gb_per_s": "copy bandwidth, GB/s", "multiply_adds_g_per_s": "float32 multiply-adds, 10⁹/s"}
    for key, value in machine.items():
        text = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
        rows.append((words.get(key, key), text))
    rows += [("note", note) for note in result.get("notes", ())]
    return Sheet("machine", "The machine", ("what", "here"), tuple(rows))


def _three(value: float) -> str:
    """Three digits, or all that stand before the point.

    >>> _three(0.03553), _three(4698.2)
    ('0.0355', '4,698')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _headline(result: Result) -> Sheet:
    alone, together = result.get("epoch_ratio", {}), result.get("population_ratio", {})
    rows = []
    for graph, ratio in alone.items():
        row = result["reference"][graph]
        ours = row["ours_ms"]
        shared = f"{ours['64']:.3g}" if "64" in ours else "–"
        both = f"{together[graph]:.1f}×" if graph in together else "–"
        rows.append((graph, _three(row["reference_ms"]), f"{ours['1']:.3g}", f"{ratio:.1f}×", shared, both))
    header = ("graph", "PyG, ms", "alone, ms", "faster", "one of 64, ms", "faster")
    return Sheet("headline", "One epoch of NewtonNet beside plain PyTorch Geometric", header, tuple(rows))


def _throughput(result: Result) -> Sheet:
    table = result.get("throughput", {})
    sizes = list(dict.fromkeys(p for row in table.values() for p in row))
    rows = [(graph, *(f"{row[p]:.4g}" if p in row else "–" for p in sizes)) for graph, row in table.items()]
    header = ("graph", *(f"P = {p}" for p in sizes))
    return Sheet("throughput", "Throughput of a population, models × epochs per second", header, tuple(rows))


def _rivals(result: Result) -> Sheet:
    table, means = result.get("rivals", {}), result.get("rivals_ratio", {})
    rows = [(pair, *(f"{row[pair]:.2f}" for row in table.values()), f"{mean:.2f}") for pair, mean in means.items()]
    return Sheet("rivals", "Time of an epoch as a ratio, at one degree K", ("pair @ K", *table, "mean"), tuple(rows))


def _methods(result: Result) -> Sheet:
    table = result.get("epochs", {})
    rows = []
    for method, cost in next(iter(table.values()), {}).items():
        cells = [f"{row[method]['ms']:.3g} ({row[method]['ratio']:.2f})" for row in table.values()]
        rows.append((method, "–" if cost["degree"] is None else str(cost["degree"]), *cells))
    title = "One epoch of every method, ms (ratio to NewtonNet at the same degree)"
    return Sheet("methods", title, ("method", "K", *table), tuple(rows))


def _kernel(result: Result) -> Sheet:
    table = result.get("kernel", {})
    rows = []
    for graph, row in table.items():
        for columns, cell in row["products"].items():
            shares = (f"{100 * cell['fraction']:.0f}%", f"{100 * cell['arithmetic_fraction']:.0f}%")
            rows.append((graph, columns, _three(cell["ms"]), _three(cell["bound_ms"]), *shares))
    header = ("graph", "columns", "ms", "bound, ms", "of the bandwidth bound", "of the arithmetic")
    return Sheet("kernel", "One sparse product of the kernel beside the machine's limits", header, tuple(rows))


def _edges(result: Result) -> Sheet:
    rows = result.get("growth", {}).get("edges", ())
    cells = [(f"{r['edges']:,}", f"{r['nodes']:,}", f"{r['ms']:.4g}", f"{r['mb']:.4g}") for r in rows]
    powers = result.get("growth_exponent", {})
    if cells:
        memory = f"{powers['memory_edges']:.2f}" if "memory_edges" in powers else "–"
        cells.append(("fitted exponent", "", f"{powers['edges']:.2f}", memory))
    return Sheet("edges", "Growth with the edges", ("edges", "nodes", "epoch, ms", "peak, MB"), tuple(cells))


def _degrees(result: Result) -> Sheet:
    growth = result.get("growth", {})
    cells = [(str(row["degree"]), f"{row['ms']:.4g}") for row in growth.get("degree", ())]
    if cells:
        a, b = growth["degree_line"]["fixed_ms"], growth["degree_line"]["ms_per_degree"]
        cells.append(("fitted exponent", f"{result['growth_exponent']['degree']:.2f}"))
        cells.append(("fitted line", f"{a:.3g} + {b:.3g} K"))
    return Sheet("degrees", "Growth with the degree", ("K", "epoch, ms"), tuple(cells))


def _memory(result: Result) -> Sheet:
    table = result.get("methods_mb", {})
    methods = list(dict.fromkeys(method for row in table.values() for method in row))
    rows = [(m, *(f"{row[m]:.0f}" if m in row else "–" for row in table.values())) for m in methods]
    title = "Peak resident memory above the interpreter's, MB"
    return Sheet("memory", title, ("method", *table), tuple(rows))


_SHEETS: tuple[Callable[[Result], Sheet], ...] = (
    _machine,
    _headline,
    _throughput,
    _rivals,
    _methods,
    _kernel,
    _edges,
    _degrees,
    _memory,
)
