"""Ensemble members: the folds they train on, their training in memory or out of core, and their average."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.nn import Population, build, find_model
from newtonnet.out_of_core import (
    OUT_OF_CORE_MODEL,
    as_large,
    is_free_for,
    make_filter,
    predict_out_of_core,
    propagate_to_disk,
    train_out_of_core,
)
from newtonnet.search import shape_key
from newtonnet.training import Config, Progress, Record, Setting, fit

from .scoring import sharpened

FEW, MANY = 2_000, 20_000
"""Up to FEW labelled nodes there are five folds by default, from MANY on two."""
NONE = np.zeros((0, 0), dtype=np.float32)

FeatureFolder = str | PathLike[str] | None
"""A folder for propagated features; None: a temporary one."""


class Candidate(NamedTuple):
    """A model and how to train it."""

    model: str
    setting: Setting


@dataclass(frozen=True)
class TrainingOptions:
    """How members of any setting are trained."""

    seed: int
    threads: int | None
    max_memory: int | None
    device: str
    store: FeatureFolder = None
    """For out-of-core training."""


@dataclass(frozen=True, eq=False)
class Member:
    """One setting trained on one fold."""

    model: str
    options: Any
    """The model's options; points are numbers, so that it can be built for another graph."""
    seed: int
    state: Mapping[str, Tensor]
    """Its parameters, with a population axis of length 1."""
    bound: str | None
    """For a transductive model, checksum of the edges of the training graph; otherwise None."""
    record: Record
    held: NDArray[np.float32]
    """Predicted probabilities of the fold's validation nodes, shape ``(v, C)``."""

    @property
    def sound(self) -> bool:
        """Whether it was trained and its loss is finite."""
        return self.record.outcome.status == "done"

    @property
    def validation(self) -> float:
        """Best score on its validation nodes."""
        return self.record.outcome.validation or 0.0


Trainer = Callable[..., list[list[Member]]]
"""Trains candidates: :func:`train_members` or :func:`train_members_out_of_core` with ``options`` bound."""


def fold_count(graph: Graph) -> int:
    """Default number of folds for the graph's number of labels."""
    labelled = len(graph.labelled)
    return 5 if labelled <= FEW else 3 if labelled <= MANY else 2


def make_folds(graph: Graph, count: int, *, seed: int = 0, every_class: bool = False) -> list[Split]:
    """Stratified folds of the labelled nodes, as splits without test nodes; each fold validates one split.

    A class with a single labelled node is always used for training. There are fewer folds if there are not enough
    labels, and with ``every_class`` no more than the smallest class has labels, so that each validates on all classes.

    >>> from newtonnet.graphs import from_edges
    >>> folds = make_folds(from_edges([[], []], np.eye(10), labels=[0, 1] * 5), 5)
    >>> [len(fold.train) for fold in folds], sorted(np.concatenate([fold.validation for fold in folds]).tolist())
    ([8, 8, 8, 8, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    if count < 2:
        raise ValueError(f"at least 2 folds are needed, got {count}")
    nodes = graph.labelled
    sizes = np.bincount(graph.labels[nodes], minlength=graph.classes)
    if every_class:
        rarest = int(sizes.argmin())
        if sizes[rarest] < 2:
            raise ValueError(
                f"this metric needs two labelled nodes of every class, class {graph.class_names[rarest]!r} has "
                f"{sizes[rarest]}; label more of it, or use accuracy"
            )
        count = min(count, int(sizes[rarest]))
    movable = sizes[graph.labels[nodes]] > 1
    if not movable.any():
        raise ValueError("no class has two labelled nodes, so none can be held out for validation; label some more")
    places = deal(graph.labels[nodes], count, np.random.default_rng(seed))
    held = [(places == fold) & movable for fold in range(count)]
    return [Split(nodes[~out], nodes[out], nodes[:0], "inner", fold) for fold, out in enumerate(held) if out.any()]


def deal(classes: NDArray[np.int64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A fold for each node of these classes, stratified, so that sizes differ by at most one."""
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    places = np.empty(len(classes), dtype=np.int64)
    places[order] = np.arange(len(classes)) % count
    return places


def group_by_shape(candidates: Mapping[int, Candidate]) -> list[list[int]]:
    """The numbers of candidates that can train in one population together, in the order of their first."""
    groups: dict[str, list[int]] = {}
    for i, (model, setting) in candidates.items():
        groups.setdefault(f"{model} {shape_key(setting)}", []).append(i)
    return list(groups.values())


def train_members(
    graph: Graph,
    candidates: Sequence[Candidate],
    folds: Sequence[Split],
    options: TrainingOptions,
    *,
    stop: Callable[[], bool],
    progress: Callable[[Progress], None] | None = None,
) -> list[list[Member]]:
    """Train candidates of one shape on every fold, as one population; for each a member for each fold, in order."""
    model, shape = candidates[0].model, candidates[0].setting.options
    splits = [*folds] * len(candidates)
    configs = [
        replace(candidate.setting.config, seed=options.seed + fold.index, run_seed=options.seed)
        for candidate in candidates
        for fold in folds
    ]
    population = build(model, graph, shape, seeds=[config.seed for config in configs])
    records = fit(
        population,
        graph,
        splits,
        configs,
        device=options.device,
        threads=options.threads,
        max_memory=options.max_memory,
        stop=stop,
        progress=progress,
    )
    if population.filter is not None and hasattr(shape, "points"):
        shape = replace(shape, points=tuple(population.filter.points.tolist()))
    bound = None if population.transductive is None else graph.structure
    sound = [p for p, record in enumerate(records) if record.outcome.status == "done"]
    each = zip(sound, _each_probability(population, graph, options.device, sound), strict=True)
    held = {p: shares[splits[p].validation] for p, shares in each}
    members = [
        Member(model, shape, population.seeds[p], _state(population, p), bound, record, held.get(p, NONE))
        for p, record in enumerate(records)
    ]
    return [members[i : i + len(folds)] for i in range(0, len(members), len(folds))]


