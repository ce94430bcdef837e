"""Anyone's own graph: nodes and edges from CSV or Parquet files, every mistake in them one clear line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from newtonnet.graphs import Graph, from_edges

from .column_words import doubts, read_as, strangers
from .columns import Columns, find_columns
from .encoding import Encoding, as_text, encode, is_missing, learn_encoding, without_missing
from .listing import listed
from .readers import NamedTable, read_table
from .text_numbers import has_comma, is_number

if TYPE_CHECKING:
    import pandas as pd


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
    :func:`read_tables`, which also gives the encoding.
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
    columns kept, texts become one feature for each category, missing values become the mean and one more feature that
    says so. Nodes without any feature column get a feature each of their own.

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
    texts = {columns.id, columns.label or columns.id}
    rows = read_table(nodes, "nodes", text_encoding=text_encoding, texts=texts)
    links = read_table(edges, "edges", text_encoding=text_encoding, texts={columns.source, columns.target})
    rows.check(columns.id, columns.label, *ignore, *categorical)
    links.check(columns.source, columns.target, columns.weight)
    ids = _ids(rows, columns.id)
    labels, classes = _labels(rows, columns.label, class_names)
    used = [name for name in rows.table.column_names if name not in (columns.id, columns.label, *ignore)]
    told = rows.table.select(used)
    learned = (
        learn_encoding(told, standardise=standardise, categorical=categorical, where=rows.row)
        if encoding is None
        else encoding
    )
    _check_columns(rows, learned)
    features = encode(told, learned, where=rows.row)
    ends = _ends(links, ids, columns.source, columns.target)
    weights = None if columns.weight is None else _weights(links, columns.weight)
    graph = from_edges(
        ends,
        features,
        labels=labels,
        weights=weights,
        class_names=classes,
        node_names=ids.cast(pa.string()).to_pylist(),
        name=name or (Path(nodes).name.split(".")[0] if isinstance(nodes, str | PathLike) else "graph"),
        directed=directed,
    )
    if encoding is not None:
        return Reading(graph, learned, {}, read_as(told, learned, {}), tuple(strangers(told, learned)))
    left_out = _left_out(told, learned)
    ignored = {name: "ignored" for name in ignore if name not in (columns.id, columns.label)}
    notes = (*doubts(told, learned, categorical), *_merged(graph, ends, weights))
    return Reading(graph, learned, left_out, read_as(told, learned, {**left_out, **ignored}), notes)


def _check_columns(rows: NamedTable, learned: Encoding) -> None:
    names = rows.table.column_names
    there = set(names)
    lacking = next((column.name for column in learned.columns if column.name not in there), None)
    if lacking is not None:
        raise ValueError(
            f"{rows.name} has no column {lacking!r}, but the model was fitted with it; found: {listed(names)}"
        )


def _merged(graph: Graph, ends: NDArray[np.int32], weights: NDArray[np.float32] | None) -> list[str]:
    """How many rows of edges there were, where it is not the number of edges."""
    rows = ends.shape[1]
    if rows == graph.edges or graph.directed:
        return []
    loops = ends[0] == ends[1]
    nothing = 0 if weights is None else int(((weights == 0) & ~loops).sum())
    again = rows - int(loops.sum()) - nothing - graph.edges
    told = [
        f"{count:,} {one if count == 1 else many} {'was' if count == 1 else 'were'} {what}"
        for count, one, many, what in (
            (int(loops.sum()), "self-loop", "self-loops", "dropped"),
            (nothing, "edge of weight 0", "edges of weight 0", "dropped"),
            (again, "duplicate", "duplicates", "merged"),
        )
        if count
    ]
    became = f"{rows:,} rows of edges became {graph.edges:,} edges"
    return [f"{became}: {' and '.join(told)}; directions are not used."]


def _left_out(told: pa.Table, learned: Encoding) -> dict[str, str]:
    kept = {column.name for column in learned.columns}
    return {
        name: "no value at all" if pc.all(is_missing(told[name])).as_py() else "one value only"
        for name in told.column_names
        if name not in kept
    }


def _ids(rows: NamedTable, key: str) -> pa.Array:
    """The nodes' ids, whole numbers or text, all different."""
    ids = _plain_ids(rows, key)
    if ids.null_count:
        raise ValueError(f"{rows.row(_first(ids.is_null()))} has no id in column {key!r}; every node needs one")
    codes = ids.dictionary_encode().indices.to_numpy()
    # Codes count first appearances, so the first id that was there before is the first code behind its place.
    again = np.flatnonzero(codes != np.arange(len(codes)))
    if len(again):
        index = int(again[0])
        where = rows.row(int(codes[index]))
        raise ValueError(f"{rows.row(index)} repeats the id {ids[index].as_py()!r} of {where}; ids must be unique")
    return ids


