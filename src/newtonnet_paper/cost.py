"""Cost as a claim: the paper's running times, memory and complexities, and the figures of ``newtonnet-paper bench``."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from newtonnet.search import published

from .claim import Line, define_claim
from .exhibit import Finding, Report, Table, Value, Verdict, nothing_stored
from .scores import NAMES

_FILTER = ("O(KEC + NF²)", "O(E + F² + NF)")
OURS = {"mlp": ("O(NF²)", "O(F² + NF)"), "gcn": ("O(L(EF + NF²))", "O(E + LF² + LNF)")}
OURS |= dict.fromkeys(("gprgnn", "chebnetii", "bernnet", "newtonnet"), _FILTER)
"""Time and space of this implementation; C classes, since filters act on the encoder's output."""

SLOWER = 1.1
"""Ratio of times that counts as slower; the machine's noise is about a tenth."""

_THEIRS = tuple(f"{graph}, the paper" for graph in published.COST_DATASETS)


def load(results: Path) -> list[Line]:
    """The figures of a full benchmark, or else of a quick one."""
    for name in ("full", "quick"):
        path = results / "bench" / f"{name}.json"
        if path.exists():
            return [_read(path)]
    return []


def _read(path: Path) -> Line:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}; make it again with newtonnet-paper bench") from error
    if not isinstance(found, dict) or "profile" not in found:
        raise ValueError(f"{path} does not hold the figures of a benchmark; make it again with newtonnet-paper bench")
    return found


def summarise(lines: Sequence[Line]) -> Report:
    """Times, ratios, memory and growth, and the paper's."""
    if not lines:
        return nothing_stored("NewtonNet is scalable", "Tables 2 to 4")
    result = lines[0]
    machine = result.get("machine", {})
    note = (
        f"Ours: profile {result['profile']} of `newtonnet-paper bench`{' --quick' * (result['profile'] == 'quick')}, "
        f"{machine.get('cpu', 'a machine')}, {machine.get('threads', '?')} threads. The paper used another machine: "
        "compare ratios, not milliseconds."
    )
    return Report(
        findings=_findings(result),
        tables=(_ratios(result, note), _times(result, note), _memory(result, note), _complexity(result)),
        data={"profile": result["profile"], "rivals_ratio": result.get("rivals_ratio", {})},
    )


def published_ratio(pair: str) -> dict[str, float]:
    """The paper's ratio of two running times on each of its graphs, for a pair such as ``bernnet/newtonnet@10``.

    >>> round(published_ratio("bernnet/newtonnet@10")["chameleon"], 2)
    1.66
    """
    names, degree = pair.split("@")
    rows = [
        published.RUNNING_TIME.get((name, int(degree)), published.RUNNING_TIME.get((name, None)))
        for name in names.split("/")
    ]
    if len(rows) != 2 or rows[0] is None or rows[1] is None:
        return {}
    return {graph: a / b for graph, a, b in zip(published.COST_DATASETS, rows[0], rows[1], strict=True)}


def _ratios(result: Line, note: str) -> Table:
    rivals: Mapping[str, Mapping[str, float]] = result.get("rivals", {})
    rows = []
    for pair, mean in result.get("rivals_ratio", {}).items():
        theirs = published_ratio(pair)
        ours = [_rounded(row.get(pair)) for row in rivals.values()]
        rows.append((pair, *ours, _rounded(mean), *(_rounded(theirs.get(graph)) for graph in published.COST_DATASETS)))
    notes = (note, "Means are geometric. The paper gives no K for GPRGNN; its one time is used for both.")
    return Table("Time of an epoch as a ratio", ("pair @ K", *rivals, "mean", *_THEIRS), tuple(rows), notes)


def _costs(result: Line) -> dict[str, dict[tuple[str, int | None], Mapping[str, Any]]]:
    """Measured costs by graph, method and degree K."""
    found = result.get("costs", {})
    return {graph: {(row["model"], row["degree"]): row for row in rows} for graph, rows in found.items()}


def _times(result: Line, note: str) -> Table:
    costs = _costs(result)
    rows: list[tuple[Value, ...]] = []
    for model, degree in next(iter(costs.values()), published.RUNNING_TIME):
        theirs = published.RUNNING_TIME.get((model, degree), published.RUNNING_TIME.get((model, None), ()))
        rows.append((NAMES[model], degree, *(_rounded(row[model, degree]["ms"]) for row in costs.values()), *theirs))
    notes = (note, "The paper gives no K for GPRGNN.")
    return Table("One epoch, ms", ("method", "K", *costs, *_THEIRS), tuple(rows), notes)


