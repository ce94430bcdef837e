"""Labels as people have them: numbers, texts or truth values, with -1, None or NaN where the class is unknown."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from newtonnet.graphs import Graph, as_graph


def read(graph: Any, y: ArrayLike | None = None) -> tuple[Graph, NDArray[Any]]:
    """The graph with these labels, or its own where none are given, and its classes as the caller writes them.

    Args:
        graph: whatever :func:`newtonnet.graphs.as_graph` takes.
        y: one label for each node; -1, None or NaN for unknown.

    >>> from newtonnet.graphs import from_edges
    >>> graph, classes = read(from_edges([[0, 1], [1, 2]], np.eye(3)), ["cat", None, "dog"])
    >>> graph.labels, classes
    (array([ 0, -1,  1]), array(['cat', 'dog'], dtype='<U3'))
    """
    whole = as_graph(graph)
    if y is None:
        return whole, own_classes(whole)
    known, values = known_labels(y, whole.nodes)
    classes, codes = np.unique(values, return_inverse=True)
    labels = np.full(whole.nodes, -1, dtype=np.int64)
    labels[known] = codes
    return whole.relabelled(labels, tuple(str(c) for c in classes)), classes


def own_classes(graph: Graph) -> NDArray[Any]:
    """The classes of a graph: its names, or numbers where the names are 0, 1, 2 and so on."""
    numbers = tuple(str(c) for c in range(graph.classes))
    return np.arange(graph.classes) if graph.class_names == numbers else np.array(graph.class_names)


def known_labels(y: ArrayLike | Sequence[Any], nodes: int) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which nodes have a label, shape ``(n,)``, and those labels, whole numbers as integers."""
    given = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.shape != (nodes,):
        raise ValueError(f"expected {nodes} labels, one for each node, got shape {given.shape}")
    if given.dtype.kind in "iub":
        known = given != -1 if given.dtype.kind == "i" else np.ones(nodes, dtype=np.bool_)
        return known, given[known]
    known = np.array([not _missing(value) for value in given], dtype=np.bool_)
    found = given[known].tolist()
    kinds = {_kind(value) for value in found}
    if len(kinds) > 1 or not kinds <= {str, bool, float}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"labels must be all numbers or all texts, got {names}; write them alike")
    values = np.array(found)
    if values.dtype.kind == "f":
        broken = values[~np.isfinite(values) | (values != np.round(values))]
        if len(broken):
            raise ValueError(f"labels must be classes, got the number {broken[0]}; use whole numbers or texts")
        values = values.astype(np.int64)
    return known, values


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