def _plain_ids(rows: NamedTable, column: str) -> pa.Array:
    ids = rows.table[column].combine_chunks()
    if pa.types.is_dictionary(ids.type):
        ids = ids.dictionary_decode()
    if pa.types.is_floating(ids.type):
        ids = _whole_ids(ids.cast(pa.float64()), rows, column)
    try:
        if pa.types.is_integer(ids.type) and not _beyond_int64(ids):
            return ids.cast(pa.int64())
        text = ids.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        kind = f"column {column!r} of {rows.name} holds {ids.type}"
        raise ValueError(f"{kind}; ids must be whole numbers or text") from reason
    return pc.if_else(pc.equal(pc.utf8_trim_whitespace(text), ""), pa.scalar(None, pa.string()), text)


def _beyond_int64(ids: pa.Array) -> bool:
    return pa.types.is_uint64(ids.type) and (pc.max(ids).as_py() or 0) >= 2**63


def _whole_ids(ids: pa.Array, rows: NamedTable, column: str) -> pa.Array:
    """Whole numbers again, which become floats where a column has gaps."""
    numbers = ids.to_numpy(zero_copy_only=False)
    broken = np.flatnonzero(~(np.isnan(numbers) | ((numbers == np.round(numbers)) & (np.abs(numbers) < 2.0**63))))
    if len(broken):
        index = int(broken[0])
        raise ValueError(
            f"{rows.row(index)} has the id {numbers[index]} in column {column!r}; ids must be whole numbers or text"
        )
    return pc.if_else(pc.is_nan(ids), pa.scalar(None, pa.float64()), ids).cast(pa.int64())


def _labels(
    rows: NamedTable, label_column: str | None, class_names: Sequence[str] | None
) -> tuple[NDArray[np.int64] | None, list[str]]:
    if label_column is None:
        return None, list(class_names or [])
    values = rows.table[label_column]
    if pa.types.is_floating(values.type) and pc.any(pc.is_inf(values)).as_py():
        raise ValueError(f"{rows.row(_first(pc.is_inf(values)))} has an infinite label in column {label_column!r}")
    text = without_missing(pc.utf8_trim_whitespace(as_text(values, label_column))).combine_chunks()
    found = sorted((value for value in pc.unique(text).to_pylist() if value is not None), key=_natural)
    if class_names is None and len(found) < 2:
        what = f"only the class {found[0]!r}" if found else "no label at all"
        raise ValueError(f"column {label_column!r} of {rows.name} has {what}; at least 2 classes are needed")
    broken = [value for value in found if has_comma(value) or (is_number(value) and not float(value).is_integer())]
    if class_names is None and broken and all(is_number(value) or has_comma(value) for value in found):
        raise ValueError(
            f"column {label_column!r} of {rows.name} holds numbers such as {broken[0][:6]}, not classes; name a "
            "column of classes, or sort the numbers into a few classes first"
        )
    classes = found if class_names is None else list(class_names)
    codes = pc.index_in(text, value_set=pa.array(classes, pa.string()))
    strange = pc.and_(codes.is_null(), text.is_valid())
    if pc.any(strange).as_py():
        index = _first(strange)
        raise ValueError(
            f"{rows.row(index)} has the unknown class {text[index].as_py()!r}; known: {listed(classes)}; blank it or "
            "leave the column out"
        )
    return codes.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), classes


def _natural(text: str) -> tuple[int, float, str]:
    """Numbers before texts, 2 before 10."""
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)


def _ends(links: NamedTable, ids: pa.Array, source: str, target: str) -> NDArray[np.int32]:
    """Both ends of every edge as places among the ids, shape ``(2, E)``."""
    ends = np.empty((2, links.table.num_rows), dtype=np.int32)
    for side, column in enumerate((source, target)):
        wanted = _plain_ids(links, column)
        there = ids
        if wanted.type != there.type:
            wanted, there = wanted.cast(pa.string()), there.cast(pa.string())
        places = pc.index_in(wanted, value_set=there)
        if places.null_count:
            index = _first(places.is_null())
            unknown = wanted[index].as_py()
            what = "has no id" if unknown is None else f"names the unknown node {unknown!r}"
            raise ValueError(f"{links.row(index)} {what} in column {column!r}; every end must be an id of the nodes")
        ends[side] = places.to_numpy(zero_copy_only=False)
    return ends


def _weights(links: NamedTable, column: str) -> NDArray[np.float32]:
    values = links.table[column]
    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    if not any(test(values.type) for test in numeric):
        raise ValueError(f"column {column!r} of {links.name} must hold numbers, got {values.type}")
    with np.errstate(over="ignore"):
        weights = values.cast(pa.float64(), safe=False).to_numpy().astype(np.float32)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        index = int(bad[0])
        found = "no weight" if values[index].as_py() is None else f"the weight {values[index].as_py()}"
        raise ValueError(f"{links.row(index)} has {found}; weights must be finite and not negative")
    return np.asarray(weights)


def _first(mask: pa.Array) -> int:
    return int(np.flatnonzero(mask.to_numpy(zero_copy_only=False))[0])
