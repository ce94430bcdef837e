"""Two tables as a graph: which columns are what, edges as pairs of nodes, and what a user should know about them."""

from __future__ import annotations  # so that help() prints the names of types and not all that they stand for

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from newtonnet.graphs import Graph, from_edges
from newtonnet.meaning import counted, listed

from .encoding import Encoding
from .nodes import NodeTable, read_nodes
from .options import DEFAULTS, Columns, TableOptions, TableSource, UnknownEdges
from .readers import NamedTable, column_of, find_usual, read_header, read_table, stream_edges
from .values import first_true, holds_reals, read_commas, to_ids

if TYPE_CHECKING:
    import networkx as nx

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
        added: number of nodes, the last ones, that only the edges name.
    """

    graph: Graph
    columns: Columns
    encoding: Encoding
    left_out: Mapping[str, str]
    read_as: str
    notes: tuple[str, ...]
    added: int = 0
    parts: Mapping[str, NDArray[np.int64]] | None = None
    """Nodes for ``train``, ``validation`` and ``test`` by the column that says so; None without one."""


def load_tables(
    nodes: TableSource,
    edges: TableSource,
    options: TableOptions | None = None,
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
        **fields: single fields of :class:`TableOptions`, such as ``label_column="label"`` or ``target_column="price"``.

    Returns:
        The graph; node names are the ids as text.
    """
    return read_tables(nodes, edges, replace(options or DEFAULTS, **fields), name=name).graph


def networkx_tables(graph: nx.Graph) -> tuple[pa.Table, pa.Table]:
    """The nodes and edges of a networkx graph as two tables, with a column for every attribute of the nodes.

    Nodes of any kind become ids, as whole numbers or text; the weights of edges are kept, and 1 where they are missing.

    >>> import networkx as nx
    >>> nodes, edges = networkx_tables(nx.karate_club_graph())
    >>> nodes.column_names, edges.num_rows
    (['id', 'club'], 78)
    """
    numbers = all(isinstance(node, int) for node in graph)
    ids = {node: node if numbers else str(node) for node in graph}
    names = dict.fromkeys(name for _, data in graph.nodes(data=True) for name in data if name != "id")
    columns = {str(name): column_of([data.get(name) for _, data in graph.nodes(data=True)]) for name in names}
    sources, targets, weights = zip(*graph.edges(data="weight", default=1.0), strict=True) if graph.edges else ((),) * 3
    ends = {"source": [ids[node] for node in sources], "target": [ids[node] for node in targets]}
    return pa.table({"id": list(ids.values()), **columns}), pa.table({**ends, "weight": weights})


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
    texts = {columns.source, columns.target}
    read = read_nodes(nodes, columns, options, encoding=encoding, class_names=class_names)
    links = read_table(edges, "edges", text_encoding=options.text_encoding, texts=texts)
    links.check(columns.source, columns.target, columns.weight)
    added = _unknown_ids(read, links, columns) if options.unknown_edges == "add" else pa.array([], pa.string())
    ends, weights = edge_rows(links, read.ids, columns, options.unknown_edges, added)
    if len(added):
        read = _add_nodes(read, added)
    graph = from_edges(
        ends,
        read.features,
        labels=read.labels,
        weights=weights,
        class_names=read.class_names,
        node_names=read.names(),
        name=name or read.name,
        directed=options.directed,
        text_labels=read.text_labels,
    )
    if read.targets is not None:
        graph = graph.with_targets(read.targets, columns.label)
    tally = count_rows((ends, weights), dropped=links.table.num_rows - ends.shape[1])
    reading = reading_of(read, graph, tally, columns, learned=encoding is None)
    if not len(added):
        return reading
    note = f"{counted(len(added), 'node')} named by edges only: added without features or label, and not predicted."
    return replace(reading, added=len(added), notes=(*reading.notes, note))


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
    rows.check(options.label_column, options.split_column)
    if options.target_column is not None and options.target_column not in rows.table.column_names:
        raise ValueError(
            f"{rows.name} has no column {options.target_column!r} of numbers to predict; found: "
            f"{listed(rows.table.column_names)} (the ends of edges are --from-column and --to-column)"
        )
    names = links.table.column_names
    if len(names) == 1:
        raise ValueError(
            f"{links.name} has one column only ({names[0]!r}); edges need two columns of ids, such as "
            "source and target, separated by comma, semicolon or tab"
        )
    source = links.column(options.from_column, "source", 0)
    target = links.column(options.to_column, "target", 1)
    if source == target:
        raise ValueError(f"{links.name} needs two columns of ids; source and target are both {source!r}")
    links.check(options.weight_column)
    others = [name for name in names if name not in (source, target)]
    weight = options.weight_column or find_usual("weight", others)
    unused = tuple(name for name in others if name != weight)
    learned, numbers = options.label_column or options.target_column, options.target_column is not None
    return Columns(key, learned, source, target, weight, unused, options.split_column, numbers)


