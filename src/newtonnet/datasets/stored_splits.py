"""Fixed splits as masks of PyTorch Geometric data, and LINKX's file of them."""

import pickle
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data


def with_splits(data: Data, splits: Path | None) -> Data:
    """Add LINKX's fixed splits as masks, if there is a file of them."""
    return data if splits is None else with_masks(data, read_linkx_splits(splits), data.num_nodes)


def with_masks(data: Data, splits: list[dict[str, NDArray[np.int64]]], nodes: int) -> Data:
    """Add splits, each a list of nodes for every part, as masks."""
    for part, key in (("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask")):
        masks = torch.zeros((nodes, len(splits)), dtype=torch.bool)
        for index, split in enumerate(splits):
            masks[torch.from_numpy(split[part]), index] = True
        data[key] = masks
    return data


def read_linkx_splits(path: Path) -> list[dict[str, NDArray[np.int64]]]:
    """LINKX's splits, which numpy stores as a pickle: only plain arrays are let out of it."""
    with path.open("rb") as stream:
        major, _ = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        header(stream)
        stored = _PlainArrays(stream).load()
    return [{part: np.asarray(nodes, dtype=np.int64) for part, nodes in split.items()} for split in stored]


class _PlainArrays(pickle.Unpickler):
    """An unpickler that can build numpy arrays and nothing else, so that no file can run code."""

    allowed = frozenset({"_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer"})

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream, encoding="latin1")

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] != "numpy" or name not in self.allowed:
            raise ValueError(f"the splits hold {module}.{name}, not plain arrays; the file is refused")
        return super().find_class(module, name)
