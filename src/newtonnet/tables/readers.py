"""Rows of CSV, Parquet and Excel files and of frames in memory, whole or in pieces; every message names the row."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as paparquet

from newtonnet.meaning import listed, meant, one_line

from .options import Columns
from .values import MISSING

BLOCK = 1 << 20
"""Bytes of a file that are read at once; a row must fit in one block."""
LARGEST_BLOCK = 1 << 30
"""Block for the longest rows."""

_START = 1 << 16
_CONTROLS = {*range(1, 32)} - set(b"\t\n\v\f\r\x1b")
_BYTE_ORDER_MARKS = {  # the longer ones first: that of utf-32 starts with that of utf-16
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
_UNNAMED = re.compile(r"Unnamed: \d+|__index_level_\d+__")


@dataclass(frozen=True)
class NamedTable:
    """A table, or some rows of it with ``first`` rows before them, and its name in messages."""

    table: pa.Table
    name: str
    line: Callable[[int], int | None] | None = None
    """Gives the line of a CSV file where a row starts, or None if it cannot be found; None for other tables."""
    first: int = 0

    def row(self, index: int) -> str:
        """Where row ``index`` is: its line in a CSV file, else its number."""
        position = self.first + index
        line = None if self.line is None else self.line(position)
        return f"row {position + 1} of {self.name}" if line is None else f"line {line} of {self.name}"

    def column(self, wanted: str | None, usual: str, position: int) -> str:
        """The column that was named, else the one with the usual name, else the one at this position."""
        names = self.table.column_names
        if wanted is not None:
            self.check(wanted)
            return wanted
        if (found := find_usual(usual, names)) is not None:
            return found
        if position >= len(names):
            raise ValueError(f"{self.name} needs a column {usual!r}; found: {listed(names)}")
        if is_unnamed(names[0]):  # row numbers, which may look like ids
            option = {"source": "from", "target": "to"}.get(usual, usual)
            raise ValueError(
                f"the first column of {self.name} has no name ({names[0]!r}) and may hold row numbers, and there is no "
                f"column {usual!r}; choose one with --{option}-column ({option}_column in Python); found: "
                f"{listed(names)}"
            )
        return str(names[position])

    def check(self, *columns: str | None) -> None:
        """Raise an error for a column that does not exist; None stands for no column."""
        names = self.table.column_names
        for column in columns:
            if column is not None and column not in names:
                raise ValueError(f"{self.name} has no column {column!r}; {meant(column, names)}found: {listed(names)}")


def is_unnamed(name: str) -> bool:
    """Whether a column has no name, or one that pandas gives where there is none.

    >>> is_unnamed(""), is_unnamed("Unnamed: 0"), is_unnamed("__index_level_0__"), is_unnamed("id")
    (True, True, True, False)
    """
    return not name.strip() or _UNNAMED.fullmatch(name) is not None


def find_usual(usual: str, names: Sequence[str]) -> str | None:
    """The column of this name; in any case if only one matches.

    >>> find_usual("weight", ["a", "Weight"]), find_usual("weight", ["a", "Weight", "WEIGHT"])
    ('Weight', None)
    """
    if usual in names:
        return usual
    alike = [name for name in names if name.casefold() == usual]
    return alike[0] if len(alike) == 1 else None


def read_table(source: Any, what: str, *, text_encoding: str, texts: Collection[str]) -> NamedTable:
    """Read a whole table of ``nodes`` or ``edges``; columns ``texts`` of a CSV file are text whatever they hold."""
    found = _in_memory(source, what) or _read_file(Path(source), text_encoding, texts)
    _check_unique(found)
    if found.table.num_rows == 0 and what == "nodes":
        raise ValueError(f"{found.name} has no rows; expected one for each node")
    return found


def read_header(source: Any, what: str, *, text_encoding: str) -> NamedTable:
    """The columns of such a table; the rows of a file are not read."""
    found = _in_memory(source.iloc[:0] if hasattr(source, "iloc") else source, what)
    return found or _read_file(Path(source), text_encoding, None)


def _read_file(path: Path, text_encoding: str, texts: Collection[str] | None) -> NamedTable:
    """A whole file, or only its columns if ``texts`` is None."""
    kind = file_kind(path)
    if kind == "parquet":
        with _parquet_errors(path):
            table = paparquet.read_schema(path).empty_table() if texts is None else paparquet.read_table(path)
        return NamedTable(table, str(path))
    if kind == "excel":
        return NamedTable(_read_excel(path), str(path))
    file = open_csv(path, text_encoding)
    table = file.columns if texts is None or file.header_only else _read_csv(file, texts)
    return NamedTable(table, str(path), partial(_line_of_row, file))


def stream_edges(path: Path, columns: Columns, *, rows: int, text_encoding: str) -> Iterator[NamedTable]:
    """Read the ends and weights of a file of edges, ``rows`` at a time, for tables that do not fit in memory."""
    header = read_header(path, "edges", text_encoding=text_encoding)
    _check_unique(header)
    header.check(columns.source, columns.target, columns.weight)
    names = [name for name in (columns.source, columns.target, columns.weight) if name is not None]
    if (kind := file_kind(path)) == "excel":
        raise ValueError(f"{path} is an Excel file, which cannot be read in pieces; save it as CSV or Parquet")
    if kind == "parquet":
        line, batches = None, _parquet_batches(path, names, rows)
    else:
        file = open_csv(path, text_encoding)
        line, batches = partial(_line_of_row, file), _csv_batches(file, names, columns.weight)
    seen = 0
    for table in _regroup(batches, rows):
        yield NamedTable(table, str(path), line, seen)
        seen += table.num_rows


def _regroup(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
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


def _check_unique(found: NamedTable) -> None:
    doubled = next((name for name, count in Counter(found.table.column_names).items() if count > 1), None)
    if doubled is not None:
        raise ValueError(f"{found.name} has two columns {doubled!r}; rename one of them")


# In memory


def _in_memory(source: Any, what: str) -> NamedTable | None:
    """The table, or None for a path."""
    if isinstance(source, str | PathLike):
        return None
    if isinstance(source, pa.Table):
        return NamedTable(_without_views(source), f"the table of {what}")
    if isinstance(source, pa.RecordBatchReader):
        raise TypeError(f"the {what} are a stream, which can be read only once; give {what}.read_all()")
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        return NamedTable(_without_views(_from_pandas(source, what)), f"the table of {what}")
    if hasattr(source, "__arrow_c_stream__"):
        return NamedTable(_without_views(pa.table(source)), f"the table of {what}")
    raise TypeError(f"the {what} must be a path, a pyarrow table or a pandas frame, got {type(source).__name__}")


def _without_views(table: pa.Table) -> pa.Table:
    """Ordinary texts and categories where Polars has views of texts, with which Arrow can do little."""
    columns = []
    for column in table.columns:
        if column.type == pa.string_view():
            column = column.cast(pa.string())
        elif pa.types.is_dictionary(column.type) and column.type.value_type == pa.string_view():
            chunks = [
                pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string()))
                for chunk in column.chunks
            ]
            column = pa.chunked_array(chunks, type=pa.dictionary(column.type.index_type, pa.string()))
        columns.append(column)
    return pa.table(columns, names=table.column_names)


def _from_pandas(frame: Any, what: str) -> pa.Table:
    """The columns and a named index: ids before the columns of nodes that have none, ends and weights after edges."""
    names = [name for name in frame.index.names if isinstance(name, str) and name not in frame.columns]
    if what == "edges":
        ends = [name for name in names if name.casefold() in ("source", "target", "weight")]
        frame = frame.assign(**{name: frame.index.get_level_values(name) for name in ends})
    elif len(names) == frame.index.nlevels == 1 and find_usual("id", [*map(str, frame.columns)]) is None:
        # Row numbers are not ids, whatever the index is called.
        frame = frame if type(frame.index).__name__ == "RangeIndex" else frame.reset_index()
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException as reason:  # a column of several types
        raise ValueError(f"the {what} cannot be read: {one_line(reason)}") from reason


# Files


def file_kind(path: Path) -> Literal["parquet", "excel", "csv"]:
    """What a file is by its first bytes or its name; it must exist and hold something that can be read."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; expected a CSV or Parquet file")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; expected a header line and rows")
    with path.open("rb") as stream:
        start = stream.read(64).lstrip()
    if start.startswith(b"PAR1") or path.suffix in (".parquet", ".pq"):
        return "parquet"
    if start.startswith(b"PK\x03\x04"):
        if path.suffix in (".xlsx", ".xlsm"):
            return "excel"
        raise ValueError(f"{path} is a zip archive; unpack it first")
    if start.startswith(b"\xd0\xcf\x11\xe0"):
        raise ValueError(f"{path} is an old Excel file; save it as .xlsx or CSV")
    if path.suffix in (".json", ".jsonl", ".ndjson") or start.startswith((b"{", b"[{")):
        raise ValueError(f"{path} is a JSON file; save it as CSV, or give the frame of pandas.read_json in Python")
    return "csv"


