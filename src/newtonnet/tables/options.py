"""How two tables are read: what the caller chooses, and the columns that were found."""

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol, Union, get_args

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class ArrowFrame(Protocol):
    """A frame of any library that gives its rows as an Arrow stream, such as Polars or DuckDB."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


TableSource = Union[str, PathLike[str], "pa.Table", "pd.DataFrame", ArrowFrame]
"""A path to a CSV, Parquet or Excel file, an Arrow table, a pandas frame or any other frame with an Arrow stream."""
UnknownEdges = Literal["error", "drop", "add"]
Dates = Literal["year-first", "day-first", "month-first"]


@dataclass(frozen=True)
class TableOptions:
    """How to read a table of nodes and a table of edges.

    A column that is not named is looked up by its usual name in any case, then by its position.

    Attributes:
        label_column: column of the nodes with the class, blank where it is unknown; no labels if None.
        target_column: column of the nodes with a number to predict instead of a class, blank where it is unknown.
        id_column: column of the nodes with their ids; ``id``, or else the first.
        from_column: column of the edges with one end; ``source``, or else the first.
        to_column: column of the edges with the other end; ``target``, or else the second.
        weight_column: column of the edges with weights of 0 or more; ``weight`` if there is one, else all are 1.
        split_column: column of the nodes that says train, validation or test; no feature. The labels of test nodes are
            not learned from; without validation nodes, folds of the training nodes choose. No such column if None.
        ignore: columns of the nodes that are not features.
        categorical: columns of numbers that are codes of categories.
        standardise: give numbers mean 0 and standard deviation 1.
        directed: keep the direction of edges.
        unknown_edges: what to do with edges that name a node which is not in the table: ``error``, ``drop`` them, or
            ``add`` such nodes, which have neither features nor labels and get no prediction.
        dates: order of dates written as text: 2020-12-31 is always read, 31.12.2020 if ``day-first``, 12/31/2020 if
            ``month-first``.
        text_encoding: encoding of CSV files.
    """

    label_column: str | None = None
    target_column: str | None = None
    id_column: str | None = None
    from_column: str | None = None
    to_column: str | None = None
    weight_column: str | None = None
    split_column: str | None = None
    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    standardise: bool = True
    directed: bool = False
    unknown_edges: UnknownEdges = "error"
    dates: Dates = "year-first"
    text_encoding: str = "utf-8"

    def __post_init__(self) -> None:
        for name in ("ignore", "categorical"):
            columns = getattr(self, name)
            if isinstance(columns, str):
                raise TypeError(f"{name} must be a list of columns, got the text {columns!r}; write [{columns!r}]")
            object.__setattr__(self, name, tuple(columns))
        if self.label_column is not None and self.target_column is not None:
            raise ValueError(
                f"label_column ({self.label_column!r}) is for classes and target_column ({self.target_column!r}) for "
                "numbers; give one of them. The ends of edges are from_column and to_column."
            )
        for name, choices in (("unknown_edges", get_args(UnknownEdges)), ("dates", get_args(Dates))):
            if (chosen := getattr(self, name)) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, got {chosen!r}")


DEFAULTS = TableOptions()
"""The options of a caller who gives none."""


@dataclass(frozen=True)
class Columns:
    """The columns that are not features; ``label`` and ``weight`` are None where there is no such column.

    Where ``numbers`` is set, the column ``label`` holds numbers to predict instead of classes.
    """

    id: str
    label: str | None
    source: str
    target: str
    weight: str | None
    unused: tuple[str, ...] = ()
    """Other columns of the edges."""
    split: str | None = None
    """Column of the nodes that says train, validation or test."""
    numbers: bool = False
