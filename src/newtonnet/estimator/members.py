"""Trained members: settings of one shape trained on folds as one population, kept one by one, put together again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.nn import Population, build, find_model
from newtonnet.training import Progress, Record, fit
from newtonnet.training.config import SHARED

from .candidates import Candidate

NONE = np.zeros((0, 0), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Member:
    """One setting trained on one fold.

    Attributes:
        model: its name in the zoo.
        options: its shape; points are numbers, so that it can be built for another graph.
        seed: of its start weights and dropout.
        state: its parameters, with a population axis of length 1.
        bound: checksum of the edges of the graph it has weights for every node of; None where it can leave its graph.
        record: its run.
        held: probabilities of the fold's validation nodes by a member that has not seen their labels, ``(v, C)``.
    """

    model: str
    options: Any
    seed: int
    state: Mapping[str, Tensor]
    bound: str | None
    record: Record
    held: NDArray[np.float32]

    @property
    def sound(self) -> bool:
        """Whether it was trained at all, and its loss stayed a number."""
        return self.record.outcome.status == "done"

    @property
    def validation(self) -> float:
        """Its best score on the nodes held back from it."""
        return self.record.outcome.validation or 0.0


@dataclass(frozen=True)
class Loop:
    """How members are trained, whatever their settings."""

    seed: int
    threads: int | None
    max_memory: int | None
    device: str


def shapes(tried: Sequence[Candidate]) -> list[list[int]]:
    """Places of the candidates that can train in one population, in order of their first."""
    alike: dict[str, list[int]] = {}
    for place, (model, setting) in enumerate(tried):
        shape = repr((model, setting.options, *(getattr(setting.config, name) for name in SHARED)))
        alike.setdefault(shape, []).append(place)
    return list(alike.values())


def train(
    graph: Graph,
    tried: Sequence[Candidate],
    folds: Sequence[Split],
    loop: Loop,
    *,
    stop: Callable[[], bool],
    progress: Callable[[Progress], None] | None = None,
) -> list[list[Member]]:
    """Members for every candidate and fold, in order; the candidates have one shape and train as one population."""
    model, settings = tried[0].model, [candidate.setting for candidate in tried]
    splits = [fold for _ in settings for fold in folds]
    configs = [
        replace(setting.config, seed=loop.seed + fold.index, run_seed=loop.seed)
        for setting in settings
        for fold in folds
    ]
    options = settings[0].options
    population = build(model, graph, options, seeds=[config.seed for config in configs])
    records = fit(
        population,
        graph,
        splits,
        configs,
        device=loop.device,
        threads=loop.threads,
        max_memory=loop.max_memory,
        stop=stop,
        progress=progress,
    )
    if population.filter is not None and hasattr(options, "points"):
        options = replace(options, points=tuple(population.filter.points.tolist()))
    bound = None if population.transductive is None else graph.structure
    held = _held(population, graph, splits, records, loop.device)
    members = [
        Member(model, options, seed, _alone(population, p), bound, record, shares)
        for p, (seed, record, shares) in enumerate(zip(population.seeds, records, held, strict=True))
    ]
    return [members[i : i + len(folds)] for i in range(0, len(members), len(folds))]


def _alone(population: Population, member: int) -> dict[str, Tensor]:
    """The parameters of one member."""
    alone = population.take(torch.tensor([member], device=next(population.parameters()).device))
    return {name: parameter.detach().cpu() for name, parameter in alone.named_parameters()}


def _held(
    population: Population, graph: Graph, splits: Sequence[Split], records: Sequence[Record], device: str
) -> list[NDArray[np.float32]]:
    """What sound members say of their validation nodes; nothing for the others, which may be many when time is up."""
    sound = [p for p, record in enumerate(records) if record.outcome.status == "done"]
    held = [NONE] * len(records)
    for p, shares in zip(sound, each_probability(population, graph, device, members=sound), strict=True):
        held[p] = shares[splits[p].validation]
    return held


def _elsewhere(model: str) -> str:
    """How to get a model that can leave its graph."""
    return "fit another model" if find_model(model).transductive else "fit with transferable=True to predict elsewhere"


def together(members: Sequence[Member], graph: Graph) -> Population:
    """A population of members of one shape, built for a graph: that of their training or another."""
    first = members[0]
    if first.bound is not None and first.bound != graph.structure:
        raise ValueError(
            f"this model ({first.model}) has weights for each node of the graph it was trained on, and {graph.name!r} "
            f"is another one or has its nodes in another order; {_elsewhere(first.model)}"
        )
    population = build(first.model, graph, first.options, seeds=[member.seed for member in members])
    population.put(
        {
            name: torch.cat([member.state[name] for member in members], dim=axis)
            for name, axis in population.axes.items()
        }
    )
    return population


def each_probability(
    population: Population, graph: Graph, device: str = "cpu", *, members: Sequence[int] | None = None
) -> Iterator[NDArray[np.float32]]:
    """Probabilities of every class for every node, ``(n, C)``, member by member; those of all if none are named."""
    wanted = range(len(population.seeds)) if members is None else members
    if not wanted:
        return
    population.to(device)
    inputs = population.prepare(graph, device)
    with torch.no_grad():
        for member in wanted:
            alone = population.take(torch.tensor([member], device=next(population.parameters()).device))
            logits: Tensor = alone(inputs)
            yield torch.softmax(logits[:, 0], dim=1).cpu().numpy()
