"""The state of one run: a training step and an evaluation for all members, and what each has reached."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.nn import Inputs, Noise, Population

from .adam import Adam
from .config import Config
from .metrics import cross_entropy, make_targets, predicted_classes, scores
from .shape import adjusted_pivot, band_masks, predicted_homophily, shape_penalty

CURVES = ("loss", "train", "validation", "test", "homophily")
"""What a record's history holds beside the epoch."""

KEPT = ("best_scores", "best_epoch", "epochs", "failed", "largest", "homophily", "pivot")
"""Bookkeeping of all members that a checkpoint holds as it is."""


@dataclass(frozen=True)
class Progress:
    """What a progress bar wants to know after an epoch."""

    epoch: int
    max_epochs: int
    training: int
    """Members that still train."""
    validation: float
    """Mean over members of the best validation score so far."""


class Run:
    """The state of one run: what still trains, and what every member has reached.

    ``members`` numbers the ones that still train; ``model``, ``adam`` and ``targets`` hold just these, everything else
    is kept for all P.
    """

    def __init__(
        self,
        model: Population,
        graph: Graph,
        splits: Sequence[Split],
        configs: Sequence[Config],
        device: torch.device | str,
    ) -> None:
        self.whole, self.graph, self.splits, self.configs = model, graph, splits, configs
        self.shared = configs[0]
        self.device = device
        self.inputs: Inputs = model.prepare(graph, device)
        self.pairs = torch.tensor(graph.pairs, device=device)
        self.all_targets = make_targets(graph, list(splits), device)
        self.bands = band_masks(model.filter.points).to(device) if model.filter is not None else None
        self.gammas = torch.tensor([config.gammas for config in configs], dtype=model.dtype, device=device).T
        self.degrees = torch.tensor(np.bincount(graph.pairs.ravel(), minlength=graph.nodes), device=device)
        ceilings = [float("inf") if config.ceiling is None else config.ceiling for config in configs]
        self.ceilings = torch.tensor(ceilings, dtype=model.dtype, device=device)
        self.began = time.monotonic()

        population = len(configs)
        self.epoch = 0
        self.seconds = 0.0
        self.members = torch.arange(population, device=device)
        self.model = model.take(self.members)
        self.adam = Adam(self.model, configs)
        self.targets = self.all_targets
        self.best = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        self.best_scores = torch.full((3, population), float("nan"), dtype=torch.float64)
        self.best_epoch = torch.zeros(population, dtype=torch.long)
        self.epochs = torch.zeros(population, dtype=torch.long)
        self.failed = torch.zeros(population, dtype=torch.bool)
        self.largest = torch.zeros(population, dtype=torch.float64)
        self.pivot = torch.full((population,), 1 / graph.classes, dtype=model.dtype, device=device)
        self.homophily = self.pivot.clone()
        self.curves: list[Tensor] = []

    @property
    def finished(self) -> bool:
        """Whether nobody trains any more."""
        return len(self.members) == 0 or self.epoch >= self.shared.max_epochs

    def step(self) -> None:
        """One epoch: a training step, an evaluation, the bookkeeping of both."""
        self.epoch += 1
        members = self.members.cpu()
        loss = self._train()
        with torch.no_grad():
            logits = self.model(self.inputs)
            reached = scores(self.shared.metric, logits, self.targets).cpu()
            sound = torch.isfinite(loss).cpu() & torch.isfinite(logits).all(dim=2).all(dim=0).cpu()
            homophily = self._learn_homophily(logits)
        self._keep_best(reached, sound)
        self._keep_curves(loss, reached, homophily)
        self.epochs[members] = self.epoch
        self.failed[members] = ~sound
        patience = self.shared.patience
        waited = self.epoch - self.best_epoch[members]
        going = sound & (waited < patience) if patience is not None else sound
        if not going.all():
            self._leave(going.nonzero()[:, 0].to(self.device))

    def _train(self) -> Tensor:
        noise = Noise(self.shared.run_seed, self.model.seeds, self.epoch)
        parameters = self.model.learned()
        loss = cross_entropy(self.model(self.inputs, noise), self.targets, 0) + self._penalty()
        gradients = torch.autograd.grad(loss.sum(), list(parameters.values()))
        self.adam.step(dict(zip(parameters, gradients, strict=True)))
        with torch.no_grad():
            ceilings = self.ceilings[self.members]
            for values in self.model.filter_parameters().values():
                bound = ceilings.view(-1, *[1] * (values.ndim - 2))
                values.clamp_(-bound, bound)
                largest = values.abs().transpose(0, 1).flatten(1).amax(dim=1).double().cpu()
                members = self.members.cpu()
                self.largest[members] = torch.maximum(self.largest[members], largest)
        return loss.detach()

    def _penalty(self) -> Tensor | float:
        gammas = self.gammas[:, self.members]
        if self.model.filter is None or self.bands is None or not gammas.any():
            return 0.0
        parameters = self.model.filter_parameters()
        if self.shared.penalises_raw:
            values = parameters["values"]
        else:
            values = self.model.filter.response(self.model.filter.points, parameters)
        return shape_penalty(
            values,
            self.bands,
            homophily=self.homophily[self.members],
            pivot=self.pivot[self.members],
            gammas=gammas,
            squared=self.shared.squared,
        )

    def _learn_homophily(self, logits: Tensor) -> Tensor | None:
        """Refresh the h that steers the penalty when it is due; None where neither it nor the curves need it."""
        due = self.epoch % self.shared.refresh == 0 and bool(self.gammas[:, self.members].any())
        if not due and not self._curves_due():
            return None
        classes = predicted_classes(logits, self.targets)
        homophily = predicted_homophily(self.pairs, classes)
        if due:
            self.homophily[self.members] = homophily.to(self.homophily)
            if self.shared.pivot == "adjusted":
                pivot = adjusted_pivot(self.degrees, classes, self.graph.classes)
                self.pivot[self.members] = pivot.to(self.pivot)
        return homophily

    def _keep_best(self, reached: Tensor, sound: Tensor) -> None:
        members = self.members.cpu()
        before = self.best_scores[1, members]
        better = sound & ((reached[1] > before) | before.isnan())
        if not better.any():
            return
        here = better.nonzero()[:, 0]
        there = members[here]
        self.best_scores[:, there] = reached[:, here]
        self.best_epoch[there] = self.epoch
        here, there = here.to(self.device), there.to(self.device)
        for name, parameter in self.model.named_parameters():
            axis = self.model.axes[name]
            self.best[name].index_copy_(axis, there, parameter.detach().index_select(axis, here))

    def _curves_due(self) -> bool:
        interval = self.shared.history_interval
        return interval > 0 and self.epoch % interval == 0

    def _keep_curves(self, loss: Tensor, reached: Tensor, homophily: Tensor | None) -> None:
        if self._curves_due() and homophily is not None:
            row = torch.full((1 + len(CURVES), len(self.configs)), float("nan"), dtype=torch.float64)
            row[0] = self.epoch
            row[1:, self.members.cpu()] = torch.cat([loss.double().cpu()[None], reached, homophily.cpu()[None]])
            self.curves.append(row)

    def _leave(self, going: Tensor) -> None:
        self.members = self.members[going]
        self.model = self.model.take(going)
        self.adam = self.adam.take(self.model, going)
        self.targets = self.targets.take(going)

    def report(self) -> Progress:
        """How far the run is."""
        best = self.best_scores[1]
        mean = float(best[~best.isnan()].mean()) if not best.isnan().all() else float("nan")
        return Progress(self.epoch, self.shared.max_epochs, len(self.members), mean)

    def state(self) -> dict[str, Tensor]:
        """Everything that a resumed run needs, as tensors by name."""
        seconds = self.seconds + time.monotonic() - self.began
        numbers = {
            "epoch": torch.tensor(self.epoch),
            "steps": torch.tensor(self.adam.steps),
            "seconds": torch.tensor(seconds, dtype=torch.float64),
            "members": self.members,
            "curves": torch.stack(self.curves) if self.curves else torch.zeros(0),
            **{name: getattr(self, name) for name in KEPT},
        }
        parts: dict[str, Mapping[str, Tensor]] = {
            "model": dict(self.model.named_parameters()),
            "first": self.adam.first,
            "second": self.adam.second,
            "best": self.best,
        }
        return numbers | {f"{part}.{name}": t for part, tensors in parts.items() for name, t in tensors.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from a saved state."""
        self.epoch, self.seconds = int(state["epoch"]), float(state["seconds"])
        self._leave(state["members"].to(self.device))
        self.adam.steps = int(state["steps"])
        self.curves = list(state["curves"])
        for name in KEPT:
            setattr(self, name, state[name].to(getattr(self, name).device))
        self.model.put({name: state[f"model.{name}"] for name in self.best})
        for name in self.best:
            self.best[name].copy_(state[f"best.{name}"])
        for name in self.adam.first:
            self.adam.first[name].copy_(state[f"first.{name}"])
            self.adam.second[name].copy_(state[f"second.{name}"])
