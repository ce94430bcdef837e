"""Names of features, where what holds them has names: a model must not take one column for another."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def feature_names(graph: Any) -> NDArray[np.object_] | None:
    """Names of the columns of a pair (adjacency, frame); None for anything else, or where they are no texts.

    As in scikit-learn, numbers that pandas puts where there are no names are none.
    """
    columns = getattr(graph[1], "columns", None) if isinstance(graph, tuple) and len(graph) == 2 else None
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.array(list(columns), dtype=object)


def check_names(known: NDArray[np.object_] | None, graph: Any) -> None:
    """Refuse a graph whose features have other names than those that were trained on, or another order."""
    found = feature_names(graph)
    if known is None or found is None or found.tolist() == known.tolist():
        return
    if sorted(found) == sorted(known):
        raise ValueError(f"the features are in another order than in fit; give the columns as {', '.join(known)}")
    strange = [name for name in found if name not in set(known)] or ["none"]
    missing = [name for name in known if name not in set(found)] or ["none"]
    raise ValueError(
        f"the features are others than in fit: not known there {', '.join(strange)}; missing here {', '.join(missing)}"
    )
