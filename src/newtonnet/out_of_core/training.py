"""The loop of the precomputed regime: steps over batches of nodes, the penalty in each, an evaluation at the end."""

import time
from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.datasets import Split
from newtonnet.nn import Noise
from newtonnet.training import Adam, Config, Progress, band_masks, shape_penalty

from .batches import Batching, EdgeSample, Rows, Worker, epoch_batches, sample_edges
from .evaluation import Score, estimate_homophily, known_classes, score
from .keeping import Beside, State
from .large_graph import LargeGraph
from .model import FilterFirst
from .outcome import Trained

NUMBERS = ("epoch", "failed", "best", "best_epoch", "largest", "homophily", "pivot")
"""Of a training half done, beside its parameters and curves."""


def train(
    model: FilterFirst,
    graph: LargeGraph,
    rows: Rows,
    split: Split,
    config: Config,
    *,
    batching: Batching,
    worker: Worker | None = None,
    begun: State | None = None,
    keeper: Beside | None = None,
    stop: Callable[[], bool] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Trained:
    """Train one model on one split and leave it at its best validation state.

    Every worker calls this with the same arguments but its own ``worker``; all of them end with the same result. The
    loss of a step is the mean cross entropy over the whole batch plus the penalty, whoever computes which part of it.
    ``stop`` is asked before every epoch. A training that goes on from what its keeper was given (``begun``) ends with
    the same bits as one that was not interrupted.
    """
    run = _Run(model, graph, rows, split, config, batching, Worker() if worker is None else worker)
    if begun is not None:
        run.restore(begun)
    while not run.finished and not (stop is not None and run.agree(stop())):
        run.step()
        if progress is not None:
            progress(Progress(run.epoch, config.max_epochs, int(not run.finished), run.best))
        if keeper is not None and run.agree(keeper.due()):
            keeper.save(run.tensors())
    return run.result()


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
        self.bands = band_masks(model.filter.points)
        self.sample: EdgeSample | None = None
        self.pivot = self.homophily = 1 / graph.classes
        self.epoch, self.failed = 0, False
        self.best, self.best_epoch = float("nan"), 0
        self.state = _copy(model)
        self.largest = 0.0
        self.losses: list[float] = []
        self.curve: list[tuple[float, ...]] = []
        self.began = time.monotonic()

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
        loss = loss + self._penalty() / self.worker.size
        slopes = torch.autograd.grad(loss, list(self.parameters.values()))
        summed = torch.cat([loss.detach().view(1), *(slope.flatten() for slope in slopes)])
        self.worker.add(summed)
        parts = torch.split(summed[1:], [slope.numel() for slope in slopes])
        for parameter, part in zip(self.parameters.values(), parts, strict=True):
            parameter.grad = part.view_as(parameter)
        self.adam.step()
        with torch.no_grad():
            for values in self.model.filter_parameters().values():
                if self.config.ceiling is not None:
                    values.clamp_(-self.config.ceiling, self.config.ceiling)
                self.largest = float(np.fmax(self.largest, values.abs().max().item()))
        return float(summed[0])

    def _penalty(self) -> Tensor | float:
        """The shape-aware penalty."""
        config, parameters = self.config, self.model.filter_parameters()
        if not any(config.gammas):
            return 0.0
        return shape_penalty(
            parameters["values"] if config.penalises_raw else self.model.filter.amplitudes(parameters),
            self.bands,
            homophily=torch.tensor([self.homophily]),
            pivot=torch.tensor([self.pivot]),
            gammas=torch.tensor([config.gammas]).T,
            squared=config.squared,
        ).sum()

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

    def tensors(self) -> State:
        """Everything that a resumed training needs."""
        numbers = [self.adam.steps, self.seconds, *(float(getattr(self, name)) for name in NUMBERS)]
        kept: dict[str, Mapping[str, Tensor]] = {
            "model": dict(self.model.named_parameters()),
            "first": self.adam.first,
            "second": self.adam.second,
            "best": self.state,
        }
        return {
            "numbers": torch.tensor(numbers, dtype=torch.float64),
            "losses": torch.tensor(self.losses, dtype=torch.float64),
            "curve": torch.tensor(self.curve, dtype=torch.float64),
            **{f"{part}.{name}": tensor for part, tensors in kept.items() for name, tensor in tensors.items()},
        }

    def restore(self, tensors: State) -> None:
        """Go on from there."""
        steps, seconds, *numbers = tensors["numbers"].tolist()
        for name, number in zip(NUMBERS, numbers, strict=True):
            setattr(self, name, type(getattr(self, name))(number))
        self.adam.steps, self.began = int(steps), time.monotonic() - seconds
        self.losses = tensors["losses"].tolist()
        self.curve = [tuple(row) for row in tensors["curve"].tolist()]
        self.state = {name: tensors[f"best.{name}"] for name in self.state}
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(tensors[f"model.{name}"])
            for name in self.adam.first:
                self.adam.first[name].copy_(tensors[f"first.{name}"])
                self.adam.second[name].copy_(tensors[f"second.{name}"])

    @property
    def seconds(self) -> float:
        """Wall time, that of an interrupted training included."""
        return time.monotonic() - self.began

    def result(self) -> Trained:
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
            seconds=self.seconds,
        )


def _copy(model: FilterFirst) -> State:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
