"""What an estimator accepts: its parameters, graphs with labels and masks, and features with names."""

import math
from collections.abc import Mapping
from copy import copy
from numbers import Real
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from newtonnet.graphs import Graph, as_graph, code_labels, from_networkx, named_classes
from newtonnet.memory import parse_amount
from newtonnet.metrics import METRICS, parse_rule
from newtonnet.training import NUMBER_LOSSES

from .families import is_transductive

IN_MEMORY, OUT_OF_CORE = REGIMES = ("memory", "out-of-core")
AUTO, OFF = MODES = ("auto", "off")

OWN = {"seed": "random_state", "run_seed": "random_state"} | {
    name: name for name in ("max_epochs", "patience", "metric")
}
"""Training fields that are not settings, and the parameter to use instead."""

Role = Literal["train", "score"]
"""Which labels to use: those an estimator may learn from, or those it is scored on."""


def check_parameters(given: Mapping[str, Any]) -> None:
    """Raise an error for parameters of an estimator that make no sense, alone or together."""
    named = {"tune": MODES, "standardise": MODES, "regime": REGIMES, "metric": METRICS, "loss": NUMBER_LOSSES}
    for name, choices in named.items():
        if name in given and given[name] not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, got {given[name]!r}")
    if given.get("threshold") is not None:
        parse_rule(given["threshold"])
    limit = given["time_limit"]
    if limit is not None and not (isinstance(limit, Real) and 0 < float(limit) < math.inf):
        raise ValueError(f"time_limit must be seconds above 0, or None for no limit, got {limit!r}")
    for name, least in {"folds": 2, "threads": 1}.items():
        value = given[name]
        if value is not None and not (isinstance(value, Real) and float(value).is_integer() and float(value) >= least):
            raise ValueError(f"{name} must be a whole number of at least {least}, or None, got {value!r}")
    if given["max_memory"] is not None:
        try:
            parse_amount(given["max_memory"])
        except ValueError as reason:
            raise ValueError(f"max_memory must be None or {reason}") from None
    fixed = {} if given["settings"] is None else given["settings"]
    if not isinstance(fixed, Mapping):
        raise ValueError(f"settings must be options by name, such as {{'degree': 10}}, got {fixed!r}")
    own = sorted(fixed.keys() & (OWN.keys() | ({"loss"} if "loss" in given else set())))
    if own:
        raise ValueError(f"{own[0]} is not a setting; use the parameter {OWN.get(own[0], own[0])}")
    if given["transferable"] and (is_transductive(given["model"]) or fixed.get("branch") or fixed.get("eigenvectors")):
        raise ValueError(
            f"{given['model']} with these settings is transductive: it has weights or eigenvectors of the nodes "
            "of its training graph; use transferable=False, or another model"
        )
    if given.get("regime") == OUT_OF_CORE and given["model"] != "newtonnet":
        raise ValueError(f"regime {OUT_OF_CORE!r} trains newtonnet only, got model {given['model']!r}")


def read_labels(graph: Any, y: ArrayLike | None = None, *, role: Role | None = None) -> tuple[Graph, NDArray[Any]]:
    """The graph with these labels, or its own if none are given, and its classes as the caller writes them.

    Without ``y``, only labels of this role are used of PyTorch Geometric data with masks.

    >>> from newtonnet.graphs import from_edges
    >>> graph, classes = read_labels(from_edges([[0, 1], [1, 2]], np.eye(3)), ["cat", None, "dog"])
    >>> graph.labels, classes
    (array([ 0, -1,  1]), array(['cat', 'dog'], dtype='<U3'))
    """
    whole = as_graph(graph)
    if y is None:
        kept = None if role is None or isinstance(graph, Graph | tuple) else _masked(graph, role, whole.nodes)
        if kept is not None:
            whole = whole.relabelled(np.where(kept, whole.labels, -1))
        names = np.array(whole.class_names)
        return whole, names if whole.text_labels else named_classes(whole.class_names)
    labels, classes = code_labels(y, whole.nodes)
    return whole.relabelled(labels, tuple(str(c) for c in classes)), classes


