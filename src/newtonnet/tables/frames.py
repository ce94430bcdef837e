"""Tables as the kind of frame that the caller uses: pandas, Polars or Arrow."""

from importlib import import_module
from typing import Any, Literal

import pyarrow as pa

FrameKind = Literal["pandas", "polars", "arrow"]


def frame_kind(source: Any) -> FrameKind | None:
    """The kind of a frame, ``arrow`` for everything else that gives an Arrow stream; None for a path.

    >>> frame_kind(pa.table({"id": [1]})), frame_kind("nodes.csv")
    ('arrow', None)
    """
    libraries = {kind.__module__.split(".")[0] for kind in type(source).__mro__}
    if "pandas" in libraries:
        return "pandas"
    if "polars" in libraries:
        return "polars"
    return "arrow" if hasattr(source, "__arrow_c_stream__") else None


def as_frame(table: pa.Table, kind: FrameKind | None = None, *, index: Any = None) -> Any:
    """An Arrow table as a frame of this kind; by default pandas where it is installed.

    Args:
        table: the table.
        kind: the kind of frame; None: a pandas frame, or the Arrow table without pandas.
        index: of a pandas frame.
    """
    if kind == "arrow":
        return table
    if kind == "polars":
        return import_module("polars").from_arrow(table)
    try:
        import pandas  # noqa: F401
    except ModuleNotFoundError:
        return table
    frame = table.to_pandas()
    return frame if index is None else frame.set_axis(index, axis=0)
