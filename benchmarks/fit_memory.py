"""Peak memory of ``newtonnet fit`` beside what it said before training, on generated graphs.

    python benchmarks/fit_memory.py                                 # the table of docs/speed.md, some minutes
    python benchmarks/fit_memory.py 20000 100000 32 --max-memory 700MB --time-limit 60s

Numbers are nodes, edges and features; with ``sparse`` behind them, 1% of the features are not 0. Other options are
those of ``newtonnet fit``. Every fit is a process of its own; a line of JSON gives its peak and its statement.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

SIZES = (["2000", "10000", "16"], ["20000", "100000", "32"], ["100000", "500000", "32"], ["5000", "25000", "2000"])
LIMITS = ("560MB", "700MB", "1GB", "620MB")
CLASSES = 4


def write_tables(folder: Path, nodes: int, edges: int, features: int, *, sparse: bool, seed: int = 0) -> None:
    """Two tables: 70% of the edges lead to a node of the same class, and 30% of the nodes are labelled."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(CLASSES, size=nodes)
    order = np.argsort(kind, kind="stable")
    starts = np.searchsorted(kind[order], np.arange(CLASSES + 1))
    source = rng.integers(nodes, size=edges)
    low, high = starts[kind[source]], starts[kind[source] + 1]
    alike = order[(low + rng.random(edges) * (high - low)).astype(int)]
    target = np.where(rng.random(edges) < 0.7, alike, rng.integers(nodes, size=edges))
    if sparse:
        values = (rng.random((nodes, features)) < 0.01).astype(np.int8)
        values[np.arange(nodes), kind] |= (rng.random(nodes) < 0.3).astype(np.int8)
    else:
        centres = 0.3 * rng.standard_normal((CLASSES, features))
        values = (rng.standard_normal((nodes, features)) + centres[kind]).astype(np.float32)
    label = np.where(rng.random(nodes) < 0.3, np.array([f"c{i}" for i in range(CLASSES)])[kind], "")
    columns = {f"x{i}": values[:, i] for i in range(features)}
    pyarrow.csv.write_csv(pa.table({"id": np.arange(nodes), **columns, "label": label}), folder / "nodes.csv")
    pyarrow.csv.write_csv(pa.table({"source": source, "target": target}), folder / "edges.csv")


def measure(sizes: list[str], options: list[str]) -> dict[str, object]:
    """Run one fit and wait for it."""
    nodes, edges, features = map(int, sizes[:3])
    with tempfile.TemporaryDirectory() as place:
        write_tables(Path(place), nodes, edges, features, sparse="sparse" in sizes)
        words = ["--nodes", f"{place}/nodes.csv", "--edges", f"{place}/edges.csv", "--label-column", "label"]
        program = [sys.executable, "-m", "newtonnet.cli"]
        with open(f"{place}/said", "w+", encoding="utf-8") as said:
            process = subprocess.Popen(
                [*program, "fit", *words, "--out", f"{place}/run", *options], stdout=said, stderr=said
            )
            _, status, used = os.wait4(process.pid, 0)
            said.seek(0)
            text = said.read()
    line = (re.findall(r"memory: .*", text) or [text.strip().splitlines()[-1]])[0]
    amounts = [float(number) * {"MB": 1, "GB": 1000}[unit] for number, unit in re.findall(r"([\d.]+) ([MG]B)", line)]
    return {
        "graph": " ".join(sizes),
        "options": " ".join(options),
        "code": os.waitstatus_to_exitcode(status),
        "peak": round(used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6),
        "stated": amounts,
        "line": line,
        "left_out": re.findall(r"[^\n]*left out[^\n]*", text)[:1],
    }


def main(words: list[str]) -> None:
    """Measure what was asked for, or the table."""
    first = next((i for i, word in enumerate(words) if word.startswith("--")), len(words))
    runs = [(words[:first], words[first:])]
    if not words:
        sizes = [[*size, "sparse"] if size[2] == "2000" else size for size in SIZES]
        runs = [(size, []) for size in sizes]
        runs += [(size, ["--max-memory", limit]) for size, limit in zip(sizes, LIMITS, strict=True)]
    for size, options in runs:
        print(json.dumps(measure(size, options)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
