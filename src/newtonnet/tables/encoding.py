"""Columns of a table as features: learned from one table, stored as plain data, applied to that table or another."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from newtonnet.meaning import counted, listed

from .values import (
    Where,
    as_text,
    count_values,
    first_true,
    holds_lists,
    holds_numbers,
    holds_text,
    is_missing,
    row_number,
    to_numbers,
    why_text,
)

MOST_CATEGORIES = 1000
"""Categories of one column; of more different texts the most frequent are kept."""
NAMELIKE = 0.8
"""Share of different values from which on a text column looks like a name."""
FEW = 20
"""Rows below which the values of any text column may all differ."""

_ID = re.compile(r"(?i:(.*[_\- ])?id)|.*[a-z]I[dD]")
"""Names of columns that hold ids."""

Kind = Literal["binary", "number", "category", "vector"]
KINDS: dict[Kind, str] = {"number": "numbers", "binary": "0/1", "category": "categories", "vector": "lists of numbers"}
"""What a message calls each kind."""


@dataclass(frozen=True)
class Column:
    """How one column becomes features.

    Attributes:
        name: name of the column.
        kind: ``binary`` (values 0 and 1, kept), ``number`` (standardised), ``category`` (one-hot; an unseen value is
            all zeros) or ``vector`` (a list of numbers, kept). Missing numbers become 0, which is the mean of a
            standardised column.
        mean: subtracted from a number before it is divided by ``scale``.
        scale: standard deviation of the known values.
        categories: sorted texts of a category.
        width: length of a vector.
        missing: whether one more feature marks missing values.
        moments: whether the numbers were dates or times; None in files that do not record it.
    """

    name: str
    kind: Kind
    mean: float = 0.0
    scale: float = 1.0
    categories: tuple[str, ...] = ()
    width: int = 1
    missing: bool = False
    moments: bool | None = None


@dataclass(frozen=True)
class Encoding:
    """All columns of a table, in order; an empty encoding gives every node a feature of its own."""

    columns: tuple[Column, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The name of each feature."""
        return tuple(name for column in self.columns for name in _names(column))

    @property
    def groups(self) -> dict[str, list[int]]:
        """The numbers of the features that each column became."""
        ends = np.cumsum([0, *(len(_names(column)) for column in self.columns)]).tolist()
        return {column.name: list(range(a, b)) for column, a, b in zip(self.columns, ends, ends[1:], strict=False)}

    def to_json(self) -> str:
        """The encoding as JSON text, for :meth:`from_json`."""
        return json.dumps([asdict(column) for column in self.columns])

    @staticmethod
    def from_json(text: str) -> "Encoding":
        """Read an encoding that :meth:`to_json` wrote."""
        return Encoding(tuple(Column(**{**row, "categories": tuple(row["categories"])}) for row in json.loads(text)))


def learn_encoding(
    table: pa.Table, *, standardise: bool = True, categorical: Sequence[str] = (), where: Where = row_number
) -> Encoding:
    """Decide for every column how it becomes features; those with at most one value, ids or names are left out."""
    used = [name for name in table.column_names if name in categorical or why_no_feature(name, table[name]) is None]
    learned = (
        _learn(name, table[name], where, standardise=standardise, categorical=name in categorical) for name in used
    )
    return Encoding(tuple(column for column in learned if column is not None))


def why_no_feature(name: str, values: pa.ChunkedArray) -> str | None:
    """What a column holds that cannot help: an id for every node, or names; None if it may be a feature."""
    ids = (pa.types.is_integer(values.type) or holds_text(values.type)) and _ID.fullmatch(name)
    if ids and len(values) > 1 and not values.null_count and pc.count_distinct(values).as_py() == len(values):
        return "a different id for every node"
    if holds_text(values.type):
        text = as_text(values, name)
        known, different = len(text) - text.null_count, pc.count_distinct(text).as_py()
        if different > max(MOST_CATEGORIES, NAMELIKE * known) and why_text(text) is None:
            return f"a name, {different:,} different texts"
    return None


def encode(
    table: pa.Table, encoding: Encoding, *, name: str = "the table", where: Where = row_number
) -> NDArray[np.float32] | sp.csr_array:
    """Features of every row, shape ``(n, F)``; CSR if any column is a category, else dense."""
    if not encoding.columns:
        return sp.csr_array(sp.eye_array(table.num_rows, format="csr", dtype=np.float32))
    there = set(table.column_names)
    if lacking := [column.name for column in encoding.columns if column.name not in there]:
        found = listed(table.column_names) or "no feature column"
        raise ValueError(f"{name} has no column {lacking[0]!r}, but the model was fitted with it; found: {found}")
    blocks = [_encode(table[column.name], column, where) for column in encoding.columns]
    if all(isinstance(block, np.ndarray) for block in blocks):
        return np.concatenate(blocks, axis=1)
    return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks], format="csr"))


