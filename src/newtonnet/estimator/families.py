"""The families of members: populations of networks, NewtonNet out of core, and boosting and ridge on a filter bank."""

import hashlib
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.bank import (
    BoostingOptions,
    RidgeOptions,
    TrainedBank,
    graph_eigenvectors,
    limited_threads,
    predict_bank,
    train_boosting,
    train_ridge,
)
from newtonnet.datasets import Split, describe_split
from newtonnet.files import scratch
from newtonnet.graphs import Graph
from newtonnet.metrics import score
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
from newtonnet.search import default_setting
from newtonnet.training import (
    CURVES,
    UNBEGUN,
    Config,
    Outcome,
    Progress,
    Record,
    Setting,
    describe_machine,
    fit,
)

from .members import Candidate, Family, FeatureFolder, Member, TrainingOptions

BANK: Mapping[str, tuple[Any, Callable[..., TrainedBank]]] = {
    "ridge": (RidgeOptions(), train_ridge),
    "boosting": (BoostingOptions(), train_boosting),
}
"""Default options and training of the models on a filter bank."""


ONE_COLUMN = 16
"""Bytes for each node to propagate one feature, the least that is possible."""


def family_of(model: str) -> Family:
    """The family of a model by its name."""
    return OutOfCoreFamily() if model == OUT_OF_CORE_MODEL else BankFamily() if model in BANK else PopulationFamily()


def defaults_of(model: str) -> Setting:
    """The default setting of a model of any family."""
    return Setting("default", BANK[model][0], Config()) if model in BANK else default_setting(model)


def is_transductive(model: str) -> bool:
    """Whether a model has weights for every node, whatever its options are."""
    return model not in BANK and find_model(model).transductive


class PopulationFamily(Family):
    """Networks of the zoo: candidates and folds are members of one population, trained side by side."""

    def train(
        self,
        graph: Graph,
        candidates: Sequence[Candidate],
        folds: Sequence[Split],
        options: TrainingOptions,
        *,
        stop: Callable[[], bool],
        progress: Callable[[Progress], None],
    ) -> list[list[Member]]:
        """Train one population; a member stops early by itself."""
        model, shape = candidates[0].model, candidates[0].setting.options
        splits = [*folds] * len(candidates)
        configs = [
            replace(candidate.setting.config, seed=options.seed + fold.index, run_seed=options.seed)
            for candidate in candidates
            for fold in folds
        ]
        population = build(model, graph, shape, seeds=[config.seed for config in configs])
        name = hashlib.sha256(repr((model, shape, configs, [split.checksum for split in splits])).encode()).hexdigest()
        records = fit(
            population,
            graph,
            splits,
            configs,
            checkpoint=None if options.paused is None else options.paused / name,
            checkpoint_seconds=math.inf,
            resumable=True,
            device=options.device,
            threads=options.threads,
            max_memory=options.max_memory,
            stop=stop,
            on_epoch=progress,
        )
        if population.filter is not None and hasattr(shape, "points"):
            shape = replace(shape, points=tuple(population.filter.points.tolist()))
        bound = None if population.transductive is None else graph.structure
        members = [
            Member(model, shape, population.seeds[p], _state(population, p), bound, record)
            for p, record in enumerate(records)
        ]
        sound = [p for p, member in enumerate(members) if member.sound]
        labels = np.stack([shown_labels(graph, split) for split in splits], axis=1)
        for p, shares in zip(sound, _probabilities(population, graph, labels, options.device, sound), strict=True):
            members[p] = replace(members[p], held=shares[splits[p].validation], sampled=shares[options.sample])
        return [members[i : i + len(folds)] for i in range(0, len(members), len(folds))]

    def predict(
        self, members: Sequence[Member], graph: Graph, options: TrainingOptions
    ) -> Iterator[NDArray[np.float32]]:
        """Rebuild the population for the graph, that of its training or another."""
        population = rebuild(members, graph)
        labels = np.repeat(graph.truth[:, None], len(members), axis=1)
        return _probabilities(population, graph, labels, options.device, range(len(members)))


