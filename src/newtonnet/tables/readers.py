"""Tables from CSV and Parquet files, with a name for every row that a message may have to point at."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as paparquet

from newtonnet.meaning import meant

from .csv_rows import one_line, read_rows, without_rows
from .csv_text import line_of_row, read_head
from .listing import listed


@dataclass(frozen=True)
class NamedTable:
    """A table, or some rows of it, and what it is called in messages.

    Attributes:
        table: the rows.
        name: of the table in messages.
        line: the line of the file where a row starts, None where it cannot be told; for CSV files only.
        first: number of rows before these.
    """

    table: pa.Table
    name: str
    line: Callable[[int], int | None] | None = None
    first: int = 0

    def row(self, index: int) -> str:
        """Where row ``index`` of these stands: its line in a CSV file, else its number."""
        place = self.first + index
        line = None if self.line is None else self.line(place)
        return f"row {place + 1} of {self.name}" if line is None else f"line {line} of {self.name}"

    def column(self, wanted: str | None, usual: str, position: int) -> str:
        """The column that was named, else the usual one, else the one in its place."""
        names = self.table.column_names
        if wanted is not None:
            self.check(wanted)
            return wanted
        if (found := find_usual(usual, names)) is not None:
            return found
        if position >= len(names):
            raise ValueError(f"{self.name} needs a column {usual!r}; found: {listed(names)}")
        if is_unnamed(names[0]):  # row numbers, which may look like ids
            raise ValueError(
                f"the first column of {self.name} has no name ({names[0]!r}): it may hold row numbers, and there is no "
                f"column {usual!r}; name the right one by --{usual}-column, {usual}_column in Python; found: "
                f"{listed(names)}"
            )
        return str(names[position])

    def check(self, *columns: str | None) -> None:
        """Refuse columns that are not there; None stands for no column."""
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


_UNNAMED = re.compile(r"Unnamed: \d+|__index_level_\d+__")


def find_usual(usual: str, names: Sequence[str]) -> str | None:
    """The column of this name, in whatever case where only one is.

    >>> find_usual("weight", ["a", "Weight"]), find_usual("weight", ["a", "Weight", "WEIGHT"])
    ('Weight', None)
    """
    if usual in names:
        return usual
    alike = [name for name in names if name.casefold() == usual]
    return alike[0] if len(alike) == 1 else None


def read_table(source: Any, what: str, *, text_encoding: str, texts: Collection[str]) -> NamedTable:
    """A table from a path, or one that is in memory already.

    Args:
        source: a path to a CSV or Parquet file, a pyarrow table or a pandas frame.
        what: ``nodes`` or ``edges``, for messages.
        text_encoding: of a CSV file.
        texts: columns of a CSV file that are text, whatever they look like: ids and labels.
    """
    found = _in_memory(source, what)
    if found is None:
        path = Path(source)
        found = _read_parquet(path) if is_parquet(path) else _read_csv(path, text_encoding, texts)
    check_different(found)
    if found.table.num_rows == 0 and what == "nodes":
        raise ValueError(f"{found.name} has no rows; it needs one for each node")
    return found


def check_different(found: NamedTable) -> None:
    """Refuse two columns of one name."""
    doubled = next((name for name, count in Counter(found.table.column_names).items() if count > 1), None)
    if doubled is not None:
        raise ValueError(f"{found.name} has two columns {doubled!r}; rename one of them")


def read_header(source: Any, what: str, *, text_encoding: str) -> NamedTable:
    """The columns of such a table, without the rows of a file."""
    found = _in_memory(source.iloc[:0] if hasattr(source, "iloc") else source, what)
    if found is not None:
        return found
    path = Path(source)
    if is_parquet(path):
        return _read_parquet(path, rows=False)
    return NamedTable(without_rows(read_head(path, text_encoding).columns), str(path))


def _in_memory(source: Any, what: str) -> NamedTable | None:
    """The table that this is already; None for a path."""
    if isinstance(source, str | PathLike):
        return None
    if isinstance(source, pa.Table):
        return NamedTable(source, f"the {what}")
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        return NamedTable(_from_pandas(source, what), f"the {what}")
    raise TypeError(f"the {what} must be a path, a pyarrow table or a pandas frame, got {type(source).__name__}")


def _from_pandas(frame: Any, what: str) -> pa.Table:
    """The columns, and what the index names: ids in front of nodes that have none, ends and weights behind edges."""
    names = [name for name in frame.index.names if isinstance(name, str) and name not in frame.columns]
    if what == "edges":
        ends = [name for name in names if name.casefold() in ("source", "target", "weight")]
        frame = frame.assign(**{name: frame.index.get_level_values(name) for name in ends})
    elif len(names) == frame.index.nlevels == 1 and find_usual("id", [*map(str, frame.columns)]) is None:
        # Rows that are merely counted are no ids, whatever their index is called.
        frame = frame if type(frame.index).__name__ == "RangeIndex" else frame.reset_index()
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException as reason:  # a column of several types
        raise ValueError(f"the {what} cannot be read: {one_line(reason)}") from reason


def is_parquet(path: Path) -> bool:
    """By its first bytes or its name; a file that is not there or empty is refused."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a CSV or Parquet file")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; it needs a header line and rows")
    with path.open("rb") as stream:
        magic = stream.read(4)
    return magic == b"PAR1" or path.suffix in (".parquet", ".pq")


def _read_parquet(path: Path, *, rows: bool = True) -> NamedTable:
    with parquet_mistakes(path):
        table = paparquet.read_table(path) if rows else paparquet.read_schema(path).empty_table()
    return NamedTable(table, str(path))


@contextmanager
def parquet_mistakes(path: Path) -> Iterator[None]:
    """What pyarrow says about a Parquet file, as one clear line."""
    try:
        yield
    except (pa.ArrowException, OSError) as reason:
        raise ValueError(f"{path} is not a Parquet file ({one_line(reason)})") from reason


def _read_csv(path: Path, text_encoding: str, texts: Collection[str]) -> NamedTable:
    """The types of all columns but those of texts are inferred."""
    head = read_head(path, text_encoding)
    line = partial(line_of_row, path, text_encoding, head.delimiter)
    table = without_rows(head.columns) if head.alone else read_rows(path, head, text_encoding, texts)
    return NamedTable(table, str(path), line)