def _names(column: Column) -> list[str]:
    if column.kind == "category":
        names = [f"{column.name}={category}" for category in column.categories]
    elif column.kind == "vector":
        names = [f"{column.name}[{i}]" for i in range(column.width)]
    else:
        names = [column.name]
    return names + ([f"{column.name} missing"] if column.missing else [])


def _learn(name: str, values: pa.ChunkedArray, where: Where, *, standardise: bool, categorical: bool) -> Column | None:
    if holds_lists(values.type):
        if not holds_numbers(values.type.value_type):
            raise ValueError(f"column {name!r} holds {values.type}; lists must be of numbers")
        widths = pc.unique(pc.list_value_length(values))
        if len(widths) != 1 or not widths[0].as_py():
            raise ValueError(f"column {name!r} holds lists of different lengths, or missing ones; all need one length")
        return Column(name, "vector", width=widths[0].as_py())
    if categorical or not holds_numbers(values.type):
        return _learn_category(name, as_text(values, name))
    numbers = to_numbers(values, name, where)
    moments = pa.types.is_temporal(values.type)
    known = numbers[~np.isnan(numbers)]
    lacks = len(known) < len(numbers)
    varied = len(known) > 0 and bool(known.min() < known.max())
    if not len(known) or not (varied or lacks):
        return None
    kind: Kind = "binary" if np.isin(known, (0.0, 1.0)).all() else "number"
    if kind == "binary" or not standardise:
        return Column(name, kind, missing=lacks, moments=moments)
    mean = float(known.mean()) if varied else float(known[0])
    scale = float(known.std()) if varied else 1.0  # of equal numbers it is 0 but for rounding
    return Column(name, kind, mean=mean, scale=scale, missing=lacks, moments=moments)


def _learn_category(name: str, text: pa.ChunkedArray) -> Column | None:
    counts = count_values(text)
    if len(counts) > MOST_CATEGORIES and (reason := why_text(text)) is not None:
        raise ValueError(f"column {name!r} has {len(counts)} different texts; it is text {reason}")
    categories = sorted(value for value, _ in counts.most_common(MOST_CATEGORIES))
    lacks = text.null_count > 0
    if len(categories) + lacks < 2:
        return None
    return Column(name, "category", categories=tuple(categories), missing=lacks)


def _encode(values: pa.ChunkedArray, column: Column, where: Where) -> Any:
    if column.kind == "category":
        return _encode_category(as_text(values, column.name), column)
    if column.kind == "vector":
        return _encode_vector(values, column, where)
    _check_moments(values, column)
    numbers = to_numbers(values, column.name, where)
    gaps = np.isnan(numbers)
    filled = np.where(gaps, 0.0, (numbers - column.mean) / column.scale).astype(np.float32)
    return np.stack([filled, gaps.astype(np.float32)], axis=1) if column.missing else filled[:, None]


def _check_moments(values: pa.ChunkedArray, column: Column) -> None:
    """Raise an error for numbers in place of dates, and dates in place of numbers."""
    now = pa.types.is_temporal(values.type)
    if column.moments is None or column.moments == now or values.null_count == len(values):
        return
    then, found = ("dates or times", str(values.type)) if column.moments else ("numbers", "dates or times")
    advice = "; write dates as 2020-01-31" if column.moments else ""
    raise ValueError(f"column {column.name!r} held {then} during fitting, but holds {found} now{advice}")


