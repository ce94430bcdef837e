"""Names in a message: a few of them, however many there are."""

from collections.abc import Sequence

MOST = 10
"""Names that a message lists."""


def listed(names: Sequence[str]) -> str:
    """The first names, and how many follow.

    >>> listed(["a", "b"]), listed("abcdefghijklm")
    ('a, b', 'a, b, c, d, e, f, g, h, i, j and 3 more')
    """
    more = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {more:,} more" if more > 0 else "")
