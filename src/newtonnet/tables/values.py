"""The values of one column as text, numbers or ids, whatever type the file gave them."""

import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from newtonnet.meaning import listed

from .options import Dates

if TYPE_CHECKING:
    from .readers import NamedTable

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
"""Texts that stand for a missing value, in every column except ids."""
LARGEST = 1e30
"""Largest magnitude of a number: it must be finite in float32, and its square in float64."""
MOSTLY = 0.8
"""Share of numbers in a text column that makes it look like a column of numbers."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}.*)?$")
_REVERSED = re.compile(r"\d{1,2}([./])\d{1,2}\1\d{4}")
_ORDERS = {"day-first": "%d.%m.%Y", "month-first": "%m.%d.%Y"}
_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([. ]\d{3})+),\d+")
_NEARLY = (
    (re.compile(r"[+-]?[\d.,]+ ?[%€$£]|[€$£] ?[+-]?[\d.,]+"), "write numbers without a unit"),
    (
        re.compile(r"\d{1,2}[./]\d{1,2}[./](\d{4}|\d{2})"),
        "write dates as 2020-01-31, or read them with --dates day-first",
    ),
)
"""Texts that mean a number or a date, and how to write it."""

Where = Callable[[int], str]
"""Gives the name of the row at an index in messages."""


def row_number(index: int) -> str:
    """The name of a row by its number, counted from 1."""
    return f"row {index + 1}"


# Types


def holds_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def holds_numbers(kind: pa.DataType) -> bool:
    """Whether a column of this type can become numbers as it is."""
    return holds_reals(kind) or pa.types.is_boolean(kind) or bool(pa.types.is_temporal(kind))


def holds_reals(kind: pa.DataType) -> bool:
    """Whether a column of this type holds integers, floats or decimals."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def holds_lists(kind: pa.DataType) -> bool:
    """Whether a column of this type holds lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


# Texts


def as_text(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Values as text; texts that stand for a missing value become null, and 1.0 is written as 1."""
    kind = values.type
    try:
        if pa.types.is_dictionary(kind):
            values = values.cast(kind.value_type)
        if pa.types.is_floating(values.type):
            numbers = values.cast(pa.float64()).to_numpy()
            values = pa.chunked_array([pa.array(numbers, from_pandas=True)])
            if _is_whole(numbers).all():
                values = values.cast(pa.int64())
        return without_missing(values.cast(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise ValueError(f"column {name!r} holds {kind}, which is neither text nor numbers") from reason


def count_values(text: pa.ChunkedArray) -> Counter[str]:
    """How often every text occurs; nulls do not count."""
    rows = pc.value_counts(text.drop_null()).to_pylist()
    return Counter({row["values"]: row["counts"] for row in rows})


def without_missing(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same texts; those that stand for a missing value become null."""
    return pc.if_else(pc.is_in(text, value_set=pa.array(MISSING)), pa.scalar(None, pa.string()), text)


def is_missing(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which values are missing."""
    if pa.types.is_floating(values.type):
        return pc.is_null(values, nan_is_null=True)
    known = values if holds_numbers(values.type) or holds_lists(values.type) else as_text(values, "")
    return pc.is_null(known)


def _is_whole(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers an int64 holds exactly; also NaN."""
    return np.isnan(numbers) | (np.equal(numbers, np.round(numbers)) & (np.abs(numbers) < 2.0**63))


# Numbers


def to_numbers(values: pa.ChunkedArray, name: str, where: Where) -> NDArray[np.float64]:
    """Finite numbers with NaN for missing ones; dates are counted in days, durations and times of day in their unit."""
    kind, days = values.type, 1
    if values.null_count == len(values):  # a CSV column without values has no useful type
        return np.full(len(values), np.nan)
    if not holds_numbers(kind):
        raise ValueError(_not_a_number(values, name, where))
    try:
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            # Unsafe only in that it may cut what is finer than a millisecond.
            values, days = values.cast(pa.timestamp("ms"), safe=False).cast(pa.int64()), 86_400_000
        elif pa.types.is_temporal(kind):
            values = values.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())
        numbers = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64) / days
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise ValueError(f"column {name!r} holds {kind}, which cannot become numbers") from reason
    if (beyond := np.abs(numbers) > LARGEST).any():
        index = first_true(beyond)
        if np.isinf(numbers[index]):
            raise ValueError(f"{where(index)} holds an infinite number in column {name!r}; leave the cell blank")
        raise ValueError(
            f"{where(index)} holds {numbers[index]:g} in column {name!r}, which is beyond ±{LARGEST:g}; use larger "
            "units for the column, or leave the cell blank"
        )
    return numbers


def _not_a_number(values: pa.ChunkedArray, name: str, where: Where) -> str:
    """The message for the first text that is not a number."""
    texts = as_text(values, name).to_pylist() if holds_text(values.type) else []
    for index, text in enumerate(texts):
        if text is not None and not is_number(text):
            return (
                f"{where(index)} holds {text!r} in column {name!r}, which must hold numbers; write a number with a "
                "decimal point, or leave the cell blank"
            )
    return f"column {name!r} must hold numbers, got {values.type}"


def first_true(mask: NDArray[np.bool_] | pa.Array) -> int:
    """The index of the first True."""
    return int(np.flatnonzero(mask if isinstance(mask, np.ndarray) else mask.to_numpy(zero_copy_only=False))[0])


def is_number(text: str) -> bool:
    """Whether Python reads it as a number.

    >>> is_number(" 1.5e3"), is_number("1,5"), is_number("1_000")
    (True, False, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def has_comma(text: str) -> bool:
    """Whether it is a number with a decimal comma.

    >>> has_comma("32578,71"), has_comma("1.234,5"), has_comma("a,b")
    (True, True, False)
    """
    return _COMMA.fullmatch(text.strip()) is not None


# Texts that mean dates or numbers


def read_dates(values: pa.ChunkedArray, dates: Dates = "year-first") -> pa.ChunkedArray:
    """Texts that are all dates, times or missing as dates or times, as in a CSV file; other columns as they are.

    With another order of ``dates``, texts such as 31.12.2020 or 31/12/2020 are dates too.

    >>> read_dates(pa.chunked_array([["2020-01-31", "NA"]])).type, read_dates(pa.chunked_array([["2020", "x"]])).type
    (DataType(date32[day]), DataType(string))
    """
    if not holds_text(values.type):
        return values
    text = without_missing(values.cast(pa.string()))
    first = next((one.as_py() for one in text if one.is_valid), None)
    if first is None:
        return values
    if dates in _ORDERS and _REVERSED.fullmatch(first.strip()):
        with suppress(pa.ArrowInvalid):  # one of them is something else
            points = pc.replace_substring(pc.utf8_trim_whitespace(text), "/", ".")
            return pc.strptime(points, format=_ORDERS[dates], unit="s").cast(pa.date32())
    if not _DATE.match(first):
        return values
    for kind in (pa.date32(), pa.timestamp("us")):
        with suppress(pa.ArrowInvalid):
            return text.cast(kind)
    return values


def read_commas(values: pa.ChunkedArray, *, surely: bool = False) -> pa.ChunkedArray:
    """Texts that are all numbers with a decimal comma, integers, or missing, as numbers; others as they are.

    Unless the column ``surely`` holds numbers, 1,234 may be a thousand: some value must have other than three digits
    after its comma.

    >>> read_commas(pa.chunked_array([["1,5", "1.234,25", "7", "NA"]])).to_pylist()
    [1.5, 1234.25, 7.0, None]
    >>> read_commas(pa.chunked_array([["1,234", "7"]])).to_pylist()
    ['1,234', '7']
    """
    if not holds_text(values.type) or not pc.any(pc.match_substring(values, ",")).as_py():
        return values
    text = pc.utf8_trim_whitespace(without_missing(values.cast(pa.string())))
    found = text.drop_null().unique().to_pylist()
    commas = [one for one in found if has_comma(one)]
    certain = commas and (surely or any(len(one.rpartition(",")[2]) != 3 for one in commas))
    if not certain or not all(has_comma(one) or one.lstrip("+-").isdecimal() for one in found):
        return values
    plain = pc.replace_substring(pc.replace_substring_regex(text, pattern="[. ]|^\\+", replacement=""), ",", ".")
    return plain.cast(pa.float64())


def why_text(values: pa.ChunkedArray) -> str | None:
    """What keeps a column of texts, null where missing, from being numbers or dates; None where it is neither.

    >>> why_text(pa.chunked_array([["1", "2", "3", "4", "?"]]))
    "because of the text '?': leave such cells blank to get numbers"
    """
    counts = count_values(values)
    total = sum(counts.values())
    for pattern, advice in _NEARLY:
        alike = [text for text in counts if pattern.fullmatch(text.strip())]
        if alike and sum(counts[text] for text in alike) >= MOSTLY * total:
            return f"because of values such as {alike[0]!r}: {advice}"
    commas = [text for text in counts if has_comma(text)]
    words = [text for text in counts if not is_number(text)]
    others = [text for text in words if not has_comma(text)]
    if not words or total - sum(counts[text] for text in others) < MOSTLY * total:
        return None
    if commas:
        return f"because of values such as {commas[0]!r}: write numbers with a decimal point"
    shown = listed([repr(text) for text in sorted(others)], 3)
    return f"because of the text{'s' * (len(others) > 1)} {shown}: leave such cells blank to get numbers"


# Ids


def to_ids(rows: "NamedTable", column: str) -> pa.Array:
    """A column of ids as int64, or as text where they are not integers; null where one is missing or blank."""
    ids = rows.table[column].combine_chunks()
    if pa.types.is_dictionary(ids.type):
        ids = ids.dictionary_decode()
    if pa.types.is_floating(ids.type):  # integers, in a column with missing values
        numbers = ids.cast(pa.float64()).to_numpy(zero_copy_only=False)
        if not (whole := _is_whole(numbers)).all():
            index = first_true(~whole)
            raise ValueError(
                f"{rows.row(index)} has the id {numbers[index]} in column {column!r}; ids must be whole numbers or text"
            )
        return pa.array(numbers, from_pandas=True).cast(pa.int64())
    try:
        beyond_int64 = pa.types.is_uint64(ids.type) and (pc.max(ids).as_py() or 0) >= 2**63
        if pa.types.is_integer(ids.type) and not beyond_int64:
            return ids.cast(pa.int64())
        text = ids.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise ValueError(
            f"column {column!r} of {rows.name} holds {ids.type}; ids must be whole numbers or text"
        ) from reason
    return pc.if_else(pc.equal(pc.utf8_trim_whitespace(text), ""), pa.scalar(None, pa.string()), text)
