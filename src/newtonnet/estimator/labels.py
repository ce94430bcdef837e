"""A graph with the labels that an estimator is to know: the caller's own, the graph's, or those that a mask leaves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from newtonnet.graphs import Graph, as_graph, code_labels, named_classes

KNOWN = ("train_mask", "val_mask")
"""Masks of PyTorch Geometric whose labels may be learned from; what validates is held back by the estimator itself."""

JUDGED = ("test_mask",)


def read(graph: Any, y: ArrayLike | None = None, *, masks: Sequence[str] = ()) -> tuple[Graph, NDArray[Any]]:
    """The graph with these labels, or its own where none are given, and its classes as the caller writes them.

    Args:
        graph: whatever :func:`newtonnet.graphs.as_graph` takes.
        y: one label for each node; -1, None or NaN for unknown.
        masks: without ``y``, only labels that one of these masks of PyTorch Geometric's data names are known, if it has
            such masks.

    >>> from newtonnet.graphs import from_edges
    >>> graph, classes = read(from_edges([[0, 1], [1, 2]], np.eye(3)), ["cat", None, "dog"])
    >>> graph.labels, classes
    (array([ 0, -1,  1]), array(['cat', 'dog'], dtype='<U3'))
    """
    whole = as_graph(graph)
    if y is None:
        kept = None if isinstance(graph, Graph | tuple) else _masked(graph, masks, whole.nodes)
        if kept is not None:
            whole = whole.relabelled(np.where(kept, whole.labels, -1))
        return whole, named_classes(whole.class_names)
    labels, classes = code_labels(y, whole.nodes)
    return whole.relabelled(labels, tuple(str(c) for c in classes)), classes


def _masked(data: Any, masks: Sequence[str], nodes: int) -> NDArray[np.bool_] | None:
    """Nodes that one of the masks names; None for data without such masks."""
    found = {name: getattr(data, name, None) for name in masks}
    there = {name: np.asarray(mask.cpu()) for name, mask in found.items() if mask is not None}
    for name, mask in there.items():
        if mask.ndim == 2 and mask.shape[1] > 1:
            raise ValueError(
                f"{name} has {mask.shape[1]} splits; choose one with data.{name} = data.{name}[:, 0] and so on, or "
                "give y with -1 where the class is unknown"
            )
        if mask.dtype != np.bool_ or mask.size != nodes:
            raise ValueError(f"{name} must be one truth value for each of {nodes} nodes, got {mask.dtype} {mask.shape}")
    return np.logical_or.reduce([mask.reshape(-1) for mask in there.values()]) if there else None
