"""Out-of-core training: batches of nodes as a source for the training loop, one split after the other."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.kernels import use_threads
from newtonnet.nn import Population
from newtonnet.polynomials import Filter
from newtonnet.training import (
    ADDED,
    NUMERICS,
    Batch,
    Config,
    Evaluation,
    FinalEvaluation,
    OnEpoch,
    Record,
    Run,
    Setting,
    adjusted_pivot,
    check_configs,
    check_splits,
    deferred_interrupt,
    load_checkpoint,
    make_records,
    predicted_homophily,
    roc_auc,
    save_checkpoint,
)

from .batches import Batching, RowReader, Worker, epoch_batches, sample_edges
from .large_graph import LargeGraph, as_large
from .model import OUT_OF_CORE_MODEL, OutOfCoreNet, batched_logits, make_filter
from .propagate import PropagationProgress, propagate_to_disk
from .store import FeatureStore

State = dict[str, Tensor]
"""Parameters of a model, or anything else that training continues from, by name."""
RECORDED = ("hidden", "dropout", "degree", "points", "nonnegative")
"""Options of NewtonNet that a record holds; the others have no effect here."""
CHECKPOINT_SECONDS = 60.0
"""Default time between two saves."""


def train_out_of_core(
    graph: Graph | LargeGraph,
    splits: Sequence[Split],
    setting: Setting,
    *,
    store: str | Path,
    batching: Batching | None = None,
    max_memory: int | None = None,
    threads: int | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    stop: Callable[[], bool] | None = None,
    on_epoch: OnEpoch | None = None,
    propagation_progress: Callable[[PropagationProgress], None] | None = None,
) -> tuple[list[Record], list[State]]:
    """Compute the propagated features unless they exist, then train one model for each split, one after the other.

    Args:
        graph: in memory or on disk.
        splits: training, validation and test nodes.
        setting: options of NewtonNet and of the training; split i adds i to the seed. The dropout between encoder and
            filter has no place in this model and is left out.
        store: folder of the propagated features, created or completed if needed.
        batching: how training goes through the nodes.
        max_memory: bytes for propagated features, both to compute them (2 GB by default) and to read them (1 GB).
        threads: number of threads; that of torch by default.
        checkpoint: a file to save the state of the training to from time to time and on an interrupt, and to resume
            from if it exists; removed at the end. A resumed training ends with the same bits.
        checkpoint_seconds: time between two saves, which wait for the end of an epoch.
        stop: called before every epoch; if it returns True, training ends there as if the epochs were used up. Splits
            that have not begun fail.
        on_epoch: called after every epoch.
        propagation_progress: called after every part of the propagated features.

    Returns:
        One record and one state (parameters by name, at the best validation epoch) for each split.
    """
    job = make_job(graph, splits, setting, batching, max_memory)
    features = propagate_to_disk(
        job.graph,
        store,
        degree=job.filter.degree,
        max_memory=max_memory,
        threads=threads,
        progress=propagation_progress,
    )
    path = None if checkpoint is None else Path(checkpoint)
    with use_threads(threads):
        trained = train_splits(
            job,
            features,
            saved=load_checkpoint(path, fingerprint=job.fingerprint) if path is not None and path.exists() else None,
            save=None if path is None else partial(save_checkpoint, path, fingerprint=job.fingerprint),
            save_seconds=checkpoint_seconds,
            stop=stop,
            on_epoch=on_epoch,
        )
    if path is not None:
        path.unlink(missing_ok=True)
    return trained


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """What to train: everything that decides the results, and how much memory to use."""

    graph: LargeGraph
    splits: tuple[Split, ...]
    setting: Setting
    filter: Filter
    batching: Batching
    max_memory: int | None

    @property
    def options(self) -> dict[str, Any]:
        """The options in records. Names and values are a file format."""
        chosen = {name: value for name, value in asdict(self.setting.options).items() if name in RECORDED}
        return {"regime": "precomputed", **chosen, "degree": self.filter.degree, **asdict(self.batching)}

    def config(self, split: Split) -> Config:
        """The configuration of a split."""
        return replace(self.setting.config, seed=self.setting.config.seed + split.index)

    def record_id(self, split: Split) -> str:
        """Hash of everything that decides the result of a split; the number of workers does not."""
        config = asdict(self.config(split))
        later = {key for key, value in ADDED.items() if key != "branch_learning_rate" and config.get(key) == value}
        decisive = {key: value for key, value in config.items() if key not in later | {"history_interval"}}
        parts = [NUMERICS, OUT_OF_CORE_MODEL, self.options, decisive, self.graph.checksum, split.checksum]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides the results of all splits."""
        return hashlib.sha256("".join(map(self.record_id, self.splits)).encode()).hexdigest()


