"""Where the tasks of a search run, as ``--on``, ``--address`` and ``--workers`` say."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from newtonnet.search import Executor, in_process, on_ray, processes

from .app import talk

PLACES = ("local", "ray")

ON = "Where it runs: local, in processes of this machine, or ray, on a cluster (pip install 'ray\\[train]')."
ADDRESS = "With --on ray: auto, or HOST:PORT of the cluster's head; a Ray of its own on this machine if not given."
WORKERS = "Tasks that train at once, each on one thread; one for each core, with --on ray of the cluster, if not given."


@dataclass(frozen=True)
class Place:
    """What the options say; refused here where they make no sense."""

    on: str = "local"
    address: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.on not in PLACES:
            raise ValueError(f"unknown place {self.on!r}; available: {', '.join(PLACES)}")
        if self.address is not None and self.on != "ray":
            raise ValueError("--address is that of a Ray cluster; add --on ray")
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"at least 1 worker is needed, got {self.workers}")

    @property
    def count(self) -> int:
        """Tasks that run at once: as many as asked for, or as this machine has cores."""
        return len(os.sched_getaffinity(0)) if self.workers is None else self.workers


@contextmanager
def open_place(place: Place, *, data_root: Path | None = None) -> Iterator[Executor]:
    """The executor of a place; a cluster is left at the end."""
    with ExitStack() as stack:
        if place.on == "ray":
            with talk.status("connecting to Ray"):
                executor = stack.enter_context(on_ray(place.address, workers=place.workers, data_root=data_root))
        elif place.count == 1:
            executor = in_process(data_root=data_root)
        else:
            executor = processes(place.count, data_root=data_root)
        yield executor
