"""Rows of a CSV or Parquet file some at a time, for tables that do not fit in memory."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as paparquet

from .csv_rows import BLOCK, csv_mistakes, csv_options
from .csv_text import Head, check_quotes, check_text, line_of_row, read_head
from .readers import NamedTable, check_different, is_parquet, parquet_mistakes, read_header


def stream_table(
    path: Path, what: str, *, texts: Sequence[str], number: str | None, rows: int, text_encoding: str
) -> Iterator[NamedTable]:
    """Some columns of a file, so many rows at a time; each piece knows where it stands in the file.

    Args:
        path: a CSV or Parquet file.
        what: ``nodes`` or ``edges``, for messages.
        texts: columns to read that are text in a CSV file, whatever they look like.
        number: one more column to read, which is to hold numbers.
        rows: of a piece; the last one may have fewer.
        text_encoding: of a CSV file.
    """
    columns = [*texts, *([] if number is None else [number])]
    header = read_header(path, what, text_encoding=text_encoding)
    check_different(header)
    header.check(*columns)
    line = None
    if is_parquet(path):
        batches = _parquet_batches(path, columns, rows)
    else:
        head = read_head(path, text_encoding)
        line = partial(line_of_row, path, text_encoding, head.delimiter)
        batches = _csv_batches(path, head, texts, number, text_encoding)
    seen = 0
    for table in _regrouped(batches, rows):
        yield NamedTable(table, str(path), line, seen)
        seen += table.num_rows


def _regrouped(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """The same rows as tables of one size."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        while count >= rows:
            table = pa.Table.from_batches(held)
            yield table.slice(0, rows)
            held, count = table.slice(rows).to_batches(), count - rows
    if count:
        yield pa.Table.from_batches(held)


def _parquet_batches(path: Path, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    with parquet_mistakes(path), paparquet.ParquetFile(path, buffer_size=BLOCK) as file:
        yield from file.iter_batches(rows, columns=list(columns), use_threads=False)


def _csv_batches(
    path: Path, head: Head, texts: Sequence[str], number: str | None, text_encoding: str
) -> Iterator[pa.RecordBatch]:
    if head.alone:
        return
    types = dict.fromkeys(texts, pa.string())
    with csv_mistakes(path, text_encoding, head) as note:

        def open_file(columns: Sequence[str]) -> pacsv.CSVStreamingReader:
            return pacsv.open_csv(path, **csv_options(head, text_encoding, types, note, columns=columns, block=BLOCK))

        def refuse(kind: object) -> ValueError:
            check_quotes(path, text_encoding, head.delimiter)
            return ValueError(f"column {number!r} of {path} must hold numbers, got {kind}")

        if number is not None:
            # A type is inferred from the first block alone, and whole numbers there may be followed by others.
            with open_file([number]) as reader:
                kind = reader.schema.field(number).type
            if pa.types.is_binary(kind):  # what pyarrow makes of text it cannot decode
                check_text(path, text_encoding)
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                raise refuse(kind)
            types[number] = pa.float64()
        with open_file([*texts, *([] if number is None else [number])]) as reader:
            try:
                yield from reader
            except pa.ArrowInvalid as reason:
                if "conversion error to double" in str(reason):
                    raise refuse("string") from reason  # one text makes a column of texts in a table that is read whole
                raise
