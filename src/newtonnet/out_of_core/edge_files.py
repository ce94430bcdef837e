"""Edges of a Parquet file in pieces, so that the file may be larger than the memory."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .counting_sort import Piece

PIECE = 1 << 20
"""Edges that are read at once."""


def parquet_edges(
    path: str | Path,
    *,
    source_column: str | None = None,
    target_column: str | None = None,
    weight_column: str | None = None,
) -> Iterator[Piece]:
    """Pieces of a file whose rows are edges between nodes with numbers.

    Args:
        path: the file.
        source_column: whole numbers of the nodes at one end; ``source``, or else the first column.
        target_column: those at the other end; ``target``, or else the second column.
        weight_column: weights; ``weight`` if there is one, or else all are 1.
    """
    path = Path(path)
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            ends = [_find(path, names, source_column, "source", 0), _find(path, names, target_column, "target", 1)]
            if weight_column is not None and weight_column not in names:
                raise ValueError(f"{path} has no column {weight_column!r}; it has {', '.join(names)}")
            weight = weight_column or ("weight" if "weight" in names and "weight" not in ends else None)
            for name in ends:
                if not pa.types.is_integer(file.schema_arrow.field(name).type):
                    kind = file.schema_arrow.field(name).type
                    raise ValueError(f"column {name!r} of {path} must hold whole numbers of nodes, got {kind}")
            wanted = [*ends, *([weight] if weight else [])]
            seen = 0
            for batch in file.iter_batches(PIECE, columns=wanted):
                columns = [batch.column(name) for name in wanted]
                for name, column in zip(wanted, columns, strict=True):
                    if column.null_count:
                        row = seen + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
                        raise ValueError(f"row {row} of {path} has nothing in column {name!r}; every edge needs both")
                seen += batch.num_rows
                pairs = np.stack([column.to_numpy(zero_copy_only=False).astype(np.int64) for column in columns[:2]])
                yield (pairs, columns[2].to_numpy(zero_copy_only=False).astype(np.float32)) if weight else pairs
    except (pa.ArrowInvalid, FileNotFoundError) as error:
        raise ValueError(f"{path} cannot be read as Parquet ({' '.join(str(error).split())})") from error


def _find(path: Path, names: list[str], given: str | None, usual: str, place: int) -> str:
    if given is not None and given not in names:
        raise ValueError(f"{path} has no column {given!r}; it has {', '.join(names)}")
    if len(names) < 2:
        raise ValueError(f"{path} must have two columns of node numbers, it has {', '.join(names) or 'none'}")
    return given or (usual if usual in names else names[place])
