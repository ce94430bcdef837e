"""Out-of-core training on the workers of a Ray cluster, by Ray Train: each one reads its share of every batch."""

import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from newtonnet.cluster import connected, last_line
from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.kernels import use_threads
from newtonnet.meaning import lacking
from newtonnet.training import Record, Setting, load_checkpoint, save_checkpoint

from .batches import Batching, Worker
from .large_graph import LargeGraph
from .propagate import store_identity
from .store import check_identity, open_store
from .training import CHECKPOINT_SECONDS, State, TrainingJob, make_job, train_splits

WAIT = 600
"""Seconds that a worker waits for the others in one exchange."""
RESTARTS = 3
"""How often training continues from the last checkpoint when workers are lost."""
FILE = "training.safetensors"
"""The file in a checkpoint of Ray Train."""


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
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> tuple[list[Record], list[State]]:
    """Train as :func:`train_out_of_core` does, with every batch divided among workers; the result is the same.

    Gradients are averages over a whole batch, dropout depends on the position in it, and its order on seed and epoch,
    so one worker and several differ only by rounding.

    Args:
        graph: in memory, which is sent to every machine; or on disk, at the same path on every machine.
        splits: one model is trained for each.
        setting: options of NewtonNet and of the training.
        store: folder of the complete propagated features, at the same path on every machine: on a shared file system,
            or a copy on each machine.
        workers: number of workers.
        address: of a Ray cluster, ``auto`` or ``HOST:PORT``; by default the one that this process is connected to, or
            a new one on this machine.
        batching: how training goes through the nodes; ``batch`` counts over all workers.
        max_memory: bytes of the store that a worker may map at once; 1 GB by default.
        threads: number of threads of each worker, and of cores that Ray reserves for it.
        checkpoint: a folder that all machines see, where Ray Train saves the state of the training. The same call
            resumes from it, and so does the training itself if a worker or a machine is lost. By default nothing is
            saved, and a lost worker ends the call.
        checkpoint_seconds: time between two saves, which wait for the end of an epoch.

    Returns:
        One record and one state for each split.
    """
    if workers < 1 or threads < 1:
        raise ValueError(f"at least 1 worker of 1 thread is needed, got {workers} of {threads}")
    job = make_job(graph, splits, setting, batching, max_memory)
    features = open_store(store)
    loops = features.identity.self_loops
    check_identity(features, store_identity(job.graph, job.filter.degree, self_loops=loops))
    if not features.complete:
        raise ValueError(f"{features.folder} is not finished; finish it with propagate_to_disk")
    with ExitStack() as stack:
        ray = stack.enter_context(connected(address, cores=workers * threads))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()) if checkpoint is None else checkpoint)
        config = {
            "job": ray.put(job),
            "store": Path(store).absolute(),
            "threads": threads,
            "save_seconds": None if checkpoint is None else checkpoint_seconds,
        }
        name = job.fingerprint[:16]  # the same for the same call, so that it resumes
        trained = _train(ray, config, workers=workers, folder=folder.absolute(), name=name)
        shutil.rmtree(folder / name, ignore_errors=True)
        return trained


def _train(
    ray: ModuleType, config: dict[str, Any], *, workers: int, folder: Path, name: str
) -> tuple[list[Record], list[State]]:
    """Run the workers with Ray Train and return the answer of the first."""
    try:
        from ray import train
        from ray.train.torch import TorchConfig, TorchTrainer
    except Exception as error:  # a broken installation can raise anything
        raise lacking("several workers need Ray Train", "cluster", error) from None
    trainer = TorchTrainer(
        _work,
        train_loop_config=config,
        torch_config=TorchConfig(backend="gloo", timeout_s=WAIT),
        scaling_config=train.ScalingConfig(num_workers=workers, resources_per_worker={"CPU": config["threads"]}),
        run_config=train.RunConfig(
            name=name,
            storage_path=str(folder),
            failure_config=train.FailureConfig(max_failures=0 if config["save_seconds"] is None else RESTARTS),
            checkpoint_config=train.CheckpointConfig(num_to_keep=1),
        ),
    )
    try:
        with _restored_interrupt():
            answer = trainer.fit().return_value
    except (ray.exceptions.RayError, train.TrainingFailedError) as error:
        failures = getattr(error, "worker_failures", None) or {0: error}
        raise ChildProcessError(f"a worker failed: {last_line(next(iter(failures.values())))}") from error
    if answer is None:
        raise KeyboardInterrupt
    records, states = answer
    return records, [{name: torch.tensor(array) for name, array in state.items()} for state in states]


@contextmanager
def _restored_interrupt() -> Iterator[None]:
    """Turn the quiet exit that Ray Train makes of Ctrl-C into an interrupt, and restore the signal handler."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit as exit:
        raise KeyboardInterrupt from exit
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _work(config: dict[str, Any]) -> tuple[list[Record], list[dict[str, Any]]]:
    """Train all splits as one worker of the gloo group that Ray Train has made; states are arrays, as Ray needs."""
    import ray
    from ray import train

    job: TrainingJob = ray.get(config["job"])
    context = train.get_context()
    rank, seconds = context.get_world_rank(), config["save_seconds"]
    saved = None
    if seconds is not None and (found := train.get_checkpoint()) is not None:
        with found.as_directory() as folder:
            saved = load_checkpoint(Path(folder) / FILE, fingerprint=job.fingerprint)

    def save(tensors: State) -> None:
        """All workers report, and Ray Train waits for all of them; the first one writes."""
        with tempfile.TemporaryDirectory() as folder:
            if rank == 0:
                save_checkpoint(Path(folder) / FILE, tensors, fingerprint=job.fingerprint)
            train.report({}, checkpoint=train.Checkpoint.from_directory(folder) if rank == 0 else None)

    with use_threads(config["threads"]):
        records, states = train_splits(
            job,
            open_store(config["store"]),
            worker=Worker(rank, context.get_world_size(), _add),
            saved=saved,
            save=None if seconds is None else save,
            save_seconds=seconds or 0.0,
        )
    return records, [{name: tensor.numpy() for name, tensor in state.items()} for state in states]


def _add(numbers: Tensor) -> None:
    """Sum over all workers in place, in float64, so that the order of the workers does not matter."""
    exact = numbers.double()
    dist.all_reduce(exact)
    numbers.copy_(exact)
