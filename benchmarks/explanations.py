"""Seconds to explain one node of a graph with a million edges, for members of every kind.

    python benchmarks/explanations.py

The members have two epochs of training, which is enough to time them. The graph is loaded and predicted before; what is
timed is ``model.explain`` for one node and one member, the median of several nodes.
"""

import argparse
import time
from typing import Any

import numpy as np

from newtonnet import NewtonNetClassifier
from newtonnet.graphs import from_edges

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "one filter": ("newtonnet", {}),
    "one filter, degree 10": ("newtonnet", {"degree": 10, "points": "chebyshev"}),
    "one filter with adjacency branch": ("newtonnet", {"branch": 64}),
    "ridge regression": ("ridge", {}),
    "boosting": ("boosting", {"max_iterations": 100}),
    "stack, batch normalisation": ("newton-stack", {"layers": 4, "hidden": 64}),
    "stack, layer normalisation": ("newton-stack", {"layers": 4, "hidden": 64, "norm": "layer"}),
}


def main() -> None:
    """Fit a member of every kind and print how long explanations take."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kind", choices=list(KINDS), action="append", help="only this kind; repeatable")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=given.nodes)
    features = rng.normal(size=(given.nodes, given.features)).astype(np.float32) + np.eye(3)[truth] @ rng.normal(
        size=(3, given.features)
    )
    labels = np.where(np.arange(given.nodes) < 2000, truth, -1)
    graph = from_edges(rng.integers(given.nodes, size=(2, given.edges)), features, labels=labels)
    print(graph)
    for kind in given.kind or KINDS:
        name, settings = KINDS[kind]
        fit = NewtonNetClassifier(name, tune="off", settings=settings or None, max_epochs=2, folds=2, threads=1)
        model = fit.fit(graph, validation=np.arange(1000, 2000))
        shares = model.predict_proba(graph)
        times, remainders = [], []
        for node in rng.integers(given.nodes, size=given.repeats + 1).tolist():
            began, used = time.perf_counter(), time.process_time()
            one = model.explain(graph, node, probabilities=shares)
            times.append((time.perf_counter() - began, time.process_time() - used))
            remainders.append(abs(one.remainder))
        wall, cpu = np.median(times[1:], axis=0)
        print(f"| {kind} | {wall:.2f} s | {cpu:.2f} s of CPU | largest remainder {max(remainders):.1e} |", flush=True)


if __name__ == "__main__":
    main()