def make_job(
    graph: Graph | LargeGraph,
    splits: Sequence[Split],
    setting: Setting,
    batching: Batching | None,
    max_memory: int | None,
) -> TrainingJob:
    """Check that splits and setting fit the graph: its nodes, its labels, its classes."""
    if not splits:
        raise ValueError("at least 1 split is needed, got none")
    check_configs([setting.config])
    known = {"loss": "cross-entropy", "reduction": "mean", "homophily": "predicted", "label_smoothing": 0.0}
    for name, only in known.items():
        if getattr(setting.config, name) != only:
            raise ValueError(f"out-of-core training knows no {name} but {only!r}; train in memory")
    if setting.config.pivot == "weighted":
        raise ValueError("out-of-core training knows no weighted pivot; train in memory")
    metric = setting.config.metric
    if setting.config.class_weight is not None or not (
        metric == "accuracy" or (metric, graph.classes) == ("roc_auc", 2)
    ):
        raise ValueError(
            "out-of-core training knows no class weights, and no metric but accuracy and, for two classes, roc_auc; "
            "train in memory"
        )
    check_splits(graph, splits, setting.config.metric)
    filter = make_filter(setting, graph)
    return TrainingJob(as_large(graph), tuple(splits), setting, filter, batching or Batching(), max_memory)


def train_splits(
    job: TrainingJob,
    store: FeatureStore,
    *,
    worker: Worker = Worker(),  # noqa: B008 (frozen)
    saved: State | None = None,
    save: Callable[[State], None] | None = None,
    save_seconds: float = CHECKPOINT_SECONDS,
    stop: Callable[[], bool] | None = None,
    on_epoch: OnEpoch | None = None,
) -> tuple[list[Record], list[State]]:
    """Train as :func:`train_out_of_core`, from a complete store; every worker makes this call and gets the same result.

    The states that ``save`` gets, at the end of an epoch, can be given as ``saved`` to another call.
    """
    finished, begun = ([], None) if saved is None else unpack(saved)
    last = time.monotonic()
    with deferred_interrupt() if save is not None else nullcontext(lambda: None) as release:
        for split in job.splits[len(finished) :]:
            run = _make_run(job, store, split, worker)
            if begun is not None:
                run.restore(begun)
                begun = None
            while not run.finished and not (stop is not None and worker.any(stop())):
                run.step()
                if on_epoch is not None:
                    on_epoch(run.report())
                interrupted = True
                with suppress(KeyboardInterrupt):
                    release()
                    interrupted = False
                if save is not None and worker.any(interrupted or time.monotonic() - last > save_seconds):
                    save(pack(finished, run.state()))
                    last = time.monotonic()
                if interrupted:
                    raise KeyboardInterrupt
            finished.append((_make_record(job, split, run), dict(run.best)))
        release()
    return [record for record, _ in finished], [state for _, state in finished]


def _make_run(job: TrainingJob, store: FeatureStore, split: Split, worker: Worker) -> Run:
    config, options = job.config(split), job.setting.options
    model = OutOfCoreNet(
        job.filter,
        features=store.identity.features,
        classes=job.graph.classes,
        seed=config.seed,
        hidden=options.hidden,
        dropout=options.dropout,
    )
    reader = RowReader(store, job.filter.degree, max_memory=job.max_memory)
    return Run(model, NodeBatches(job.graph, reader, split, config, job.batching, worker), [config])


def _make_record(job: TrainingJob, split: Split, run: Run) -> Record:
    (record,) = make_records(
        run,
        ids=[job.record_id(split)],
        graph=job.graph,
        model=OUT_OF_CORE_MODEL,
        options=job.options,
        configs=[job.config(split)],
        splits=[split],
        seconds=run.seconds,
    )
    return record if len(split.validation) else replace(record, outcome=replace(record.outcome, validation=None))


