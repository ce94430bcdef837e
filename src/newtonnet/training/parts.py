"""A population cut into parts that fit the cache or the memory allowed, trained one after another or side by side."""

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.kernels import use_threads
from newtonnet.nn import Inputs, Noise, Population

from .config import Config
from .in_memory import graph_source
from .loop import Progress, Run, Rung

CACHED = 8 << 20
"""Bytes that torch's own operations keep for a part's backward pass, at most, if it has more than one member."""

LARGEST = 60 << 20
"""Bytes of a part's largest tensor, at most, if it has more than one member: what is larger is not kept from epoch to
epoch outside the main thread (:func:`newtonnet.kernels.kept_memory`)."""

COPIES = 8
"""Numbers for each parameter: itself, its gradient, two moments, the best so far, a copy to return, and some of them
again while a training that was stopped is saved."""

GROWTH, BLOCKS = (1.1, 1.8), (4, 9)
"""Peak of a training member, measured: so many times what it keeps, and so many of its largest tensors; first where
native kernels do most of the work, then where torch's own operations do."""

ARENAS = 1.25
"""How much more members take that train side by side: each thread has its own free blocks."""

SIDE_BY_SIDE = 512 << 20
"""Bytes that members which train side by side may take together. Larger ones train one after another: their products
are long enough for all threads."""

MANY = 20_000
"""Nodes from which on torch's own operations are long enough for several threads."""

LOOK = 0.05
"""Seconds between two looks at parts that train side by side."""


@dataclass(frozen=True)
class PartPlan:
    """How a population is cut.

    Attributes:
        sizes: members of each part.
        side_by_side: number of parts that train at the same time.
        bytes: peak of the training, beside the graph and the inputs.
    """

    sizes: tuple[int, ...]
    side_by_side: int
    bytes: int


