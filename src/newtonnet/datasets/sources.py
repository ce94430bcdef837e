"""Raw files to PyTorch Geometric data: its own dataset classes, and similar classes for what it lacks."""

import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import torch
from numpy.typing import NDArray
from scipy.io import loadmat
from torch_geometric.data import Data, InMemoryDataset, download_url, extract_zip
from torch_geometric.datasets import (
    Actor,
    Amazon,
    HeterophilousGraphDataset,
    LINKXDataset,
    Planetoid,
    WebKB,
    WikipediaNetwork,
)


def read_source(
    kind: str,
    options: Mapping[str, Any],
    *,
    root: Path,
    processed: Path,
    check: Callable[[], None],
    splits: Path | None = None,
) -> Data:
    """Read the graph of one dataset class.

    Args:
        kind: a key of ``CLASSES``.
        options: arguments of the class other than its root.
        root: the root of the class; missing raw files are downloaded into it.
        processed: where the class may write its processed file, instead of beside the raw ones.
        check: called when the raw files are complete, before any of them is parsed.
        splits: the file of fixed splits beside the raw ones, if there is one.
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
        return _with_splits(data, self.splits)


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


class _Archive(InMemoryDataset):  # type: ignore[misc]
    """A data set that PyTorch Geometric has no class for, from the archive in which it was published.

    Subclasses give the address of the archive and the names of its files, and read them.
    """

    url = ""
    names: tuple[str, ...] = ()
    splits: Path | None = None

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.load(self.processed_paths[0])

    @property
    def raw_file_names(self) -> list[str]:
        return list(self.names)

    @property
    def processed_file_names(self) -> str:
        return "data.pt"

    def download(self) -> None:
        _download_zip(self.url, Path(self.raw_dir))

    def process(self) -> None:
        self.save([self.read()], self.processed_paths[0])

    def read(self) -> Data:
        raise NotImplementedError


class TwitchGamer(_Archive):
    """Twitch accounts and who follows whom mutually; the class is whether the channel is for adults.

    The features are LINKX's: dates as the number YYYYMMDD, the language as a number in order of first appearance, all
    seven columns standardised.
    """

    url = "https://snap.stanford.edu/data/twitch_gamers.zip"
    names = ("large_twitch_features.csv", "large_twitch_edges.csv")
    columns = ("views", "life_time", "created_at", "updated_at", "dead_account", "language", "affiliate")

    def read(self) -> Data:
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
        return _with_splits(data, self.splits)


def _numbers(column: pa.ChunkedArray, name: str) -> NDArray[np.float64]:
    if name == "language":
        codes: NDArray[np.float64] = column.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.float64)
        return codes
    if name.endswith("_at"):
        return np.array([int(date.replace("-", "")) for date in column.to_pylist()], dtype=np.float64)
    numbers: NDArray[np.float64] = column.to_numpy().astype(np.float64)
    return numbers


class OgbnArxiv(_Archive):
    """Citations among arXiv papers, from the archive of the Open Graph Benchmark, without its package."""

    url = "http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
    parts = ("train", "valid", "test")
    names = (
        *(f"raw/{table}.csv.gz" for table in ("node-feat", "edge", "node-label")),
        *(f"split/time/{part}.csv.gz" for part in ("train", "valid", "test")),
    )

    @property
    def raw_dir(self) -> str:
        """The archive's own folder, which holds ``raw`` and ``split``."""
        return str(self.root)

    def read(self) -> Data:
        """Read the tables, which have no header, and the split by time."""
        x, edges, y, *parts = (_matrix(path) for path in self.raw_paths)
        data = Data(
            x=torch.from_numpy(x.astype(np.float32)),
            edge_index=torch.from_numpy(edges.astype(np.int64).T.copy()),
            y=torch.from_numpy(y[:, 0].astype(np.int64)),
        )
        splits = [{part: nodes[:, 0].astype(np.int64) for part, nodes in zip(self.parts, parts, strict=True)}]
        return _with_masks(data, splits, len(x))


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


# Fixed splits


def _with_splits(data: Data, splits: Path | None) -> Data:
    """Add LINKX's fixed splits as masks, if there is a file of them."""
    return data if splits is None else _with_masks(data, read_linkx_splits(splits), data.num_nodes)


def _with_masks(data: Data, splits: list[dict[str, NDArray[np.int64]]], nodes: int) -> Data:
    """Add splits, each a list of nodes for every part, as masks."""
    for part, key in (("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask")):
        masks = torch.zeros((nodes, len(splits)), dtype=torch.bool)
        for index, split in enumerate(splits):
            masks[torch.from_numpy(split[part]), index] = True
        data[key] = masks
    return data


def read_linkx_splits(path: Path) -> list[dict[str, NDArray[np.int64]]]:
    """Read LINKX's splits, which numpy stores as a pickle; anything other than plain arrays raises an error."""
    with path.open("rb") as stream:
        major, _ = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        header(stream)
        stored = _PlainArrays(stream).load()
    return [{part: np.asarray(nodes, dtype=np.int64) for part, nodes in split.items()} for split in stored]


class _PlainArrays(pickle.Unpickler):
    """An unpickler that builds numpy arrays and nothing else, so that no file can run code."""

    allowed = frozenset({"_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer"})

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream, encoding="latin1")

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] != "numpy" or name not in self.allowed:
            raise ValueError(f"the splits hold {module}.{name}, not plain arrays; the file is refused")
        return super().find_class(module, name)


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