@dataclass(frozen=True, eq=False)
class NodeBatches:
    """Batches of training nodes read from a store: a source for the training loop of one model.

    A step is the same however many workers share it: the loss is a mean over the whole batch, and a dropout mask
    depends on the position in the batch.
    """

    graph: LargeGraph
    reader: RowReader
    split: Split
    config: Config
    batching: Batching
    worker: Worker

    @property
    def classes(self) -> int:
        """Number of classes C."""
        return self.graph.classes

    @property
    def has_edges(self) -> bool:
        """Whether there is a homophily to learn."""
        return self.graph.adjacency.edges > 0

    @cached_property
    def edges(self) -> tuple[NDArray[np.int64], Tensor, Tensor]:
        """A sample of edges: nodes at their ends, pairs of indices into these, and which of the nodes train."""
        nodes, pairs = sample_edges(self.graph.adjacency, count=self.batching.homophily_edges, seed=self.config.seed)
        return nodes, pairs, torch.from_numpy(np.isin(nodes, self.split.train))

    def batches(self, epoch: int) -> Iterator[Batch]:
        """The worker's share of each batch of an epoch; targets are its labels and the size of the whole batch."""
        batches = epoch_batches(self.split.train, self.batching, seed=self.config.seed, epoch=epoch)
        for step, batch in enumerate(batches):
            share = self.worker.share(len(batch))
            rows = self.reader.read(batch[share], share.start)
            yield Batch(rows, (epoch << 24) + step, (self._labels(batch[share]), len(batch)))

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Cross entropy ``(1,)`` whose average over the workers is the mean over the whole batch."""
        labels, size = batch.targets
        loss: Tensor = nn.functional.cross_entropy(logits[:, 0], labels, reduction="sum") / (size / self.worker.size)
        return loss.view(1)

    def reduce(self, loss: Tensor, parameters: Sequence[nn.Parameter]) -> Tensor:
        """Average the loss and all gradients over the workers, in one exchange."""
        if self.worker.size == 1:
            return loss
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        flat = torch.cat([loss, *(gradient.flatten() for gradient in gradients)])
        self.worker.add(flat)
        flat /= self.worker.size
        means = torch.split(flat[1:], [gradient.numel() for gradient in gradients])
        for gradient, mean in zip(gradients, means, strict=True):
            gradient.copy_(mean.view_as(gradient))
        return flat[:1]

    def evaluate(self, model: Population, epoch: int) -> Evaluation:
        """Score the validation nodes."""
        score, _, finite = self._score(model, self.split.validation)
        scores = torch.tensor([[np.nan], [score], [np.nan]], dtype=torch.float64)
        return Evaluation(scores, torch.tensor([finite]))

    def homophily(
        self, model: Population, evaluation: Evaluation | None, *, chance: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Share of sampled edges whose ends have the same class, training labels included, and the share by chance."""
        nodes, pairs, training = self.edges
        classes = torch.zeros(len(nodes), 1, dtype=torch.int64)
        for chosen, logits in self._logits(model, nodes):
            classes[chosen, 0] = logits.argmax(dim=1)
        self.worker.add(classes)
        classes = torch.where(training[:, None], self._labels(nodes)[:, None], classes)
        homophily = predicted_homophily(pairs, classes)
        if not chance:
            return homophily, None
        # The ends of random edges are nodes drawn by their degree, so their counts stand for the degrees.
        degrees = torch.bincount(pairs.flatten(), minlength=len(nodes))
        return homophily, adjusted_pivot(degrees, classes, self.classes)

    def finish(self, model: Population) -> FinalEvaluation:
        """Score training and test nodes and estimate the homophily."""
        train, _, _ = self._score(model, self.split.train)
        test, accuracy, _ = self._score(model, self.split.test)
        homophily, _ = self.homophily(model, None, chance=False)
        return FinalEvaluation(np.array([[train], [np.nan], [test]]), np.array([accuracy]), homophily.numpy())

    def take(self, members: Tensor) -> Self:
        """The same source; there is one member."""
        return self

    def _score(self, model: Population, nodes: NDArray[np.int64]) -> tuple[float, float, bool]:
        """Metric and accuracy over the nodes of all workers, and whether all logits are finite."""
        if len(nodes) == 0:
            return np.nan, np.nan, True
        nodes, ranked = np.sort(nodes), self.config.metric == "roc_auc"
        counts = torch.zeros(2, dtype=torch.float64)  # correct predictions, logits that are not finite
        margins = torch.zeros(len(nodes) if ranked else 0)
        for chosen, logits in self._logits(model, nodes):
            counts[0] += (logits.argmax(dim=1) == self._labels(nodes[chosen])).sum()
            counts[1] += (~torch.isfinite(logits)).sum()
            if ranked:
                margins[chosen] = logits[:, 1] - logits[:, 0]
        self.worker.add(counts)
        accuracy, finite = float(counts[0]) / len(nodes), bool(counts[1] == 0)
        if not ranked:
            return accuracy, accuracy, finite
        self.worker.add(margins)
        return roc_auc(margins, self._labels(nodes) == 1), accuracy, finite

    def _logits(self, model: Population, nodes: NDArray[np.int64]) -> Iterator[tuple[slice, Tensor]]:
        return batched_logits(model, self.reader, nodes, batch=self.batching.batch, worker=self.worker)

    def _labels(self, nodes: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(np.asarray(self.graph.labels[nodes], dtype=np.int64))


def pack(finished: Sequence[tuple[Record, State]], begun: Mapping[str, Tensor]) -> State:
    """Records and states of the finished splits, and the state of the next one, as tensors by name."""
    tensors: State = {f"begun/{name}": tensor for name, tensor in begun.items()}
    for i, (record, state) in enumerate(finished):
        text = np.frombuffer(record.to_json().encode(), dtype=np.uint8)
        tensors[f"{i}/record"] = torch.from_numpy(text.copy())
        tensors |= {f"{i}/state/{name}": tensor for name, tensor in state.items()}
    return tensors


def unpack(tensors: State) -> tuple[list[tuple[Record, State]], State]:
    """The inverse of :func:`pack`."""

    def below(prefix: str) -> State:
        return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}

    count = sum(name.endswith("/record") for name in tensors)
    texts = [tensors[f"{i}/record"].numpy().tobytes().decode() for i in range(count)]
    return [(Record.from_json(text), below(f"{i}/state/")) for i, text in enumerate(texts)], below("begun/")
