"""Two tables, or a networkx graph with columns, in place of a graph; and predictions as a frame."""

from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from newtonnet.graphs import Graph, from_networkx
from newtonnet.meaning import listed
from newtonnet.tables import (
    Columns,
    Encoding,
    Reading,
    TableOptions,
    as_frame,
    column_names,
    frame_kind,
    networkx_tables,
    node_ids,
    read_tables,
)

LABEL = "label"
"""The column of the classes where none is named."""
KEPT = ("directed", "unknown_edges", "dates", "ignore", "text_encoding")
"""Options of a reading that later ones need beside its columns and its encoding."""


@dataclass(frozen=True)
class FittedTables:
    """How the two tables of a fit were read, so that later ones are read in the same way."""

    columns: Columns
    encoding: Encoding
    class_names: tuple[str, ...]
    options: TableOptions = field(default_factory=TableOptions)
    """What does not follow from columns and encoding: order of dates, direction, unknown edges, columns to ignore."""

    @classmethod
    def of(cls, reading: Reading, options: TableOptions) -> Self:
        """How two tables were read with these options."""
        kept = {name: getattr(options, name) for name in KEPT}
        return cls(reading.columns, reading.encoding, reading.graph.class_names, TableOptions(**kept))

    def read(self, nodes: Any, edges: Any, label: str | None = None) -> Graph:
        """The graph of two tables with the same columns; that of the classes, or numbers, may be missing or another."""
        if self.options.unknown_edges == "add":
            raise ValueError(
                "the fit added nodes that only the edges name, and they get no prediction; use "
                "newtonnet.Analysis.load(run).predict(nodes, edges)"
            )
        there = column_names(nodes, text_encoding=self.options.text_encoding)
        used = {self.columns.label, self.columns.split, *self.options.ignore} & {*there}
        label = label or (self.columns.label if self.columns.label in used else None)
        columns = replace(self.columns, label=label, split=self.columns.split if self.columns.split in used else None)
        options = replace(self.options, ignore=tuple(name for name in self.options.ignore if name in used))
        names = self.class_names if label is not None else None
        return read_tables(nodes, edges, options, columns=columns, encoding=self.encoding, class_names=names).graph


def read_fitted(
    graph: Any, y: Any, *, standardise: bool = True, numbers: bool = False
) -> tuple[Any, Any, Reading | None]:
    """What ``fit`` was given as a graph and labels, and how its tables were read; None where there are none.

    Args:
        graph: anything that ``fit`` takes.
        y: labels, or the name of the column that holds them.
        standardise: give the numbers of tables mean 0 and standard deviation 1.
        numbers: the column holds numbers to predict, not classes.
    """
    pair = tables_of(graph, columns=isinstance(y, str))
    if pair is None:
        if isinstance(y, str) and not _is_networkx(graph):
            raise ValueError(f"y={y!r} names a column, which two tables or a networkx graph have; give the labels")
        if y is None and not numbers and _is_networkx(graph):
            _check_attribute(graph)
        if isinstance(y, str) and numbers:
            return graph, [data.get(y) for _, data in graph.nodes(data=True)], None
        return (from_networkx(graph, label=y), None, None) if isinstance(y, str) else (graph, y, None)
    usual, what = ("target", "numbers") if numbers else (LABEL, "classes")
    label = y if isinstance(y, str) else usual if y is None else None
    if y is None and usual not in (there := column_names(pair[0])):
        named = f"fit((nodes, edges), {there[-1]!r})"
        raise ValueError(f"name the column of the {what}, as in {named}; found: {listed(there)}")
    options = TableOptions(standardise=standardise)
    options = replace(options, target_column=label) if numbers else replace(options, label_column=label)
    reading = read_tables(*pair, options)
    return reading.graph, None if label is not None else y, reading


def _check_attribute(graph: Any) -> None:
    """Refuse a networkx graph whose attributes hold the classes under another name than ``y``."""
    there = list(dict.fromkeys(str(name) for _, data in graph.nodes(data=True) for name in data if name != "x"))
    if there and "y" not in there:
        named = f"fit(graph, {there[-1]!r})"
        raise ValueError(f"name the attribute of the classes, as in {named}; found: {listed(there)}")


def tables_of(graph: Any, *, columns: bool = True) -> tuple[Any, Any] | None:
    """The tables of nodes and edges in a pair of them, or in a networkx graph whose features are columns.

    Args:
        graph: anything that an estimator takes.
        columns: read the attributes of a networkx graph without ``x`` as columns.
    """
    if _is_networkx(graph):
        vectors = any("x" in data for _, data in graph.nodes(data=True))
        return networkx_tables(graph) if columns and not vectors else None
    if not isinstance(graph, tuple) or len(graph) != 2 or sp.issparse(graph[0]):
        return None
    tables = all(isinstance(part, str | PathLike) or frame_kind(part) is not None for part in graph)
    return (graph[0], graph[1]) if tables else None


def prediction_frame(
    given: Any,
    graph: Graph,
    probabilities: NDArray[np.float64],
    decided: NDArray[np.int64],
    classes: NDArray[Any],
    id_column: str | None = None,
) -> Any:
    """Predictions as the kind of frame that the nodes came in: node, label, probability, and one column a class.

    Args:
        given: what the caller gave: a graph of any kind, or two tables.
        graph: its graph.
        probabilities: shape ``(n, C)``.
        decided: the predicted class of every node, as a place among the classes, shape ``(n,)``.
        classes: the classes.
        id_column: the column of the ids in a table of nodes; ``id``, or the first, if not given.
    """
    pair = None if _is_networkx(given) else tables_of(given)
    nodes: Any = None if pair is None else pair[0]
    if nodes is not None:
        ids = node_ids(nodes, graph.node_names, id_column=id_column)
    else:
        ids = pa.array(list(given) if _is_networkx(given) and _plain(given) else graph.node_names or range(graph.nodes))
    chosen = probabilities[np.arange(graph.nodes), decided]
    columns = {"node": ids, "label": pa.array(classes[decided].tolist()), "probability": chosen}
    table = pa.table({**columns, **{f"p({name})": probabilities[:, c] for c, name in enumerate(classes.tolist())}})
    kind = frame_kind(nodes)
    return as_frame(table, kind, index=nodes.index if kind == "pandas" else None)


def _is_networkx(graph: Any) -> bool:
    return "networkx" in {kind.__module__.split(".")[0] for kind in type(graph).__mro__}


def _plain(graph: Any) -> bool:
    """Whether all nodes are whole numbers, or all texts, so that they can be a column as they are."""
    return len({type(node) for node in graph}) == 1 and isinstance(next(iter(graph)), int | str)
