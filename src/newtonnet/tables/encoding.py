"""Columns of a table as numbers: learned from one table, kept as plain data, applied to that table or another."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from .column_values import Where, as_text, first_of, holds_lists, holds_numbers, row_number, to_numbers
from .listing import listed
from .text_numbers import why_text

MOST_CATEGORIES = 1000
"""A text column with more different values than this is a name or a sentence, not a category."""

Kind = Literal["binary", "number", "category", "vector"]


@dataclass(frozen=True)
class Column:
    """How one column becomes features.

    Attributes:
        name: of the column.
        kind: ``binary`` (values 0 and 1, kept), ``number`` (standardised), ``category`` (one-hot, a value not seen
            before is all zeros) or ``vector`` (a list of numbers, kept). Missing numbers become 0, which is the mean
            of what is standardised.
        mean: what is taken from a number before it is divided by ``scale``.
        scale: standard deviation of the known values.
        categories: texts of a category, sorted.
        width: length of a vector.
        missing: whether there is one more feature that says that the value is missing.
        moments: whether the numbers were dates or times; None where that was not written down.
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
    """All columns of a table, in order; an empty one gives every node a feature of its own."""

    columns: tuple[Column, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name for each feature."""
        return tuple(name for column in self.columns for name in _names(column))

    def to_json(self) -> str:
        """Plain text that :meth:`from_json` reads."""
        return json.dumps([asdict(column) for column in self.columns])

    @staticmethod
    def from_json(text: str) -> "Encoding":
        """The encoding that :meth:`to_json` wrote."""
        return Encoding(tuple(Column(**{**row, "categories": tuple(row["categories"])}) for row in json.loads(text)))


def learn_encoding(
    table: pa.Table, *, standardise: bool = True, categorical: Sequence[str] = (), where: Where = row_number
) -> Encoding:
    """Decide for every column how it becomes features; columns without any value, or with one only, are left out.

    Args:
        table: the feature columns.
        standardise: subtract the mean of numbers and divide by their deviation; kept as they are otherwise.
        categorical: columns of numbers to be taken as categories.
        where: what a message calls a row.
    """
    learned = (
        _learn(name, table[name], where, standardise=standardise, categorical=name in categorical)
        for name in table.column_names
    )
    return Encoding(tuple(column for column in learned if column is not None))


def encode(table: pa.Table, encoding: Encoding, *, where: Where = row_number) -> NDArray[np.float32] | sp.csr_array:
    """Features of every row, shape ``(n, F)``, CSR as soon as any column is a category."""
    if not encoding.columns:
        return sp.csr_array(sp.eye_array(table.num_rows, format="csr", dtype=np.float32))
    there = set(table.column_names)
    lacking = [column.name for column in encoding.columns if column.name not in there]
    if lacking:
        raise ValueError(f"the nodes have no column {lacking[0]!r}; found: {listed(table.column_names)}")
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
            raise ValueError(f"column {name!r} holds lists of different lengths or missing ones; all must be alike")
        return Column(name, "vector", width=widths[0].as_py())
    if categorical or not holds_numbers(values.type):
        return _learn_category(name, as_text(values, name))
    numbers = to_numbers(values, name, where)
    moments = pa.types.is_temporal(values.type)
    known = numbers[~np.isnan(numbers)]
    lacks = len(known) < len(numbers)
    if not len(known):
        return None
    varied = bool(known.min() < known.max())
    if np.isin(known, (0.0, 1.0)).all():
        return Column(name, "binary", missing=lacks, moments=moments) if lacks or varied else None
    if not varied and not lacks:
        return None
    if not standardise:
        return Column(name, "number", missing=lacks, moments=moments)
    mean = float(known.mean()) if varied else float(known[0])
    scale = float(known.std()) if varied else 1.0  # of equal numbers it is 0 but for rounding
    return Column(name, "number", mean=mean, scale=scale, missing=lacks, moments=moments)


def _learn_category(name: str, text: pa.ChunkedArray) -> Column | None:
    categories = sorted(value for value in pc.unique(text).to_pylist() if value is not None)
    if len(categories) > MOST_CATEGORIES:
        reason = why_text(text)
        raise ValueError(
            f"column {name!r} has {len(categories)} different texts, too many for a category (at most "
            f"{MOST_CATEGORIES}); "
            + (
                f"leave it out (--ignore {shlex.quote(name)}, or ignore=[{name!r}] in Python)"
                if reason is None
                else f"it is text {reason}"
            )
        )
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
    """Refuse numbers for dates and dates for numbers: days since 1970 are no ages."""
    now = pa.types.is_temporal(values.type)
    if column.moments is None or column.moments == now or values.null_count == len(values):
        return
    then, found = ("dates or times", str(values.type)) if column.moments else ("numbers", "dates or times")
    advice = "; write dates as 2020-01-31" if column.moments else ""
    raise ValueError(f"column {column.name!r} held {then} when the model was fitted, now it holds {found}{advice}")


def _encode_vector(values: pa.ChunkedArray, column: Column, where: Where) -> NDArray[np.float32]:
    if not holds_lists(values.type) or not holds_numbers(values.type.value_type):
        raise ValueError(f"column {column.name!r} must hold lists of {column.width} numbers, got {values.type}")
    lengths = pc.fill_null(pc.list_value_length(values), -1).to_numpy()
    if (lengths != column.width).any():
        raise ValueError(
            f"{where(first_of(lengths != column.width))} must hold {column.width} numbers in {column.name!r}"
        )
    flat = to_numbers(pc.list_flatten(values), column.name, lambda index: where(index // column.width))
    if np.isnan(flat).any():
        raise ValueError(f"{where(first_of(np.isnan(flat)) // column.width)} lacks a number in column {column.name!r}")
    return flat.reshape(len(values), column.width).astype(np.float32)


def _encode_category(text: pa.ChunkedArray, column: Column) -> sp.csr_array:
    codes = pc.index_in(text, value_set=pa.array(column.categories, pa.string())).combine_chunks()
    gaps = text.is_null().combine_chunks().to_numpy(zero_copy_only=False)
    numbers = codes.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    width = len(column.categories) + column.missing
    if column.missing:
        numbers[gaps] = width - 1
    # A value that was not there when the encoding was learned has no feature: its row is empty.
    known = numbers >= 0
    pointers = np.concatenate([[0], np.cumsum(known)]).astype(np.int32)
    return sp.csr_array((np.ones(int(known.sum()), np.float32), numbers[known], pointers), (len(numbers), width))
