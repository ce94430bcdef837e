"""A person's own tables: read for the first time, or again in the way that a run folder describes."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from newtonnet.graphs import Graph, check_trainable
from newtonnet.out_of_core import read_tables_on_disk
from newtonnet.tables import Reading, TableOptions, column_names, listed, read_tables

from .run_folder import Run, TableFile, file_checksum, ids_checksum

SEVERAL = 10
"""Values that all differ, from which on a column is taken for one of ids."""


@dataclass(frozen=True, eq=False)
class Tables:
    """A graph from tables, how its columns were read, and the run that begins with it."""

    graph: Graph
    left_out: Mapping[str, str]
    """Columns that gave no feature, and what they hold."""
    read_as: str
    notes: Sequence[str]
    run: Run


@dataclass(frozen=True)
class OnDisk:
    """Where a graph goes that is not to be in memory, and the bytes that sorting its edges may take."""

    edges: Path
    blocks: Path
    max_memory: int | None


@contextmanager
def edges_on_disk(store: Path | None, max_memory: int | None) -> Iterator[OnDisk]:
    """A folder that goes at the end, with the blocks in it or, where these have a folder, on its disk."""
    disk = None if store is None else next(place for place in store.absolute().parents if place.exists())
    with tempfile.TemporaryDirectory(prefix="newtonnet-edges-", dir=disk) as name:
        yield OnDisk(Path(name) / "adjacency", store or Path(name) / "blocks", max_memory)


def read_first(
    nodes: Path,
    edges: Path,
    options: TableOptions,
    *,
    disk: OnDisk | None = None,
) -> Tables:
    """Read tables to learn from; their encoding is learned from them, and edges stay on disk where there is one."""
    read = _reader(disk)(nodes, edges, options)
    check_trainable(read.graph)
    run = Run(
        nodes=TableFile(str(nodes.absolute()), file_checksum(nodes)),
        edges=TableFile(str(edges.absolute()), file_checksum(edges)),
        columns=read.columns,
        text_encoding=options.text_encoding,
        encoding=read.encoding,
        class_names=read.graph.class_names,
        ids=ids_checksum(read.graph.node_names),
        model="",
        arguments={},
        finished=False,
        outcome={},
    )
    return Tables(read.graph, read.left_out, read.read_as, read.notes, run)


def _reader(disk: OnDisk | None) -> Callable[..., Reading]:
    return read_tables if disk is None else partial(read_tables_on_disk, folder=disk.edges, max_memory=disk.max_memory)


def check_labels(graph: Graph, *, nodes: Path, column: str | None, metric: str) -> None:
    """Refuse labels that leave nothing to judge a model by."""
    counts = np.bincount(graph.labels[graph.labelled], minlength=graph.classes)
    if counts.max() < 2:
        raise ValueError(
            f"no class has two labelled nodes in column {column!r} of {nodes}, so none can be held back to judge a "
            f"model by; {'label more nodes' if len(counts) < SEVERAL else 'name a column of classes, not of ids'}"
        )
    if metric == "roc_auc" and graph.classes != 2:
        raise ValueError(
            f"--metric roc_auc is for two classes, but column {column!r} has {graph.classes}; use --metric accuracy"
        )


def read_again(nodes: Path, edges: Path, run: Run, *, disk: OnDisk | None = None) -> tuple[Graph, Sequence[str]]:
    """Read tables of the same kind as those of a run, with notes; the column of labels may be missing."""
    there = column_names(nodes, text_encoding=run.text_encoding)
    read = _reader(disk)(
        nodes,
        edges,
        TableOptions(
            ignore=tuple(name for name in run.arguments.get("ignore") or () if name in there),
            text_encoding=run.text_encoding,
        ),
        columns=run.columns if run.columns.label in there else replace(run.columns, label=None),
        encoding=run.encoding,
        class_names=run.class_names,
    )
    graph = read.graph
    if not run.encoding.columns and ids_checksum(graph.node_names) != run.ids:
        raise ValueError(
            "this model has no features to go by and knows every node by its place; it cannot predict for other nodes"
        )
    used = (run.columns.source, run.columns.target, run.columns.weight)
    unused = [name for name in column_names(edges, text_encoding=run.text_encoding) if name not in used]
    return graph, [*read.notes, *([f"not used of the edges: {listed(unused)}"] if unused else [])]


def check_unchanged(run: Run) -> tuple[Path, Path]:
    """The tables that a run was fitted on, refused where they are gone or hold something else by now."""
    for file in (run.nodes, run.edges):
        path = Path(file.path)
        if not path.is_file():
            raise ValueError(f"{path}, which the model was fitted on, is gone; give --nodes and --edges")
        if file_checksum(path) != file.sha256:
            raise ValueError(
                f"{path} was changed since the model was fitted on it; give --nodes and --edges, or fit again"
            )
    return Path(run.nodes.path), Path(run.edges.path)
