"""The table of nodes: ids, classes and features, and how its columns were read."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from .column_values import MISSING, as_text, is_missing, read_commas, read_dates, without_missing
from .column_words import doubts, read_as, strangers
from .encoding import Encoding, encode, learn_encoding
from .listing import listed
from .options import DEFAULTS, Columns, TableOptions
from .plain_ids import first_place, plain_ids
from .readers import NamedTable, is_unnamed, read_table
from .text_numbers import has_comma, is_number

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class NodeTable:
    """What a table of nodes gave.

    Attributes:
        name: what the graph is called where nobody says it.
        ids: all different, int64 or text.
        labels: int64, -1 for unknown, ``(n,)``; None without a column of labels.
        class_names: one for each class.
        features: float32, ``(n, F)``, dense or CSR.
        encoding: how columns became features.
        left_out: columns that told nothing when the encoding was learned, and what each holds.
        read_as: what every column was taken for, in one line.
        notes: doubts about columns, or what an encoding did not know.
    """

    name: str
    ids: pa.Array
    labels: NDArray[np.int64] | None
    class_names: list[str]
    features: NDArray[np.float32] | sp.csr_array
    encoding: Encoding
    left_out: Mapping[str, str]
    read_as: str
    notes: tuple[str, ...]

    def names(self) -> list[str]:
        """The ids as text."""
        return [str(one) for one in self.ids.cast(pa.string()).to_pylist()]


def read_nodes(
    nodes: "str | PathLike[str] | pa.Table | pd.DataFrame",
    columns: Columns,
    options: TableOptions = DEFAULTS,
    *,
    encoding: Encoding | None = None,
    class_names: Sequence[str] | None = None,
) -> NodeTable:
    """Read the nodes of a table in its order; for the arguments see :func:`newtonnet.tables.read_tables`."""
    coded = () if encoding is None else (column.name for column in encoding.columns if column.kind == "category")
    texts = {columns.id, columns.label or columns.id, *options.categorical, *coded}
    rows = read_table(nodes, "nodes", text_encoding=options.text_encoding, texts=texts)
    rows.check(columns.id, columns.label, *options.ignore, *options.categorical)
    ids = _ids(rows, columns.id)
    labels, classes = _labels(rows, columns.label, class_names)
    unnamed = _unnamed(rows.table.column_names, columns, encoding)
    kept_apart = (columns.id, columns.label, *options.ignore, *unnamed)
    used = [name for name in rows.table.column_names if name not in kept_apart]
    numbers = () if encoding is None else {column.name for column in encoding.columns if column.kind == "number"}
    told = _read_texts(rows.table.select(used), texts, numbers)
    learned = (
        learn_encoding(told, standardise=options.standardise, categorical=options.categorical, where=rows.row)
        if encoding is None
        else encoding
    )
    _check_columns(rows, learned)
    left_out = _left_out(told, learned) if encoding is None else {}
    ignored = {name: "ignored" for name in options.ignore if name not in (columns.id, columns.label)}
    apart = {} if encoding is not None else {**ignored, **dict.fromkeys(unnamed, "has no name")}
    return NodeTable(
        name=Path(nodes).name.split(".")[0] if isinstance(nodes, str | PathLike) else "graph",
        ids=ids,
        labels=labels,
        class_names=classes,
        features=encode(told, learned, where=rows.row),
        encoding=learned,
        left_out=left_out,
        read_as=read_as(told, learned, {**left_out, **apart}),
        notes=tuple(
            strangers(told, learned)
            if encoding is not None
            else [
                *label_doubts(rows, columns.label),
                *_giveaways(told, labels),
                *doubts(told, learned, options.categorical),
            ]
        ),
    )


def _read_texts(table: pa.Table, texts: Collection[str], numbers: Collection[str]) -> pa.Table:
    """The same table, with dates and numbers in place of texts that are such; not in columns that are to be texts."""
    for place, name in enumerate(table.column_names):
        column = table[name]
        read = column if name in texts else read_commas(read_dates(column), surely=name in numbers)
        if read is not column:
            table = table.set_column(place, name, read)
    return table


def _unnamed(names: Sequence[str], columns: Columns, encoding: Encoding | None) -> list[str]:
    """Columns without a name, as row numbers are written by other programs, unless they were asked for."""
    wanted = {columns.id, columns.label} | ({column.name for column in encoding.columns} if encoding else set())
    return [name for name in names if name not in wanted and is_unnamed(name)]


def label_doubts(rows: NamedTable, label_column: str | None) -> list[str]:
    """A sentence for words in the column of classes that count as blank, and for a -1 that does not."""
    kind = None if label_column is None else rows.table[label_column].type
    if kind is None or not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return []
    trimmed = pc.utf8_trim_whitespace(rows.table[label_column])
    counts = {row["values"]: row["counts"] for row in pc.value_counts(trimmed.combine_chunks()).to_pylist()}
    found = [
        f"The label {word!r} counts as unknown ({counts[word]:,} times)."
        for word in MISSING
        if word and counts.get(word)
    ]
    known = [value for value in counts if value is not None and value not in MISSING]
    if "-1" in known and all(is_number(value) for value in known):
        found.append(f"The label -1 {_BLANK}")
    found += [f"The label {value!r} {_BLANK}" for value in known if value.casefold() in _UNSURE]
    alike = defaultdict(list)
    for value in sorted(known):
        alike[value.casefold()].append(value)
    found += [
        f"The labels {' and '.join(map(repr, values))} differ in case only, and each is a class of its own."
        for values in alike.values()
        if len(values) > 1
    ]
    return found


_UNSURE = ("unknown", "unlabelled", "unlabeled", "missing", "undefined", "not available", "n.a.", "?", "-")
"""Classes that look as if there were none."""
_BLANK = "is a class like the others; leave cells blank where the class is unknown."


def _giveaways(told: pa.Table, labels: NDArray[np.int64] | None) -> list[str]:
    """A sentence for columns that have a value exactly where a class is known, as what was learned with it would."""
    if labels is None or not (labels < 0).any():
        return []
    return [
        f"Column {name!r} has a value exactly where the label is known, so it may give the label away; leave it out "
        "with --ignore unless it is known beforehand."
        for name in told.column_names
        if np.array_equal(is_missing(told[name]).to_numpy(), labels < 0)
    ]


def _check_columns(rows: NamedTable, learned: Encoding) -> None:
    names = rows.table.column_names
    there = set(names)
    lacking = next((column.name for column in learned.columns if column.name not in there), None)
    if lacking is not None:
        raise ValueError(
            f"{rows.name} has no column {lacking!r}, but the model was fitted with it; found: {listed(names)}"
        )


def _left_out(told: pa.Table, learned: Encoding) -> dict[str, str]:
    kept = {column.name for column in learned.columns}
    return {
        name: "no value at all" if pc.all(is_missing(told[name])).as_py() else "one value only"
        for name in told.column_names
        if name not in kept
    }


def _ids(rows: NamedTable, key: str) -> pa.Array:
    """The nodes' ids, whole numbers or text, all different."""
    ids = plain_ids(rows, key)
    if ids.null_count:
        raise ValueError(f"{rows.row(first_place(ids.is_null()))} has no id in column {key!r}; every node needs one")
    codes = ids.dictionary_encode().indices.to_numpy()
    # Codes count first appearances, so the first id that was there before is the first code behind its place.
    again = np.flatnonzero(codes != np.arange(len(codes)))
    if len(again):
        index = int(again[0])
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
        raise ValueError(f"{rows.row(first_place(pc.is_inf(values)))} has an infinite label in column {label_column!r}")
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
        index = first_place(strange)
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