def read_targets(graph: Any, y: ArrayLike | None = None, *, role: Role | None = None) -> Graph:
    """The graph with these numbers as targets, or its own if none are given; NaN and None are unknown.

    Without ``y``, only numbers of this role are used of PyTorch Geometric data with masks.

    >>> from newtonnet.graphs import from_edges
    >>> read_targets(from_edges([[0, 1], [1, 2]], np.eye(3)), [0.5, None, 2]).targets
    array([0.5, nan, 2. ])
    """
    whole, own = without_targets(graph)
    if y is not None:
        return whole.with_targets(as_numbers(y, whole.nodes))
    if whole.targets is not None:
        return whole
    if own is None:
        what = f"has {whole.classes} classes, not numbers" if whole.classes else "has no targets"
        raise ValueError(f"graph {whole.name!r} {what}; give y, or use NewtonNetClassifier for classes")
    numbers = as_numbers(own, whole.nodes)
    kept = None if role is None else _masked(graph, role, whole.nodes)
    return whole.with_targets(numbers if kept is None else np.where(kept, numbers, np.nan))


def without_targets(graph: Any) -> tuple[Graph, Any]:
    """A graph from any supported object, and the numbers that PyTorch Geometric data or networkx hold in ``y``."""
    if isinstance(graph, Graph | tuple):
        return as_graph(graph), None
    if hasattr(graph, "edge_index"):
        bare = copy(graph)
        bare.y = None
        return as_graph(bare), None if graph.y is None else graph.y.detach().cpu().numpy()
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        own = [data.get("y") for _, data in graph.nodes(data=True)]
        return from_networkx(graph, label="no such attribute"), own if any(one is not None for one in own) else None
    return as_graph(graph), None


def as_numbers(y: ArrayLike, nodes: int) -> NDArray[np.float64]:
    """One finite number for each node, NaN where it is unknown; the first value that is none raises an error."""
    given = np.ma.filled(np.ma.asarray(y, dtype=np.float64), np.nan) if isinstance(y, np.ma.MaskedArray) else y
    values = np.asarray(given, dtype=object if isinstance(given, list | tuple) else None)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (nodes,):
        raise ValueError(f"expected {nodes} targets, one for each node, got shape {values.shape}")
    numbers = np.full(nodes, np.nan)
    for node, value in enumerate(values.tolist()):
        if isinstance(value, bool | str | bytes) or (value is not None and not isinstance(value, Real)):
            if value is not None and str(value) in ("<NA>", "NaT"):
                continue
            raise ValueError(
                f"targets must be numbers, None or NaN where they are unknown, but that of node {node} is {value!r}; "
                "use NewtonNetClassifier for classes"
            )
        numbers[node] = np.nan if value is None else float(value)
    if np.isinf(numbers).any():
        node = int(np.isinf(numbers).argmax())
        raise ValueError(
            f"targets must be finite, but that of node {node} is {numbers[node]}; use NaN if it is unknown"
        )
    return numbers


def _masked(data: Any, role: Role, nodes: int) -> NDArray[np.bool_] | None:
    """Nodes of this role by the data's masks, without its own all that the other role lacks; None without any mask."""
    found = {name: _mask(data, name, nodes) for name in ("train_mask", "val_mask", "test_mask")}
    # An estimator holds out labels itself, so it may learn from validation nodes.
    train = [mask for name, mask in found.items() if mask is not None and name != "test_mask"]
    test = [mask for name, mask in found.items() if mask is not None and name == "test_mask"]
    own, other = (train, test) if role == "train" else (test, train)
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
        raise ValueError(f"{name} must be one boolean for each of {nodes} nodes, got {mask.dtype} {mask.shape}")
    return mask.reshape(-1)


def feature_names(graph: Any) -> NDArray[np.object_] | None:
    """Column names of a pair (adjacency, frame); None for anything else and, as in scikit-learn, for numbers."""
    columns = getattr(graph[1], "columns", None) if isinstance(graph, tuple) and len(graph) == 2 else None
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.array(list(columns), dtype=object)


def check_feature_names(known: NDArray[np.object_] | None, graph: Any) -> None:
    """Raise an error if the features have other names, or another order, than during fitting."""
    found = feature_names(graph)
    if known is None or found is None or found.tolist() == known.tolist():
        return
    if sorted(found) == sorted(known):
        raise ValueError(f"the features are in another order than in fit; give the columns as {', '.join(known)}")
    unseen = [name for name in found if name not in set(known)] or ["none"]
    missing = [name for name in known if name not in set(found)] or ["none"]
    raise ValueError(
        f"the features differ from those in fit: unseen there {', '.join(unseen)}; missing here {', '.join(missing)}"
    )
