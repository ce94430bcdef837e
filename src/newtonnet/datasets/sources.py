"""Raw files to PyTorch Geometric data: its own dataset classes, and classes of the same shape for what it lacks."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.io import loadmat
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.datasets import (
    Actor,
    Amazon,
    HeterophilousGraphDataset,
    LINKXDataset,
    Planetoid,
    WebKB,
    WikipediaNetwork,
)

from .archives import OgbnArxiv, TwitchGamer
from .stored_splits import with_splits


def read_source(
    kind: str,
    options: Mapping[str, Any],
    *,
    root: Path,
    processed: Path,
    check: Callable[[], None],
    splits: Path | None = None,
) -> Data:
    """The graph of one dataset class.

    Args:
        kind: a key of ``CLASSES``.
        options: what the class takes beside its root.
        root: the class's root; raw files that are not there are downloaded into it.
        processed: where the class may leave its processed file, instead of beside the raw ones.
        check: called when the raw files are complete and before any of them is parsed.
        splits: the file of fixed splits that lies beside the raw ones, where there is one.
    """
    source = CLASSES[kind]

    def process(self: Any) -> None:
        check()
        source.process(self)

    given = {"process": process, "processed_dir": str(processed), "splits": splits}
    checked = type(source.__name__, (source,), given)
    return checked(str(root), **options)[0]


class SparseLINKX(LINKXDataset):  # type: ignore[misc]
    """LINKX's graphs; the one-hot features of the Facebook ones stay sparse, which saves 800 MB on Penn94."""

    splits: Path | None = None

    @property
    def raw_file_names(self) -> list[str]:
        """Without the splits, which are optional."""
        return ["data.mat"]

    def _process_facebook(self) -> Data:
        mat = loadmat(self.raw_paths[0])
        adjacency = mat["A"].tocoo()
        info = mat["local_info"].astype(np.int64)
        codes = [np.unique(column, return_inverse=True)[1].ravel() for column in np.delete(info, 1, axis=1).T]
        starts = np.cumsum([0] + [code.max() + 1 for code in codes])
        rows = np.tile(np.arange(len(info)), len(codes))
        columns = np.concatenate([code + start for code, start in zip(codes, starts, strict=False)])
        x = torch.sparse_coo_tensor(
            torch.from_numpy(np.stack([rows, columns])),
            torch.ones(len(rows)),
            (len(info), int(starts[-1])),
            check_invariants=True,
        )
        edges = np.stack([adjacency.row, adjacency.col]).astype(np.int64)
        # The gender, 1 or 2, is the label; 0 means that it is not known.
        data = Data(x=x.coalesce(), edge_index=torch.from_numpy(edges), y=torch.from_numpy(info[:, 1] - 1))
        return with_splits(data, self.splits)


class Crocodile(WikipediaNetwork):  # type: ignore[misc]
    """The largest Wikipedia network with its five classes of traffic, where PyTorch Geometric gives a regression."""

    def process(self) -> None:
        """Read features, links and classes; a link that is stored n times keeps its n rows."""
        with np.load(self.raw_paths[0], allow_pickle=False) as raw:
            # The largest value falls outside the last bin of the authors' rule and makes a sixth class of two nodes.
            label = np.minimum(raw["label"].astype(np.int64), 4)
            data = Data(
                x=torch.from_numpy(raw["features"].astype(np.float32)),
                edge_index=torch.from_numpy(raw["edges"].astype(np.int64).T.copy()),
                y=torch.from_numpy(label),
            )
        self.save([data], self.processed_paths[0])


class CleanedGraph(HeterophilousGraphDataset):  # type: ignore[misc]
    """The filtered and corrected graphs that were published beside PyTorch Geometric's five heterophilous ones."""

    def __init__(self, root: str, name: str) -> None:
        self.name = name
        InMemoryDataset.__init__(self, root)
        self.load(self.processed_paths[0])

    @property
    def raw_dir(self) -> str:
        """The root itself."""
        return str(self.root)


CLASSES: dict[str, Any] = {
    "Actor": Actor,
    "Amazon": Amazon,
    "CleanedGraph": CleanedGraph,
    "Crocodile": Crocodile,
    "HeterophilousGraphDataset": HeterophilousGraphDataset,
    "LINKXDataset": SparseLINKX,
    "OgbnArxiv": OgbnArxiv,
    "Planetoid": Planetoid,
    "TwitchGamer": TwitchGamer,
    "WebKB": WebKB,
    "WikipediaNetwork": WikipediaNetwork,
}
