"""Anyone's own graph: CSV, Parquet, pandas and Arrow tables to a graph, with every mistake named."""

from .columns import Columns, column_names, find_columns
from .encoding import Encoding
from .tables import Reading, load_tables, read_tables

__all__ = ["Columns", "Encoding", "Reading", "column_names", "find_columns", "load_tables", "read_tables"]
