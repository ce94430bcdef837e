"""Rows of a CSV file as pyarrow reads them, what it says about mistakes put into one clear line."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from .column_values import MISSING
from .csv_text import Head, check_quotes, check_text, line_of_row, unpacked

BLOCK = 1 << 20
"""Bytes of a file that are read at once; no row may be longer."""

LARGEST = 1 << 30
"""A block for the longest rows."""


def without_rows(names: Sequence[str]) -> pa.Table:
    """A table of these columns and nothing else."""
    return pa.Table.from_arrays([pa.nulls(0)] * len(names), names=list(names))


def read_rows(path: Path, head: Head, text_encoding: str, texts: Collection[str]) -> pa.Table:
    """All rows; the types of columns are inferred, but for those of texts."""
    types = dict.fromkeys(texts, pa.string())
    with csv_mistakes(path, text_encoding, head) as note:
        block = BLOCK
        while True:
            try:
                table = pacsv.read_csv(path, **csv_options(head, text_encoding, types, note, block=block))
                break
            except pa.ArrowInvalid as reason:
                if "straddling" not in str(reason) or block >= LARGEST:  # what pyarrow says of a longer row
                    raise
                check_quotes(path, text_encoding, head.delimiter)  # one that is open makes a row of all the rest
                block *= 8
    if any(pa.types.is_binary(field.type) for field in table.schema):  # what pyarrow makes of text it cannot decode
        check_text(path, text_encoding)
    return table


def csv_options(
    head: Head,
    text_encoding: str,
    types: Mapping[str, pa.DataType],
    note: Callable[[Any], str],
    *,
    columns: Sequence[str] = (),
    block: int = BLOCK,
) -> dict[str, Any]:
    """How pyarrow is to read a CSV file.

    Args:
        head: of the file.
        text_encoding: of the file.
        types: of some columns; those of the others are inferred.
        note: called with every row that has another number of fields than the header.
        columns: those to read; all if none is named.
        block: bytes that are read at once; no row may be longer.
    """
    return {
        # One thread: only then are broken rows numbered.
        "read_options": pacsv.ReadOptions(encoding=text_encoding, use_threads=False, block_size=block),
        "parse_options": pacsv.ParseOptions(
            delimiter=head.delimiter, newlines_in_values=True, invalid_row_handler=note
        ),
        "convert_options": pacsv.ConvertOptions(
            null_values=list(MISSING), column_types=dict(types), include_columns=list(columns) or None
        ),
    }


@contextmanager
def csv_mistakes(path: Path, text_encoding: str, head: Head) -> Iterator[Callable[[Any], str]]:
    """What pyarrow says about a CSV file while it is read, as one clear line; gives what notes its broken rows."""
    broken: list[Any] = []

    def note(row: Any) -> str:
        broken.append(row)
        return "error"

    try:
        with unpacked(path):
            yield note
    except (pa.ArrowInvalid, UnicodeError) as reason:
        check_quotes(path, text_encoding, head.delimiter)
        if broken:
            row = broken[0]
            # pyarrow counts rows, the header being the first, and no blank lines.
            where = None if row.number is None else line_of_row(path, text_encoding, head.delimiter, row.number - 2)
            raise ValueError(
                f"{'a line' if where is None else f'line {where}'} of {path} has {row.actual_columns} fields, but the "
                f"header has {row.expected_columns}: {one_line(row.text)[:80]}"
            ) from reason
        check_text(path, text_encoding)
        raise ValueError(f"{path} cannot be read: {one_line(reason)}") from reason
    check_quotes(path, text_encoding, head.delimiter)


def one_line(what: object) -> str:
    """A message of another package without its line ends."""
    return " ".join(str(what).split())
