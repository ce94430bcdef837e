"""Data sets that PyTorch Geometric has no class for, read from the archives in which they were published."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data, InMemoryDataset, download_url, extract_zip

from .stored_splits import with_masks, with_splits


class TwitchGamer(InMemoryDataset):  # type: ignore[misc]
    """Twitch accounts and who follows whom mutually; the class is whether the channel is for adults.

    The features are LINKX's: dates as the number YYYYMMDD, the language as a number in order of first appearance, all
    seven columns standardised.
    """

    url = "https://snap.stanford.edu/data/twitch_gamers.zip"
    columns = ("views", "life_time", "created_at", "updated_at", "dead_account", "language", "affiliate")
    splits: Path | None = None

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.load(self.processed_paths[0])

    @property
    def raw_file_names(self) -> list[str]:
        """Accounts and links."""
        return ["large_twitch_features.csv", "large_twitch_edges.csv"]

    @property
    def processed_file_names(self) -> str:
        """One file."""
        return "data.pt"

    def download(self) -> None:
        """Both files, in one archive."""
        _download_zip(self.url, Path(self.raw_dir))

    def process(self) -> None:
        """Encode the accounts as LINKX does."""
        text = pacsv.ConvertOptions(column_types=dict.fromkeys(("created_at", "updated_at", "language"), pa.string()))
        nodes = pacsv.read_csv(self.raw_paths[0], convert_options=text)
        links = pacsv.read_csv(self.raw_paths[1])
        order = np.argsort(nodes["numeric_id"].to_numpy(), kind="stable")
        encoded = [_numbers(nodes[column], column) for column in self.columns]
        x = np.stack(encoded, axis=1)[order]
        x = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
        edges = np.stack([links["numeric_id_1"].to_numpy(), links["numeric_id_2"].to_numpy()])
        data = Data(
            x=torch.from_numpy(x.astype(np.float32)),
            edge_index=torch.from_numpy(edges.astype(np.int64)),
            y=torch.from_numpy(nodes["mature"].to_numpy()[order].astype(np.int64)),
        )
        self.save([with_splits(data, self.splits)], self.processed_paths[0])


def _numbers(column: pa.ChunkedArray, name: str) -> NDArray[np.float64]:
    if name == "language":
        codes: NDArray[np.float64] = column.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.float64)
        return codes
    if name.endswith("_at"):
        return np.array([int(date.replace("-", "")) for date in column.to_pylist()], dtype=np.float64)
    numbers: NDArray[np.float64] = column.to_numpy().astype(np.float64)
    return numbers


class OgbnArxiv(InMemoryDataset):  # type: ignore[misc]
    """Citations among arXiv papers, from the archive of the Open Graph Benchmark, without its package."""

    url = "http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
    parts = ("train", "valid", "test")

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.load(self.processed_paths[0])

    @property
    def raw_dir(self) -> str:
        """The archive's own folder, which holds ``raw`` and ``split``."""
        return str(self.root)

    @property
    def raw_file_names(self) -> list[str]:
        """Features, links, classes and the three parts of the split by time."""
        tables = [f"raw/{name}.csv.gz" for name in ("node-feat", "edge", "node-label")]
        return tables + [f"split/time/{part}.csv.gz" for part in self.parts]

    @property
    def processed_file_names(self) -> str:
        """One file."""
        return "data.pt"

    def download(self) -> None:
        """All of it, in one archive."""
        _download_zip(self.url, Path(self.root))

    def process(self) -> None:
        """Read the tables, which have no header."""
        x, edges, y, *parts = (_matrix(path) for path in self.raw_paths)
        data = Data(
            x=torch.from_numpy(x.astype(np.float32)),
            edge_index=torch.from_numpy(edges.astype(np.int64).T.copy()),
            y=torch.from_numpy(y[:, 0].astype(np.int64)),
        )
        splits = [{part: nodes[:, 0].astype(np.int64) for part, nodes in zip(self.parts, parts, strict=True)}]
        self.save([with_masks(data, splits, len(x))], self.processed_paths[0])


def _matrix(path: str) -> NDArray[Any]:
    table = pacsv.read_csv(path, read_options=pacsv.ReadOptions(autogenerate_column_names=True))
    return np.stack([column.to_numpy() for column in table.columns], axis=1)


def _download_zip(url: str, folder: Path) -> None:
    """Unpack an archive into a folder, without the archive's own top folder."""
    archive = Path(download_url(url, str(folder)))
    extract_zip(str(archive), str(folder))
    archive.unlink()
    for top in [entry for entry in folder.iterdir() if entry.is_dir() and entry.name in ("arxiv", "twitch_gamers")]:
        for entry in top.iterdir():
            entry.replace(folder / entry.name)
        top.rmdir()
