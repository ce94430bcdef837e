"""The regime from one end to the other: a graph and splits in, records and states out, and probabilities from these."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.kernels import use_threads
from newtonnet.nn import Options
from newtonnet.nn.polynomial_models import interpolation_points
from newtonnet.polynomials import Filter, newton_filter
from newtonnet.training import Progress, Record, Setting

from .batches import RESIDENT, Batching, Rows, Worker
from .evaluation import sequential_logits
from .large_graph import LargeGraph, as_large
from .model import FilterFirst
from .outcome import make_record
from .propagate_blocks import Done, precompute
from .store import Store, open_store
from .training import State, train

PARTS = ("train", "validation", "test")


def train_precomputed(
    graph: Graph | LargeGraph,
    splits: Sequence[Split],
    setting: Setting,
    *,
    store: str | Path,
    batching: Batching | None = None,
    max_memory: int | None = None,
    threads: int | None = None,
    stop: Callable[[], bool] | None = None,
    progress: Callable[[Progress], None] | None = None,
    precomputing: Callable[[Done], None] | None = None,
) -> tuple[list[Record], list[State]]:
    """Precompute the blocks where they are not there yet, then train one model for each split, one after the other.

    Args:
        graph: in memory or on disk.
        splits: which nodes train, validate and test.
        setting: NewtonNet's options and the training; split i takes the config's seed + i. The dropout between encoder
            and filter has no place in this order and is left out.
        store: folder of the blocks, made or finished where needed.
        batching: how training goes through the nodes.
        max_memory: bytes for blocks, both when they are made (2 GB if not given) and when they are read (1 GB).
        threads: torch's number if not given.
        stop: asked before every epoch; where it says True, training ends there as if the epochs were used up. Splits
            that had not begun fail.
        progress: called after every epoch.
        precomputing: called after every part of the blocks.

    Returns:
        One record and one state (parameters by name, at the best validation epoch) for each split.
    """
    batching = Batching() if batching is None else batching
    check_run(graph, splits, setting)
    filter = make_filter(setting, graph)
    graph = as_large(graph)
    blocks = precompute(
        graph, store, degree=filter.degree, max_memory=max_memory, threads=threads, progress=precomputing
    )
    records, states = [], []
    with nullcontext() if threads is None else use_threads(threads):
        for split in splits:
            record, state = train_split(
                graph,
                blocks,
                split,
                setting,
                filter=filter,
                batching=batching,
                max_memory=max_memory,
                stop=stop,
                progress=progress,
            )
            records.append(record)
            states.append(state)
    return records, states


def train_split(
    graph: LargeGraph,
    store: Store,
    split: Split,
    setting: Setting,
    *,
    filter: Filter,
    batching: Batching,
    max_memory: int | None = None,
    worker: Worker | None = None,
    stop: Callable[[], bool] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[Record, State]:
    """One split's record and state, from a complete store; every one of several workers calls it alike."""
    config = replace(setting.config, seed=setting.config.seed + split.index)
    options: Options = setting.options
    model = FilterFirst(
        filter,
        features=store.identity.features,
        classes=graph.classes,
        seed=config.seed,
        hidden=options.hidden,
        dropout=options.dropout,
    )
    rows = Rows(store, filter.degree, resident=RESIDENT if max_memory is None else max_memory)
    trained = train(model, graph, rows, split, config, batching=batching, worker=worker, stop=stop, progress=progress)
    kept = {name: value for name, value in asdict(options).items() if name in _KEPT}
    told = {"regime": "precomputed", **kept, "degree": filter.degree, **asdict(batching)}
    return make_record(trained, model, graph, split, config, options=told), trained.state


_KEPT = ("hidden", "dropout", "degree", "points", "nonnegative")


