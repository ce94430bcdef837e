"""Words of messages: suggestions for misspelled names, lists cut short, counted nouns, one line, missing packages."""

import difflib
import unicodedata
from collections.abc import Iterable, Sequence


def meant(wanted: str, names: Iterable[str]) -> str:
    """The closest name, ignoring case, as a question; empty if none is close.

    >>> meant("Colour", ["id", "colour"]), meant("age", ["id", "colour"])
    ("did you mean 'colour'? ", '')
    """
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(wanted.casefold(), folded, n=1)
    return f"did you mean {folded[near[0]]!r}? " if near else ""


def escaped(text: str) -> str:
    r"""A text with its control characters written out, so that a name cannot move the cursor of a terminal.

    >>> print(escaped("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    kinds = ("Cc", "Cf", "Zl", "Zp", "Cs")
    return "".join(
        ascii(letter)[1:-1] if letter != "\n" and unicodedata.category(letter) in kinds else letter for letter in text
    )


MOST_LISTED = 10
"""Names that a message lists."""


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """The first names, and how many more there are.

    >>> listed(["a", "b"]), listed("abcdefghijklm")
    ('a, b', 'a, b, c, d, e, f, g, h, i, j and 3 more')
    """
    more = len(names) - most
    return ", ".join(escaped(name).replace("\n", "\\n") for name in names[:most]) + (
        f" and {more:,} more" if more > 0 else ""
    )


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "edge"), counted(1500, "edge"), counted(2, "class")
    ('1 edge', '1,500 edges', '2 classes')
    """
    return f"{number:,} {noun}{'' if number == 1 else 'es' if noun.endswith('s') else 's'}"


def one_line(message: object) -> str:
    r"""A message of others without its line breaks.

    >>> one_line("expected 2 columns:\n1, 2, 3\n")
    'expected 2 columns: 1, 2, 3'
    """
    return " ".join(str(message).split())


def lacking(what: str, extra: str, reason: Exception) -> ValueError:
    """The error for something that needs packages which only an extra installs."""
    return ValueError(f"{what} ({reason}); install it with pip install 'newtonnet-spectral[{extra}]'")
