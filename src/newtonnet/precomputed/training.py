"""The loop of the precomputed regime: steps over batches of nodes, the penalty in each, an evaluation at the end."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.datasets import Split
from newtonnet.nn import Noise
from newtonnet.training import Config, Progress, band_masks
from newtonnet.training.adam import Adam
from newtonnet.training.shape import band_pull, penalise

from .batches import Batching, EdgeSample, Rows, Worker, epoch_batches, sample_edges
from .evaluation import Score, estimate_homophily, known_classes, score
from .large_graph import LargeGraph
from .model import FilterFirst

State = dict[str, Tensor]
"""A model's parameters by name."""


@dataclass(frozen=True, eq=False)
class Trained:
    """What a training ended with.

    Attributes:
        state: parameters at the best validation epoch.
        failed: the loss, or a prediction, was not a number in the last epoch.
        epochs: how many were begun.
        best_epoch: the first with the best validation score; 0 for none.
        scores: on train, validation and test nodes, at that epoch.
        accuracy: on the test nodes.
        homophily: learned h on the sample of edges, at that epoch.
        largest: largest magnitude of a raw filter value at any step.
        losses: mean loss of every epoch.
        curve: epoch, loss, validation score and homophily of the epochs that are kept.
        seconds: wall time.
    """

    state: State
    failed: bool
    epochs: int
    best_epoch: int
    scores: tuple[float, float, float]
    accuracy: float
    homophily: float
    largest: float
    losses: tuple[float, ...]
    curve: tuple[tuple[float, ...], ...]
    seconds: float