def rebuild(members: Sequence[Member], graph: Graph) -> Population:
    """The population of members of one shape, for the graph of their training or another."""
    first = members[0]
    if first.bound is not None and first.bound != graph.structure:
        advice = "fit another model" if find_model(first.model).transductive else "fit with transferable=True"
        raise ValueError(
            f"this model ({first.model}) is transductive: it has weights for each node of its training graph, "
            f"and {graph.name!r} is another graph or has its nodes in another order; {advice} to predict on other "
            "graphs"
        )
    population = build(first.model, graph, first.options, seeds=[member.seed for member in members])
    axes = population.axes.items()
    with fitting_weights():
        population.put({name: torch.cat([member.state[name] for member in members], dim=axis) for name, axis in axes})
    return population


@contextmanager
def fitting_weights() -> Iterator[None]:
    """One clear error for weights, read from a file, that are not those of the model's options."""
    try:
        yield
    except (LookupError, RuntimeError, TypeError) as reason:
        said = " ".join(str(reason).split())
        raise ValueError(f"the weights of this model do not fit its options: {said}; fit it again") from reason


def _alone(population: Population, member: int) -> Population:
    return population.take(torch.tensor([member], device=next(population.parameters()).device))


def _state(population: Population, member: int) -> dict[str, Tensor]:
    return {name: parameter.detach().cpu() for name, parameter in _alone(population, member).named_parameters()}


def shown_labels(graph: Graph, split: Split) -> NDArray[Any]:
    """The labels of a split's training nodes, -1 everywhere else; of numbers NaN."""
    shown = np.full_like(graph.truth, -1 if graph.targets is None else np.nan)
    shown[split.train] = graph.truth[split.train]
    return shown


def _probabilities(
    population: Population, graph: Graph, labels: NDArray[Any], device: str, members: Sequence[int]
) -> Iterator[NDArray[np.float32]]:
    """Probabilities, or numbers, by members that are each shown their column of the labels ``(n, P)``."""
    population.to(device)
    inputs = population.prepare(graph, device)
    with torch.no_grad():
        for member in members:
            shown = inputs.show(torch.tensor(labels[:, member], device=device))
            logits: Tensor = _alone(population, member)(shown)
            answers = logits[:, 0] if graph.targets is not None else torch.softmax(logits[:, 0], dim=1)
            yield answers.cpu().numpy()


class BankFamily(Family):
    """Boosting and ridge regression on the filter bank of a graph, which has the labels of neighbours as columns."""

    def train(
        self,
        graph: Graph,
        candidates: Sequence[Candidate],
        folds: Sequence[Split],
        options: TrainingOptions,
        *,
        stop: Callable[[], bool],
        progress: Callable[[Progress], None],
    ) -> list[list[Member]]:
        """Train one member after another; what there is no time for fails."""
        rows: list[list[Member]] = []
        for candidate in candidates:
            rows.append([])
            for fold in folds:
                begun = bool(rows[0]) and stop()
                rows[-1].append(
                    _unbegun(graph, candidate, fold, options)
                    if begun
                    else _train(graph, candidate, fold, options, stop)
                )
                progress(Progress(1, 1, 0, rows[-1][-1].validation))
        return rows

    def predict(
        self, members: Sequence[Member], graph: Graph, options: TrainingOptions
    ) -> Iterator[NDArray[np.float64]]:
        """No node's own label enters its row, so all known labels may be shown."""
        for member in members:
            with fitting_weights(), limited_threads(options.threads):
                shares = predict_bank(member.state, member.options, graph, graph.truth)
            yield shares


