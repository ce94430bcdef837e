"""The text of a CSV file: its encoding and header, and the line where a row of it or a mistake stands."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

_CHUNK = 1 << 16
_CONTROLS = {*range(1, 32)} - set(b"\t\n\v\f\r\x1b")
_MARKS = (  # the longer marks first: that of utf-32 starts with that of utf-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Head:
    """The header of a CSV file; ``alone`` if no row follows it."""

    delimiter: str
    columns: tuple[str, ...]
    alone: bool


def read_head(path: Path, text_encoding: str) -> Head:
    """The header, whose text tells the delimiter; a file that is not in this encoding is refused."""
    start, more = _read_start(path)
    try:
        "a".encode(text_encoding)  # not hex, zip and the like: codecs, but of no text
        decoder = codecs.getincrementaldecoder(text_encoding)()
    except (LookupError, UnicodeError) as reason:
        raise ValueError(f"unknown text encoding {text_encoding!r}; try utf-8 or latin-1") from reason
    if not codecs.lookup(text_encoding).name.startswith(("utf-16", "utf-32")):
        marked = next((name for mark, name in _MARKS if start.startswith(mark)), None)
        if marked is not None:
            raise ValueError(f"{path} is {marked} text, not {text_encoding}; read it {_how(marked)}")
        if _is_binary(start):
            raise ValueError(f"{path} is not a text table; expected CSV or Parquet")
        if b"\0" in start:
            raise ValueError(
                f"{path} holds zero bytes, so it is not {text_encoding} text; often it is utf-16-le, read "
                f"{_how('utf-16-le')}"
            )
    try:
        text = decoder.decode(start).removeprefix("\ufeff")
    except UnicodeError as reason:
        check_text(path, text_encoding)
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
    return Head(delimiter, tuple(columns), alone=not more and not any(rest))


def _read_start(path: Path) -> tuple[bytes, bool]:
    """The first bytes of a file, its first line at least, and whether others follow."""
    with unpacked(path), pa.input_stream(str(path), compression="detect") as stream:
        start = stream.read(_CHUNK)
        while (more := stream.read(len(start))) and not re.search(rb"[\r\n]", start):
            start += more
    return start, bool(more)


@contextmanager
def unpacked(path: Path) -> Iterator[None]:
    """What pyarrow says while it unpacks a compressed file, as one clear line."""
    try:
        yield
    except OSError as reason:
        if reason.errno is not None:  # the system's own: no such file, no right to read it
            raise
        raise ValueError(
            f"{path} cannot be unpacked ({reason}): it is cut short, or not compressed as its name says; copy it again "
            "or unpack it first"
        ) from reason


def _is_binary(start: bytes) -> bool:
    """Whether these bytes are no text in any encoding: control characters that texts do not have.

    In UTF-16 every other byte of Latin text is 0, and only those.
    """
    sides = [start[side::2].count(0) for side in (0, 1)]
    if min(sides) > 0.1 * max(sides):
        return True
    odd = len(start.translate(None, bytes({*range(1, 256)} - _CONTROLS)).replace(b"\0", b""))
    return odd > 0.02 * len(start)


def _how(text_encoding: str) -> str:
    """How an encoding is named, in both places where a message may be read."""
    return f"with --text-encoding {text_encoding} (text_encoding={text_encoding!r} in Python)"


def line_of_row(path: Path, text_encoding: str, delimiter: str, index: int) -> int | None:
    """The line, counted from 1, where row ``index`` starts; None if it cannot be told.

    Blank lines are no rows, and a quoted value may hold line ends, so the file is read again as far as that row: this
    is for messages only.
    """
    seen, start = -1, 1  # the header is row -1
    with _open(path, text_encoding) as text:
        rows = csv.reader(text, delimiter=delimiter)
        try:
            for fields in rows:
                if fields and seen == index:
                    return start
                seen += bool(fields)
                start = rows.line_num + 1
        except (csv.Error, UnicodeError):  # a value beyond the limit of csv, or another encoding
            return None
    return None


def check_text(path: Path, text_encoding: str) -> None:
    """Refuse a file that is not in this encoding, naming the first line that is not."""
    with pa.input_stream(str(path), compression="detect") as stream:
        content = stream.read()
    try:
        content.decode(text_encoding)
    except UnicodeDecodeError as reason:
        before = content[: reason.start].decode(text_encoding, errors="ignore")
        raise ValueError(
            f"line {_line_ends(before) + 1} of {path} is not {text_encoding}; read it {_how('latin-1')}, or name "
            "whatever encoding it has"
        ) from None


def check_quotes(path: Path, text_encoding: str, delimiter: str) -> None:
    """Refuse a quotation mark that is never closed: it would swallow all rows behind it."""
    with pa.input_stream(str(path), compression="detect") as stream:
        count = 0
        while chunk := stream.read(1 << 20):
            count += chunk.count(b'"')
    if count % 2 == 0:  # an open one is the odd one; only then is it worth a closer look
        return
    with _open(path, text_encoding) as lines:
        text = lines.read().removeprefix("\ufeff")
    mark = text.find('"')
    while mark >= 0:
        end = mark
        if mark == 0 or text[mark - 1] in f"{delimiter}\r\n":  # elsewhere it is a letter like others
            end = text.find('"', mark + 1)
            while end >= 0 and text[end + 1 : end + 2] == '"':
                end = text.find('"', end + 2)
            if end < 0:
                line = _line_ends(text[:mark]) + 1
                raise ValueError(f"line {line} of {path} opens a quotation mark that is never closed; close or drop it")
        mark = text.find('"', end + 1)


def _open(path: Path, text_encoding: str) -> io.TextIOWrapper:
    """The text with its line ends as they are."""
    return io.TextIOWrapper(pa.input_stream(str(path), compression="detect"), encoding=text_encoding, newline="")


def _line_ends(text: str) -> int:
    return len(re.findall(r"\r\n|\r|\n", text))
