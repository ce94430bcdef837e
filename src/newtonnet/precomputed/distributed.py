"""Several workers on a Ray cluster that train one model together: each reads its share of every batch.

Workers are plain actors that form a gloo group of torch.distributed. Ray Train would do the same and ask for more
packages (pandas, tensorboardX) for checkpoints and reports that are not needed here.
"""

import logging
import os
import socket
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import torch.distributed as dist
from torch import Tensor

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.kernels import use_threads
from newtonnet.polynomials import Filter
from newtonnet.training import Record, Setting

from .batches import Batching, Worker
from .large_graph import LargeGraph, as_large, open_graph
from .run import check_run, make_filter, train_split
from .store import Identity, check_identity, open_store
from .training import State

WAIT = timedelta(minutes=10)
"""How long a worker waits for the others in one exchange."""
PLACED = 60
"""Seconds in which a cluster must find room for all workers."""
USAGE = "RAY_USAGE_STATS_ENABLED"
"""Ray reports no usage while this is 0."""


def train_on_ray(
    graph: Graph | LargeGraph,
    splits: Sequence[Split],
    setting: Setting,
    *,
    store: str | Path,
    workers: int,
    address: str | None = None,
    batching: Batching | None = None,
    max_memory: int | None = None,
    threads: int = 1,
) -> tuple[list[Record], list[State]]:
    """Train as :func:`train_precomputed` does, with every batch divided over workers; the result is the same.

    Gradients are sums over a whole batch, dropout is keyed by the place in it and its order by seed and epoch, so one
    worker and several differ by rounding only.

    Args:
        graph: in memory, sent to every node; or on disk, at the same path on every node.
        splits: one model is trained for each.
        setting: NewtonNet's options and the training.
        store: folder of the complete blocks, at the same path on every node: on a shared file system, or a copy on
            each node.
        workers: how many.
        address: of a Ray cluster, ``auto`` or ``HOST:PORT``; if not given, the one this process is connected to, or a
            Ray of its own on this machine.
        batching: how training goes through the nodes; ``batch`` counts over all workers.
        max_memory: bytes of blocks that a worker may map at once; 1 GB if not given.
        threads: of each worker, and the cores that Ray keeps for it.
    """
    if workers < 1 or threads < 1:
        raise ValueError(f"at least 1 worker of 1 thread is needed, got {workers} of {threads}")
    check_run(graph, splits, setting)
    filter = make_filter(setting, graph)
    large = as_large(graph)
    _check_blocks(large, store, filter)
    ray = _import_ray()
    own = not ray.is_initialized()
    if own:
        _connect(ray, address, workers * threads)
    try:
        # An open graph would travel with its files' contents, so its folder does.
        told: Any = large.folder.absolute() if large.folder is not None else graph
        job = (ray.put(told), Path(store).absolute(), list(splits), setting, filter, batching or Batching(), max_memory)
        return _together(ray, job, workers, threads)
    finally:
        if own:
            ray.shutdown()


def _check_blocks(graph: LargeGraph, store: str | Path, filter: Filter) -> None:
    blocks = open_store(store)
    f, loops = graph.features.shape[1], blocks.identity.self_loops
    wanted = Identity(graph.nodes, f, filter.degree, loops, graph.adjacency.checksum, graph.features_checksum)
    check_identity(blocks, wanted)
    if not blocks.complete:
        raise ValueError(f"{blocks.folder} is not finished; precompute it first")


def _import_ray() -> ModuleType:
    try:
        import ray
    except ImportError as error:
        raise ValueError(f"several workers need Ray ({error}); pip install 'newtonnet[cluster]'") from None
    module: ModuleType = ray
    return module


def _connect(ray: ModuleType, address: str | None, cores: int) -> None:
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    before = os.environ.get(USAGE)
    os.environ[USAGE] = "0"
    try:
        if address is None:
            ray.init("local", num_cpus=cores, include_dashboard=False, **options)
        else:
            ray.init(address, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConnectionError(f"cannot connect to Ray ({address or 'one of its own'}): {error}") from error
    finally:
        if before is None:
            del os.environ[USAGE]
        else:
            os.environ[USAGE] = before


def _together(ray: ModuleType, job: tuple[Any, ...], workers: int, threads: int) -> tuple[list[Record], list[State]]:
    """Place all workers or none, let them meet at the first one's address, and take the first one's answer."""
    group = ray.util.placement_group([{"CPU": threads}] * workers, strategy="PACK")
    members: list[Any] = []
    try:
        if not group.wait(PLACED):
            raise OSError(f"the cluster has no room for {workers} workers of {threads} cores each")
        place = ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(group)
        actor = ray.remote(num_cpus=threads, scheduling_strategy=place)(_Member)
        members += [actor.remote(rank, workers, threads) for rank in range(workers)]
        meeting = ray.get(members[0].meeting.remote())
        answers = ray.get([member.train.remote(meeting, *job) for member in members])
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None) or error
        last = (str(cause).strip().splitlines() or [type(cause).__name__])[-1]
        raise ChildProcessError(f"a worker failed: {last}") from error
    finally:
        for member in members:
            ray.kill(member)
        ray.util.remove_placement_group(group)
    result: tuple[list[Record], list[State]] = answers[0]
    return result


class _Member:
    """One worker's process."""

    def __init__(self, rank: int, size: int, threads: int) -> None:
        self.rank, self.size, self.threads = rank, size, threads

    def meeting(self) -> str:
        """An address on this worker's machine that is free now."""
        import ray

        host = ray.util.get_node_ip_address()
        with closing(socket.socket()) as free:
            free.bind((host, 0))
            return f"tcp://{host}:{free.getsockname()[1]}"

    def train(
        self,
        meeting: str,
        graph: Graph | LargeGraph | Path,
        store: Path,
        splits: list[Split],
        setting: Setting,
        filter: Filter,
        batching: Batching,
        max_memory: int | None,
    ) -> tuple[list[Record], list[State]]:
        """Every split in turn, together with the others."""
        dist.init_process_group("gloo", init_method=meeting, rank=self.rank, world_size=self.size, timeout=WAIT)
        try:
            with use_threads(self.threads):
                large = open_graph(graph) if isinstance(graph, Path) else as_large(graph)
                blocks = open_store(store)
                pairs = [
                    train_split(
                        large,
                        blocks,
                        split,
                        setting,
                        filter=filter,
                        batching=batching,
                        max_memory=max_memory,
                        worker=Worker(self.rank, self.size, _add),
                    )
                    for split in splits
                ]
        finally:
            dist.destroy_process_group()
        return [record for record, _ in pairs], [state for _, state in pairs]


def _add(numbers: Tensor) -> None:
    """Sum over all workers in place, in float64: the order of a sum over workers must not show."""
    exact = numbers.double()
    dist.all_reduce(exact)
    numbers.copy_(exact)
