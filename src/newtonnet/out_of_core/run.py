"""The regime from one end to the other: a graph and splits in, records and states out."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.kernels import use_threads
from newtonnet.nn import Options, interpolation_points
from newtonnet.polynomials import Filter, newton_filter
from newtonnet.training import Progress, Record, Setting

from .batches import RESIDENT, Batching, Rows, Worker
from .keeping import SECONDS, Beside, FileKeeper, Keeper, Progressed, State, fingerprint, unpack
from .large_graph import LargeGraph, as_large
from .model import FilterFirst
from .outcome import identify, make_record
from .propagate_blocks import Done, precompute
from .store import Store
from .training import train

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
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = SECONDS,
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
        checkpoint: a file to save the training's state to now and then and on an interruption, and to resume from where
            it exists; it is removed at the end. A resumed training ends with the same bits.
        checkpoint_seconds: time between two saves, which wait for the end of an epoch.
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
    with ExitStack() as stack:
        if threads is not None:
            stack.enter_context(use_threads(threads))
        keeper = None
        if checkpoint is not None:
            belongs = run_fingerprint(graph, splits, setting, filter, batching)
            keeper = stack.enter_context(FileKeeper(Path(checkpoint), belongs, checkpoint_seconds).watching())
        return train_splits(
            graph,
            blocks,
            splits,
            setting,
            filter=filter,
            batching=batching,
            max_memory=max_memory,
            keeper=keeper,
            stop=stop,
            progress=progress,
        )


def train_splits(
    graph: LargeGraph,
    store: Store,
    splits: Sequence[Split],
    setting: Setting,
    *,
    filter: Filter,
    batching: Batching,
    max_memory: int | None = None,
    worker: Worker | None = None,
    keeper: Keeper | None = None,
    stop: Callable[[], bool] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[list[Record], list[State]]:
    """Records and states of all splits, from a complete store; every one of several workers calls it alike.

    What the keeper holds is not trained again.
    """
    kept = None if keeper is None else keeper.load()
    known = Progressed() if kept is None else unpack(kept)
    for split in splits[len(known.finished) :]:
        finished = Progressed(known.finished)
        pair = _train_split(
            graph,
            store,
            split,
            setting,
            filter=filter,
            batching=batching,
            max_memory=max_memory,
            worker=worker,
            begun=known.begun,
            keeper=None if keeper is None else Beside(keeper, finished),
            stop=stop,
            progress=progress,
        )
        known = Progressed((*known.finished, pair))
    return [record for record, _ in known.finished], [state for _, state in known.finished]


def _train_split(
    graph: LargeGraph,
    store: Store,
    split: Split,
    setting: Setting,
    *,
    filter: Filter,
    batching: Batching,
    max_memory: int | None,
    **loop: Any,
) -> tuple[Record, State]:
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
    trained = train(model, graph, rows, split, config, batching=batching, **loop)
    told = _told(setting, filter, batching)
    return make_record(trained, model, graph, split, config, options=told), trained.state


def run_fingerprint(
    graph: LargeGraph, splits: Sequence[Split], setting: Setting, filter: Filter, batching: Batching
) -> str:
    """Of everything that decides what a training of these splits ends with."""
    config, told = setting.config, _told(setting, filter, batching)
    return fingerprint(
        [identify(graph, split, replace(config, seed=config.seed + split.index), told) for split in splits]
    )


def _told(setting: Setting, filter: Filter, batching: Batching) -> dict[str, Any]:
    """What a record says of the options."""
    kept = {name: value for name, value in asdict(setting.options).items() if name in _KEPT}
    return {"regime": "precomputed", **kept, "degree": filter.degree, **asdict(batching)}


_KEPT = ("hidden", "dropout", "degree", "points", "nonnegative")


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
