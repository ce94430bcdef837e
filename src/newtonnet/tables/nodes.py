"""The table of nodes: ids, classes and features, and how its columns were read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from newtonnet.meaning import listed

from .encoding import Encoding, column_warnings, encode, learn_encoding, read_as, unseen_values, why_no_feature
from .options import DEFAULTS, Columns, Dates, TableOptions, TableSource
from .readers import NamedTable, is_unnamed, read_table
from .values import (
    MISSING,
    as_text,
    count_values,
    first_true,
    has_comma,
    holds_reals,
    holds_text,
    is_missing,
    is_number,
    read_commas,
    read_dates,
    to_ids,
    to_numbers,
    without_missing,
)

MANY_NUMBERS = 30
"""Different numbers in a column of classes from which on it may be a column of quantities."""
FEW_NUMBERS = 10
"""Different whole numbers in a column of quantities, each as often on average, up to which they may be classes."""

_UNSURE = ("unknown", "unlabelled", "unlabeled", "missing", "undefined", "not available", "n.a.", "?", "-")
"""Classes that probably mean that there is none."""
_BLANK = "is treated as a class; leave cells blank where the class is unknown."


PARTS = {
    "train": ("train", "training"),
    "validation": ("validation", "val", "valid", "dev"),
    "test": ("test", "testing"),
}
"""Words for the part that a node belongs to."""


@dataclass(frozen=True, eq=False)
class NodeTable:
    """What a table of nodes gave; for ``encoding`` to ``notes`` see :class:`newtonnet.tables.Reading`.

    Attributes:
        name: the default name of the graph.
        ids: unique ids, int64 or text, ``(n,)``.
        labels: int64, -1 for unknown, ``(n,)``; None without a column of classes.
        class_names: one for each class.
        text_labels: whether the labels are texts in the table; a CSV file does not say.
        features: float32, ``(n, F)``, dense or CSR.
    """

    name: str
    ids: pa.Array
    labels: NDArray[np.int64] | None
    class_names: list[str]
    text_labels: bool
    features: NDArray[np.float32] | sp.csr_array
    encoding: Encoding
    left_out: Mapping[str, str]
    read_as: str
    notes: tuple[str, ...]
    parts: Mapping[str, NDArray[np.int64]] | None
    targets: NDArray[np.float64] | None = None
    """Numbers to predict, NaN for unknown, ``(n,)``; None without a column of them."""

    def names(self) -> list[str]:
        """The ids as text."""
        names: list[str] = self.ids.cast(pa.string()).to_pylist()
        return names


def read_nodes(
    nodes: TableSource,
    columns: Columns,
    options: TableOptions = DEFAULTS,
    *,
    encoding: Encoding | None = None,
    class_names: Sequence[str] | None = None,
) -> NodeTable:
    """Read the nodes of a table in its order; for the arguments see :func:`newtonnet.tables.read_tables`."""
    kinds = {} if encoding is None else {column.name: column.kind for column in encoding.columns}
    texts = {columns.id, *options.categorical, *(name for name, kind in kinds.items() if kind == "category")}
    texts |= {name for name in (None if columns.numbers else columns.label, columns.split) if name is not None}
    rows = read_table(nodes, "nodes", text_encoding=options.text_encoding, texts=texts)
    rows.check(columns.id, columns.label, columns.split, *options.ignore, *options.categorical)
    ids = _ids(rows, columns.id)
    targets: NDArray[np.float64] | None = None
    if columns.numbers and columns.label is not None:
        targets = _targets(rows, columns.label, learned=class_names is None)
    labels, classes = _labels(rows, None if columns.numbers else columns.label, class_names)
    wanted = {columns.id, columns.label, columns.split, *kinds}
    # Columns without a name often hold row numbers.
    unnamed = [name for name in rows.table.column_names if name not in wanted and is_unnamed(name)]
    kept_apart = (columns.id, columns.label, columns.split, *options.ignore, *unnamed)
    used = [name for name in rows.table.column_names if name not in kept_apart]
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    table = _read_texts(rows.table.select(used), texts, numbers, options.dates)
    learned = encoding or learn_encoding(
        table, standardise=options.standardise, categorical=options.categorical, where=rows.row
    )
    features = encode(table, learned, name=rows.name, where=rows.row)
    left_out: dict[str, str] = {}
    not_read: dict[str, str] = {}
    if encoding is not None:
        notes = unseen_values(table, learned)
    else:
        left_out = _left_out(table, learned)
        not_read = {name: "ignored" for name in options.ignore if name not in (columns.id, columns.label)}
        not_read |= dict.fromkeys(unnamed, "has no name")
        known = labels if targets is None else np.where(np.isnan(targets), -1, 0)
        warned = _label_warnings(rows, columns.label) if targets is None else _target_warnings(targets, columns.label)
        notes = [*warned, *_leaks(table, known)]
        notes += column_warnings(table, learned, options.categorical)
    return NodeTable(
        name=Path(nodes).name.split(".")[0] if isinstance(nodes, str | PathLike) else "graph",
        ids=ids,
        labels=labels,
        class_names=classes,
        text_labels=labels is not None and rows.line is None and holds_text(rows.table[str(columns.label)].type),
        features=features,
        encoding=learned,
        left_out=left_out,
        read_as=read_as(table, learned, {**left_out, **not_read}),
        notes=tuple(notes),
        parts=None if columns.split is None else _split_parts(rows, columns.split),
        targets=targets,
    )


def _read_texts(table: pa.Table, texts: Collection[str], numbers: Collection[str], dates: Dates) -> pa.Table:
    """The same table with dates and numbers in place of texts that mean them, except in columns of ``texts``."""
    for place, name in enumerate(table.column_names):
        column = table[name]
        read = column if name in texts else read_commas(read_dates(column, dates), surely=name in numbers)
        if read is not column:
            table = table.set_column(place, name, read)
    return table


def _label_warnings(rows: NamedTable, label_column: str | None) -> list[str]:
    """A sentence for labels that are read as missing, those that only look so, and those that differ only in case."""
    if label_column is None or not holds_text(rows.table[label_column].type):
        return []
    trimmed = pc.utf8_trim_whitespace(rows.table[label_column])
    counts = count_values(trimmed)
    there = [word for word in MISSING if word and counts.get(word)]
    found = [f"The label {word!r} is treated as missing ({counts[word]:,} times)." for word in there]
    known = [value for value in counts if value not in MISSING]
    if len(known) >= MANY_NUMBERS and all(is_number(value) for value in known):
        found.append(
            f"Column {label_column!r} holds {len(known):,} different numbers, which are treated as classes; if they "
            f"are quantities, predict them with --target-column {label_column}."
        )
    if "-1" in known and all(is_number(value) for value in known):
        found.append(f"The label -1 {_BLANK}")
    found += [f"The label {value!r} {_BLANK}" for value in known if value.casefold() in _UNSURE]
    for _, group in groupby(sorted(known, key=lambda value: (value.casefold(), value)), key=str.casefold):
        if len(alike := [repr(value) for value in group]) > 1:
            found.append(f"The labels {' and '.join(alike)} differ only in case and are treated as different classes.")
    return found


def _target_warnings(targets: NDArray[np.float64], column: str | None) -> list[str]:
    """A sentence for numbers that may be codes of classes."""
    known = targets[~np.isnan(targets)]
    different = np.unique(known)
    if len(different) > FEW_NUMBERS or len(known) < FEW_NUMBERS * len(different) or (different % 1 != 0).any():
        return []
    return [
        f"Column {column!r} holds {len(different)} different whole numbers, which are treated as quantities; if they "
        f"are classes, predict them with --label-column {column}."
    ]


def _targets(rows: NamedTable, column: str, *, learned: bool) -> NDArray[np.float64]:
    """The numbers of a column, NaN where a cell is blank; the first that is no finite number raises an error."""
    values = read_commas(rows.table[column], surely=True)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if holds_text(values.type):
        text = pc.utf8_trim_whitespace(without_missing(values.cast(pa.string())))
        if all(is_number(one) for one in text.drop_null().unique().to_pylist()):
            values = text.cast(pa.float64())
    if values.null_count < len(values) and not holds_text(values.type) and not holds_reals(values.type):
        raise ValueError(
            f"column {column!r} of {rows.name} holds {values.type}, not numbers; choose a column of numbers, or "
            f"predict classes with --label-column {column}"
        )
    numbers = to_numbers(values, column, rows.row)
    if learned and np.isnan(numbers).all():
        raise ValueError(f"column {column!r} of {rows.name} has no number at all; fill in those that are known")
    return numbers


def _leaks(table: pa.Table, labels: NDArray[np.int64] | None) -> list[str]:
    """A sentence for columns that have values exactly where the class is known, and so may have been made from it."""
    if labels is None or not (labels < 0).any():
        return []
    return [
        f"Column {name!r} has a value exactly where the label is known, so it may leak the label; leave it out with "
        "--ignore unless it is known before the label."
        for name in table.column_names
        if np.array_equal(is_missing(table[name]).to_numpy(), labels < 0)
    ]


def _left_out(table: pa.Table, learned: Encoding) -> dict[str, str]:
    """The columns that gave no feature, and why."""
    kept = {column.name for column in learned.columns}
    empty = {name: pc.all(is_missing(table[name])).as_py() for name in table.column_names if name not in kept}
    return {
        name: "no value at all" if nothing else why_no_feature(name, table[name]) or "one value only"
        for name, nothing in empty.items()
    }


def _ids(rows: NamedTable, key: str) -> pa.Array:
    """The ids of the nodes, int64 or text, all different."""
    ids = to_ids(rows, key)
    if ids.null_count:
        raise ValueError(f"{rows.row(first_true(ids.is_null()))} has no id in column {key!r}; every node needs one")
    codes = ids.dictionary_encode().indices.to_numpy()
    # Codes number the first appearances, so the first repeated id is the first code below its position.
    if (again := codes != np.arange(len(codes))).any():
        index = first_true(again)
        where = rows.row(int(codes[index]))
        raise ValueError(f"{rows.row(index)} repeats the id {ids[index].as_py()!r} of {where}; ids must be unique")
    return ids


def _labels(
    rows: NamedTable, label_column: str | None, class_names: Sequence[str] | None
) -> tuple[NDArray[np.int64] | None, list[str]]:
    if label_column is None:
        return None, list(class_names or [])
    values = rows.table[label_column]
    if pa.types.is_floating(values.type) and pc.any(pc.is_inf(values)).as_py():
        raise ValueError(f"{rows.row(first_true(pc.is_inf(values)))} has an infinite label in column {label_column!r}")
    text = without_missing(pc.utf8_trim_whitespace(as_text(values, label_column))).combine_chunks()
    found = sorted((value for value in pc.unique(text).to_pylist() if value is not None), key=_natural)
    if class_names is None and len(found) < 2:
        what = f"only the class {found[0]!r}" if found else "no label at all"
        raise ValueError(f"column {label_column!r} of {rows.name} has {what}; at least 2 classes are needed")
    broken = [value for value in found if has_comma(value) or (is_number(value) and not float(value).is_integer())]
    if class_names is None and broken and all(is_number(value) or has_comma(value) for value in found):
        raise ValueError(
            f"column {label_column!r} of {rows.name} holds numbers such as {broken[0][:6]}, not classes; predict them "
            f"as numbers with --target-column {label_column} (target_column in Python), or choose a column of classes"
        )
    classes = found if class_names is None else list(class_names)
    codes = pc.index_in(text, value_set=pa.array(classes, pa.string()))
    unknown = pc.and_(codes.is_null(), text.is_valid())
    if pc.any(unknown).as_py():
        index = first_true(unknown)
        raise ValueError(
            f"{rows.row(index)} has the unknown class {text[index].as_py()!r}; known: {listed(classes)}; leave the "
            "cell blank, or the column out"
        )
    return codes.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), classes


def _split_parts(rows: NamedTable, column: str) -> dict[str, NDArray[np.int64]]:
    """The nodes of each part by the words of a column; a blank cell is of no part."""
    words = pc.utf8_lower(pc.utf8_trim_whitespace(as_text(rows.table[column], column))).combine_chunks()
    known = pa.array([word for words in PARTS.values() for word in words])
    places = pc.index_in(words, value_set=known).fill_null(-1).to_numpy(zero_copy_only=False)
    unknown = pc.and_(pc.equal(pa.array(places), -1), pc.fill_null(pc.not_equal(words, ""), False))
    if pc.any(unknown).as_py():
        index = first_true(unknown)
        raise ValueError(
            f"{rows.row(index)} has {words[index].as_py()!r} in column {column!r}; expected train, validation or test, "
            "or a blank cell for a node that is only predicted"
        )
    named = np.array([part for part, words in PARTS.items() for _ in words] + [""])[places]
    parts = {part: np.flatnonzero(named == part) for part in PARTS}
    if not len(parts["train"]):
        raise ValueError(f"column {column!r} of {rows.name} names no training node; write train for some")
    return parts


def _natural(text: str) -> tuple[int, float, str]:
    """Numbers before texts, 2 before 10."""
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)
