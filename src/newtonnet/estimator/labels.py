"""A graph with the labels that an estimator is to know: the caller's own, the graph's, or those that a mask leaves."""

from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from newtonnet.graphs import Graph, as_graph, code_labels, named_classes

Part = Literal["known", "judged"]
"""Of labels: those that an estimator may learn from, and those that it is judged by."""


def read(graph: Any, y: ArrayLike | None = None, *, part: Part | None = None) -> tuple[Graph, NDArray[Any]]:
    """The graph with these labels, or its own where none are given, and its classes as the caller writes them.

    Args:
        graph: whatever :func:`newtonnet.graphs.as_graph` takes.
        y: one label for each node; -1, None or NaN for unknown.
        part: without ``y``, keep only this part of the labels of PyTorch Geometric's data, if it has masks.

    >>> from newtonnet.graphs import from_edges
    >>> graph, classes = read(from_edges([[0, 1], [1, 2]], np.eye(3)), ["cat", None, "dog"])
    >>> graph.labels, classes
    (array([ 0, -1,  1]), array(['cat', 'dog'], dtype='<U3'))
    """
    whole = as_graph(graph)
    if y is None:
        kept = None if part is None or isinstance(graph, Graph | tuple) else _masked(graph, part, whole.nodes)
        if kept is not None:
            whole = whole.relabelled(np.where(kept, whole.labels, -1))
        return whole, named_classes(whole.class_names)
    labels, classes = code_labels(y, whole.nodes)
    return whole.relabelled(labels, tuple(str(c) for c in classes)), classes


def _masked(data: Any, part: Part, nodes: int) -> NDArray[np.bool_] | None:
    """Nodes of this part by the data's masks; None for data without masks.

    What validates may be learned from: an estimator holds back labels by itself. Where one part has no masks it has all
    nodes that are not of the other.
    """
    found = {name: _mask(data, name, nodes) for name in ("train_mask", "val_mask", "test_mask")}
    known = [mask for name, mask in found.items() if mask is not None and name != "test_mask"]
    judged = [mask for name, mask in found.items() if mask is not None and name == "test_mask"]
    own, other = (known, judged) if part == "known" else (judged, known)
    if not own and not other:
        return None
    chosen: NDArray[np.bool_] = np.any(own or other, axis=0)
    return chosen if own else ~chosen


def _mask(data: Any, name: str, nodes: int) -> NDArray[np.bool_] | None:
    given = getattr(data, name, None)
    if given is None:
        return None
    mask = torch.as_tensor(given).cpu().numpy()
    if mask.ndim == 2 and mask.shape[1] > 1:
        raise ValueError(
            f"{name} has {mask.shape[1]} splits; choose one with data.{name} = data.{name}[:, 0] and so on, or give y "
            "with -1 where the class is unknown"
        )
    if mask.dtype != np.bool_ or mask.size != nodes:
        raise ValueError(f"{name} must be one truth value for each of {nodes} nodes, got {mask.dtype} {mask.shape}")
    return mask.reshape(-1)
