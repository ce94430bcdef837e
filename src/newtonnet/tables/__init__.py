"""Anyone's own graph: CSV, Parquet, pandas and Arrow tables to a graph, with every mistake named."""

from .encoding import Encoding
from .listing import listed
from .node_table import NodeTable, read_nodes
from .options import DEFAULTS, Columns, TableOptions
from .tables import (
    EdgeRows,
    Reading,
    column_names,
    edge_pieces,
    find_columns,
    load_tables,
    read_tables,
    reading_of,
)

__all__ = [
    "DEFAULTS",
    "Columns",
    "EdgeRows",
    "Encoding",
    "NodeTable",
    "Reading",
    "TableOptions",
    "column_names",
    "edge_pieces",
    "find_columns",
    "listed",
    "load_tables",
    "read_nodes",
    "read_tables",
    "reading_of",
]
