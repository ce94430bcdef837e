"""The training loop: one epoch after another for a population of models, whatever the batches come from."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from newtonnet.nn import Noise, Population

from .adam import Adam
from .config import Config
from .shape import band_masks, shape_penalty

CURVES = ("loss", "train", "validation", "test", "homophily")
"""What a record's history holds beside the epoch."""

KEPT = ("best_scores", "last_scores", "best_epoch", "epochs", "failed", "largest", "homophily", "pivot")
"""Arrays over all members that a checkpoint holds as they are."""


@dataclass(frozen=True, eq=False)
class Batch:
    """What one step trains on."""

    inputs: Any
    """What the model reads, the first argument of its ``forward``."""
    key: int
    """Key of this step's dropout masks, beside the seeds; no two steps share one."""
    targets: Any = None
    """Whatever the source's own ``loss`` needs."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a model's predictions are worth.

    Attributes:
        scores: metric of each member on its train, validation and test nodes, float64, ``(3, P)``; NaN where a part is
            empty or was not evaluated.
        finite: whether all logits of a member are finite, ``(P,)``.
        classes: class (or number) of every node, predicted or, where it trains, its label, ``(n, P)``, if the source
            has them.
        logits: of a model without dropout, with their autograd graph: the next epoch trains on them. None otherwise.
    """

    scores: Tensor
    finite: Tensor
    classes: Tensor | None = None
    logits: Tensor | None = None


@dataclass(frozen=True, eq=False)
class FinalEvaluation:
    """What the best state of each member is worth: ``(3, P)``, ``(P,)`` and ``(P,)``, NaN where there is none.

    Attributes:
        scores: metric on train, validation and test nodes.
        test_accuracies: accuracy on the test nodes, whatever the metric is.
        homophily: share of edges whose ends are predicted to have equal classes.
    """

    scores: NDArray[np.float64]
    test_accuracies: NDArray[np.float64]
    homophily: NDArray[np.float64]


class Source(Protocol):
    """Where the batches of a training come from, and how its model is evaluated."""

    @property
    def classes(self) -> int:
        """Number of classes; 1 for a number as target, whose homophily is a correlation and 0 by chance."""

    @property
    def has_edges(self) -> bool:
        """Whether there is a homophily to learn."""

    def batches(self, epoch: int) -> Iterable[Batch]:
        """The steps of an epoch."""

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Mean loss of each member over the batch, ``(P,)``; over this worker's share where there are several."""

    def reduce(self, loss: Tensor, parameters: Sequence[nn.Parameter]) -> Tensor:
        """Average the loss and the parameters' ``.grad`` (in place) over all workers; returns the averaged loss."""

    def evaluate(self, model: Population, epoch: int) -> Evaluation | None:
        """The model without dropout; None in an epoch that is not evaluated."""

    def homophily(self, model: Population, evaluation: Evaluation, *, chance: bool) -> tuple[Tensor, Tensor | None]:
        """Predicted homophily of each member, ``(P,)``, and, on request, the one that chance gives."""

    def finish(self, model: Population) -> FinalEvaluation:
        """Evaluate the model at its best state."""

    def take(self, members: Tensor) -> Self:
        """The source of some of the members."""


@dataclass(frozen=True)
class Progress:
    """How far a training is, after an epoch."""

    epoch: int
    max_epochs: int
    training: int
    """Members that still train."""
    validation: float
    """Mean over members of the best validation score so far."""
    loss: float = math.nan
    """Mean over these members of the loss of the epoch, with the penalty."""
    homophily: float = math.nan
    """Mean over members of the homophily that the penalty is given."""
    step: str = ""
    """What is being trained, where it is one step of several."""
    share: float = math.nan
    """Finished share of the step."""
    best: float = math.nan
    """Best mean validation score of a setting so far, where there are several."""


OnEpoch = Callable[[Progress], None]
"""Called after every epoch."""


@dataclass(frozen=True, eq=False)
class Rung:
    """Where a population is when it is decided which members train on."""

    epoch: int
    validation: NDArray[np.float64]
    """Best validation score of each member so far, ``(P,)``; NaN where there is none or it has failed."""
    training: NDArray[np.bool_]
    """Whether it still trains, ``(P,)``."""


class Keep(Protocol):
    """From where a population is to the members that train on, ``(P,)``."""

    def __call__(self, rung: Rung, /) -> NDArray[np.bool_]:
        """Whether each member trains on."""


