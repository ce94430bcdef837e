"""Anyone's own graph: nodes and edges from CSV or Parquet files, every mistake in them one clear line."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from newtonnet.graphs import Graph, from_edges

from .columns import Columns, find_columns
from .edge_table import count_rows, edge_rows, merged_rows, unused_columns
from .encoding import Encoding
from .node_table import NodeTable, read_nodes
from .readers import read_table

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Reading:
    """What two tables gave."""

    graph: Graph
    """Node names are the ids as text."""
    encoding: Encoding
    """How columns became features, for a later table of the same kind."""
    left_out: Mapping[str, str]
    """Columns of the nodes that told nothing when the encoding was learned, and what each holds."""
    read_as: str
    """What every column was taken for, in one line."""
    notes: tuple[str, ...]
    """What a careful reader should know: doubts about columns and rows of edges, or what an encoding did not know."""


def load_tables(
    nodes: "str | PathLike[str] | pa.Table | pd.DataFrame",
    edges: "str | PathLike[str] | pa.Table | pd.DataFrame",
    *,
    label_column: str | None = None,
    id_column: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    weight_column: str | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    standardise: bool = True,
    directed: bool = False,
    text_encoding: str = "utf-8",
    name: str | None = None,
) -> Graph:
    """A graph from a table of nodes and a table of edges.

    The columns that hold ids, labels and weights are those that :func:`find_columns` finds; for the rest see
    :func:`read_tables`, which also gives the encoding: a second table, for a model that knows the first, needs it.
    """
    columns = find_columns(
        nodes,
        edges,
        label_column=label_column,
        id_column=id_column,
        source_column=source_column,
        target_column=target_column,
        weight_column=weight_column,
        text_encoding=text_encoding,
    )
    return read_tables(
        nodes,
        edges,
        columns=columns,
        ignore=ignore,
        categorical=categorical,
        standardise=standardise,
        directed=directed,
        text_encoding=text_encoding,
        name=name,
    ).graph


def read_tables(
    nodes: "str | PathLike[str] | pa.Table | pd.DataFrame",
    edges: "str | PathLike[str] | pa.Table | pd.DataFrame",
    *,
    columns: Columns,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    standardise: bool = True,
    directed: bool = False,
    text_encoding: str = "utf-8",
    name: str | None = None,
    encoding: Encoding | None = None,
    class_names: Sequence[str] | None = None,
) -> Reading:
    """A graph from two tables, and the encoding of its features for a later table of the same kind.

    Tables are CSV (comma, semicolon or tab, told apart by the header; also compressed as ``.gz``), Parquet, or already
    in memory. Every column of the nodes but the id and the label becomes features: numbers are standardised, 0/1
    columns kept, texts become one feature for each category, missing values become 0 (the mean of what is
    standardised) and one more feature that says so. Nodes without any feature column get a feature each of their own.

    Args:
        nodes: one row for each node.
        edges: one row for each edge, naming two nodes.
        columns: which of them hold ids; the class, blank where it is unknown (blanks around it do not count); and
            weights of 0 or more, all being 1 where there is no such column.
        ignore: columns of the nodes that are no features.
        categorical: columns of numbers that are codes of categories.
        standardise: give numbers mean 0 and deviation 1.
        directed: keep edges one-way.
        text_encoding: of CSV files.
        name: the graph's name; the nodes file's if not given.
        encoding: how columns become features; learned from these nodes if not given.
        class_names: the classes in order; those of the label column, sorted, if not given.
    """
    read = read_nodes(
        nodes,
        columns=columns,
        ignore=ignore,
        categorical=categorical,
        standardise=standardise,
        text_encoding=text_encoding,
        encoding=encoding,
        class_names=class_names,
    )
    links = read_table(edges, "edges", text_encoding=text_encoding, texts={columns.source, columns.target})
    links.check(columns.source, columns.target, columns.weight)
    ends, weights = edge_rows(links, read.ids, columns)
    graph = from_edges(
        ends,
        read.features,
        labels=read.labels,
        weights=weights,
        class_names=read.class_names,
        node_names=read.names(),
        name=name or read.name,
        directed=directed,
    )
    tally: Counter[str] = Counter()
    count_rows(tally, (ends, weights))
    return reading_of(read, graph, tally, columns, learned=encoding is None)


def reading_of(read: NodeTable, graph: Graph, tally: Counter[str], columns: Columns, *, learned: bool) -> Reading:
    """What two tables gave, with notes on the edges where their encoding was learned from them."""
    notes = [*read.notes]
    if learned:
        notes += unused_columns(columns)
    if learned and not graph.directed:
        notes += merged_rows(tally, graph.edges, weighted=columns.weight is not None)
    return Reading(graph, read.encoding, read.left_out, read.read_as, tuple(notes))
