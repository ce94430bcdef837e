"""Seconds per epoch of two checkouts of newtonnet, measured in turns, and their ratios.

    python benchmarks/epochs.py OLD_CHECKOUT NEW_CHECKOUT [--graphs cora chameleon] [--members 1 64] [--rounds 5]

Each checkout runs in a process of its own with ``PYTHONPATH=<checkout>/src``. An epoch is the slope between a short and
a long training with one thread, in CPU time (``--clock wall`` for wall time on a quiet machine). The table shows the
smallest of all rounds and the median of the rounds' ratios, which a machine that changes its pace disturbs least.
``NEWTONNET_DATA`` names the folder of the data sets; penn94-sized is generated.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

GRAPHS = ("cora", "chameleon", "squirrel", "penn94-sized")
MEMBERS = (1, 64)


def main() -> None:
    """Measure both checkouts in turns and print a table of ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--graphs", nargs="+", default=GRAPHS)
    parser.add_argument("--members", nargs="+", type=int, default=MEMBERS)
    parser.add_argument("--models", nargs="+", default=["newtonnet"])
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="about how long a training lasts")
    parser.add_argument("--clock", choices=["cpu", "wall"], default="cpu")
    given = parser.parse_args()
    workers = [_start(checkout) for checkout in (given.old, given.new)]
    print(f"{'model':14s}{'graph':14s}{'members':>8s}{'old ms':>10s}{'new ms':>10s}{'ratio':>8s}")
    for model in given.models:
        for graph in given.graphs:
            for members in given.members:
                task = {"model": model, "graph": graph, "members": members, "dropout": given.dropout}
                task |= {"seconds": given.seconds, "clock": given.clock}
                rounds = [[_ask(worker, task) for worker in workers] for _ in range(given.rounds)]
                old, new = (1e3 * min(row[i] for row in rounds) for i in range(2))
                ratio = statistics.median(row[1] / row[0] for row in rounds)
                print(f"{model:14s}{graph:14s}{members:8d}{old:10.3f}{new:10.3f}{ratio:8.3f}", flush=True)
    for worker in workers:
        worker.stdin.close()  # type: ignore[union-attr]
        worker.wait()


def _start(checkout: Path) -> "subprocess.Popen[str]":
    environment = os.environ | {"PYTHONPATH": str((checkout / "src").absolute()), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--work"]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _ask(worker: "subprocess.Popen[str]", task: dict[str, Any]) -> float:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(json.dumps(task) + "\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())


def _work() -> None:
    """Answer every task with the seconds of an epoch; what was prepared for a task is kept for its next round."""
    counts: dict[str, int] = {}
    graphs: dict[str, Any] = {}
    for line in sys.stdin:
        task = json.loads(line)
        graph = graphs.get(task["graph"]) or graphs.setdefault(task["graph"], _graph(task["graph"]))
        key = json.dumps(task)
        if key not in counts:
            _train(task, graph, 1)
            counts[key] = max(2, min(1000, int(task["seconds"] * 3 / _train(task, graph, 3))))
        short, long = _train(task, graph, 1), _train(task, graph, 1 + counts[key])
        print((long - short) / counts[key], flush=True)


def _graph(name: str) -> Any:
    import numpy as np
    import scipy.sparse as sp

    from newtonnet.datasets import load
    from newtonnet.graphs import from_edges

    if name != "penn94-sized":
        return load(name)
    rng = np.random.default_rng(0)
    nodes, edges, width = 41_554, 1_362_229, 4_814
    popularity = rng.pareto(2.0, nodes) + 1  # a few nodes with thousands of neighbours, as in a social network
    ends = rng.choice(nodes, size=(2, edges), p=popularity / popularity.sum())
    columns = rng.integers(0, width, 5 * nodes)
    features = sp.csr_array((np.ones(5 * nodes, np.float32), (np.repeat(np.arange(nodes), 5), columns)), (nodes, width))
    return from_edges(ends, features, labels=rng.integers(0, 2, nodes), name=name)


def _train(task: dict[str, Any], graph: Any, epochs: int) -> float:
    """Seconds of a training, its preparation included."""
    from dataclasses import fields, replace

    from newtonnet.datasets import make_splits
    from newtonnet.nn import ZOO, build
    from newtonnet.training import Config, fit

    members, entry = task["members"], ZOO[task["model"]]
    splits = make_splits(graph, count=min(members, 10))
    configs = [Config(**{**entry.training, "seed": seed, "max_epochs": epochs}) for seed in range(members)]
    known = {field.name for field in fields(entry.options)}
    rates = {name: task["dropout"] for name in ("dropout", "propagation_dropout") if name in known}
    model = build(task["model"], graph, replace(entry.options, **rates), seeds=range(members))
    clock = time.process_time if task["clock"] == "cpu" else time.perf_counter
    began = clock()
    fit(model, graph, [splits[seed % len(splits)] for seed in range(members)], configs, threads=1)
    return clock() - began


if __name__ == "__main__":
    if sys.argv[1:] == ["--work"]:
        _work()
    else:
        main()
