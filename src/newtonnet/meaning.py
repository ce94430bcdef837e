"""Suggestions for misspelled names."""

import difflib
from collections.abc import Iterable


def meant(wanted: str, names: Iterable[str]) -> str:
    """A question with the closest name, ignoring case; empty if no name is close.

    Args:
        wanted: the name that was given.
        names: the names that exist.

    >>> meant("Colour", ["id", "colour"]), meant("age", ["id", "colour"])
    ("did you mean 'colour'? ", '')
    """
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(wanted.casefold(), folded, n=1)
    return f"did you mean {folded[near[0]]!r}? " if near else ""
