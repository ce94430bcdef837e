"""Members of the precomputed regime: features are filtered once, on disk, and members train on them in batches."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.out_of_core import (
    OUT_OF_CORE_MODEL,
    as_large,
    is_free_for,
    make_filter,
    predict_out_of_core,
    propagate_to_disk,
    train_out_of_core,
)
from newtonnet.training import Config, Progress, Setting

from .candidates import Candidate
from .clock import Clock
from .members import NONE, Loop, Member
from .scoring import best_temperature, score
from .tuning import Chosen, Tell, Tuned

Store = str | PathLike[str] | None
"""A folder for the blocks; None: one that is removed afterwards."""


def train_filter_first(
    graph: Graph,
    setting: Setting,
    folds: Sequence[Split],
    loop: Loop,
    *,
    store: Store,
    clock: Clock,
    tell: Tell | None = None,
) -> Tuned:
    """One setting trained on every fold, one after the other, as long as there is time.

    An epoch of the first fold is done in any case, so that there is something to keep.
    """
    begun = False

    def show(state: Progress) -> None:
        nonlocal begun
        begun = True
        if tell is not None:
            known = 0.0 if np.isnan(state.validation) else state.validation
            tell("training in batches", state.epoch / state.max_epochs, known)

    setting = replace(setting, config=replace(setting.config, seed=loop.seed))
    points = make_filter(setting, graph).points.tolist()
    setting = replace(setting, options=replace(setting.options, points=tuple(points)))
    with _folder(store) as folder:
        records, states = train_out_of_core(
            graph,
            folds,
            setting,
            store=folder,
            max_memory=loop.max_memory,
            threads=loop.threads,
            stop=lambda: begun and clock.over(),
            progress=show,
        )
        members = []
        for fold, record, state in zip(folds, records, states, strict=True):
            member = Member(OUT_OF_CORE_MODEL, setting.options, loop.seed + fold.index, state, None, record, NONE)
            if member.sound:
                nodes = np.sort(fold.validation)
                held = predict_out_of_core(state, setting, store=folder, nodes=nodes, max_memory=loop.max_memory)
                members.append((replace(member, held=held), nodes))
    if not members:
        raise ValueError("every fold failed: its loss was not a number")
    truth = graph.labels[np.concatenate([nodes for _, nodes in members])]
    shares = np.concatenate([member.held for member, _ in members])
    part = Chosen(Candidate("newtonnet", setting), [member for member, _ in members], 1.0)
    reached = score(setting.config.metric, shares, truth)
    return Tuned([part], part, 1, reached, best_temperature(shares, truth), not clock.over())


def each_filtered_probability(
    members: Sequence[Member], graph: Graph, *, store: Store, max_memory: int | None
) -> Iterator[NDArray[np.float32]]:
    """Probabilities of every class for every node, ``(n, C)``, member by member; all have the same options.

    A store that belongs to another graph is left alone: a temporary one lies on its disk meanwhile.
    """
    setting = Setting("kept", members[0].options, Config())
    large, degree = as_large(graph), make_filter(setting, graph).degree
    mine = store is not None and is_free_for(Path(store), large, degree=degree)
    with _folder(store if mine else None, beside=store) as folder:
        blocks = propagate_to_disk(large, folder, degree=degree, max_memory=max_memory)
        for member in members:
            yield predict_out_of_core(member.state, setting, store=blocks, max_memory=max_memory)


@contextmanager
def _folder(store: Store, *, beside: Store = None) -> Iterator[Path]:
    """The store, or a temporary one, beside another where that can be written to."""
    if store is not None:
        yield Path(store)
        return
    disk = None if beside is None else Path(beside).absolute().parent
    disk = disk if disk is not None and os.access(disk, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="newtonnet-blocks-", dir=disk) as name:
        yield Path(name) / "blocks"