def _read_excel(path: Path) -> pa.Table:
    """The first sheet; a column of several types is text, and rows and columns without any value are left out."""
    try:
        import openpyxl
    except ImportError:
        raise ValueError(f"{path} is an Excel file; pip install openpyxl to read it, or save it as CSV") from None
    try:
        workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
        header, *rows = workbook.worksheets[0].iter_rows(values_only=True)
        workbook.close()
        columns = list(zip(*(row for row in rows if any(cell is not None for cell in row)), strict=True))
        named = list(zip(header, columns, strict=True)) if columns else []
        table = pa.table({str(name): column_of(cells) for name, cells in named if name is not None})
    except Exception as reason:  # damaged archives and sheets can raise anything
        why = f"{type(reason).__name__}: {one_line(reason)}"
        raise ValueError(f"{path} is no Excel file with a table ({why}); save it as CSV") from reason
    if not columns:
        raise ValueError(f"{path} has no rows")
    return table


def column_of(cells: Sequence[Any]) -> pa.Array:
    """Values of any types; text if they are of several."""
    try:
        return pa.array(cells)
    except pa.ArrowException:
        return pa.array([None if cell is None else str(cell) for cell in cells])


# Parquet


@contextmanager
def _parquet_errors(path: Path) -> Iterator[None]:
    """Put an error of pyarrow into one clear line."""
    try:
        yield
    except (pa.ArrowException, OSError) as reason:
        raise ValueError(f"{path} is not a Parquet file ({one_line(reason)})") from reason