def train_members_out_of_core(
    graph: Graph,
    candidates: Sequence[Candidate],
    folds: Sequence[Split],
    options: TrainingOptions,
    *,
    stop: Callable[[], bool],
    progress: Callable[[Progress], None] | None = None,
) -> list[list[Member]]:
    """The same for one setting of NewtonNet, in batches of propagated features on disk; one epoch is always trained."""
    begun = False

    def note(state: Progress) -> None:
        nonlocal begun
        begun = True
        if progress is not None:
            progress(state)

    setting, memory = candidates[0].setting, options.max_memory
    setting = replace(setting, config=replace(setting.config, seed=options.seed))
    points = make_filter(setting, graph).points.tolist()
    setting = replace(setting, options=replace(setting.options, points=tuple(points)))
    members = []
    with _feature_folder(options.store) as folder:
        records, states = train_out_of_core(
            graph,
            folds,
            setting,
            store=folder,
            max_memory=memory,
            threads=options.threads,
            stop=lambda: begun and stop(),
            progress=note,
        )
        for fold, record, state in zip(folds, records, states, strict=True):
            held = NONE
            if record.outcome.status == "done":
                held = predict_out_of_core(state, setting, store=folder, nodes=fold.validation, max_memory=memory)
            seed = options.seed + fold.index
            members.append(Member(OUT_OF_CORE_MODEL, setting.options, seed, state, None, record, held))
    return [members]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """A weighted average of members, as plain data; the networks are built for the graph to predict."""

    members: Sequence[Member]
    weights: Sequence[float]
    """They sum to 1."""
    class_names: tuple[str, ...]
    temperature: float
    """Calibrates the averaged probabilities."""

    def probabilities(
        self, graph: Graph, *, device: str = "cpu", store: FeatureFolder = None, max_memory: int | None = None
    ) -> NDArray[np.float64]:
        """Mean probability of each class for every node, shape ``(n, C)``.

        For out-of-core members, ``store`` is the folder with the propagated features of this graph, made if needed (one
        that belongs to another graph is not touched; a temporary one is used instead), and ``max_memory`` limits the
        bytes for propagation.
        """
        unlabelled = graph.relabelled(np.full(graph.nodes, -1, dtype=np.int64), self.class_names)
        total = np.zeros((graph.nodes, len(self.class_names)))
        groups: dict[str, list[int]] = {}
        for i, member in enumerate(self.members):
            groups.setdefault(repr((member.model, member.options)), []).append(i)
        for places in groups.values():
            members = [self.members[i] for i in places]
            if members[0].model == OUT_OF_CORE_MODEL:
                rows = _each_out_of_core(members, unlabelled, store=store, max_memory=max_memory)
            else:
                rows = _each_probability(_rebuild(members, unlabelled), unlabelled, device, range(len(members)))
            for i, shares in zip(places, rows, strict=True):
                total += self.weights[i] * shares
        return sharpened(total, self.temperature)


def _rebuild(members: Sequence[Member], graph: Graph) -> Population:
    """A population of members of one shape, built for a graph: that of their training or another."""
    first = members[0]
    if first.bound is not None and first.bound != graph.structure:
        advice = "fit another model" if find_model(first.model).transductive else "fit with transferable=True"
        raise ValueError(
            f"this model ({first.model}) is transductive: it has weights for each node of its training graph, and "
            f"{graph.name!r} is another graph or has its nodes in another order; {advice} to predict on other graphs"
        )
    population = build(first.model, graph, first.options, seeds=[member.seed for member in members])
    axes = population.axes.items()
    population.put({name: torch.cat([member.state[name] for member in members], dim=axis) for name, axis in axes})
    return population


def _alone(population: Population, member: int) -> Population:
    return population.take(torch.tensor([member], device=next(population.parameters()).device))


def _state(population: Population, member: int) -> dict[str, Tensor]:
    return {name: parameter.detach().cpu() for name, parameter in _alone(population, member).named_parameters()}


def _each_probability(
    population: Population, graph: Graph, device: str, members: Sequence[int]
) -> Iterator[NDArray[np.float32]]:
    """Probabilities of every class for every node, ``(n, C)``, one member after another."""
    population.to(device)
    inputs = population.prepare(graph, device)
    with torch.no_grad():
        for member in members:
            logits: Tensor = _alone(population, member)(inputs)
            yield torch.softmax(logits[:, 0], dim=1).cpu().numpy()


def _each_out_of_core(
    members: Sequence[Member], graph: Graph, *, store: FeatureFolder, max_memory: int | None
) -> Iterator[NDArray[np.float32]]:
    """The same for out-of-core members of one shape; a store of another graph is not touched."""
    setting = Setting("kept", members[0].options, Config())
    large, degree = as_large(graph), make_filter(setting, graph).degree
    usable = store is not None and is_free_for(Path(store), large, degree=degree)
    with _feature_folder(store, usable=usable) as folder:
        features = propagate_to_disk(large, folder, degree=degree, max_memory=max_memory)
        for member in members:
            yield predict_out_of_core(member.state, setting, store=features, max_memory=max_memory)


@contextmanager
def _feature_folder(store: FeatureFolder, *, usable: bool = True) -> Iterator[Path]:
    """The store if it is usable, otherwise a temporary folder, beside the store if it can be made there."""
    if store is not None and usable:
        yield Path(store)
        return
    disk = None if store is None else Path(store).absolute().parent
    disk = disk if disk is not None and os.access(disk, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="newtonnet-blocks-", dir=disk) as name:
        yield Path(name) / "blocks"
