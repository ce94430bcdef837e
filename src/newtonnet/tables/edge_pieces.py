"""Edges of a file in pieces, as places among the nodes: neither the file nor the edges need fit in memory."""

from collections import Counter
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import pyarrow as pa

from .columns import Columns
from .edge_table import EdgeRows, count_rows, edge_rows
from .table_stream import stream_table

PIECE = 1 << 18
"""Rows of a piece, at least, where the file has as many."""


def edge_pieces(
    edges: str | PathLike[str], ids: pa.Array, *, columns: Columns, text_encoding: str, tally: Counter[str]
) -> Iterator[EdgeRows]:
    """Pieces of a CSV or Parquet file of edges, refused in the words of :func:`newtonnet.datasets.read_tables`.

    Args:
        edges: the file.
        ids: of the nodes, int64 or text.
        columns: which of the file's columns hold the ends and the weights.
        text_encoding: of a CSV file.
        tally: counts what was read, for :func:`merged_rows`.
    """
    # Every piece makes a hash table of all ids, so that it should have about as many rows.
    rows = max(PIECE, len(ids) // 2)
    ends = (columns.source, columns.target)
    pieces = stream_table(
        Path(edges), "edges", texts=ends, number=columns.weight, rows=rows, text_encoding=text_encoding
    )
    for links in pieces:
        if not all(_is_number(links.table.schema.field(column).type) for column in ends):
            ids = ids.cast(pa.string())  # once, and not again with every piece
        piece = edge_rows(links, ids, columns)
        count_rows(tally, piece)
        yield piece


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
