"""The state of one run: a training step and an evaluation for all members, and what each has reached."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.nn import Inputs, Noise, Population, PullBack

from .adam import Adam
from .config import Config
from .metrics import cross_entropy, judge, make_targets
from .steering import Steering

CURVES = ("loss", "train", "validation", "test", "homophily")
"""What a record's history holds beside the epoch."""

KEPT = ("best_scores", "best_epoch", "epochs", "failed", "largest")
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


@dataclass(frozen=True, eq=False)
class Prepared:
    """What all runs on a graph share.

    Attributes:
        inputs: the graph as the model reads it.
        pairs: ends of every edge once, int32, ``(2, E)``.
        degrees: edges at every node, ``(n,)``.
    """

    inputs: Inputs
    pairs: Tensor
    degrees: Tensor


def prepare(model: Population, graph: Graph, device: torch.device | str = "cpu") -> Prepared:
    """Make ready once what every run of the model on the graph needs."""
    with warnings.catch_warnings():  # the graph's arrays cannot be written to, and nobody will
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        pairs = torch.from_numpy(graph.pairs).to(device)
    degrees = torch.bincount(pairs.flatten(), minlength=graph.nodes)
    return Prepared(model.prepare(graph, device), pairs, degrees)


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
        shared: "Prepared",
    ) -> None:
        self.whole, self.graph, self.splits, self.configs = model, graph, splits, configs
        self.shared = configs[0]
        self.device = device
        self.inputs = shared.inputs
        self.steering = Steering(model, graph, configs, shared.pairs, shared.degrees)
        self.all_targets = make_targets(graph, list(splits), device)
        ceilings = [float("inf") if config.ceiling is None else config.ceiling for config in configs]
        self.ceilings = torch.tensor(ceilings, dtype=model.dtype, device=device)

        population = len(configs)
        self.epoch = 0
        self.best = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        self.best_scores = np.full((3, population), np.nan)
        self.best_epoch = np.zeros(population, dtype=np.int64)
        self.epochs = np.zeros(population, dtype=np.int64)
        self.failed = np.zeros(population, dtype=np.bool_)
        self.largest = np.zeros(population)
        self.curves: list[Tensor] = []
        self.ahead: tuple[Tensor, PullBack] | None = None
        self.model, self.targets = model, self.all_targets
        self.adam = Adam(model, configs)
        self._stay(torch.arange(population, device=device), torch.arange(population, device=device))

    @property
    def finished(self) -> bool:
        """Whether nobody trains any more."""
        return len(self.members) == 0 or self.epoch >= self.shared.max_epochs

    def step(self) -> None:
        """One epoch: a training step, an evaluation, the bookkeeping of both."""
        self.epoch += 1
        loss = self._train()
        logits = self._evaluate()
        with torch.no_grad():
            judgement = judge(self.shared.metric, logits, self.targets)
            reached = judgement.scores.cpu().numpy()
            sound = np.isfinite(loss.cpu().numpy()) & judgement.sound.cpu().numpy()
            homophily = self.steering.learn(judgement.classes, self.epoch, wanted=self._curves_due())
        self._keep_best(reached, sound)
        self._keep_curves(loss, reached, homophily)
        self.epochs[self.places] = self.epoch
        self.failed[self.places] = ~sound
        patience = self.shared.patience
        going = sound if patience is None else sound & (self.epoch - self.best_epoch[self.places] < patience)
        if not going.all():
            left = torch.from_numpy(np.flatnonzero(going)).to(self.device)
            self._stay(left, self.members[left])

    def _train(self) -> Tensor:
        noise = Noise(self.shared.run_seed, self.model.seeds, self.epoch)
        logits, pull_back = self.model.differentiate(self.inputs, noise) if self.ahead is None else self.ahead
        loss, slopes = cross_entropy(logits, self.targets)
        gradients = pull_back(slopes)
        penalty = self.steering.add_slopes(self.model, gradients)
        self.adam.step(gradients)
        with torch.no_grad():
            for values in self.model.filter_parameters().values():
                if self.bounded:
                    bound = self.ceilings[self.members].view(-1, *[1] * (values.ndim - 2))
                    values.clamp_(-bound, bound)
                sizes = np.abs(values.detach().cpu().numpy())
                largest = sizes.max(axis=tuple(axis for axis in range(sizes.ndim) if axis != 1))
                self.largest[self.places] = np.fmax(self.largest[self.places], largest)
        return loss + torch.as_tensor(penalty, dtype=loss.dtype, device=loss.device)

    def _evaluate(self) -> Tensor:
        """Logits without dropout; a model that has none trains on them in the next epoch, so the way back is kept."""
        self.ahead = None
        if self.model.deterministic:
            self.ahead = self.model.differentiate(self.inputs)
            return self.ahead[0]
        with torch.no_grad():
            evaluated: Tensor = self.model(self.inputs)
        return evaluated

    def _keep_best(self, reached: NDArray[np.float64], sound: NDArray[np.bool_]) -> None:
        before = self.best_scores[1, self.places]
        here = np.flatnonzero(sound & ((reached[1] > before) | np.isnan(before)))
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

    def _curves_due(self) -> bool:
        interval = self.shared.history_interval
        return interval > 0 and self.epoch % interval == 0

    def _keep_curves(self, loss: Tensor, reached: NDArray[np.float64], homophily: Tensor | None) -> None:
        if self._curves_due() and homophily is not None:
            row = torch.full((1 + len(CURVES), len(self.configs)), float("nan"), dtype=torch.float64)
            row[0] = self.epoch
            scores = torch.from_numpy(reached)
            row[1:, self.members.cpu()] = torch.cat([loss.double().cpu()[None], scores, homophily.cpu()[None]])
            self.curves.append(row)

    def _stay(self, left: Tensor, members: Tensor) -> None:
        """Go on with those that are ``left`` among the present ones, who are these ``members`` of all."""
        self.members, self.places = members, members.cpu().numpy()
        self.model = self.model.take(left)
        self.adam = self.adam.take(self.model, left)
        self.targets = self.targets.take(left)
        self.steering.stay(self.places)
        self.bounded = bool(self.ceilings[members].isfinite().any())
        self.ahead = None

    def report(self) -> Progress:
        """How far the run is."""
        known = self.best_scores[1][~np.isnan(self.best_scores[1])]
        mean = float(known.mean()) if len(known) else float("nan")
        return Progress(self.epoch, self.shared.max_epochs, len(self.members), mean)

    def state(self) -> dict[str, Tensor]:
        """Everything that a resumed run needs, as tensors by name."""
        numbers = {
            "epoch": torch.tensor(self.epoch),
            "steps": torch.tensor(self.adam.steps),
            "members": self.members,
            "curves": torch.stack(self.curves) if self.curves else torch.zeros(0),
            "homophily": torch.as_tensor(self.steering.homophily),
            "pivot": torch.as_tensor(self.steering.pivot),
            **{name: torch.as_tensor(getattr(self, name)) for name in KEPT},
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
        self.epoch = int(state["epoch"])
        members = state["members"].to(self.device)
        self._stay(members, members)
        self.adam.steps = int(state["steps"])
        self.curves = list(state["curves"])
        for name in KEPT:
            setattr(self, name, state[name].numpy())
        self.steering.restore(state["homophily"].numpy(), state["pivot"].numpy())
        self.model.put({name: state[f"model.{name}"] for name in self.best})
        for name in self.best:
            self.best[name].copy_(state[f"best.{name}"])
        for name in self.adam.first:
            self.adam.first[name].copy_(state[f"first.{name}"])
            self.adam.second[name].copy_(state[f"second.{name}"])
