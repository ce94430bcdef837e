"""A person's own tables: read for the first time, or again in the way that a run folder describes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from newtonnet.datasets import Columns, column_names, read_tables
from newtonnet.graphs import Graph, check_trainable

from .run_folder import Run, TableFile, file_checksum, ids_checksum


@dataclass(frozen=True, eq=False)
class Tables:
    """A graph from tables, how its columns were read, and the run that begins with it."""

    graph: Graph
    left_out: Mapping[str, str]
    """Columns that gave no feature, and what they hold."""
    read_as: str
    notes: Sequence[str]
    run: Run


def read_first(
    nodes: Path,
    edges: Path,
    *,
    columns: Columns,
    ignore: Sequence[str],
    categorical: Sequence[str],
    standardise: bool,
    text_encoding: str,
) -> Tables:
    """Read tables to learn from; their encoding is learned from them."""
    read = read_tables(
        nodes,
        edges,
        columns=columns,
        ignore=ignore,
        categorical=categorical,
        standardise=standardise,
        text_encoding=text_encoding,
    )
    check_trainable(read.graph)
    run = Run(
        nodes=TableFile(str(nodes.absolute()), file_checksum(nodes)),
        edges=TableFile(str(edges.absolute()), file_checksum(edges)),
        columns=columns,
        text_encoding=text_encoding,
        encoding=read.encoding,
        class_names=read.graph.class_names,
        ids=ids_checksum(read.graph.node_names),
        model="",
        arguments={},
        finished=False,
        outcome={},
    )
    return Tables(read.graph, read.left_out, read.read_as, read.notes, run)


def check_labels(graph: Graph, *, nodes: Path, column: str | None, metric: str) -> None:
    """Refuse labels that leave nothing to judge a model by."""
    counts = np.bincount(graph.labels[graph.labelled], minlength=graph.classes)
    if counts.max() < 2:
        raise ValueError(
            f"no class has two labelled nodes in column {column!r} of {nodes}, so none can be held back to judge a "
            "model by; label more nodes"
        )
    if metric == "roc_auc" and graph.classes != 2:
        raise ValueError(
            f"--metric roc_auc is for two classes, but column {column!r} has {graph.classes}; use --metric accuracy"
        )


def read_again(nodes: Path, edges: Path, run: Run) -> tuple[Graph, Sequence[str]]:
    """Read tables of the same kind as those of a run, with notes; the column of labels may be missing."""
    there = column_names(nodes, text_encoding=run.text_encoding)
    read = read_tables(
        nodes,
        edges,
        columns=run.columns if run.columns.label in there else replace(run.columns, label=None),
        ignore=[name for name in run.arguments.get("ignore") or () if name in there],
        text_encoding=run.text_encoding,
        encoding=run.encoding,
        class_names=run.class_names,
    )
    graph = read.graph
    if not run.encoding.columns and ids_checksum(graph.node_names) != run.ids:
        raise ValueError(
            "this model has no features to go by and knows every node by its place; it cannot predict for other nodes"
        )
    return graph, read.notes


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
