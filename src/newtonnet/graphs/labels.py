"""Labels as people have them: numbers, texts or truth values, with -1, None or NaN where the class is unknown."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def code_labels(y: ArrayLike | Sequence[Any], nodes: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Every node's class by its number, -1 for unknown, shape ``(n,)``, and the classes, sorted, as they were given.

    Args:
        y: one label for each node; -1, None, NaN, blanks and what an array masks mean unknown.
        nodes: how many there are.

    >>> code_labels(["dog", None, "cat", "dog"], 4)
    (array([ 1, -1,  0,  1]), array(['cat', 'dog'], dtype='<U3'))
    >>> code_labels([3, -1, 7, 3], 4)
    (array([ 0, -1,  1,  0]), array([3, 7]))
    """
    known, values = _known(y, nodes)
    classes, codes = np.unique(values, return_inverse=True)
    labels = np.full(nodes, -1, dtype=np.int64)
    labels[known] = codes
    return labels, classes


def named_classes(names: Sequence[str]) -> NDArray[Any]:
    """Classes by their names, as numbers or truth values where the names are those of sorted ones.

    A class -1 stays a text, since the number would mean unknown.

    >>> named_classes(("1", "2", "10")), named_classes(("False", "True")), named_classes(("01", "2"))
    (array([ 1,  2, 10]), array([False,  True]), array(['01', '2'], dtype='<U2'))
    """
    if tuple(names) == ("False", "True"):
        return np.array([False, True])
    numbers = [int(name) for name in names if name.removeprefix("-").isdecimal() and len(name) < 16]
    if -1 not in numbers and numbers == sorted(numbers) and [str(number) for number in numbers] == list(names):
        return np.array(numbers, dtype=np.int64)
    return np.array(names)


def _known(y: ArrayLike | Sequence[Any], nodes: int) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which nodes have a label, shape ``(n,)``, and those labels, whole numbers as integers."""
    given = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    masked = np.ma.getmaskarray(y) if isinstance(y, np.ma.MaskedArray) else np.zeros(given.shape, dtype=np.bool_)
    if given.ndim == 2 and given.shape[1] == 1:
        given, masked = given[:, 0], masked[:, 0]
    if given.shape != (nodes,):
        raise ValueError(f"expected {nodes} labels, one for each node, got shape {given.shape}")
    if given.dtype.kind in "iub":
        known = ~masked & (given != -1 if given.dtype.kind == "i" else True)
        return known, given[known]
    given = np.array([_plain(value) for value in given], dtype=object) if given.dtype.kind == "O" else given
    known = ~masked & np.array([not _missing(value) for value in given], dtype=np.bool_)
    found = given[known].tolist()
    kinds = {_kind(value) for value in found}
    if len(kinds) > 1 or not kinds <= {str, bool, float}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"labels must be all numbers or all texts, got {names}; write them alike")
    values = np.array(found)
    if values.dtype.kind == "f":
        broken = values[~np.isfinite(values) | (values != np.round(values)) | (np.abs(values) > 2**53)]
        if len(broken):
            raise ValueError(f"labels must be classes, got the number {broken[0]}; use whole numbers or texts")
        values = values.astype(np.int64)
    return known, values


def _plain(value: Any) -> Any:
    """What a tensor or an array of one number holds, nothing where it is masked; everything else as it is."""
    if value is np.ma.masked:
        return None
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def _kind(value: Any) -> type:
    """Text, truth value or number, whichever library it comes from."""
    if isinstance(value, bool | np.bool_):
        return bool
    if isinstance(value, int | float | np.number):
        return float
    return str if isinstance(value, str) else type(value)


def _missing(value: Any) -> bool:
    """None, NaN and pandas' NA, which differ from themselves or cannot be compared, -1, and nothing but blanks."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return bool(value != value) or (not isinstance(value, str | bool) and bool(value == -1))
    except TypeError:
        return True
