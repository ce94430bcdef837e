"""``python -m newtonnet_paper.bench.weigh``: train once on a stored graph and print this process's peak memory."""

import contextlib
import json
import resource
import sys
from pathlib import Path

from newtonnet.datasets import read_graph_file
from newtonnet.nn import find_model
from newtonnet.training import Config

from .clock import make_task, train
from .epochs import equal_options
from .memory import Weighing


def main(text: str) -> None:
    """Do what the weighing says, and print ``{"mb": ...}``."""
    weighing = Weighing(**json.loads(text))
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak of the imports themselves is forgotten
    before = _resident("VmRSS")
    stored = read_graph_file(Path(weighing.graph))
    if stored is None:
        raise ValueError(f"{weighing.graph} holds no graph")
    config = Config(**find_model(weighing.model).training)
    task = make_task(stored[0], weighing.model, equal_options(weighing.model), config, threads=weighing.threads)
    train(task, weighing.epochs)
    print(json.dumps({"mb": round((_resident("VmHWM") - before) / 1e6, 1)}))


def _resident(row: str) -> int:
    """Bytes of resident memory, now (VmRSS) or at most (VmHWM); the most so far where the system tells no more."""
    try:
        rows = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return int(rows[row].split()[0]) * 1024
    except (OSError, KeyError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main(sys.argv[1])
