"""The name that was probably meant where another was given."""

import difflib
from collections.abc import Iterable


def meant(wanted: str, names: Iterable[str]) -> str:
    """The name that is nearest, in whatever case, as a question; nothing where none is near.

    >>> meant("Colour", ["id", "colour"]), meant("age", ["id", "colour"])
    ("did you mean 'colour'? ", '')
    """
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(wanted.casefold(), folded, n=1)
    return f"did you mean {folded[near[0]]!r}? " if near else ""