def _memory(result: Line, note: str) -> Table:
    costs = _costs(result)
    rows = tuple(
        (
            NAMES[model],
            degree,
            *(_rounded(row[model, degree]["mb"]) for row in costs.values()),
            *published.MEMORY[model],
        )
        for model, degree in next(iter(costs.values()), dict.fromkeys((model, None) for model in published.MEMORY))
    )
    notes = (note, "Ours is the peak resident memory above the interpreter's; the paper's is as printed, without K.")
    return Table("Memory, MB", ("method", "K", *costs, *_THEIRS), rows, notes)


def _complexity(result: Line) -> Table:
    rows = tuple((NAMES[model], *theirs, *OURS[model]) for model, theirs in published.COMPLEXITY.items())
    powers = result.get("growth_exponent", {})
    exponents = ", ".join(f"{name.replace('_', ' by ')} {value:.2f}" for name, value in powers.items())
    notes = (
        "Here every polynomial filter is K sparse products in the Chebyshev basis, and the graph is stored once.",
        *((f"Measured exponents of growth: {exponents}.",) * bool(exponents)),
    )
    columns = ("method", "time, the paper", "space, the paper", "time here", "space here")
    return Table("Complexity", columns, rows, notes)


def _findings(result: Line) -> tuple[Finding, ...]:
    means: Mapping[str, float] = result.get("rivals_ratio", {})
    power = result.get("growth_exponent", {}).get("edges")
    ours, verdict = "not measured", Verdict.OPEN
    if power is not None:
        verdict = Verdict.HOLDS if power <= 1.1 else Verdict.PARTLY if power <= 1.3 else Verdict.FAILS
        ours = f"with exponent {power:.2f}"
    found = [Finding("Time grows linearly with the edges", ours, "O(KEF + NF²)", verdict)]
    if "bernnet/newtonnet@10" in means:
        ratio = means["bernnet/newtonnet@10"]
        found.append(
            Finding(
                "BernNet is slower than the methods that are linear in K (here BernNet is linear, too)",
                f"BernNet / NewtonNet at K = 10: {ratio:.2f} (slower: above {SLOWER})",
                f"{_mean(published_ratio('bernnet/newtonnet@10')):.2f} on average",
                Verdict.HOLDS if ratio > SLOWER else Verdict.FAILS,
            )
        )
    pairs = [pair for pair in means if pair.startswith("newtonnet/")]
    if pairs:
        ours = ", ".join(f"{pair} {means[pair]:.2f}" for pair in pairs) + f" (longer: above {SLOWER})"
        theirs = ", ".join(f"{pair} {_mean(published_ratio(pair)):.2f}" for pair in pairs)
        verdict = Verdict.by_count(sum(means[pair] > SLOWER for pair in pairs), len(pairs))
        found.append(Finding("NewtonNet takes longer than GPRGNN and ChebNetII", ours, theirs, verdict))
    return (*found, *_gcn_findings(_costs(result)))


def _gcn_findings(costs: Mapping[str, Mapping[tuple[str, int | None], Mapping[str, Any]]]) -> Iterator[Finding]:
    """GCN beside NewtonNet at K = 5 on the paper's small graphs, and on those of the size of its large ones."""
    small = ("chameleon", "pubmed")
    for statement, chosen, faster in (
        ("GCN is faster than NewtonNet on small graphs", [name for name in costs if name in small], True),
        ("GCN is slower than NewtonNet on large graphs", [name for name in costs if name not in small], False),
    ):
        if not chosen:
            continue
        ratios = {name: costs[name]["gcn", None]["ms"] / costs[name]["newtonnet", 5]["ms"] for name in chosen}
        agreeing = sum(ratio < 1 / SLOWER if faster else ratio > SLOWER for ratio in ratios.values())
        theirs = {
            name: published.RUNNING_TIME["gcn", None][i] / published.RUNNING_TIME["newtonnet", 5][i]
            for i, name in enumerate(published.COST_DATASETS)
            if (name in small) == faster
        }
        yield Finding(
            statement,
            "GCN / NewtonNet at K = 5: " + _listed(ratios),
            _listed(theirs),
            Verdict.by_count(agreeing, len(ratios)),
        )


def _listed(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())


def _mean(values: Mapping[str, float]) -> float:
    """Geometric, as that of our ratios is."""
    return math.prod(values.values()) ** (1 / len(values)) if values else float("nan")


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


COST = define_claim("cost", summarise, load=load)
