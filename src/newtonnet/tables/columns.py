"""Which columns of the tables of nodes and edges hold ids, labels and weights."""

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from .readers import find_usual, read_header

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True)
class Columns:
    """Names of the columns that are no features; no label where it is None, and no weight."""

    id: str
    label: str | None
    source: str
    target: str
    weight: str | None
    unused: tuple[str, ...] = ()
    """Other columns of the edges."""


def find_columns(
    nodes: "str | PathLike[str] | pa.Table | pd.DataFrame",
    edges: "str | PathLike[str] | pa.Table | pd.DataFrame",
    *,
    label_column: str | None = None,
    id_column: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    weight_column: str | None = None,
    text_encoding: str = "utf-8",
) -> Columns:
    """The columns that were named, else the usual ones, else those in their places; told by the headers.

    Args:
        nodes: one row for each node.
        edges: one row for each edge, naming two nodes.
        label_column: column of the nodes that holds the class; none if not given.
        id_column: column of the nodes that names them; ``id``, or else the first.
        source_column: column of the edges for one end; ``source``, or else the first.
        target_column: column of the edges for the other end; ``target``, or else the second.
        weight_column: column of the edges with weights; ``weight`` if there is one, or else none.
        text_encoding: of CSV files.
    """
    rows = read_header(nodes, "nodes", text_encoding=text_encoding)
    links = read_header(edges, "edges", text_encoding=text_encoding)
    key = rows.column(id_column, "id", 0)
    rows.check(label_column)
    names = links.table.column_names
    if len(names) == 1:
        raise ValueError(
            f"{links.name} has one column only ({names[0]!r}); edges need two columns of ids, such as "
            "source and target, separated by comma, semicolon or tab"
        )
    source = links.column(source_column, "source", 0)
    target = links.column(target_column, "target", 1)
    if source == target:
        raise ValueError(f"{links.name} needs two columns of ids; source and target are both {source!r}")
    links.check(weight_column)
    others = [name for name in names if name not in (source, target)]
    weight = weight_column or find_usual("weight", others)
    unused = tuple(name for name in others if name != weight)
    return Columns(key, label_column, source, target, weight, unused)


def column_names(table: str | PathLike[str], *, text_encoding: str = "utf-8") -> tuple[str, ...]:
    """All columns of a file, by its header."""
    return tuple(read_header(table, "nodes", text_encoding=text_encoding).table.column_names)
