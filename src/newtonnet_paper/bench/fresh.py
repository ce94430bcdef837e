"""Measurements in a fresh process: peak memory of a training, and epochs with the kernels turned off."""

import contextlib
import json
import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from newtonnet.graphs import Graph

from .timing import Timing, common_setting, epoch_clock, equal_setting, make_task, ratio, take_turns, train

AT_ONCE = 2
"""Processes that measure memory at the same time; their memory does not depend on each other."""

KERNELS = "NEWTONNET_KERNELS"
"""The environment variable that turns the kernels off."""


@dataclass(frozen=True)
class FreshRun:
    """What a fresh process trains.

    Attributes:
        graph: path of the stored graph.
        degree: degree K of a polynomial method; None for its default.
        seconds: measure the time of an epoch for about this long; None measures the peak memory of all epochs.
    """

    graph: str
    model: str = "newtonnet"
    degree: int | None = None
    epochs: int = 3
    threads: int | None = None
    seconds: float | None = None
    kernels: bool = True


def store(graph: Graph, folder: Path, *, name: str) -> str:
    """Store a graph for another process, so that generating it does not count there."""
    path = folder / f"{name}.pickle"
    if not path.exists():
        path.write_bytes(pickle.dumps(graph))
    return str(path)


def peak_memory(runs: Sequence[FreshRun]) -> list[float]:
    """Peak resident megabytes (10^6 bytes) of each training above the interpreter's with everything imported."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(measure, runs))


def time_kernels(path: str, timing: Timing) -> dict[str, float]:
    """Milliseconds of an epoch of NewtonNet with and without the kernels, in processes that take turns."""
    run = FreshRun(path, threads=timing.threads, seconds=timing.seconds)
    off = replace(run, kernels=False)
    times = take_turns({"on": lambda: measure(run), "off": lambda: measure(off)}, timing.rounds)
    on_ms, off_ms = (1e3 * median(times[name]) for name in ("on", "off"))
    return {"on_ms": on_ms, "off_ms": off_ms, "ratio": ratio(times["off"], times["on"])}


def measure(run: FreshRun) -> float:
    """Do a run in a fresh process and return its megabytes or its seconds of an epoch."""
    environment = {name: value for name, value in os.environ.items() if name != KERNELS}
    if not run.kernels:
        environment[KERNELS] = "off"
    if run.threads is not None:
        environment["OMP_NUM_THREADS"] = str(run.threads)
    child = subprocess.run(
        [sys.executable, "-m", "newtonnet_paper.bench.fresh", json.dumps(asdict(run))],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if child.returncode != 0:
        reason = (child.stderr.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
        raise OSError(f"{run.model} on {Path(run.graph).stem} could not be measured: {reason}")
    return float(json.loads(child.stdout.splitlines()[-1])["measured"])


def main(text: str) -> None:
    """Do what the run says in this process, and print ``{"measured": ...}``."""
    run = FreshRun(**json.loads(text))
    forget_peak()
    before = resident("VmRSS")
    graph: Graph = pickle.loads(Path(run.graph).read_bytes())
    if run.seconds is not None:
        task = make_task(graph, run.model, common_setting(), threads=run.threads)
        measured = epoch_clock(task, seconds=run.seconds, step=2)()
    else:
        setting = equal_setting(run.model, **({} if run.degree is None else {"degree": run.degree}))
        train(make_task(graph, run.model, setting, threads=run.threads), run.epochs)
        measured = round((resident("VmHWM") - before) / 1e6, 1)
    print(json.dumps({"measured": measured}))


def forget_peak() -> None:
    """Reset the peak of resident memory, where the system allows it, so that imports do not count."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def resident(row: str) -> int:
    """Bytes of resident memory, now (VmRSS) or at the peak (VmHWM); always the peak on systems without /proc."""
    try:
        rows = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return int(rows[row].split()[0]) * 1024
    except (OSError, KeyError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main(sys.argv[1])