def _parquet_batches(path: Path, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    with _parquet_errors(path), paparquet.ParquetFile(path, buffer_size=BLOCK) as file:
        yield from file.iter_batches(rows, columns=columns, use_threads=False)


# CSV


@dataclass(frozen=True)
class CsvFile:
    """A CSV file and what its header shows: the columns, as a table without rows; ``header_only`` if no row follows."""

    path: Path
    encoding: str
    delimiter: str
    columns: pa.Table
    header_only: bool


def open_csv(path: Path, text_encoding: str) -> CsvFile:
    """Read the header, which shows the delimiter; raise an error for a file that is not in this encoding."""
    start, more = _read_start(path)
    try:
        "a".encode(text_encoding)  # not hex, zip and the like, which are codecs but not of text
        decoder = codecs.getincrementaldecoder(text_encoding)()
    except (LookupError, UnicodeError) as reason:
        raise ValueError(f"unknown text encoding {text_encoding!r}; try utf-8 or latin-1") from reason
    if not codecs.lookup(text_encoding).name.startswith(("utf-16", "utf-32")):
        marked = next((name for name, marks in _BYTE_ORDER_MARKS.items() if start.startswith(marks)), None)
        if marked is not None:
            raise ValueError(f"{path} is {marked} text, not {text_encoding}; read it {_with_encoding(marked)}")
        if _is_binary(start):
            raise ValueError(f"{path} is not a text table; expected CSV or Parquet")
        if b"\0" in start:
            raise ValueError(
                f"{path} contains zero bytes, so it is not {text_encoding} text; it may be utf-16-le: read it "
                f"{_with_encoding('utf-16-le')}"
            )
    try:
        text = decoder.decode(start).removeprefix("\ufeff")
    except UnicodeError as reason:
        _check_text(path, text_encoding)
        raise ValueError(f"{path} is not {text_encoding} text ({reason})") from reason
    first, *rest = re.split(r"\r\n|\r|\n", text)
    if not first.strip():
        raise ValueError(f"{path} must start with a header line, but its first line is blank")
    delimiter = max(",;\t", key=re.sub('"[^"]*"', "", first).count)
    try:
        columns = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as reason:
        raise ValueError(f"the header of {path} cannot be read ({reason}); is it a CSV file?") from reason
    for mark in "|:^" if len(columns) == 1 else "":
        if mark in first and rest and rest[0].count(mark) == first.count(mark):
            raise ValueError(f"{path}: only one column found; is {mark!r} the separator? use comma, semicolon or tab")
    header = pa.schema([(name, pa.null()) for name in columns]).empty_table()
    return CsvFile(path, text_encoding, delimiter, header, header_only=not more and not any(rest))


def _read_start(path: Path) -> tuple[bytes, bool]:
    """The first bytes of a file, at least its first line, and whether more follow."""
    with _decompression_errors(path), pa.input_stream(str(path), compression="detect") as stream:
        start = stream.read(_START)
        while (more := stream.read(len(start))) and not re.search(rb"[\r\n]", start):
            start += more
    return start, bool(more)


@contextmanager
def _decompression_errors(path: Path) -> Iterator[None]:
    """Put an error of pyarrow with a compressed file into one clear line."""
    try:
        yield
    except OSError as reason:
        if reason.errno is not None:  # from the operating system: no such file, no permission
            raise
        raise ValueError(
            f"{path} cannot be decompressed ({reason}): it is truncated, or not compressed as its name says; copy it "
            "again or decompress it first"
        ) from reason


def _is_binary(start: bytes) -> bool:
    """Whether these bytes are not text in any encoding: they have control characters that texts do not have."""
    # In UTF-16 every other byte of Latin text is 0, and only those.
    sides = [start[side::2].count(0) for side in (0, 1)]
    if min(sides) > 0.1 * max(sides):
        return True
    odd = len(start.translate(None, bytes({*range(1, 256)} - _CONTROLS)).replace(b"\0", b""))
    return odd > 0.02 * len(start)


def _with_encoding(text_encoding: str) -> str:
    """How to choose an encoding, for readers of a message on the command line and in Python."""
    return f"with --text-encoding {text_encoding} (text_encoding={text_encoding!r} in Python)"


def _read_csv(file: CsvFile, texts: Collection[str]) -> pa.Table:
    """All rows; types are inferred, except for the columns of texts."""
    types = dict.fromkeys(texts, pa.string())
    with _csv_errors(file) as options:
        block, threads = BLOCK, True
        while True:
            try:
                table = pacsv.read_csv(file.path, **options(types, block=block, threads=threads))
                break
            except pa.ArrowInvalid as reason:
                if threads:  # with one thread pyarrow numbers broken rows
                    threads = False
                    continue
                if "straddling" not in str(reason) or block >= LARGEST_BLOCK:  # pyarrow's word for a longer row
                    raise
                _check_quotes(file)  # an open quote makes one row of all that follows
                block *= 8
    if any(pa.types.is_binary(field.type) for field in table.schema):  # pyarrow's type of text it cannot decode
        _check_text(file.path, file.encoding)
    return table


def _csv_batches(file: CsvFile, columns: Sequence[str], weight: str | None) -> Iterator[pa.RecordBatch]:
    if file.header_only:
        return
    types = dict.fromkeys(columns, pa.string())

    def not_numbers(kind: object) -> ValueError:
        _check_quotes(file)
        return ValueError(f"column {weight!r} of {file.path} must hold numbers, got {kind}")

    with _csv_errors(file) as options:
        if weight is not None:
            # pyarrow infers a type from the first block alone, and integers there may be followed by other numbers.
            with pacsv.open_csv(file.path, **options({}, columns=[weight])) as reader:
                kind = reader.schema.field(weight).type
            if pa.types.is_binary(kind):  # pyarrow's type of text it cannot decode
                _check_text(file.path, file.encoding)
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                raise not_numbers(kind)
            types[weight] = pa.float64()
        with pacsv.open_csv(file.path, **options(types, columns=columns)) as reader:
            try:
                yield from reader
            except pa.ArrowInvalid as reason:
                if "conversion error to double" in str(reason):
                    raise not_numbers("string") from reason  # the type that reading the whole table would give
                raise


@contextmanager
def _csv_errors(file: CsvFile) -> Iterator[Callable[..., dict[str, Any]]]:
    """Put an error of pyarrow into one clear line; yields a function that gives the options of pyarrow."""
    with _decompression_errors(file.path):
        quotes = _quotes(file)

    def options(
        types: Mapping[str, pa.DataType],
        *,
        columns: Sequence[str] | None = None,
        block: int = BLOCK,
        threads: bool = False,
    ) -> dict[str, Any]:
        parse = {"delimiter": file.delimiter, "newlines_in_values": quotes > 0}
        convert = {"null_values": MISSING, "column_types": types, "include_columns": columns}
        return {
            "read_options": pacsv.ReadOptions(encoding=file.encoding, use_threads=threads, block_size=block),
            "parse_options": pacsv.ParseOptions(**parse),
            "convert_options": pacsv.ConvertOptions(**convert),
        }

    try:
        with _decompression_errors(file.path):
            yield options
    except (pa.ArrowInvalid, UnicodeError) as reason:
        _check_quotes(file)
        row = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", str(reason), re.DOTALL)
        if row is None or "\ufffd" in row[4]:  # pyarrow's sign for what it cannot decode
            _check_text(file.path, file.encoding)
        if row is not None:
            # pyarrow counts rows, the header being the first, and no blank lines.
            line = None if row[1] is None else _line_of_row(file, int(row[1]) - 2)
            raise ValueError(
                f"{'a line' if line is None else f'line {line}'} of {file.path} has {row[3]} fields, but "
                f"the header has {row[2]}: {one_line(row[4])[:80]}"
            ) from reason
        raise ValueError(f"{file.path} cannot be read: {one_line(reason)}") from reason
    if quotes % 2:
        _check_quotes(file)


def _line_of_row(file: CsvFile, index: int) -> int | None:
    """The line, counted from 1, where row ``index`` starts, for messages; None if it cannot be found."""
    # Blank lines are not rows, and a quoted value may contain line breaks, so the file is read up to that row.
    seen, start = -1, 1  # the header is row -1
    with _open_text(file) as text:
        rows = csv.reader(text, delimiter=file.delimiter)
        try:
            for fields in rows:
                if fields and seen == index:
                    return start
                seen += bool(fields)
                start = rows.line_num + 1
        except (csv.Error, UnicodeError):  # a value beyond the limit of csv, or another encoding
            return None
    return None


def _check_text(path: Path, text_encoding: str) -> None:
    """Raise an error with the first line that is not in this encoding."""
    with pa.input_stream(str(path), compression="detect") as stream:
        content = stream.read()
    try:
        content.decode(text_encoding)
    except UnicodeDecodeError as reason:
        before = content[: reason.start].decode(text_encoding, errors="ignore")
        raise ValueError(
            f"line {_line_breaks(before) + 1} of {path} is not {text_encoding}; read it {_with_encoding('latin-1')}, "
            "or with the encoding it has"
        ) from None


def _check_quotes(file: CsvFile) -> None:
    """Raise an error for a quotation mark that is never closed: it would swallow all rows after it."""
    if _quotes(file) % 2 == 0:  # only an odd number can leave one open
        return
    with _open_text(file) as lines:
        text = lines.read().removeprefix("\ufeff")
    # A quotation mark opens a value at its start only; elsewhere it is an ordinary character.
    for value in re.finditer(rf'"(?<![^{file.delimiter}\r\n].)(?:[^"]++|"")*+("?)', text, re.DOTALL):
        if not value[1]:
            raise ValueError(
                f"line {_line_breaks(text[: value.start()]) + 1} of {file.path} opens a quotation mark that is never "
                "closed; close or remove it"
            )


def _quotes(file: CsvFile) -> int:
    """Number of quotation marks in a file."""
    with pa.input_stream(str(file.path), compression="detect") as stream:
        return sum(chunk.count(b'"') for chunk in iter(partial(stream.read, BLOCK), b""))


def _open_text(file: CsvFile) -> io.TextIOWrapper:
    """The text with its line breaks as they are."""
    stream = pa.input_stream(str(file.path), compression="detect")
    return io.TextIOWrapper(stream, encoding=file.encoding, newline="")


def _line_breaks(text: str) -> int:
    return len(re.findall(r"\r\n|\r|\n", text))
