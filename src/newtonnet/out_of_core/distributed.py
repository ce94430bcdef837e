"""Several workers on a Ray cluster that train one model together, by Ray Train: each reads its share of every batch."""

import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.cluster import connected, last_line
from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.kernels import use_threads
from newtonnet.polynomials import Filter
from newtonnet.training import Record, Setting
from newtonnet.training.checkpoint import load_checkpoint, save_checkpoint

from .batches import Batching, Worker
from .keeping import SECONDS, State
from .large_graph import LargeGraph, as_large, open_graph
from .run import check_run, make_filter, run_fingerprint, train_splits
from .store import StoreIdentity, check_identity, open_store

WAIT = 600
"""Seconds that a worker waits for the others in one exchange."""
RESTARTS = 3
"""How often training goes on from what was kept when workers are lost."""
FILE = "training.safetensors"
"""What a checkpoint of Ray Train holds."""
Answer = tuple[list[Record], list[dict[str, NDArray[Any]]]]
"""Records and states; Ray Train takes no tensors back."""


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
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = SECONDS,
) -> tuple[list[Record], list[State]]:
    """Train as :func:`train_out_of_core` does, with every batch divided over workers; the result is the same.

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
        checkpoint: a folder that all nodes see, where Ray Train keeps the training's state; the same call goes on from
            it, and so does training itself where a worker or a node is lost. Nothing is kept if it is not given, and a
            lost worker ends the call.
        checkpoint_seconds: time between two saves, which wait for the end of an epoch.
    """
    if workers < 1 or threads < 1:
        raise ValueError(f"at least 1 worker of 1 thread is needed, got {workers} of {threads}")
    check_run(graph, splits, setting)
    filter, batching = make_filter(setting, graph), batching or Batching()
    large = as_large(graph)
    _check_blocks(large, store, filter)
    belongs = run_fingerprint(large, splits, setting, filter, batching)
    with ExitStack() as stack:
        ray = stack.enter_context(connected(address, cores=workers * threads))
        folder = stack.enter_context(tempfile.TemporaryDirectory()) if checkpoint is None else checkpoint
        job = _Job(
            # An open graph would travel with its files' contents, so its folder does.
            ray.put(large.folder.absolute() if large.folder is not None else graph),
            Path(store).absolute(),
            list(splits),
            setting,
            filter,
            batching,
            max_memory,
            threads,
            belongs,
            None if checkpoint is None else checkpoint_seconds,
        )
        answer = _train(ray, job, workers, Path(folder).absolute())
        shutil.rmtree(Path(folder) / _name(job), ignore_errors=True)
        return answer


@dataclass(frozen=True)
class _Job:
    """What every worker is told."""

    graph: Any
    store: Path
    splits: list[Split]
    setting: Setting
    filter: Filter
    batching: Batching
    max_memory: int | None
    threads: int
    belongs: str
    seconds: float | None


def _name(job: _Job) -> str:
    """Of the folder where Ray Train keeps the job's state: the same for the same call."""
    return job.belongs[:16]


def _check_blocks(graph: LargeGraph, store: str | Path, filter: Filter) -> None:
    blocks = open_store(store)
    f, loops = graph.features.shape[1], blocks.identity.self_loops
    wanted = StoreIdentity(graph.nodes, f, filter.degree, loops, graph.adjacency.checksum, graph.features_checksum)
    check_identity(blocks, wanted)
    if not blocks.complete:
        raise ValueError(f"{blocks.folder} is not finished; precompute it first")


def _train(ray: ModuleType, job: _Job, workers: int, folder: Path) -> tuple[list[Record], list[State]]:
    """Hand the job to Ray Train and take the first worker's answer."""
    try:
        from ray import train
        from ray.train.torch import TorchConfig, TorchTrainer
    except ImportError as error:
        raise ValueError(f"several workers need Ray Train ({error}); pip install 'ray[train]'") from None
    trainer = TorchTrainer(
        _work,
        train_loop_config={"job": job},
        torch_config=TorchConfig(backend="gloo", timeout_s=WAIT),
        scaling_config=train.ScalingConfig(num_workers=workers, resources_per_worker={"CPU": job.threads}),
        run_config=train.RunConfig(
            name=_name(job),
            storage_path=str(folder),
            failure_config=train.FailureConfig(max_failures=0 if job.seconds is None else RESTARTS),
            checkpoint_config=train.CheckpointConfig(num_to_keep=1),
        ),
    )
    try:
        with _own_interrupt():
            answer: Answer | None = trainer.fit().return_value
    except (ray.exceptions.RayError, train.TrainingFailedError) as error:
        failures = getattr(error, "worker_failures", None) or {0: error}
        raise ChildProcessError(f"a worker failed: {last_line(next(iter(failures.values())))}") from error
    if answer is None:
        raise KeyboardInterrupt
    records, states = answer
    return records, [{name: torch.tensor(array) for name, array in state.items()} for state in states]


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Ray Train makes a quiet exit of Ctrl-C and does not give it back; here it is an interrupt, and is given back."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit as exit:
        raise KeyboardInterrupt from exit
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _work(told: dict[str, Any]) -> Answer:
    """What a worker does, in the gloo group that Ray Train has made: every split in turn, together with the others."""
    import ray
    from ray import train

    job: _Job = told["job"]
    context = train.get_context()
    rank, size = context.get_world_rank(), context.get_world_size()
    graph = ray.get(job.graph)
    with use_threads(job.threads):
        records, states = train_splits(
            open_graph(graph) if isinstance(graph, Path) else as_large(graph),
            open_store(job.store),
            job.splits,
            job.setting,
            filter=job.filter,
            batching=job.batching,
            max_memory=job.max_memory,
            worker=Worker(rank, size, _add),
            keeper=None if job.seconds is None else _TrainKeeper(train, rank, job.belongs, job.seconds),
        )
    return records, [{name: tensor.numpy() for name, tensor in state.items()} for state in states]


@dataclass
class _TrainKeeper:
    """Keeps a training where Ray Train keeps its checkpoints; the first worker writes."""

    train: ModuleType
    rank: int
    belongs: str
    seconds: float
    saved: float = field(default_factory=time.monotonic)

    def load(self) -> State | None:
        """What Ray Train hands to a worker that starts anew."""
        found = self.train.get_checkpoint()
        if found is None:
            return None
        with found.as_directory() as folder:
            return load_checkpoint(Path(folder) / FILE, fingerprint=self.belongs)

    def due(self) -> bool:
        """Now and then."""
        return time.monotonic() - self.saved > self.seconds

    def save(self, tensors: State) -> None:
        """Every worker reports; Ray Train waits for all of them."""
        with tempfile.TemporaryDirectory() as folder:
            kept = None
            if self.rank == 0:
                save_checkpoint(Path(folder) / FILE, tensors, fingerprint=self.belongs)
                kept = self.train.Checkpoint.from_directory(folder)
            self.train.report({}, checkpoint=kept)
        self.saved = time.monotonic()


def _add(numbers: Tensor) -> None:
    """Sum over all workers in place, in float64: the order of a sum over workers must not show."""
    exact = numbers.double()
    dist.all_reduce(exact)
    numbers.copy_(exact)
