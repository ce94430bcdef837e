"""Words of messages: suggestions for misspelled names, lists cut short, and counted nouns."""

import difflib
from collections.abc import Iterable, Sequence


def meant(wanted: str, names: Iterable[str]) -> str:
    """The closest name, ignoring case, as a question; empty if none is close.

    >>> meant("Colour", ["id", "colour"]), meant("age", ["id", "colour"])
    ("did you mean 'colour'? ", '')
    """
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(wanted.casefold(), folded, n=1)
    return f"did you mean {folded[near[0]]!r}? " if near else ""


MOST_LISTED = 10
"""Names that a message lists."""


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """The first names, and how many more there are.

    >>> listed(["a", "b"]), listed("abcdefghijklm")
    ('a, b', 'a, b, c, d, e, f, g, h, i, j and 3 more')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "edge"), counted(1500, "edge"), counted(2, "class")
    ('1 edge', '1,500 edges', '2 classes')
    """
    return f"{number:,} {noun}{'' if number == 1 else 'es' if noun.endswith('s') else 's'}"