def predict_precomputed(
    state: Mapping[str, Tensor],
    setting: Setting,
    *,
    store: str | Path | Store,
    graph: Graph | None = None,
    nodes: NDArray[np.int64] | None = None,
    batch: int = 65536,
    max_memory: int | None = None,
) -> NDArray[np.float32]:
    """Probabilities of all classes from a trained state and the blocks.

    Args:
        state: of a training with this setting.
        setting: the one it was trained with.
        store: the complete blocks of a graph with the same features.
        graph: only needed where the points follow the graph's density.
        nodes: for which nodes, ascending; all if not given.
        batch: nodes that are worked on at once.
        max_memory: bytes of blocks that may be mapped at once; 1 GB if not given.

    Returns:
        Shape ``(n, C)``, or one row for each of the nodes.
    """
    blocks = store if isinstance(store, Store) else open_store(store)
    filter = make_filter(setting, graph)
    if not blocks.complete or blocks.identity.degree < filter.degree:
        have = f"degree {blocks.identity.degree}" if blocks.complete else "parts that are missing"
        raise ValueError(f"{blocks.folder} has {have}, but a filter of degree {filter.degree} needs all; precompute it")
    features, classes = state["weight1"].shape[0], next(reversed(_biases(state))).shape[1]
    if features != blocks.identity.features:
        raise ValueError(f"the model knows {features} features, {blocks.folder} has {blocks.identity.features}")
    options: Options = setting.options
    model = FilterFirst(filter, features=features, classes=classes, seed=0, hidden=options.hidden)
    model.load_state_dict(dict(state))
    rows = Rows(blocks, filter.degree, resident=RESIDENT if max_memory is None else max_memory)
    wanted = np.arange(blocks.identity.nodes) if nodes is None else nodes
    out = np.empty((len(wanted), classes), dtype=np.float32)
    for place, logits in sequential_logits(model, rows, wanted, batch=batch, worker=Worker()):
        out[place] = torch.softmax(logits, dim=1).numpy()
    return out


def _biases(state: Mapping[str, Tensor]) -> list[Tensor]:
    return [state[name] for name in ("bias1", "bias2") if name in state]


def make_filter(setting: Setting, graph: Graph | LargeGraph | None) -> Filter:
    """The filter that the setting's options name; refused where they ask for what this order does not have."""
    options = setting.options
    if not isinstance(options, Options):
        raise ValueError(f"the precomputed regime trains newtonnet alone, got {type(options).__name__}")
    if options.per_channel or options.branch:
        name = "per_channel" if options.per_channel else "branch"
        raise ValueError(f"the precomputed regime filters features, so the option {name} has no meaning in it")
    points = interpolation_points(options, graph if isinstance(graph, Graph) else None)
    return newton_filter(points, nonnegative=options.nonnegative)


def check_run(graph: Graph | LargeGraph, splits: Sequence[Split], setting: Setting) -> None:
    """Refuse splits that name other nodes or nodes without a label, and a metric that does not fit the classes."""
    if not splits:
        raise ValueError("at least 1 split is needed, got none")
    if setting.config.metric == "roc_auc" and graph.classes != 2:
        raise ValueError(f"roc_auc is for two classes, graph {graph.name!r} has {graph.classes}; use accuracy")
    for split in splits:
        for part in PARTS:
            nodes = getattr(split, part)
            if len(nodes) and (nodes.min() < 0 or nodes.max() >= graph.nodes):
                outside = nodes[(nodes < 0) | (nodes >= graph.nodes)][0]
                raise ValueError(f"the split names node {outside}, but the nodes are 0..{graph.nodes - 1}")
            labels: NDArray[np.integer[Any]] = graph.labels[nodes]
            if labels.min(initial=0) < 0:
                unknown = nodes[labels < 0][0]
                raise ValueError(f"the split names node {unknown}, whose label is unknown; use labelled nodes only")
            alone = len(nodes) and int(labels.min()) == int(labels.max())
            if alone and (part == "train" or setting.config.metric == "roc_auc"):
                raise ValueError(f"the {part} nodes of split {split.index} have one class only; at least 2 are needed")
