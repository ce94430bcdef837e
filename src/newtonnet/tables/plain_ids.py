"""Ids of nodes as people have them: whole numbers, whole numbers that became floats, or text."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .readers import NamedTable


def plain_ids(rows: NamedTable, column: str) -> pa.Array:
    """A column of ids as int64, or as text where they are no whole numbers; null where one is missing or blank."""
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


def first_place(mask: pa.Array) -> int:
    """The place of the first True."""
    return int(np.flatnonzero(mask.to_numpy(zero_copy_only=False))[0])
