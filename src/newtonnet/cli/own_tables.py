"""A person's own tables: read for the first time, or again in the way that a run folder describes."""

from dataclasses import dataclass
from pathlib import Path

from newtonnet.datasets import find_columns, read_tables
from newtonnet.graphs import Graph, check_trainable

from .run_folder import Run, TableFile, file_checksum, ids_checksum


@dataclass(frozen=True)
class Reading:
    """How tables are to be read, as the options say it; None leaves a column to the usual names."""

    label_column: str
    id_column: str | None
    source_column: str | None
    target_column: str | None
    weight_column: str | None
    ignore: tuple[str, ...]
    categorical: tuple[str, ...]
    standardise: bool
    text_encoding: str


@dataclass(frozen=True, eq=False)
class Tables:
    """A graph from tables, the columns that gave no feature, and the run that begins with it."""

    graph: Graph
    left_out: tuple[str, ...]
    run: Run


def read_first(nodes: Path, edges: Path, reading: Reading) -> Tables:
    """Read tables to learn from; their encoding is learned from them."""
    graph, encoding = read_tables(
        nodes,
        edges,
        label_column=reading.label_column,
        id_column=reading.id_column,
        source_column=reading.source_column,
        target_column=reading.target_column,
        weight_column=reading.weight_column,
        ignore=reading.ignore,
        categorical=reading.categorical,
        standardise=reading.standardise,
        text_encoding=reading.text_encoding,
    )
    check_trainable(graph)
    columns, names = find_columns(
        nodes,
        edges,
        label_column=reading.label_column,
        id_column=reading.id_column,
        source_column=reading.source_column,
        target_column=reading.target_column,
        weight_column=reading.weight_column,
        text_encoding=reading.text_encoding,
    )
    used = {column.name for column in encoding.columns} | {columns.id, columns.label, *reading.ignore}
    run = Run(
        nodes=TableFile(str(nodes.absolute()), file_checksum(nodes)),
        edges=TableFile(str(edges.absolute()), file_checksum(edges)),
        columns=columns,
        text_encoding=reading.text_encoding,
        encoding=encoding,
        class_names=graph.class_names,
        ids=ids_checksum(graph.node_names),
        model="",
        arguments={},
        finished=False,
        outcome={},
    )
    return Tables(graph, tuple(name for name in names if name not in used), run)


def read_again(nodes: Path, edges: Path, run: Run) -> Graph:
    """Read tables of the same kind as those of a run; the column of labels may be missing."""
    columns, _ = find_columns(
        nodes,
        edges,
        label_column=run.columns.label,
        id_column=run.columns.id,
        source_column=run.columns.source,
        target_column=run.columns.target,
        text_encoding=run.text_encoding,
    )
    graph, _ = read_tables(
        nodes,
        edges,
        label_column=columns.label,
        id_column=columns.id,
        source_column=columns.source,
        target_column=columns.target,
        weight_column=run.columns.weight,
        text_encoding=run.text_encoding,
        encoding=run.encoding,
        class_names=run.class_names,
    )
    if not run.encoding.columns and ids_checksum(graph.node_names) != run.ids:
        raise ValueError(
            "this model has no features to go by and knows every node by its place; it cannot predict for other nodes"
        )
    return graph


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
