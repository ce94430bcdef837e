"""Time the series product of this checkout against another one, in alternating processes.

    python benchmarks/kernels.py OTHER [--rounds 5] [--threads 2]

OTHER is the folder of another checkout of newtonnet. Each round starts one process for each of the two; the table shows
the best time of all rounds and the ratio of this checkout to the other.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

GRAPHS = {
    "chameleon": (2_277, 31_371),
    "cora": (2_708, 5_278),
    "penn94": (41_554, 1_362_229),
    "genius": (421_961, 984_979),
    "twitch-gamer": (168_114, 6_797_557),
}
"""Nodes and edges of random graphs of these sizes; degrees follow a power law."""

WIDTHS = (2, 5, 7, 16, 64, 320)
TERMS = 6


def measure(names: list[str], widths: list[int], threads: int, seconds: float) -> dict[str, float]:
    """Best milliseconds of a forward and a backward series, by graph and width."""
    import numpy as np
    import torch

    from newtonnet.graphs import from_edges, normalised_operator
    from newtonnet.kernels import use_threads

    found = {}
    for name in names:
        nodes, edges = GRAPHS[name]
        rng = np.random.default_rng(0)
        ends = (nodes * rng.random((2, edges)) ** 3).astype(np.int64)
        ends[1] = rng.permutation(nodes)[ends[1]]
        plan = normalised_operator(from_edges(ends, np.ones((nodes, 1)))).plan
        for width in widths:
            x = torch.tensor(rng.standard_normal((nodes, width)), dtype=torch.float32)
            weights = torch.tensor(rng.standard_normal((TERMS, width)), dtype=torch.float32)
            for direction, against in (("forward", None), ("backward", x)):
                times: list[float] = []
                end = time.perf_counter() + seconds
                with use_threads(threads):
                    while len(times) < 3 or time.perf_counter() < end:
                        start = time.perf_counter()
                        plan.series(x, weights, against)
                        times.append(time.perf_counter() - start)
                found[f"{name:10s} {width:4d} {direction}"] = 1000 * min(times)
    return found


def main() -> None:
    """Compare two checkouts, or measure the one on the path."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.3, help="time for each case in each round")
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--widths", default=",".join(map(str, WIDTHS)))
    options = parser.parse_args()
    if options.other is None:
        widths = [int(width) for width in options.widths.split(",")]
        print(json.dumps(measure(options.graphs.split(","), widths, options.threads, options.seconds)))
        return
    here = Path(__file__).resolve().parent.parent
    best: dict[Path, dict[str, float]] = {here: {}, options.other: {}}
    command = [sys.executable, __file__, "--threads", str(options.threads), "--seconds", str(options.seconds)]
    command += ["--graphs", options.graphs, "--widths", options.widths]
    for _ in range(options.rounds):
        for checkout, times in best.items():
            environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            for case, milliseconds in json.loads(done.stdout.splitlines()[-1]).items():
                times[case] = min(milliseconds, times.get(case, milliseconds))
    print(f"{'case':26s} {'this, ms':>10s} {'other, ms':>10s} {'ratio':>7s}")
    for case, mine in best[here].items():
        theirs = best[options.other][case]
        print(f"{case:26s} {mine:10.3f} {theirs:10.3f} {mine / theirs:7.2f}")


if __name__ == "__main__":
    main()
