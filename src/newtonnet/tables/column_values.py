"""The values of one column as text or as numbers, whatever type the file gave them."""

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .text_numbers import has_comma, is_number

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
"""Texts that stand for a missing value, in every column but ids."""

LARGEST = 1e30
"""Magnitude of numbers: their squares must be numbers too, and they themselves in float32."""

THOUSAND = 3
"""Digits of a group."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}.*)?$")

Where = Callable[[int], str]
"""What a message calls the row of this index."""


def row_number(index: int) -> str:
    """A row by its number, counted from 1."""
    return f"row {index + 1}"


def as_text(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Values as text; texts that stand for a missing value become null, and 1.0 is written as 1."""
    kind = values.type
    try:
        if pa.types.is_dictionary(kind):
            values = values.cast(kind.value_type)
        if pa.types.is_floating(values.type):
            values = values.cast(pa.float64())
            values = pc.if_else(pc.is_nan(values), pa.scalar(None, pa.float64()), values)
            if _all_whole(values):
                values = values.cast(pa.int64())
        return without_missing(values.cast(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise ValueError(f"column {name!r} holds {kind}, which is neither text nor numbers") from reason


def without_missing(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same texts; those that stand for a missing value become null."""
    return pc.if_else(pc.is_in(text, value_set=pa.array(MISSING)), pa.scalar(None, pa.string()), text)


def read_dates(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts that are all dates or times, or missing, as such, which is how a CSV file of them is read; others as is.

    >>> read_dates(pa.chunked_array([["2020-01-31", "NA"]])).type, read_dates(pa.chunked_array([["2020", "x"]])).type
    (DataType(date32[day]), DataType(string))
    """
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values
    text = without_missing(values.cast(pa.string()))
    first = next((one.as_py() for one in text if one.is_valid), None)
    if first is None or not _DATE.match(first):
        return values
    for kind in (pa.date32(), pa.timestamp("us")):
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:  # one of them is another thing
            continue
    return values


def read_commas(values: pa.ChunkedArray, *, surely: bool = False) -> pa.ChunkedArray:
    """Texts that are all numbers with a decimal comma, whole ones, or missing, as numbers; others as they are.

    Args:
        values: a column.
        surely: it holds numbers; else 1,234 may be a thousand, and some value needs other than three digits behind.

    >>> read_commas(pa.chunked_array([["1,5", "1.234,25", "7", "NA"]])).to_pylist()
    [1.5, 1234.25, 7.0, None]
    >>> read_commas(pa.chunked_array([["1,234", "7"]])).to_pylist()
    ['1,234', '7']
    """
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values
    if not pc.any(pc.match_substring(values, ",")).as_py():
        return values
    text = pc.utf8_trim_whitespace(without_missing(values.cast(pa.string())))
    found = text.drop_null().unique().to_pylist()
    broken = [one for one in found if has_comma(one)]
    if not broken or not (surely or any(len(one.rpartition(",")[2]) != THOUSAND for one in broken)):
        return values
    if not all(has_comma(one) or one.lstrip("+-").isdecimal() for one in found):
        return values
    plain = pc.replace_substring(pc.replace_substring_regex(text, pattern="[. ]|^\\+", replacement=""), ",", ".")
    return plain.cast(pa.float64())


def is_missing(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which values are missing."""
    if pa.types.is_floating(values.type):
        return pc.is_null(values, nan_is_null=True)
    known = values if holds_numbers(values.type) or holds_lists(values.type) else as_text(values, "")
    return pc.is_null(known)


def _all_whole(numbers: pa.ChunkedArray) -> bool:
    """Whether a 64-bit whole number holds each of them."""
    small = pc.less(pc.abs(numbers), 2.0**63)
    return pc.all(pc.and_(small, pc.equal(numbers, pc.round(numbers)))).as_py() is not False


def holds_numbers(kind: pa.DataType) -> bool:
    """Whether a column of this type can become numbers as it is."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_temporal)
    return any(test(kind) for test in tests)


def holds_lists(kind: pa.DataType) -> bool:
    """Whether a column of this type holds lists."""
    return any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def to_numbers(values: pa.ChunkedArray, name: str, where: Where) -> NDArray[np.float64]:
    """Numbers with NaN for missing, none of them infinite; moments are counted in days."""
    kind, days = values.type, 1
    if values.null_count == len(values):  # whatever their type, which a CSV file without values cannot tell
        return np.full(len(values), np.nan)
    if not holds_numbers(kind):
        raise ValueError(_wrong_text(values, name, where))
    try:
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            # Unsafe only in that it may cut what is finer than a millisecond.
            values, days = values.cast(pa.timestamp("ms"), safe=False).cast(pa.int64()), 86_400_000
        elif pa.types.is_temporal(kind):
            values = values.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())
        numbers = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64) / days
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise ValueError(f"column {name!r} holds {kind}, which cannot become numbers") from reason
    if np.isinf(numbers).any():
        raise ValueError(
            f"{where(first_of(np.isinf(numbers)))} holds an infinite number in column {name!r}; leave the cell blank"
        )
    huge = np.abs(numbers) > LARGEST
    if huge.any():
        index = first_of(huge)
        raise ValueError(
            f"{where(index)} holds {numbers[index]:g} in column {name!r}, which is beyond ±{LARGEST:g}; write the "
            "column in larger units, or leave the cell blank"
        )
    return numbers


def _wrong_text(values: pa.ChunkedArray, name: str, where: Where) -> str:
    """The first text that is no number where all should be."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        texts = as_text(values, name).to_pylist()
        for index, text in enumerate(texts):
            if text is not None and not is_number(text):
                return (
                    f"{where(index)} holds {text!r} in column {name!r}, which must hold numbers; write it as one, with "
                    "a decimal point, or leave the cell blank"
                )
    return f"column {name!r} must hold numbers, got {values.type}"


def first_of(mask: NDArray[np.bool_]) -> int:
    """Where a mask is true for the first time."""
    return int(np.flatnonzero(mask)[0])
