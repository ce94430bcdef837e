"""Files that are written atomically, and pages with marked parts that are generated."""

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary file in the folder of ``path``; it becomes ``path`` at the end, or is removed after an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        os.umask(mask := os.umask(0))  # it can be read only by setting it
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def fill_marked(text: str, word: str, make: Callable[[str], str | None]) -> str:
    """Replace the text between the markers ``<!-- WORD ... -->`` and ``<!-- end -->`` of a page.

    Args:
        text: the page.
        word: the first word of its markers.
        make: from the rest of a marker to its text; None keeps the present text.

    Returns:
        The page with the new text.

    >>> print(fill_marked("<!-- sum 1 2 -->old<!-- end -->", "sum", lambda rest: str(sum(map(int, rest.split())))))
    <!-- sum 1 2 -->
    <BLANKLINE>
    3
    <BLANKLINE>
    <!-- end -->
    """

    def fill(match: re.Match[str]) -> str:
        body = make(match["rest"])
        return match[0] if body is None else f"<!-- {word} {match['rest']} -->\n\n{body}\n\n<!-- end -->"

    return re.sub(rf"<!-- {re.escape(word)} (?P<rest>[^\n]+?) -->.*?<!-- end -->", fill, text, flags=re.DOTALL)


def check_writable(path: Path) -> None:
    """Raise an error for a path that cannot be written to, before any work is done for it."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file to write to")
    existing = next(parent for parent in path.absolute().parents if parent.exists())
    if not existing.is_dir():
        raise ValueError(f"{existing} is a file, so nothing can be written below it; name another place")
    try:
        with tempfile.TemporaryFile(dir=existing):  # permissions are not enough: a file system may be read-only
            pass
    except OSError as reason:
        raise ValueError(f"nothing can be written to {existing} ({reason.strerror}); name another place") from None