def train(
    model: FilterFirst,
    graph: LargeGraph,
    rows: Rows,
    split: Split,
    config: Config,
    *,
    batching: Batching,
    worker: Worker | None = None,
    stop: Callable[[], bool] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Trained:
    """Train one model on one split and leave it at its best validation state.

    Every worker calls this with the same arguments but its own ``worker``; all of them end with the same result. The
    loss of a step is the mean cross entropy over the whole batch plus the penalty, whoever computes which part of it.
    ``stop`` is asked before every epoch.
    """
    begun = time.monotonic()
    run = _Run(model, graph, rows, split, config, batching, Worker() if worker is None else worker)
    while not run.finished and not (stop is not None and run.agree(stop())):
        run.step()
        if progress is not None:
            progress(Progress(run.epoch, config.max_epochs, int(not run.finished), run.best))
    return run.result(begun)


class _Run:
    """The state of one training."""

    def __init__(
        self,
        model: FilterFirst,
        graph: LargeGraph,
        rows: Rows,
        split: Split,
        config: Config,
        batching: Batching,
        worker: Worker,
    ) -> None:
        self.model, self.graph, self.rows, self.split = model, graph, rows, split
        self.config, self.batching, self.worker = config, batching, worker
        self.parameters = model.learned()
        self.adam = Adam(model, [config])
        self.bands = band_masks(model.filter.points).numpy()
        self.sample: EdgeSample | None = None
        self.pivot = self.homophily = 1 / graph.classes
        self.epoch, self.failed = 0, False
        self.best, self.best_epoch = float("nan"), 0
        self.state = _copy(model)
        self.largest = 0.0
        self.losses: list[float] = []
        self.curve: list[tuple[float, ...]] = []

    @property
    def finished(self) -> bool:
        patience = self.config.patience
        impatient = patience is not None and self.epoch - self.best_epoch >= patience
        return self.failed or impatient or self.epoch >= self.config.max_epochs

    def agree(self, wish: bool) -> bool:
        """Whether any worker wishes so."""
        wishes = torch.tensor([float(wish)])
        self.worker.add(wishes)
        return bool(wishes[0])

    def step(self) -> None:
        """One epoch."""
        self.epoch += 1
        total, steps = 0.0, 0
        seed = self.config.seed
        for batch in epoch_batches(self.split.train, self.batching, seed=seed, epoch=self.epoch):
            total, steps = total + self._train(batch, steps), steps + 1
            if not np.isfinite(total):
                break
        self.losses.append(total / steps)
        reached = self._score(self.split.validation)
        self.failed = not (reached.sound and np.isfinite(total))
        if not self.failed and (reached.value > self.best or np.isnan(self.best)):
            self.best, self.best_epoch, self.state = reached.value, self.epoch, _copy(self.model)
        self._learn_homophily(reached.value)

    def _train(self, batch: NDArray[np.int64], step: int) -> float:
        """One step on this worker's share of a batch; the loss of the whole."""
        share = self.worker.share(len(batch))
        nodes = batch[share]
        # One key for every step: a mask depends on the place in the batch, not on who computes it.
        noise = Noise(self.config.seed, (self.config.seed,), (self.epoch << 24) + step)
        logits = self.model(self.rows.read(nodes), noise, share.start)[:, 0]
        classes = known_classes(self.graph, nodes)
        loss = torch.nn.functional.cross_entropy(logits, classes, reduction="sum") / len(batch)
        slopes = torch.autograd.grad(loss, list(self.parameters.values()))
        summed = torch.cat([loss.detach().view(1), *(slope.flatten() for slope in slopes)])
        self.worker.add(summed)
        parts = torch.split(summed[1:], [slope.numel() for slope in slopes])
        gradients = {
            name: part.view_as(slope) for name, part, slope in zip(self.parameters, parts, slopes, strict=True)
        }
        penalty = self._penalise(gradients)
        self.adam.step(gradients)
        with torch.no_grad():
            for values in self.model.filter_parameters().values():
                if self.config.ceiling is not None:
                    values.clamp_(-self.config.ceiling, self.config.ceiling)
                self.largest = float(np.fmax(self.largest, values.abs().max().item()))
        return float(summed[0]) + penalty

    def _penalise(self, gradients: dict[str, Tensor]) -> float:
        """Add the slope of the shape-aware penalty to the filter's gradients; the penalty."""
        if not any(self.config.gammas):
            return 0.0
        filter, parameters, config = self.model.filter, self.model.filter_parameters(), self.config
        pull = band_pull(np.array([self.homophily - self.pivot]), np.array([config.gammas]).T)
        penalty, slopes = penalise(
            filter, parameters, self.bands, pull, raw=config.penalises_raw, squared=config.squared
        )
        for name, slope in slopes.items():
            gradients[f"filter_{name}"] = gradients[f"filter_{name}"] + slope
        return float(penalty[0])

    def _learn_homophily(self, reached: float) -> None:
        """Refresh the h that steers the penalty when it is due, and keep the curves."""
        due = self.epoch % self.config.refresh == 0 and any(self.config.gammas)
        interval = self.config.history_interval
        kept = interval > 0 and self.epoch % interval == 0
        if self.failed or not (due or kept):
            return
        homophily, pivot = self._estimate()
        if due:
            self.homophily = homophily
            self.pivot = pivot if self.config.pivot == "adjusted" else self.pivot
        if kept:
            self.curve.append((self.epoch, self.losses[-1], reached, homophily))

    def _estimate(self) -> tuple[float, float]:
        if self.sample is None:
            count, seed = self.batching.homophily_edges, self.config.seed
            self.sample = sample_edges(self.graph.adjacency, self.split.train, count=count, seed=seed)
        batch = self.batching.batch
        return estimate_homophily(self.model, self.graph, self.rows, self.sample, batch=batch, worker=self.worker)

    def _score(self, nodes: NDArray[np.int64]) -> Score:
        metric, batch = self.config.metric, self.batching.batch
        return score(self.model, self.graph, self.rows, nodes, metric=metric, batch=batch, worker=self.worker)

    def result(self, begun: float) -> Trained:
        """Put the best state into the model and see what it is worth."""
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(self.state[name])
        nothing = Score(float("nan"), float("nan"), True)
        tried = self.best_epoch > 0
        train, test = (self._score(nodes) if tried else nothing for nodes in (self.split.train, self.split.test))
        return Trained(
            state=self.state,
            failed=self.failed or self.epoch == 0,
            epochs=self.epoch,
            best_epoch=self.best_epoch,
            scores=(train.value, self.best, test.value),
            accuracy=test.accuracy,
            homophily=self._estimate()[0] if tried else float("nan"),
            largest=self.largest,
            losses=tuple(self.losses),
            curve=tuple(self.curve),
            seconds=time.monotonic() - begun,
        )


def _copy(model: FilterFirst) -> State:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
