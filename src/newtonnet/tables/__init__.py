"""Anyone's own graph: CSV, Parquet, pandas and Arrow tables to a graph, with a clear message for every mistake.

What reads tables is imported when it is first used, since pyarrow and torch are slow to load.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .options import DEFAULTS, Columns, Dates, TableOptions, TableSource, UnknownEdges

if TYPE_CHECKING:
    from .encoding import Encoding
    from .frames import FrameKind, as_frame, frame_kind
    from .nodes import NodeTable, read_nodes
    from .tables import (
        EdgeRows,
        Reading,
        column_names,
        edge_pieces,
        find_columns,
        load_tables,
        networkx_tables,
        node_ids,
        read_tables,
        reading_of,
    )
else:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = ".frames" if name in ("FrameKind", "as_frame", "frame_kind") else ".tables"
        return getattr(import_module(home, __name__), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "DEFAULTS",
    "Columns",
    "Dates",
    "EdgeRows",
    "Encoding",
    "FrameKind",
    "NodeTable",
    "Reading",
    "TableOptions",
    "TableSource",
    "UnknownEdges",
    "as_frame",
    "column_names",
    "edge_pieces",
    "find_columns",
    "frame_kind",
    "load_tables",
    "networkx_tables",
    "node_ids",
    "read_nodes",
    "read_tables",
    "reading_of",
]
