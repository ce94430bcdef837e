"""Which columns of the tables of nodes and edges hold ids, labels and weights."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from .readers import NamedTable, read_header


@dataclass(frozen=True)
class Columns:
    """Names of the columns that are no features."""

    id: str
    label: str | None
    source: str
    target: str
    weight: str | None


def find_columns(
    nodes: str | PathLike[str],
    edges: str | PathLike[str],
    *,
    label_column: str | None = None,
    id_column: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    weight_column: str | None = None,
    text_encoding: str = "utf-8",
) -> tuple[Columns, tuple[str, ...]]:
    """The columns that :func:`read_tables` would take from these files, and all columns of the nodes, by their headers.

    A label column that the nodes do not have is none: tables to predict on have no labels as a rule.
    """
    rows = read_header(Path(nodes), text_encoding=text_encoding)
    links = read_header(Path(edges), text_encoding=text_encoding)
    names = tuple(rows.table.column_names)
    columns = name_columns(
        rows,
        links,
        label_column=label_column if label_column in names else None,
        id_column=id_column,
        source_column=source_column,
        target_column=target_column,
        weight_column=weight_column,
    )
    return columns, names


def name_columns(
    rows: NamedTable,
    links: NamedTable,
    *,
    label_column: str | None,
    id_column: str | None,
    source_column: str | None,
    target_column: str | None,
    weight_column: str | None,
) -> Columns:
    """The columns that were named, else the usual ones, else those in their places."""
    key = rows.column(id_column, "id", 0)
    label = None if label_column is None else rows.column(label_column, label_column, 0)
    source = links.column(source_column, "source", 0)
    target = links.column(target_column, "target", 1)
    if source == target:
        raise ValueError(f"{links.name} needs two columns of ids; source and target are both {source!r}")
    if weight_column is None:
        weighted = "weight" in set(links.table.column_names) - {source, target}
        return Columns(key, label, source, target, "weight" if weighted else None)
    return Columns(key, label, source, target, links.column(weight_column, "weight", 2))
