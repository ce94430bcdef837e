"""How columns were read, in words: what each was taken for, what looks wrong about it, what is new in another table."""

import shlex
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .column_values import as_text, is_missing, row_number, to_numbers
from .encoding import Column, Encoding, Kind
from .listing import listed
from .text_numbers import why_text

KINDS: dict[Kind, str] = {
    "number": "numbers",
    "binary": "0/1",
    "category": "categories",
    "vector": "lists of numbers",
}
NAMELIKE = 0.8
"""Different values for each known one, from which on a text column looks like a name."""
FEW = 20
"""Rows below which any text column may be all different."""


def read_as(table: pa.Table, encoding: Encoding, left_out: Mapping[str, str]) -> str:
    """One line: the columns of each kind, with their categories and the share that is missing.

    Args:
        table: the columns that were read.
        encoding: what was made of them.
        left_out: columns that gave no feature, and why.
    """
    parts = [
        f"{words}: {listed([_told(table, column) for column in encoding.columns if column.kind == kind])}"
        for kind, words in KINDS.items()
        if any(column.kind == kind for column in encoding.columns)
    ]
    if not parts:
        parts = ["no features: every node gets one of its own"]
    if left_out:
        parts.append(f"left out: {listed([f'{name.strip() or repr(name)} ({why})' for name, why in left_out.items()])}")
    return "; ".join(parts)


def _told(table: pa.Table, column: Column) -> str:
    about = []
    if column.kind == "category":
        about.append(f"{len(column.categories):,}")
    elif column.kind == "vector":
        about.append(f"{column.width:,}")
    if column.missing:
        share = pc.mean(is_missing(table[column.name]).cast(pa.float64())).as_py()
        about.append(f"{max(100 * share, 1):.0f}% missing")
    return f"{column.name} ({', '.join(about)})" if about else column.name


def doubts(table: pa.Table, encoding: Encoding, categorical: Sequence[str] = ()) -> list[str]:
    """A sentence for every text column that is probably no category: nearly numbers, or a name.

    Args:
        table: the columns that were read.
        encoding: what was made of them.
        categorical: columns that were asked to be categories, which nobody doubts.
    """
    found = []
    for column in encoding.columns:
        if column.kind != "category" or column.name in categorical:
            continue
        text = as_text(table[column.name], column.name)
        reason = why_text(text)
        known = len(text) - text.null_count
        if reason is None and known >= FEW and len(column.categories) >= NAMELIKE * known:
            reason = (
                f"for {known:,} values and looks like a name: leave it out with --ignore {shlex.quote(column.name)}"
            )
        if reason is not None:
            found.append(f"Column {column.name!r} was read as {len(column.categories):,} categories {reason}.")
    return found


def strangers(table: pa.Table, encoding: Encoding) -> list[str]:
    """What another table has that the encoding was not learned from: values, blanks, and columns."""
    found = []
    for column in encoding.columns:
        if column.kind == "category":
            there = pc.unique(as_text(table[column.name], column.name).drop_null()).to_pylist()
            new = len(set(there) - set(column.categories))
            counted = "value never seen in fitting counts" if new == 1 else "values never seen in fitting count"
            found += [f"{column.name}: {new:,} {counted} as none"] if new else []
            continue
        if column.kind == "binary":
            numbers = to_numbers(table[column.name], column.name, row_number)
            others = int((~np.isin(numbers[~np.isnan(numbers)], (0.0, 1.0))).sum())
            found += [f"{column.name}: other than 0 and 1 in {others:,} of the rows"] if others else []
        if column.kind in ("number", "binary") and not column.missing:
            blank = pc.sum(is_missing(table[column.name])).as_py()
            filled = "0" if column.kind == "binary" else f"{column.mean:g}"
            found += (
                [f"{column.name}: blank in {blank:,} of the rows, which fitting had none of; taken for {filled}"]
                if blank
                else []
            )
    kept = {column.name for column in encoding.columns}
    unused = [name for name in table.column_names if name not in kept]
    return found + ([f"not used by the model: {listed(unused)}"] if unused else [])
