"""Tables from CSV and Parquet files, with a name for every row that a message may have to point at."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as paparquet

from .encoding import MISSING


@dataclass(frozen=True)
class NamedTable:
    """A table and what it is called in messages; rows of a CSV file are counted as its lines are."""

    table: pa.Table
    name: str
    unit: Literal["line", "row"]

    def row(self, index: int) -> str:
        """Where row ``index`` stands."""
        return f"line {index + 2} of {self.name}" if self.unit == "line" else f"row {index + 1} of {self.name}"

    def column(self, wanted: str | None, usual: str, position: int) -> str:
        """The column that was named, else the usual one, else the one in its place."""
        names = self.table.column_names
        if wanted is not None:
            if wanted not in names:
                raise ValueError(f"{self.name} has no column {wanted!r}; found: {', '.join(names)}")
            return wanted
        if usual in names:
            return usual
        if position >= len(names):
            raise ValueError(f"{self.name} needs a column {usual!r}; found: {', '.join(names)}")
        return str(names[position])


def read_table(
    source: Any, what: str, *, text_encoding: str, ids: Sequence[tuple[str, int]], label: str | None = None
) -> NamedTable:
    """A table from a path, or one that is in memory already.

    Args:
        source: a path to a CSV or Parquet file, a pyarrow table or a pandas frame.
        what: ``nodes`` or ``edges``, for messages.
        text_encoding: of a CSV file.
        ids: for every column of ids its name, and its place where no column has that name.
        label: the column of labels, if there is one.
    """
    if isinstance(source, pa.Table):
        found = NamedTable(source, f"the {what}", "row")
    elif isinstance(source, str | PathLike):
        found = _read_file(Path(source), text_encoding, ids, label)
    elif hasattr(source, "columns") and hasattr(source, "iloc"):
        found = NamedTable(pa.Table.from_pandas(source, preserve_index=False), f"the {what}", "row")
    else:
        raise TypeError(f"the {what} must be a path, a pyarrow table or a pandas frame, got {type(source).__name__}")
    names = found.table.column_names
    doubled = next((column for column in names if names.count(column) > 1), None)
    if doubled is not None:
        raise ValueError(f"{found.name} has two columns {doubled!r}; rename one of them")
    if found.table.num_rows == 0 and what == "nodes":
        raise ValueError(f"{found.name} has no rows; it needs one for each node")
    return found


def _read_file(path: Path, text_encoding: str, ids: Sequence[tuple[str, int]], label: str | None) -> NamedTable:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; it needs a header line and rows")
    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic == b"PAR1" or path.suffix in (".parquet", ".pq"):
        try:
            return NamedTable(paparquet.read_table(path), str(path), "row")
        except pa.ArrowInvalid as reason:
            raise ValueError(f"{path} is not a Parquet file ({' '.join(str(reason).split())})") from reason
    return NamedTable(_read_csv(path, text_encoding, ids, label), str(path), "line")


def _read_csv(path: Path, text_encoding: str, ids: Sequence[tuple[str, int]], label: str | None) -> pa.Table:
    """Ids and labels are read as text, whatever they look like; the types of all other columns are inferred."""
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            head = stream.read(1 << 16).decode(text_encoding, errors="ignore").lstrip("\ufeff").splitlines()
    except LookupError as reason:
        raise ValueError(f"unknown text encoding {text_encoding!r}; try utf-8 or latin-1") from reason
    if not head or not head[0].strip():
        raise ValueError(f"{path} must start with a header line, but its first line is blank")
    delimiter = max(",;\t", key=head[0].count)
    header = [field.strip().strip('"') for field in head[0].split(delimiter)]
    as_is = {name if name in header else header[min(place, len(header) - 1)] for name, place in ids} | {label or ""}
    broken: list[Any] = []

    def note(row: Any) -> str:
        broken.append(row)
        return "error"

    try:
        table = pacsv.read_csv(
            path,
            # One thread: only then are broken rows numbered.
            read_options=pacsv.ReadOptions(encoding=text_encoding, use_threads=False),
            parse_options=pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note),
            convert_options=pacsv.ConvertOptions(
                null_values=list(MISSING), column_types=dict.fromkeys(as_is - {""}, pa.string())
            ),
        )
    except (pa.ArrowInvalid, UnicodeError) as reason:
        if broken:
            row = broken[0]
            number = f"line {row.number}" if row.number else "a line"
            raise ValueError(
                f"{number} of {path} has {row.actual_columns} fields, but the header has {row.expected_columns}: "
                f"{row.text[:80]}"
            ) from reason
        _check_text(path, text_encoding)
        raise ValueError(f"{path} cannot be read: {' '.join(str(reason).split())}") from reason
    if any(
        pa.types.is_binary(field.type) for field in table.schema
    ):  # what pyarrow makes of text that it cannot decode
        _check_text(path, text_encoding)
    return table


def _check_text(path: Path, text_encoding: str) -> None:
    """Refuse a file that is not in this encoding, naming the first line that is not."""
    with pa.input_stream(str(path), compression="detect") as stream:
        for number, line in enumerate(stream.read().split(b"\n"), start=1):
            try:
                line.decode(text_encoding)
            except UnicodeDecodeError:
                raise ValueError(
                    f"line {number} of {path} is not {text_encoding}; name the file's encoding, often latin-1"
                ) from None
