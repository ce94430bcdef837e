"""Results of claims at rest: JSON lines that are only ever appended to, whole, and survive being cut off."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Line = Mapping[str, Any]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All whole lines of a file, none where there is no file; a last line that was cut off is left out.

    A line before the last that is no JSON object is refused: nothing that this module writes leaves one.
    """
    if not path.exists():
        return []
    *whole, torn = path.read_bytes().split(b"\n")
    lines = []
    for number, raw in enumerate(whole, 1):
        line = _parsed(raw)
        if line is None:
            raise ValueError(f"{path}, line {number} is no JSON object; remove it, and its work is done again")
        lines.append(line)
    last = _parsed(torn)
    return lines if last is None else [*lines, last]


def append_line(path: Path, line: Line) -> None:
    """Add one line and wait until it is on the disk; what a cut-off write left at the end goes first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(line, allow_nan=False) + "\n"
    with path.open("a+b") as file:
        _mend(file.fileno(), path)
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def _mend(descriptor: int, path: Path) -> None:
    """End a whole last line that lacks its line feed, and cut a torn one away."""
    content = path.read_bytes()
    if not content or content.endswith(b"\n"):
        return
    start = content.rfind(b"\n") + 1
    if _parsed(content[start:]) is None:
        os.truncate(descriptor, start)
    else:
        os.write(descriptor, b"\n")


def _parsed(raw: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(raw)
    except ValueError:  # also bytes that are cut inside a character
        return None
    return value if isinstance(value, dict) else None