def column_names(table: TableSource, *, text_encoding: str = "utf-8") -> tuple[str, ...]:
    """The names of all columns of a table."""
    return tuple(read_header(table, "nodes", text_encoding=text_encoding).table.column_names)


def node_ids(nodes: TableSource, names: Sequence[str], *, id_column: str | None = None) -> pa.Array:
    """The names of a graph's nodes as ids of the kind that the table has: whole numbers or text."""
    header = read_header(nodes, "nodes", text_encoding="utf-8")
    kind = header.table.schema.field(header.column(id_column, "id", 0)).type
    ids = pa.array(names, pa.string())
    return ids.cast(pa.int64()) if pa.types.is_integer(kind) or pa.types.is_floating(kind) else ids


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
    if dropped := tally["dropped"]:
        total = counted(tally["rows"] + dropped, "edge")
        notes.append(f"{dropped:,} of {total} name nodes that are not in the table; they were dropped.")
    if learned and columns.unused:
        weights = "without weights" if columns.weight is None else f"with weights in {columns.weight!r}"
        ends = f"Edges join {columns.source!r} and {columns.target!r} {weights}"
        notes.append(f"{ends}; columns not used: {listed(columns.unused)}.")
    if learned and not graph.directed and tally["rows"] != graph.edges:
        notes.append(_merged_rows(tally, graph.edges, weighted=columns.weight is not None))
    return Reading(graph, columns, read.encoding, read.left_out, read.read_as, tuple(notes), parts=read.parts)


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
    edges: str | PathLike[str],
    ids: pa.Array,
    *,
    columns: Columns,
    text_encoding: str,
    tally: Counter[str],
    unknown_edges: UnknownEdges = "error",
) -> Iterator[EdgeRows]:
    """Read a file of edges in pieces: neither the file nor the edges need to fit in memory.

    Errors are those of :func:`read_tables`.

    Args:
        edges: a CSV or Parquet file.
        ids: ids of the nodes, int64 or text.
        columns: which columns of the file hold the ends and the weights.
        text_encoding: encoding of a CSV file.
        tally: counts the rows, for :func:`reading_of`.
        unknown_edges: ``error`` or ``drop``.
    """
    if unknown_edges == "add":
        raise ValueError("edges that are read in pieces cannot add nodes; drop them, or put the nodes in the table")
    # Every piece builds a hash table of all ids, so it should have about as many rows.
    rows = max(PIECE, len(ids) // 2)
    for links in stream_edges(Path(edges), columns, rows=rows, text_encoding=text_encoding):
        kinds = [links.table.schema.field(column).type for column in (columns.source, columns.target)]
        if not all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
            ids = ids.cast(pa.string())  # once, not again for every piece
        piece = edge_rows(links, ids, columns, unknown_edges)
        tally.update(count_rows(piece, dropped=links.table.num_rows - piece[0].shape[1]))
        yield piece


def edge_rows(
    links: NamedTable,
    ids: pa.Array,
    columns: Columns,
    unknown_edges: UnknownEdges = "error",
    added: pa.Array | None = None,
) -> EdgeRows:
    """Rows of a table as edges between the nodes with these ids and added ones; the first wrong row raises an error."""
    _check_header(links, ids, columns)
    ends = _ends(links, ids, columns, drop=unknown_edges == "drop", added=added)
    weights = None if columns.weight is None else _weights(links, columns.weight)
    if (inside := (ends >= 0).all(axis=0)).all():
        return ends, weights
    return ends[:, inside], None if weights is None else weights[inside]


def count_rows(edges: EdgeRows, dropped: int = 0) -> Counter[str]:
    """The number of rows, of self-loops and of other rows of weight 0 among them, and of those dropped before."""
    ends, weights = edges
    loops = ends[0] == ends[1]
    zero = 0 if weights is None else int(((weights == 0) & ~loops).sum())
    return Counter(rows=ends.shape[1], loops=int(loops.sum()), zero=zero, dropped=dropped)


def _unknown_ids(read: NodeTable, links: NamedTable, columns: Columns) -> pa.Array:
    """The ids that only the edges name, as text; 2299.0 is written 2299 if all ids of a column are written so."""
    ends = [to_ids(links, column) for column in (columns.source, columns.target)]
    unknown = [_without_point(side.cast(pa.string())).filter(_positions(side, read.ids).is_null()) for side in ends]
    return pc.unique(pa.concat_arrays(unknown)).drop_null()


def _add_nodes(read: NodeTable, new: pa.Array) -> NodeTable:
    """The nodes and these, which have no features and labels."""
    x, shape = read.features, (len(new), read.features.shape[1])
    if not read.encoding.columns:
        x = sp.eye_array(len(read.ids) + len(new), format="csr", dtype=np.float32)
    elif isinstance(x, np.ndarray):
        x = np.concatenate([x, np.zeros(shape, dtype=np.float32)])
    else:
        x = sp.vstack([x, sp.csr_array(shape, dtype=np.float32)], format="csr")
    labels = None if read.labels is None else np.append(read.labels, np.full(len(new), -1))
    targets = None if read.targets is None else np.append(read.targets, np.full(len(new), np.nan))
    ids = pa.concat_arrays([read.ids.cast(pa.string()), new])
    return replace(read, ids=ids, features=x, labels=labels, targets=targets)


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


def _ends(
    links: NamedTable, ids: pa.Array, columns: Columns, *, drop: bool, added: pa.Array | None
) -> NDArray[np.int32]:
    """Both ends of every edge as indices of ids, then of added ones, shape ``(2, E)``; -1 if unknown and dropped."""
    ends = np.empty((2, links.table.num_rows), dtype=np.int32)
    for side, column in enumerate((columns.source, columns.target)):
        values = links.table[column]
        if values.type == ids.type:  # mostly; only ids that are unknown as they are have to be read with more care
            found = pc.index_in(values, value_set=ids)
            if not found.null_count:
                ends[side] = found.to_numpy()
                continue
        wanted = to_ids(links, column)
        found = _positions(wanted, ids)
        if added is not None and len(added):
            others = pc.index_in(_without_point(wanted.cast(pa.string())), value_set=added)
            found = pc.coalesce(found, pc.add(others, len(ids)))
        wrong = wanted.is_null() if drop else found.is_null()
        if pc.any(wrong).as_py():
            index = first_true(wrong)
            unknown = wanted[index].as_py()
            what = "has no id" if unknown is None else f"names the unknown node {unknown!r}"
            raise ValueError(
                f"{links.row(index)} {what} in column {column!r}; expected an id from column {columns.id!r} of the "
                f"nodes, such as {ids[0].as_py()!r}{_advice(unknown, ids)}"
            )
        ends[side] = found.fill_null(-1).to_numpy(zero_copy_only=False)
    return ends


def _positions(wanted: pa.Array, ids: pa.Array) -> pa.Array:
    """Indices of ids, null for unknown ones; 2299.0 is 2299 if all ids of one of the two are written so."""
    if wanted.type != ids.type:
        wanted, ids = wanted.cast(pa.string()), ids.cast(pa.string())
    found = pc.index_in(wanted, value_set=ids)
    if not found.null_count or not pa.types.is_string(ids.type):
        return found
    return pc.coalesce(found, pc.index_in(_without_point(wanted), value_set=_without_point(ids)))


def _without_point(ids: pa.Array) -> pa.Array:
    """Ids that are all written as 2299.0 without their point, as 2299; others as they are."""
    whole = pc.all(pc.match_substring_regex(ids, r"^-?\d+\.0$")).as_py()
    return pc.replace_substring(ids, ".0", "", max_replacements=1) if whole else ids


def _advice(unknown: str | int | None, known: pa.Array) -> str:
    """What to do about an id that no node has."""
    if unknown is None:
        return ""
    text = str(unknown)
    written = [one for one in (text.strip(), text.removesuffix(".0"), f"{text}.0") if one != text]
    there = pc.is_in(pa.array(written), value_set=known.cast(pa.string())).to_pylist()
    if any(there):
        return f"; the nodes have {written[there.index(True)]!r}: write ids the same way in both tables"
    return "; --unknown-edges drop leaves such edges out (unknown_edges='drop' in Python)"


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