def _encode_vector(values: pa.ChunkedArray, column: Column, where: Where) -> NDArray[np.float32]:
    if not holds_lists(values.type) or not holds_numbers(values.type.value_type):
        raise ValueError(f"column {column.name!r} must hold lists of {column.width} numbers, got {values.type}")
    lengths = pc.fill_null(pc.list_value_length(values), -1).to_numpy()
    if (wrong := lengths != column.width).any():
        raise ValueError(f"{where(first_true(wrong))} must hold {column.width} numbers in {column.name!r}")
    flat = to_numbers(pc.list_flatten(values), column.name, lambda index: where(index // column.width))
    if (gaps := np.isnan(flat)).any():
        raise ValueError(f"{where(first_true(gaps) // column.width)} lacks a number in column {column.name!r}")
    return flat.reshape(len(values), column.width).astype(np.float32)


def _encode_category(text: pa.ChunkedArray, column: Column) -> sp.csr_array:
    codes = pc.fill_null(pc.index_in(text, value_set=pa.array(column.categories, pa.string())), -1)
    numbers = codes.to_numpy().astype(np.int32)
    width = len(column.categories) + column.missing
    if column.missing:
        numbers[text.is_null().to_numpy()] = width - 1
    # An unseen value has no feature: its row is empty.
    known = numbers >= 0
    pointers = np.concatenate([[0], np.cumsum(known)]).astype(np.int32)
    return sp.csr_array((np.ones(int(known.sum()), np.float32), numbers[known], pointers), (len(numbers), width))


# Messages


def read_as(table: pa.Table, encoding: Encoding, left_out: Mapping[str, str]) -> str:
    """One line on how columns were read, by kind, and on those ``left_out``, which gave no feature, and why."""
    described: dict[Kind, list[str]] = {kind: [] for kind in KINDS}
    for column in encoding.columns:
        described[column.kind].append(_in_words(table, column))
    parts = [f"{KINDS[kind]}: {listed(columns)}" for kind, columns in described.items() if columns]
    parts = parts or ["no features: every node gets one of its own"]
    if left_out:
        parts.append(f"left out: {listed([f'{name.strip() or repr(name)} ({why})' for name, why in left_out.items()])}")
    return "; ".join(parts)


def _in_words(table: pa.Table, column: Column) -> str:
    sizes = {"category": len(column.categories), "vector": column.width}
    details = [f"{sizes[column.kind]:,}"] if column.kind in sizes else []
    if column.missing and (share := pc.mean(is_missing(table[column.name]).cast(pa.float64())).as_py()):
        details.append(f"{max(100 * share, 1):.0f}% missing")
    return f"{column.name} ({', '.join(details)})" if details else column.name


def column_warnings(table: pa.Table, encoding: Encoding, categorical: Sequence[str] = ()) -> list[str]:
    """A sentence for every text column that has too many categories, or probably none, unless the user asked for it."""
    found = []
    for column in encoding.columns:
        if column.kind != "category":
            continue
        text = as_text(table[column.name], column.name)
        if (different := pc.count_distinct(text).as_py()) > len(column.categories):
            kept = pc.is_in(text.drop_null(), value_set=pa.array(column.categories))
            share = f"{100 * pc.mean(kept.cast(pa.float64())).as_py():.0f}% of the values"
            most = f"the {len(column.categories):,} most frequent ({share}) are categories, the others none"
            found.append(f"Column {column.name!r} has {different:,} different texts: {most}.")
        if column.name in categorical:
            continue
        reason = why_text(text)
        known = len(text) - text.null_count
        if reason is None and known >= FEW and len(column.categories) >= NAMELIKE * known:
            ignore = f"--ignore {shlex.quote(column.name)}"
            reason = f"for {known:,} values and looks like a name: leave it out with {ignore}"
        if reason is not None:
            found.append(f"Column {column.name!r} was read as {len(column.categories):,} categories {reason}.")
    return found


def unseen_values(table: pa.Table, encoding: Encoding) -> list[str]:
    """What another table has that the encoding was not learned from: categories, missing values and columns."""
    found = []
    for column in encoding.columns:
        values = table[column.name]
        if column.kind == "category":
            there = pc.unique(as_text(values, column.name).drop_null()).to_pylist()
            if new := len(set(there) - set(column.categories)):
                noun = "unseen or rare value" if len(column.categories) >= MOST_CATEGORIES else "unseen value"
                found.append(f"{column.name}: {counted(new, noun)}; encoded as no category")
            continue
        if column.kind == "binary":
            numbers = to_numbers(values, column.name, row_number)
            if others := int((~np.isin(numbers[~np.isnan(numbers)], (0.0, 1.0))).sum()):
                found.append(f"{column.name}: {counted(others, 'value')} other than 0 and 1")
        if column.kind in ("number", "binary") and not column.missing and (gaps := pc.sum(is_missing(values)).as_py()):
            filled = "0" if column.kind == "binary" else f"{column.mean:g}"
            found.append(
                f"{column.name}: {counted(gaps, 'missing value')}, none seen during fitting; filled with {filled}"
            )
    kept = {column.name for column in encoding.columns}
    unused = [name for name in table.column_names if name not in kept]
    return found + ([f"not used by the model: {listed(unused)}"] if unused else [])