def plan_parts(member: "MemberBytes", population: int, *, threads: int, max_memory: int | None) -> PartPlan:
    """Parts that fit the cache, or smaller ones to stay within ``max_memory`` bytes beside the graph."""
    one, weights = max(member.running, 1), COPIES * population * member.owned
    size = max(1, min(CACHED // max(member.by_torch, 1), LARGEST // max(member.largest, 1)))
    room = float(SIDE_BY_SIDE)
    if max_memory is not None:
        if max_memory < weights + one:
            raise ValueError(
                f"training needs about {(weights + one) / 1e6:.0f} MB beside the graph, "
                f"got {max_memory / 1e6:.0f} MB; allow more, or train fewer members"
            )
        size = max(1, min(size, int((max_memory - weights) / one / min(threads, population))))
        room = min(room, max_memory - weights)
    # Equal parts, and as many as keep all threads busy.
    count = min(population, max(-(-population // size), threads))
    sizes = tuple(population * (k + 1) // count - population * k // count for k in range(count))
    side_by_side = max(1, min(threads, count, int(room / (ARENAS * max(sizes) * one))))
    taken = max(sizes) * one * (ARENAS * side_by_side if side_by_side > 1 else 1)
    return PartPlan(sizes, side_by_side, int(taken) + weights)


@dataclass(frozen=True)
class MemberBytes:
    """What one member takes."""

    kept: int
    """For its backward pass."""
    by_torch: int
    """Of these, results of torch's own operations; the native kernels work piece by piece and need no cache."""
    largest: int
    """For the largest tensor among these that has a row for each node."""
    owned: int
    """For its parameters."""

    @property
    def running(self) -> int:
        """At the peak of an epoch."""
        by_torch = self.by_torch > 0.55 * self.kept
        return int(GROWTH[by_torch] * self.kept + BLOCKS[by_torch] * self.largest)


def member_bytes(model: Population, inputs: Inputs) -> MemberBytes:
    """What one member of a population takes, found by one pass of it."""
    first = torch.zeros(1, dtype=torch.long, device=next(model.parameters()).device)
    one, inputs = model.take(first), inputs.take(first)
    read = [*one.parameters(), *(x.matrix for x in (inputs.features, inputs.adjacency) if x is not None)]
    known = {tensor.data_ptr() for tensor in read if tensor.layout == torch.strided}
    kept, by_torch, largest, nodes = {}, {}, 0, inputs.operator.nodes

    def note(tensor: Tensor) -> Tensor:
        nonlocal largest
        if tensor.layout == torch.strided and tensor.data_ptr() not in known:
            kept[tensor.data_ptr()] = tensor.nbytes
            largest = max(largest, tensor.nbytes if nodes in tensor.shape else 0)
            if not tensor.is_leaf:
                by_torch[tensor.data_ptr()] = tensor.nbytes
        return tensor.detach()  # a function that saves its own result would keep itself, and all before it, for ever

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        one(inputs, Noise(0, one.seeds, 1))
    owned = sum(parameter.nbytes for parameter in one.parameters())
    return MemberBytes(sum(kept.values()), sum(by_torch.values()), largest, owned)


class Parts:
    """The parts of a population; each trains from its first to its last epoch, started when its turn comes.

    Parts train side by side where there are several of them and several threads.
    """

    def __init__(
        self,
        model: Population,
        graph: Graph,
        splits: Sequence[Split],
        configs: Sequence[Config],
        *,
        device: torch.device | str,
        threads: int,
        max_memory: int | None,
    ) -> None:
        self.model, self.graph, self.splits, self.configs, self.device = model, graph, splits, configs, device
        self.threads = threads
        self.broken: set[int] = set()  # parts that were stopped inside an epoch
        self.began, self.before = time.monotonic(), 0.0
        self.source = graph_source(model, graph, splits, configs[0], device)
        plan = PartPlan((1,), 1, 0)
        if len(model.seeds) > 1 or max_memory is not None:
            member = member_bytes(model, self.source.inputs)
            plan = plan_parts(member, len(model.seeds), threads=threads, max_memory=max_memory)
        self.side_by_side = plan.side_by_side
        self.cut(plan.sizes)

    def cut(self, sizes: Sequence[int]) -> None:
        """Make parts of these sizes, none of them started."""
        self.sizes = tuple(sizes)
        self.members = torch.split(torch.arange(len(self.configs)), list(sizes))
        self.runs: list[Run | None] = [None] * len(sizes)
        self.locks = [threading.Lock() for _ in sizes]

    def start(self, part: int) -> Run:
        """The run of a part, made when it is first needed."""
        run = self.runs[part]
        if run is None:
            members = self.members[part].to(self.device)
            configs = [self.configs[member] for member in members.tolist()]
            run = self.runs[part] = Run(self.model.take(members), self.source.take(members), configs)
        return run

    def train(self, after: Callable[[], bool], *, until: int) -> None:
        """Train all parts up to an epoch, or until ``after`` returns True or raises, each at the end of an epoch."""
        side_by_side = min(self.side_by_side, sum(run is None or not run.finished for run in self.runs))
        if side_by_side > 1 and self._train_side_by_side(side_by_side, after, until):
            return
        inside = self.graph.nodes >= MANY or self.side_by_side < min(self.threads, len(self.runs))
        with use_threads(self.threads, torch_count=self.threads if inside else 1):
            for part in range(len(self.runs)):
                run = self.start(part)
                while not run.finished and run.epoch < until:
                    self._step(part, run)
                    if after():
                        return

    def _train_side_by_side(self, count: int, after: Callable[[], bool], until: int) -> bool:
        """Train in several threads, or in as many as can be started; False if there are none."""
        waiting, turn, stop = iter(range(len(self.runs))), threading.Lock(), threading.Event()

        def work() -> None:
            with use_threads(max(1, self.threads // count)):
                while True:  # the first part completes an epoch in any case, so that there is something to keep
                    with turn:
                        part = next(waiting, None)
                        if part is None:
                            return
                        run = self.start(part)
                    while not run.finished and run.epoch < until:
                        self._step(part, run)
                        if stop.is_set():
                            return

        with use_threads(max(1, self.threads // count)), ThreadPoolExecutor(count) as pool:
            jobs: list[Future[None]] = []
            with suppress(RuntimeError):  # the system gives no more threads
                for _ in range(count):
                    jobs.append(pool.submit(work))
            try:
                while wait(jobs, timeout=LOOK, return_when=FIRST_EXCEPTION).not_done:
                    if any(job.done() and job.exception() for job in jobs) or after():
                        break
            finally:
                stop.set()
            for job in jobs:
                job.result()
        return bool(jobs)

    def _step(self, part: int, run: Run) -> None:
        with self.locks[part]:
            self.broken.add(part)
            run.step()
            self.broken.discard(part)

    def rung(self, epoch: int) -> Rung:
        """Where all members are, after they were trained up to an epoch."""
        runs = [self.start(part) for part in range(len(self.runs))]
        training = np.zeros(len(self.configs), dtype=np.bool_)
        for members, run in zip(self.members, runs, strict=True):
            training[members[run.places].numpy()] = not run.finished
        reached = [np.where(run.failed, np.nan, run.best_scores[1]) for run in runs]
        return Rung(epoch, np.concatenate(reached), training)

    def drop(self, kept: NDArray[np.bool_]) -> None:
        """Go on without the members that are not ``kept``, ``(P,)``."""
        for part, members in enumerate(self.members):
            self.start(part).drop(kept[members.numpy()])

    def paused(self) -> ExitStack:
        """A context in which every run is at the end of an epoch and waits there."""
        stack = ExitStack()
        for lock in self.locks:
            stack.enter_context(lock)
        return stack

    def report(self) -> Progress:
        """How far all parts together are: epochs are the mean over members, those that are done counted as whole."""
        longest = self.configs[0].max_epochs
        reports = [
            Progress(0, longest, size, math.nan) if run is None else run.report()
            for size, run in zip(self.sizes, self.runs, strict=True)
        ]
        epochs = sum(n * (own.epoch if own.training else longest) for n, own in zip(self.sizes, reports, strict=True))

        def mean(name: str) -> float:
            known = [getattr(own, name) for own in reports if not math.isnan(getattr(own, name))]
            return sum(known) / len(known) if known else math.nan

        training = sum(own.training for own in reports)
        done = epochs // len(self.configs)
        return Progress(done, longest, training, mean("validation"), mean("loss"), mean("homophily"))

    def seconds(self) -> float:
        """Wall time so far, that of an interrupted training included."""
        return self.before + time.monotonic() - self.began

    def keep_best(self) -> None:
        """Put what every member has reached so far into the whole population."""
        with torch.no_grad():
            for members, run in zip(self.members, self.runs, strict=True):
                for name, best in run.best.items() if run is not None else ():
                    parameter = self.model.parameter(name)
                    parameter.index_copy_(self.model.axes[name], members.to(parameter.device), best)

    def state(self) -> dict[str, Tensor]:
        """Everything that a resumed training needs, as tensors by name."""
        states = {"sizes": torch.tensor(self.sizes), "seconds": torch.tensor(self.seconds(), dtype=torch.float64)}
        for part, run in enumerate(self.runs):
            if run is not None:
                states |= {f"{part}/{name}": tensor for name, tensor in run.state().items()}
        return states

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from a saved state, in the parts it was saved in."""
        self.cut(state["sizes"].tolist())
        self.before = float(state["seconds"])
        for part in sorted({int(name.split("/")[0]) for name in state if "/" in name}):
            own = {name.split("/", 1)[1]: t for name, t in state.items() if name.startswith(f"{part}/")}
            self.start(part).restore(own)