class Run:
    """The state of one training: what still trains, and what every member has reached.

    ``members`` numbers the members that still train; ``model``, ``optimizer`` and ``source`` hold just these, and
    everything else is kept for all P. Call :meth:`step` until :attr:`finished`, at any pace.

    Args:
        model: the population.
        source: its batches and its evaluation.
        configs: one for each member; loop options must agree.
    """

    def __init__(self, model: Population, source: Source, configs: Sequence[Config]) -> None:
        population, device = len(configs), next(model.parameters()).device
        self.whole, self.whole_source, self.configs, self.device = model, source, configs, device
        self.shared = configs[0]
        ceilings = [float("inf") if config.ceiling is None else config.ceiling for config in configs]
        self.ceilings = torch.tensor(ceilings, dtype=model.dtype, device=device)
        self.gammas = torch.tensor([config.gammas for config in configs], dtype=torch.float64).T
        masks = {prefix: band_masks(filter.points, self.shared.slices) for prefix, filter in model.filters.items()}
        self.bands = {prefix: mask.to(device, model.dtype) for prefix, mask in masks.items()}
        chance = 0.0 if source.classes == 1 else 1 / source.classes
        self.pivot = np.full(population, chance)
        self.homophily = self.pivot.copy()  # the pivot, at which there is no penalty, until it is learned
        if self.shared.homophily_start == "random":
            self.homophily = np.array([np.random.default_rng(config.seed).random() for config in configs])
        self.epoch = 0
        self.best = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        self.best_scores, self.last_scores = (np.full((3, population), np.nan) for _ in range(2))
        self.best_epoch, self.epochs = (np.zeros(population, dtype=np.int64) for _ in range(2))
        self.failed = np.zeros(population, dtype=np.bool_)
        self.largest = np.zeros(population)
        self.losses = np.zeros(0)
        self.curves: list[Tensor] = []
        self.ahead: Tensor | None = None
        self.model, self.source, self.optimizer = model, source, Adam(model, configs)
        self._began = time.monotonic()
        everyone = torch.arange(population, device=device)
        self._keep(everyone, everyone)

    @property
    def finished(self) -> bool:
        """Whether no member trains any more."""
        return len(self.members) == 0 or self.epoch >= self.shared.max_epochs

    def step(self) -> None:
        """One epoch: training steps, an evaluation, and the homophily that it predicts."""
        self.epoch += 1
        model, source, losses = self.model, self.source, []
        for batch in source.batches(self.epoch):
            logits = self._logits(batch)
            loss = source.loss(logits, batch) + self.penalty()
            loss.sum().backward()  # type: ignore[no-untyped-call]
            losses.append(source.reduce(loss.detach(), self.optimizer.learned).cpu().numpy())
            self.optimizer.step()
            self._bound_filter()
        mean = losses[0] if len(losses) == 1 else np.mean(losses, axis=0)
        self.losses, finite = mean, np.isfinite(mean)
        evaluation = source.evaluate(model, self.epoch)
        if evaluation is not None:
            self.ahead = evaluation.logits
            finite &= evaluation.finite.cpu().numpy()
            self._keep_best(evaluation, finite)
            self._learn_homophily(evaluation, mean)
        self._remove_finished(finite)

    def _logits(self, batch: Batch) -> Tensor:
        """Training logits; without dropout those of the last evaluation serve again."""
        logits, self.ahead = self.ahead, None
        if logits is not None:
            return logits
        return self.model(batch.inputs, Noise(self.shared.run_seed, self.model.seeds, batch.key))  # type: ignore[no-any-return]

    def penalty(self) -> Tensor | float:
        """The shape-aware penalty on every filter of the members that still train, ``(P,)``; 0 where there is none."""
        return sum((self._penalty(prefix) for prefix in self.bands), 0.0) if self.shaped else 0.0

    def _penalty(self, prefix: str) -> Tensor:
        filter, parameters = self.model.filters[prefix], self.model.filter_parameters(prefix)
        return shape_penalty(
            parameters["values"] if self.shared.penalises_raw else filter.amplitudes(parameters),
            self.bands[prefix],
            homophily=torch.from_numpy(self.homophily[self.places]),
            pivot=torch.from_numpy(self.pivot[self.places]),
            gammas=-self.own_gammas if self.shared.flipped else self.own_gammas,
            squared=self.shared.squared,
        )

    @torch.no_grad()
    def _bound_filter(self) -> None:
        """Cut the values of every filter at the ceiling and note the largest."""
        parameters = [self.model.filter_parameters(prefix) for prefix in self.bands]
        for values in (values for own in parameters for values in own.values()):
            if self.bounded:
                bound = self.ceilings[self.members].view(-1, *[1] * (values.ndim - 2))
                values.clamp_(-bound, bound)
            sizes = np.abs(values.detach().cpu().numpy())
            largest = sizes.max(axis=tuple(axis for axis in range(sizes.ndim) if axis != 1))
            self.largest[self.places] = np.fmax(self.largest[self.places], largest)

    def _keep_best(self, evaluation: Evaluation, finite: NDArray[np.bool_]) -> None:
        """Copy the state of members whose validation score is better than ever."""
        reached = evaluation.scores.cpu().numpy()
        self.last_scores[:, self.places] = reached
        before = self.best_scores[1, self.places]
        here = np.flatnonzero(finite & ((reached[1] > before) | np.isnan(before)))
        if len(here) == 0:
            return
        there = self.places[here]
        self.best_scores[:, there] = reached[:, here]
        self.best_epoch[there] = self.epoch
        whole = len(here) == len(self.configs)
        source, target = (torch.from_numpy(places).to(self.device) for places in (here, there))
        for name, parameter in self.model.named_parameters():
            if whole:
                self.best[name].copy_(parameter.detach())
            else:
                axis = self.model.axes[name]
                self.best[name].index_copy_(axis, target, parameter.detach().index_select(axis, source))

    @torch.no_grad()
    def _learn_homophily(self, evaluation: Evaluation, losses: NDArray[np.floating[Any]]) -> None:
        """Give the penalty the predicted homophily when it is due, and the curves a row when they are."""
        due = self.shaped and self.shared.refreshes(self.epoch)
        interval = self.shared.history_interval
        wanted = interval > 0 and self.epoch % interval == 0
        if not due and not wanted:
            return
        adjusted = due and self.shared.pivot == "adjusted"
        homophily, chance = self.source.homophily(self.model, evaluation, chance=adjusted)
        if due:
            self.homophily[self.places] = homophily.cpu().numpy()
        if chance is not None:
            self.pivot[self.places] = chance.cpu().numpy()
        if wanted:
            row = torch.full((1 + len(CURVES), len(self.configs)), float("nan"), dtype=torch.float64)
            row[0] = self.epoch
            parts = [losses[None], evaluation.scores.cpu().numpy(), homophily.cpu().numpy()[None]]
            row[1:, self.members.cpu()] = torch.from_numpy(np.concatenate(parts).astype(np.float64))
            self.curves.append(row)

    def _remove_finished(self, finite: NDArray[np.bool_]) -> None:
        """Go on without members that failed or have run out of patience."""
        patience = self.shared.patience
        self.epochs[self.places] = self.epoch
        self.failed[self.places] = ~finite
        going = finite if patience is None else finite & (self.epoch - self.best_epoch[self.places] < patience)
        if not going.all():
            left = torch.from_numpy(np.flatnonzero(going)).to(self.device)
            self._keep(left, self.members[left])

    def drop(self, kept: NDArray[np.bool_]) -> None:
        """Go on without the members that are not ``kept``, ``(P,)``; what they have reached stays."""
        left = torch.from_numpy(np.flatnonzero(kept[self.places])).to(self.device)
        if len(left) < len(self.members):
            self._keep(left, self.members[left])

    def _keep(self, left: Tensor, members: Tensor) -> None:
        """Go on with those that are ``left`` among the present ones, which are these ``members`` of all."""
        self.members, self.places = members, members.cpu().numpy()
        self.model = self.model.take(left)
        self.optimizer = self.optimizer.take(self.model, left)
        self.source = self.source.take(left)
        self.own_gammas = self.gammas[:, self.places]
        self.shaped = self.source.has_edges and bool(self.own_gammas.any())
        self.bounded = bool(self.ceilings[members].isfinite().any())
        self.ahead = None

    @property
    def seconds(self) -> float:
        """Wall time, that of an interrupted training included."""
        return time.monotonic() - self._began

    def report(self) -> Progress:
        """How far the training is."""
        known = self.best_scores[1][~np.isnan(self.best_scores[1])]
        mean = float(known.mean()) if len(known) else float("nan")
        finite = self.losses[np.isfinite(self.losses)]
        loss = float(finite.mean()) if len(finite) else float("nan")
        training = 0 if self.finished else len(self.members)
        return Progress(self.epoch, self.shared.max_epochs, training, mean, loss, float(self.homophily.mean()))

    def finish(self) -> FinalEvaluation:
        """Put every member's best state into the whole population and evaluate it."""
        self.whole.put(self.best)
        return self.whole_source.finish(self.whole)

    def state(self) -> dict[str, Tensor]:
        """Everything that a resumed training needs, as tensors by name."""
        numbers = {
            "epoch": torch.tensor(self.epoch),
            "seconds": torch.tensor(self.seconds, dtype=torch.float64),
            "steps": torch.tensor(self.optimizer.steps),
            "members": self.members,
            "curves": torch.stack(self.curves) if self.curves else torch.zeros(0),
            **{name: torch.as_tensor(getattr(self, name)) for name in KEPT},
        }
        return numbers | self._tensors()

    def _tensors(self) -> dict[str, Tensor]:
        """Parameters, moments and best states, by the names in a checkpoint."""
        moments = {"first": self.optimizer.first, "second": self.optimizer.second}
        parts: dict[str, Mapping[str, Tensor]] = {"model": dict(self.model.named_parameters()), "best": self.best}
        return {f"{part}.{name}": t for part, tensors in (parts | moments).items() for name, t in tensors.items()}

    @torch.no_grad()
    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a saved state; the result has the same bits as without the interruption."""
        self.epoch = int(state["epoch"])
        self._began = time.monotonic() - float(state["seconds"])
        members = state["members"].to(self.device)
        self._keep(members, members)
        self.optimizer.steps = int(state["steps"])
        self.curves = list(state["curves"])
        for name in KEPT:
            setattr(self, name, state[name].numpy())
        for name, tensor in self._tensors().items():
            tensor.copy_(state[name])