def _train(
    graph: Graph, candidate: Candidate, fold: Split, options: TrainingOptions, stop: Callable[[], bool]
) -> Member:
    shape, seed, config = candidate.setting.options, options.seed + fold.index, candidate.setting.config
    known: dict[str, Any] = {}
    if count := shape.eigenvectors:
        key = (graph.structure, count)
        if key not in options.kept:
            options.kept[key] = graph_eigenvectors(graph, shape.layout, options.threads)
        known["eigenvectors"] = options.kept[key]
    place = repr((graph.checksum, candidate.model, shape, config, fold.checksum, seed))
    earlier = options.kept.pop(place, None)
    if isinstance(earlier, Member):
        options.kept[place] = earlier
        return earlier
    if earlier is not None:
        known["paused"] = earlier
    trained = BANK[candidate.model][1](
        graph,
        fold,
        shape,
        seed=seed,
        threads=options.threads,
        stop=stop,
        absolute=config.loss == "absolute",
        class_weight=config.class_weight,
        **known,
    )
    reached = score(config.metric, trained.held, graph.truth[fold.validation])
    outcome = replace(
        UNBEGUN, status="done", reason="", epochs=1, best_epoch=1, validation=reached, seconds=trained.seconds
    )
    shares = np.zeros((graph.nodes, graph.classes))
    if len(options.sample):
        with limited_threads(options.threads):
            shares = predict_bank(trained.state, shape, graph, shown_labels(graph, fold))
    held, sampled = (part.astype(np.float32) for part in (trained.held, shares[options.sample]))
    record = _bank_record(graph, candidate, fold, outcome, options)
    bound = graph.structure if shape.eigenvectors else None
    member = Member(candidate.model, shape, seed, trained.state, bound, record, held, sampled)
    if trained.ended:
        options.kept[place] = member
    elif trained.paused is not None:
        options.kept[place] = trained.paused
    return member


def _unbegun(graph: Graph, candidate: Candidate, fold: Split, options: TrainingOptions) -> Member:
    record = _bank_record(graph, candidate, fold, UNBEGUN, options)
    return Member(candidate.model, candidate.setting.options, 0, {}, None, record)


def _bank_record(graph: Graph, candidate: Candidate, fold: Split, outcome: Outcome, options: TrainingOptions) -> Record:
    """A record without a configuration of training and without curves."""
    shape = asdict(candidate.setting.options)
    history: dict[str, list[float | None]] = {name: [] for name in ("epoch", *CURVES)}
    text = repr((candidate.model, shape, graph.checksum, fold.checksum))
    identity = hashlib.sha256(text.encode()).hexdigest()[:16]
    split, machine = describe_split(fold), describe_machine(options.threads)
    return Record(identity, graph.name, graph.checksum, candidate.model, shape, {}, split, outcome, history, machine)


class OutOfCoreFamily(Family):
    """One setting of NewtonNet, trained in batches of propagated features on disk."""

    def train(
        self,
        graph: Graph,
        candidates: Sequence[Candidate],
        folds: Sequence[Split],
        options: TrainingOptions,
        *,
        stop: Callable[[], bool],
        progress: Callable[[Progress], None],
    ) -> list[list[Member]]:
        """Train the first candidate, for one epoch at least."""
        begun = False

        def note(state: Progress) -> None:
            nonlocal begun
            begun = True
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
                on_epoch=note,
            )
            for fold, record, state in zip(folds, records, states, strict=True):
                member = Member(OUT_OF_CORE_MODEL, setting.options, options.seed + fold.index, state, None, record)
                if member.sound:
                    held, sampled = (
                        predict_out_of_core(state, setting, store=folder, nodes=nodes, max_memory=memory)
                        for nodes in (fold.validation, options.sample)
                    )
                    member = replace(member, held=held, sampled=sampled)
                members.append(member)
        return [members]

    def predict(
        self, members: Sequence[Member], graph: Graph, options: TrainingOptions
    ) -> Iterator[NDArray[np.float32]]:
        """Use the features in the store if they are this graph's; a store of another graph is not touched."""
        setting = Setting("kept", members[0].options, Config())
        large, degree = as_large(graph), make_filter(setting, graph).degree
        store, memory = options.store, options.max_memory
        memory = None if memory is None else max(memory, ONE_COLUMN * graph.nodes)
        usable = store is not None and is_free_for(Path(store), large, degree=degree)
        with _feature_folder(store, usable=usable) as folder:
            features = propagate_to_disk(large, folder, degree=degree, max_memory=memory)
            for member in members:
                yield predict_out_of_core(member.state, setting, store=features, max_memory=memory)


@contextmanager
def _feature_folder(store: FeatureFolder, *, usable: bool = True) -> Iterator[Path]:
    """The store if it is usable, otherwise a temporary folder, beside the store if it can be made there."""
    if store is not None and usable:
        yield Path(store)
        return
    disk = None if store is None else Path(store).absolute().parent
    disk = disk if disk is not None and os.access(disk, os.W_OK) else None
    with scratch(disk, "newtonnet-blocks-") as place:
        yield place / "blocks"
