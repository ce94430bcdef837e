"""Peak memory of a training, taken in a fresh process that does nothing else."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from newtonnet.datasets import write_graph_file
from newtonnet.graphs import Graph

AT_ONCE = 2
"""Processes side by side; their memory does not depend on each other."""


@dataclass(frozen=True)
class Weighing:
    """What a process trains to be weighed."""

    graph: str
    """Path of the stored graph."""
    model: str = "newtonnet"
    epochs: int = 3
    threads: int | None = None


def store(graph: Graph, folder: Path, *, name: str) -> str:
    """Put a graph where another process can read it, so that making it does not count there."""
    path = folder / f"{name}.npz"
    write_graph_file(path, graph, np.zeros((0, graph.nodes), dtype=np.uint8), {})
    return str(path)


def weigh(weighings: Sequence[Weighing]) -> list[float]:
    """Peak resident megabytes (10^6 bytes) of each training above the interpreter's with everything imported."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(_weigh, weighings))


def _weigh(weighing: Weighing) -> float:
    environment = dict(os.environ)
    if weighing.threads is not None:
        environment["OMP_NUM_THREADS"] = str(weighing.threads)
    child = subprocess.run(
        [sys.executable, "-m", "newtonnet_paper.bench.weigh", json.dumps(asdict(weighing))],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if child.returncode != 0:
        reason = (child.stderr.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
        raise OSError(f"the memory of {weighing.model} on {Path(weighing.graph).stem} could not be taken: {reason}")
    return float(json.loads(child.stdout.splitlines()[-1])["mb"])
