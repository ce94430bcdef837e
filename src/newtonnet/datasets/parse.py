"""Raw files to a cached graph, once."""

import contextlib
import io
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from newtonnet.graphs import Graph, from_pyg

from .cache import Masks, read_graph, scratch, write_graph
from .entry import Entry
from .raw_files import RawFile
from .summary import measure

if TYPE_CHECKING:  # slow to import, and only needed where raw files are parsed
    from torch_geometric.data import Data


def parse_into(
    path: Path, entry: Entry, root: Path, files: Sequence[RawFile], *, directed: bool
) -> tuple[Graph, Masks]:
    """Parse raw files that have been checked, and cache the graph; what is returned is what was cached.

    Args:
        path: where the graph is cached.
        entry: the data set.
        root: the folder that holds the raw files.
        files: the raw files, which are kept as the graph's provenance; no other file is read.
        directed: keep edges as they are stored.
    """
    from .sources import read_source

    splits = root / entry.splits if entry.splits in {file.path for file in files} else None
    with scratch() as work, contextlib.redirect_stderr(io.StringIO()):  # the classes announce each step
        try:
            data = read_source(
                entry.kind,
                entry.options,
                root=root / entry.root,
                processed=work,
                check=lambda: None,
                splits=splits,
            )
        except Exception as reason:
            raise ValueError(
                f"data set {entry.name!r}: the raw files in {root / Path(entry.files[0]).parent} cannot be read "
                f"({type(reason).__name__}: {' '.join(str(reason).split())})"
            ) from reason
    graph = _graph(entry, data, directed=directed)
    facts = {"summary": asdict(measure(entry, graph)), "files": [asdict(file) for file in files]}
    write_graph(path, graph, _masks(data), facts)
    stored = read_graph(path)
    if stored is None:
        raise OSError(f"the cached graph {path} cannot be read back; is the disk full?")
    return stored


def _graph(entry: Entry, data: "Data", *, directed: bool) -> Graph:
    if entry.row_normalised:
        from torch_geometric.transforms import NormalizeFeatures

        data = NormalizeFeatures()(data)
    if directed:
        import torch
        from torch_geometric.utils import coalesce

        rows = torch.ones(data.edge_index.shape[1])
        data.edge_index, data.edge_weight = coalesce(data.edge_index, rows, num_nodes=data.num_nodes, reduce="sum")
    return from_pyg(data, name=entry.name, directed=directed)


def _masks(data: "Data") -> Masks:
    """Boolean masks of shape (n,) or (n, S) as one array of shape (S, n)."""
    if data.get("train_mask") is None:
        return np.zeros((0, data.num_nodes), dtype=np.uint8)
    masks = np.zeros(data.train_mask.reshape(data.num_nodes, -1).T.shape, dtype=np.uint8)
    for number, key in ((1, "train_mask"), (2, "val_mask"), (3, "test_mask")):
        masks[data[key].reshape(data.num_nodes, -1).T.numpy().astype(bool)] = number
    return masks
