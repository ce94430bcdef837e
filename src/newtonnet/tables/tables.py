"""Two tables as a graph: which columns are what, edges as pairs of nodes, and what a user should know about them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from newtonnet.graphs import Graph, from_edges
from newtonnet.meaning import counted, listed

from .encoding import Encoding
from .nodes import NodeTable, read_nodes
from .options import DEFAULTS, Columns, TableOptions, TableSource
from .readers import NamedTable, find_usual, read_header, read_table, stream_edges
from .values import first_true, holds_reals, read_commas, to_ids

PIECE = 1 << 18
"""Minimum number of rows that are read at once from a file that does not fit in memory."""

EdgeRows = tuple[NDArray[np.int32], NDArray[np.float32] | None]
"""Ends of edges as node indices, ``(2, m)``, and their weights ``(m,)``, None where all are 1."""


@dataclass(frozen=True, eq=False)
class Reading:
    """A graph read from two tables, and how they were read.

    Attributes:
        graph: the graph; node names are the ids as text.
        columns: which columns hold ids, labels and weights.
        encoding: how columns became features, for a later table of the same kind.
        left_out: columns of the nodes that gave no feature when the encoding was learned, and what each holds.
        read_as: how every column was read, in one line.
        notes: what a user should know: warnings about columns and edges, or what was unseen by a given encoding.
    """

    graph: Graph
    columns: Columns
    encoding: Encoding
    left_out: Mapping[str, str]
    read_as: str
    notes: tuple[str, ...]


def load_tables(
    nodes: TableSource,
    edges: TableSource,
    options: TableOptions = DEFAULTS,
    *,
    name: str | None = None,
    **fields: Any,
) -> Graph:
    """Read a graph from a table of nodes and a table of edges.

    A second table, for a model that was fitted on the first, needs the encoding that :func:`read_tables` also gives.

    Args:
        nodes: one row for each node: a CSV or Parquet file, a pandas frame or an Arrow table.
        edges: one row for each edge, naming two nodes.
        options: how to read them.
        name: the graph's name; that of the nodes file if not given.
        **fields: single fields of :class:`TableOptions`, such as ``label_column="label"``.

    Returns:
        The graph; node names are the ids as text.
    """
    return read_tables(nodes, edges, replace(options, **fields), name=name).graph


def read_tables(
    nodes: TableSource,
    edges: TableSource,
    options: TableOptions = DEFAULTS,
    *,
    name: str | None = None,
    columns: Columns | None = None,
    encoding: Encoding | None = None,
    class_names: Sequence[str] | None = None,
) -> Reading:
    """Read a graph from two tables, with the encoding of its features for a later table of the same kind.

    Tables are CSV (separated by comma, semicolon or tab, as the header shows; also compressed as ``.gz``), Parquet, or
    already in memory. Every column of the nodes except the id and the label becomes features: numbers are
    standardised, 0/1 columns are kept, texts become one feature for each category. A missing value becomes 0 (the mean
    of a standardised column) and sets one more feature. If there are no feature columns, every node gets a feature of
    its own.

    Args:
        nodes: one row for each node.
        edges: one row for each edge, naming two nodes.
        options: how to read them.
        name: the graph's name; that of the nodes file if not given.
        columns: exactly these columns hold ids, labels and weights, as found in an earlier table; those that
            :func:`find_columns` finds with the options if not given.
        encoding: how columns become features; learned from these nodes if not given.
        class_names: the classes in order; those of the label column, sorted, if not given.

    Returns:
        The graph, its columns and their encoding, and notes on what a user should know.
    """
    columns = columns or find_columns(nodes, edges, options)
    read = read_nodes(nodes, columns, options, encoding=encoding, class_names=class_names)
    links = read_table(edges, "edges", text_encoding=options.text_encoding, texts={columns.source, columns.target})
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
        directed=options.directed,
    )
    return reading_of(read, graph, count_rows((ends, weights)), columns, learned=encoding is None)


def find_columns(nodes: TableSource, edges: TableSource, options: TableOptions = DEFAULTS) -> Columns:
    """Find the columns that hold ids, labels and weights from the headers of two tables.

    Args:
        nodes: one row for each node.
        edges: one row for each edge, naming two nodes.
        options: the columns that are named; the others are found by their usual name, then by position.

    Returns:
        The name of each column.
    """
    rows = read_header(nodes, "nodes", text_encoding=options.text_encoding)
    links = read_header(edges, "edges", text_encoding=options.text_encoding)
    key = rows.column(options.id_column, "id", 0)
    rows.check(options.label_column)
    names = links.table.column_names
    if len(names) == 1:
        raise ValueError(
            f"{links.name} has one column only ({names[0]!r}); edges need two columns of ids, such as "
            "source and target, separated by comma, semicolon or tab"
        )
    source = links.column(options.source_column, "source", 0)
    target = links.column(options.target_column, "target", 1)
    if source == target:
        raise ValueError(f"{links.name} needs two columns of ids; source and target are both {source!r}")
    links.check(options.weight_column)
    others = [name for name in names if name not in (source, target)]
    weight = options.weight_column or find_usual("weight", others)
    unused = tuple(name for name in others if name != weight)
    return Columns(key, options.label_column, source, target, weight, unused)


def column_names(table: TableSource, *, text_encoding: str = "utf-8") -> tuple[str, ...]:
    """The names of all columns of a table."""
    return tuple(read_header(table, "nodes", text_encoding=text_encoding).table.column_names)


def reading_of(read: NodeTable, graph: Graph, tally: Counter[str], columns: Columns, *, learned: bool) -> Reading:
    """Put a reading together.

    Args:
        read: the table of nodes.
        graph: the graph of both tables.
        tally: counts of the rows of edges.
        columns: which columns hold ids, labels and weights.
        learned: whether the encoding was learned from these tables, so that notes describe the edges as well.
    """
    notes = [*read.notes]
    if learned and columns.unused:
        weights = "without weights" if columns.weight is None else f"with weights in {columns.weight!r}"
        ends = f"Edges join {columns.source!r} and {columns.target!r} {weights}"
        notes.append(f"{ends}; columns not used: {listed(columns.unused)}.")
    if learned and not graph.directed and tally["rows"] != graph.edges:
        notes.append(_merged_rows(tally, graph.edges, weighted=columns.weight is not None))
    return Reading(graph, columns, read.encoding, read.left_out, read.read_as, tuple(notes))


def _merged_rows(tally: Counter[str], edges: int, *, weighted: bool) -> str:
    """A sentence on the rows that did not become an edge."""
    rows, loops, zero = (tally[name] for name in ("rows", "loops", "zero"))
    merged = "merged (the largest weight counts)" if weighted else "merged"
    counts = (
        (loops, "self-loop", "dropped"),
        (zero, "zero-weight edge", "dropped"),
        (rows - loops - zero - edges, "duplicate", merged),
    )
    parts = [f"{counted(n, noun)} {'was' if n == 1 else 'were'} {what}" for n, noun, what in counts if n]
    return f"{rows:,} rows of edges became {edges:,} edges: {' and '.join(parts)}; edge directions are ignored."


def edge_pieces(
    edges: str | PathLike[str], ids: pa.Array, *, columns: Columns, text_encoding: str, tally: Counter[str]
) -> Iterator[EdgeRows]:
    """Read a file of edges in pieces: neither the file nor the edges need to fit in memory.

    Errors are those of :func:`read_tables`.

    Args:
        edges: a CSV or Parquet file.
        ids: ids of the nodes, int64 or text.
        columns: which columns of the file hold the ends and the weights.
        text_encoding: encoding of a CSV file.
        tally: counts the rows, for :func:`reading_of`.
    """
    # Every piece builds a hash table of all ids, so it should have about as many rows.
    rows = max(PIECE, len(ids) // 2)
    for links in stream_edges(Path(edges), columns, rows=rows, text_encoding=text_encoding):
        kinds = [links.table.schema.field(column).type for column in (columns.source, columns.target)]
        if not all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
            ids = ids.cast(pa.string())  # once, not again for every piece
        piece = edge_rows(links, ids, columns)
        tally.update(count_rows(piece))
        yield piece


def edge_rows(links: NamedTable, ids: pa.Array, columns: Columns) -> EdgeRows:
    """Rows of a table as edges between the nodes with these ids; the first wrong row raises an error."""
    _check_header(links, ids, columns)
    ends = _ends(links, ids, columns)
    return ends, None if columns.weight is None else _weights(links, columns.weight)


def count_rows(edges: EdgeRows) -> Counter[str]:
    """The number of all rows, of self-loops, and of other rows of weight 0."""
    ends, weights = edges
    loops = ends[0] == ends[1]
    zero = 0 if weights is None else int(((weights == 0) & ~loops).sum())
    return Counter(rows=ends.shape[1], loops=int(loops.sum()), zero=zero)


def _check_header(links: NamedTable, ids: pa.Array, columns: Columns) -> None:
    """Raise an error if the column names of a CSV file are nodes: its first edge would be taken for a header."""
    names = (columns.source, columns.target)
    if links.line is None:  # other tables always have column names, which may be numbers
        return
    whole = pa.types.is_integer(ids.type)
    if whole and not all(name.isascii() and name.isdecimal() and len(name) < 19 for name in names):
        return
    if all(pc.any(pc.equal(ids, pa.scalar(int(name) if whole else name, ids.type))).as_py() for name in names):
        raise ValueError(
            f"{links.name} seems to have no header: its first line names the nodes {names[0]!r} and {names[1]!r}; "
            "write the line source,target above it"
        )


def _ends(links: NamedTable, ids: pa.Array, columns: Columns) -> NDArray[np.int32]:
    """Both ends of every edge as indices of ids, shape ``(2, E)``."""
    ends = np.empty((2, links.table.num_rows), dtype=np.int32)
    for side, column in enumerate((columns.source, columns.target)):
        wanted, known = to_ids(links, column), ids
        if wanted.type != known.type:
            wanted, known = wanted.cast(pa.string()), known.cast(pa.string())
        found = pc.index_in(wanted, value_set=known)
        if found.null_count:
            index = first_true(found.is_null())
            unknown = wanted[index].as_py()
            what = "has no id" if unknown is None else f"names the unknown node {unknown!r}"
            raise ValueError(
                f"{links.row(index)} {what} in column {column!r}; expected an id from column {columns.id!r} of the "
                f"nodes, such as {ids[0].as_py()!r}"
            )
        ends[side] = found.to_numpy(zero_copy_only=False)
    return ends


def _weights(links: NamedTable, column: str) -> NDArray[np.float32]:
    values = read_commas(links.table[column])
    if not len(values):  # such a column has no type
        return np.zeros(0, dtype=np.float32)
    if not holds_reals(values.type):
        raise ValueError(f"column {column!r} of {links.name} must hold numbers, got {values.type}")
    with np.errstate(over="ignore"):
        weights = values.cast(pa.float64(), safe=False).to_numpy().astype(np.float32)
    if (bad := ~(np.isfinite(weights) & (weights >= 0))).any():
        index = first_true(bad)
        value = values[index].as_py()
        found = "no weight" if value is None else f"the weight {value:g}"
        wanted = "at most 3.4e38" if value is not None and 0 < value < np.inf else "finite and not negative"
        raise ValueError(f"{links.row(index)} has {found}; weights must be {wanted}")
    return np.asarray(weights)
