"""Rows of edges: their ends as places among the nodes, their weights, and what became of them."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .column_values import read_commas
from .columns import Columns
from .listing import listed
from .plain_ids import first_place, plain_ids
from .readers import NamedTable

EdgeRows = tuple[NDArray[np.int32], NDArray[np.float32] | None]
"""Ends of edges as places among the nodes, ``(2, m)``, and their weights ``(m,)``, None where all are 1."""


def edge_rows(links: NamedTable, ids: pa.Array, columns: Columns) -> EdgeRows:
    """Rows of a table as edges between the nodes with these ids; the first row that is none is refused."""
    _check_header(links, ids, columns)
    ends = _ends(links, ids, columns)
    return ends, None if columns.weight is None else _weights(links, columns.weight)


def count_rows(tally: Counter[str], edges: EdgeRows) -> None:
    """Add some rows to a count of all rows, self-loops, and other rows of weight 0."""
    ends, weights = edges
    loops = ends[0] == ends[1]
    tally["rows"] += ends.shape[1]
    tally["loops"] += int(loops.sum())
    tally["nothing"] += 0 if weights is None else int(((weights == 0) & ~loops).sum())


def unused_columns(columns: Columns) -> list[str]:
    """A sentence on how the edges were read, where they have columns that are not used."""
    if not columns.unused:
        return []
    weighted = "no weights" if columns.weight is None else f"weights in {columns.weight!r}"
    ends = f"Edges join {columns.source!r} and {columns.target!r}, with {weighted}"
    return [f"{ends}; not used: {listed(list(columns.unused))}."]


def merged_rows(tally: Counter[str], edges: int, *, weighted: bool) -> list[str]:
    """A sentence on what became of the rows that were counted, where they are not as many as the edges."""
    rows, loops, nothing = (tally[name] for name in ("rows", "loops", "nothing"))
    if rows == edges:
        return []
    again = rows - loops - nothing - edges
    told = [
        f"{count:,} {one if count == 1 else many} {'was' if count == 1 else 'were'} {what}"
        for count, one, many, what in (
            (loops, "self-loop", "self-loops", "dropped"),
            (nothing, "edge of weight 0", "edges of weight 0", "dropped"),
            (again, "duplicate", "duplicates", "merged (the largest weight counts)" if weighted else "merged"),
        )
        if count
    ]
    return [f"{rows:,} rows of edges became {edges:,} edges: {' and '.join(told)}; directions are not used."]


def _check_header(links: NamedTable, ids: pa.Array, columns: Columns) -> None:
    """Refuse a CSV file whose names of columns are nodes: its first edge would be taken for a header."""
    names = (columns.source, columns.target)
    if links.line is None:  # any other table has real names, and some number their columns
        return
    whole = pa.types.is_integer(ids.type)
    if whole and not all(name.isascii() and name.isdecimal() and len(name) < 19 for name in names):
        return
    if all(pc.any(pc.equal(ids, pa.scalar(int(name) if whole else name, ids.type))).as_py() for name in names):
        raise ValueError(
            f"{links.name} seems to have no header: its first line names the nodes {names[0]!r} and {names[1]!r}; "
            "write the line source,target above it"
        )


def _ends(links: NamedTable, ids: pa.Array, columns: Columns) -> NDArray[np.int32]:
    """Both ends of every edge as places among the ids, shape ``(2, E)``."""
    ends = np.empty((2, links.table.num_rows), dtype=np.int32)
    for side, column in enumerate((columns.source, columns.target)):
        wanted = plain_ids(links, column)
        there = ids
        if wanted.type != there.type:
            wanted, there = wanted.cast(pa.string()), there.cast(pa.string())
        places = pc.index_in(wanted, value_set=there)
        if places.null_count:
            index = first_place(places.is_null())
            unknown = wanted[index].as_py()
            what = "has no id" if unknown is None else f"names the unknown node {unknown!r}"
            raise ValueError(
                f"{links.row(index)} {what} in column {column!r}; every end must be an id of the nodes, which are "
                f"those of their column {columns.id!r}, such as {ids[0].as_py()!r}"
            )
        ends[side] = places.to_numpy(zero_copy_only=False)
    return ends


def _weights(links: NamedTable, column: str) -> NDArray[np.float32]:
    values = read_commas(links.table[column])
    if not len(values):  # which have no type
        return np.zeros(0, dtype=np.float32)
    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    if not any(test(values.type) for test in numeric):
        raise ValueError(f"column {column!r} of {links.name} must hold numbers, got {values.type}")
    with np.errstate(over="ignore"):
        weights = values.cast(pa.float64(), safe=False).to_numpy().astype(np.float32)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        index = int(bad[0])
        value = values[index].as_py()
        found = "no weight" if value is None else f"the weight {value:g}"
        wanted = "at most 3.4e38" if value is not None and 0 < value < np.inf else "finite and not negative"
        raise ValueError(f"{links.row(index)} has {found}; weights must be {wanted}")
    return np.asarray(weights)
