"""How two tables are read: what the caller chooses, and the columns that were found."""

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

TableSource = Union[str, PathLike[str], "pa.Table", "pd.DataFrame"]
"""A path to a CSV or Parquet file, an Arrow table or a pandas frame."""


@dataclass(frozen=True)
class TableOptions:
    """How to read a table of nodes and a table of edges.

    A column that is not named is looked up by its usual name in any case, then by its position.

    Attributes:
        label_column: column of the nodes with the class, blank where it is unknown; no labels if None.
        id_column: column of the nodes with their ids; ``id``, or else the first.
        source_column: column of the edges with one end; ``source``, or else the first.
        target_column: column of the edges with the other end; ``target``, or else the second.
        weight_column: column of the edges with weights of 0 or more; ``weight`` if there is one, else all are 1.
        ignore: columns of the nodes that are not features.
        categorical: columns of numbers that are codes of categories.
        standardise: give numbers mean 0 and standard deviation 1.
        directed: keep the direction of edges.
        text_encoding: encoding of CSV files.
    """

    label_column: str | None = None
    id_column: str | None = None
    source_column: str | None = None
    target_column: str | None = None
    weight_column: str | None = None
    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    standardise: bool = True
    directed: bool = False
    text_encoding: str = "utf-8"

    def __post_init__(self) -> None:
        for name in ("ignore", "categorical"):
            columns = getattr(self, name)
            if isinstance(columns, str):
                raise TypeError(f"{name} must be a list of columns, got the text {columns!r}; write [{columns!r}]")
            object.__setattr__(self, name, tuple(columns))


DEFAULTS = TableOptions()
"""The options of a caller who gives none."""


@dataclass(frozen=True)
class Columns:
    """The columns that are not features; ``label`` and ``weight`` are None where there is no such column."""

    id: str
    label: str | None
    source: str
    target: str
    weight: str | None
    unused: tuple[str, ...] = ()
    """Other columns of the edges."""
