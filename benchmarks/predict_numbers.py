"""Numbers as targets: NewtonNetRegressor beside boosted trees and an MLP that do not see the edges.

    python benchmarks/predict_numbers.py smooth --splits 5 --seconds 30 --out numbers.jsonl
    python benchmarks/predict_numbers.py --out numbers.jsonl

The first command measures on random splits (80% of the nodes known, 20% to test) and adds lines to a file; the second
prints the table of a file. ``smooth`` and ``oscillating`` are generated: every node has a number z, features that show
z weakly, and five links to nodes of nearly the same z, or of nearly -z. ``chameleon`` and ``crocodile`` are pages of
Wikipedia, whose number is the logarithm of their monthly traffic, in the folder that NEWTONNET_DATA names.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from newtonnet import Graph, NewtonNetRegressor
from newtonnet.graphs import assortativity, from_edges

NAMES = ("smooth", "oscillating", "chameleon", "crocodile")
ALONE = {"hops": 0, "walks": 0, "structure": False, "label_hops": 0}
MODELS: dict[str, dict[str, Any]] = {
    "NewtonNetRegressor": {},
    "boosting on features": {"model": "boosting", "settings": ALONE},
    "MLP": {"model": "mlp"},
}


def generated(sign: int, nodes: int = 1000, seed: int = 0) -> Graph:
    """A graph whose neighbours have nearly the same number (sign 1), or nearly the opposite one (sign -1)."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(nodes)
    likely = np.exp(-((z[:, None] - sign * z) ** 2) / 0.18)
    np.fill_diagonal(likely, 0)
    rows = likely / likely.sum(axis=1, keepdims=True)
    ends = np.concatenate([rng.choice(nodes, 5, p=row) for row in rows])
    direction = rng.standard_normal(16)
    features = 0.5 * np.outer(z, direction / np.linalg.norm(direction)) + rng.standard_normal((nodes, 16))
    graph = from_edges(np.stack([np.repeat(np.arange(nodes), 5), ends]), features)
    return graph.with_targets(z + 0.2 * rng.standard_normal(nodes), "z")


def wikipedia(name: str) -> Graph:
    """Pages with their links, features and log traffic."""
    raw = np.load(Path(os.environ["NEWTONNET_DATA"]) / "WikipediaNetwork" / name / "raw" / f"{name}.npz")
    return from_edges(raw["edges"].T, raw["features"], name=name).with_targets(raw["target"], "traffic")


def measure(name: str, split: int, seconds: float) -> dict[str, Any]:
    """Scores of all models on one split, and the coverage of our intervals."""
    graph = generated(-1 if name == "oscillating" else 1) if name in NAMES[:2] else wikipedia(name)
    test = np.random.default_rng(split).permutation(graph.nodes)[: graph.nodes // 5]
    known, truth = graph.truth.copy(), graph.truth[test]
    known[test] = np.nan
    line: dict[str, Any] = {"data": name, "split": split, "nodes": graph.nodes, "edges": graph.edges}
    line |= {"assortativity": assortativity(graph), "seconds": seconds, "models": {}}
    for model, given in MODELS.items():
        begun = time.perf_counter()
        fitted = NewtonNetRegressor(**given, time_limit=seconds, threads=1).fit(graph, known)
        error = fitted.predict(graph)[test] - truth
        ends = fitted.predict_interval(graph)[test]
        line["models"][model] = {
            "r2": 1 - float((error**2).mean() / truth.var()),
            "mae": float(np.abs(error).mean()),
            "covered": float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean()),
            "seconds": time.perf_counter() - begun,
        }
    return line


def table(lines: list[dict[str, Any]]) -> str:
    """Means and standard deviations over splits as a Markdown table."""
    rows = ["| data | nodes | neighbours' correlation | model | R², % | MAE | 90% intervals hold, % |"]
    rows.append("| --- | ---: | ---: | --- | ---: | ---: | ---: |")
    for name in dict.fromkeys(line["data"] for line in lines):
        own = [line for line in lines if line["data"] == name]
        start = f"| {name} ({len(own)} splits) | {own[0]['nodes']:,} | {own[0]['assortativity']:.2f} "
        for model in MODELS:
            scores = [line["models"][model] for line in own]
            r2, mae, covered = (np.array([one[key] for one in scores]) for key in ("r2", "mae", "covered"))
            best = f"{100 * r2.mean():.1f} ± {100 * r2.std():.1f}"
            rows.append(f"{start}| {model} | {best} | {mae.mean():.3f} | {100 * covered.mean():.1f} |")
            start = "| | | "
    return "\n".join(rows)


def main() -> None:
    """Measure one data set, or print the table of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=NAMES)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0, help="time limit of each fit")
    parser.add_argument("--out", type=Path, default=Path("numbers.jsonl"))
    given = parser.parse_args()
    for split in range(given.first, given.first + given.splits) if given.name else ():
        line = json.dumps(measure(given.name, split, given.seconds))
        with given.out.open("a") as file:
            file.write(line + "\n")
    lines = [json.loads(line) for line in given.out.read_text().splitlines()]
    lines.sort(key=lambda line: (NAMES.index(line["data"]), line["split"]))
    print(table(lines))


if __name__ == "__main__":
    main()
