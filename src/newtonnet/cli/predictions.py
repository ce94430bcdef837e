"""Predictions as a CSV file: a row for every node, in the order of its table."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from newtonnet.graphs import Graph

DIGITS = 6
FIXED = ("node", "label", "probability", "known")
"""Columns before those of the classes: the id, the most probable class, its probability, and the given class."""


def predictions_csv(graph: Graph, probabilities: NDArray[np.float64], classes: Sequence[str]) -> str:
    """The file's text.

    Args:
        graph: the graph; its node names are the ids.
        probabilities: of every class, shape ``(n, C)``.
        classes: names of the classes.
    """
    parts = round_rows(probabilities)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*FIXED, *(f"p({name})" for name in classes)])
    best = probabilities.argmax(axis=1)
    for node, (name, place, given) in enumerate(zip(graph.node_names, best, graph.labels, strict=True)):
        shares = [f"{part / 10**DIGITS:.{DIGITS}f}" for part in parts[node].tolist()]
        writer.writerow([name, classes[place], shares[place], classes[given] if given >= 0 else "", *shares])
    return text.getvalue()


def read_known(path: Path) -> dict[str, str]:
    """Ids and classes of the nodes whose class was given, by such a file; none where it is not there or another one."""
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = csv.DictReader(stream)
            if tuple(rows.fieldnames or ())[: len(FIXED)] != FIXED:
                return {}
            return {row["node"]: row["known"] for row in rows if row["known"]}
    except (OSError, ValueError, csv.Error):
        return {}


def round_rows(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Millionths that sum to a million in every row: what rounding down leaves goes to the largest remainders.

    >>> round_rows(np.array([[1 / 3, 1 / 3, 1 / 3], [0.5, 0.25, 0.25]])).tolist()
    [[333334, 333333, 333333], [500000, 250000, 250000]]
    """
    scaled = probabilities / probabilities.sum(axis=1, keepdims=True) * 10**DIGITS
    parts = np.floor(scaled).astype(np.int64)
    lacking = 10**DIGITS - parts.sum(axis=1, keepdims=True)
    order = np.argsort(parts - scaled, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(scaled.shape[1]), scaled.shape), axis=1)
    return np.asarray(parts + (rank < lacking))
