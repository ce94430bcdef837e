"""Raw files to PyTorch Geometric data: its own dataset classes, and similar classes for what it lacks."""

import pickletools
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder
from torch import Tensor
from torch_geometric import datasets as pyg
from torch_geometric.data import Data, InMemoryDataset, download_url, extract_zip
from torch_geometric.transforms import NormalizeFeatures
from torch_geometric.utils import coalesce, to_undirected

from newtonnet.files import scratch
from newtonnet.graphs import Graph, from_pyg

from .entries import DatasetEntry

PARTS = {"train": "train_mask", "valid": "val_mask", "test": "test_mask"}
"""Parts of a published split, and their masks in PyTorch Geometric."""


def download_source(entry: DatasetEntry, root: Path) -> None:
    """Download the raw files of a data set that are missing below a data root; none of them is parsed."""
    _dataset(entry, root, has_process=False, load=lambda self, path: None)


def read_source(
    entry: DatasetEntry, root: Path, *, processed: Path, splits: Path | None, directed: bool
) -> tuple[Graph, NDArray[np.uint8]]:
    """Parse the raw files of a data set.

    Args:
        entry: the data set.
        root: the data root with its raw files.
        processed: where its class may write the processed file, instead of beside the raw ones.
        splits: the file of fixed splits beside the raw ones, if there is one.
        directed: keep edges as they are stored.

    Returns:
        The graph, and its fixed splits as ``parse.Masks``.
    """
    data = _dataset(entry, root, processed_dir=str(processed), splits=splits)[0]
    if entry.fixed == "luo" and splits is not None:
        data = _with_masks(data, [read_luo_split(splits)])
    if entry.row_normalised:
        data = NormalizeFeatures()(data)
    # The paper's code makes these two undirected, and uses all others as they are.
    stored = to_undirected(data.edge_index) if entry.kind == "WikipediaNetwork" else data.edge_index
    rows = stored.numpy().astype(np.int32)
    if directed:
        ones = torch.ones(data.edge_index.shape[1])
        data.edge_index, data.edge_weight = coalesce(data.edge_index, ones, num_nodes=data.num_nodes, reduce="sum")
    return replace(from_pyg(data, name=entry.name, directed=directed), rows=rows), _masks(data)


def _masks(data: Data) -> NDArray[np.uint8]:
    """Boolean masks of shape (n,) or (n, S) as one array of shape (S, n)."""
    if data.get("train_mask") is None:
        return np.zeros((0, data.num_nodes), dtype=np.uint8)
    parts = [data[key].reshape(data.num_nodes, -1).T.numpy().astype(bool) for key in PARTS.values()]
    return np.select(parts[::-1], [3, 2, 1]).astype(np.uint8)


def _dataset(entry: DatasetEntry, root: Path, **attributes: Any) -> Any:
    """An instance of the entry's class with other attributes."""
    source = OWN.get(entry.kind) or getattr(pyg, entry.kind)
    return type(source.__name__, (source,), attributes)(str(root / entry.root), **entry.options)


class SparseLINKX(pyg.LINKXDataset):  # type: ignore[misc]
    """LINKX's graphs; the one-hot features of the Facebook ones stay sparse, which saves 800 MB on Penn94."""

    raw_file_names = ("data.mat",)  # the splits are optional
    splits: Path | None = None

    def _process_facebook(self) -> Data:
        mat = read_matlab(Path(self.raw_paths[0]), "A", "local_info")
        info = mat["local_info"].astype(np.int64)
        one_hot = OneHotEncoder(dtype=np.float32).fit_transform(np.delete(info, 1, axis=1)).tocoo()
        places = torch.from_numpy(np.stack(one_hot.coords))
        x = torch.sparse_coo_tensor(places, torch.from_numpy(one_hot.data), one_hot.shape, check_invariants=True)
        # The gender, 1 or 2, is the label; 0 means that it is not known.
        return _data(x.coalesce(), mat["A"], info[:, 1] - 1, self.splits)

    def _process_genius(self) -> Data:
        mat = read_matlab(Path(self.raw_paths[0]), "edge_index", "node_feat", "label")
        return _data(mat["node_feat"], mat["edge_index"], mat["label"].reshape(-1), self.splits)


class Crocodile(pyg.WikipediaNetwork):  # type: ignore[misc]
    """The largest Wikipedia network with its five classes of traffic, where PyTorch Geometric gives a regression."""

    def process(self) -> None:
        """Read features, links and classes; a link that is stored n times keeps its n rows."""
        with np.load(self.raw_paths[0], allow_pickle=False) as raw:
            # The largest value falls outside the last bin of the authors' rule and makes a sixth class of two nodes.
            label = np.minimum(raw["label"].astype(np.int64), 4)
            data = _data(raw["features"], raw["edges"].T, label)
        self.save([data], self.processed_paths[0])


class CleanedGraph(pyg.HeterophilousGraphDataset):  # type: ignore[misc]
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
    """A data set that PyTorch Geometric has no class for, from the archive in which it was published."""

    url = ""
    processed_file_names = "data.pt"
    splits: Path | None = None

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.load(self.processed_paths[0])

    def download(self) -> None:
        """Unpack the archive without its top folder."""
        folder = Path(self.raw_dir)
        archive = Path(download_url(self.url, str(folder)))
        extract_zip(str(archive), str(folder))
        archive.unlink()
        for top in [folder / name for name in ("arxiv", "twitch_gamers") if (folder / name).is_dir()]:
            for entry in top.iterdir():
                entry.replace(folder / entry.name)
            top.rmdir()


class TwitchGamer(_Archive):
    """Twitch accounts and who follows whom mutually; the class is whether the channel is for adults.

    The features are LINKX's: dates as the number YYYYMMDD, the language as a number in order of first appearance, all
    seven columns standardised.
    """

    url = "https://snap.stanford.edu/data/twitch_gamers.zip"
    raw_file_names = ("large_twitch_features.csv", "large_twitch_edges.csv")

    def process(self) -> None:
        """Encode the accounts as LINKX does."""
        text = pacsv.ConvertOptions(column_types=dict.fromkeys(("created_at", "updated_at", "language"), pa.string()))
        nodes = pacsv.read_csv(self.raw_paths[0], convert_options=text)
        links = pacsv.read_csv(self.raw_paths[1])
        columns = [
            nodes["views"],
            nodes["life_time"],
            *(pc.replace_substring(nodes[name], "-", "").cast(pa.int64()) for name in ("created_at", "updated_at")),
            nodes["dead_account"],
            nodes["language"].combine_chunks().dictionary_encode().indices,
            nodes["affiliate"],
        ]
        order = np.argsort(nodes["numeric_id"].to_numpy(), kind="stable")
        x = np.stack([column.to_numpy().astype(np.float64) for column in columns], axis=1)[order]
        x = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
        edges = np.stack([links["numeric_id_1"].to_numpy(), links["numeric_id_2"].to_numpy()])
        data = _data(x, edges, nodes["mature"].to_numpy()[order], self.splits)
        self.save([data], self.processed_paths[0])


class OgbnArxiv(_Archive):
    """Citations among arXiv papers, from the archive of the Open Graph Benchmark, without its package."""

    url = "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
    raw_file_names = (
        *(f"raw/{table}.csv.gz" for table in ("node-feat", "edge", "node-label")),
        *(f"split/time/{part}.csv.gz" for part in ("train", "valid", "test")),
    )

    @property
    def raw_dir(self) -> str:
        """The archive's own folder, which holds ``raw`` and ``split``."""
        return str(self.root)

    def process(self) -> None:
        """Read the tables, which have no header, and the split by time."""
        x, edges, y, *parts = (_matrix(path) for path in self.raw_paths)
        split = {part: nodes[:, 0] for part, nodes in zip(PARTS, parts, strict=True)}
        self.save([_with_masks(_data(x, edges.T, y[:, 0]), [split])], self.processed_paths[0])


def _matrix(path: str) -> NDArray[Any]:
    table = pacsv.read_csv(path, read_options=pacsv.ReadOptions(autogenerate_column_names=True))
    return np.stack([column.to_numpy() for column in table.columns], axis=1)


def _data(x: NDArray[Any] | Tensor, edges: NDArray[Any], y: NDArray[Any], splits: Path | None = None) -> Data:
    """A graph, with LINKX's fixed splits if there is a file of them."""
    data = Data(
        x=x if isinstance(x, Tensor) else torch.from_numpy(x.astype(np.float32)),
        edge_index=torch.from_numpy(edges.astype(np.int64, order="C")),
        y=torch.from_numpy(y.astype(np.int64)),
    )
    return data if splits is None else _with_masks(data, read_linkx_splits(splits))


_CONVERT = """
import sys
import numpy as np
from scipy import io, sparse
found = io.loadmat(sys.argv[1], variable_names=sys.argv[3:])
for x in found.values():
    if sparse.issparse(x):
        x.check_format()  # scipy writes where the column pointers say
plain = {name: np.stack(sparse.coo_array(x).coords) if sparse.issparse(x) else x for name, x in found.items()}
np.savez(sys.argv[2], allow_pickle=False, **{name: plain[name] for name in sys.argv[3:]})
"""


READING = 60.0
"""Seconds that reading a MATLAB file of a megabyte may take; larger ones get as much for each."""


def read_matlab(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    """Variables of a MATLAB file by name; of a sparse matrix the places of its entries, ``(2, E)``.

    Another process reads the file, because damaged ones crash scipy, or keep it busy for hours.
    """
    seconds = READING * max(path.stat().st_size / 1e6, 1)
    with scratch() as work:
        command = [sys.executable, "-P", "-c", _CONVERT, str(path), str(work / "plain.npz"), *names]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds)
        except subprocess.TimeoutExpired:
            raise ValueError(f"{path} was not read within {seconds:.0f} s; it may be damaged: get it again") from None
        if done.returncode:
            said = done.stderr.strip().splitlines()[-1:] or [f"the reader ended with code {done.returncode}"]
            raise ValueError(f"{path} is not a MATLAB file with {', '.join(names)} ({said[0]})")
        with np.load(work / "plain.npz", allow_pickle=False) as plain:
            return dict(plain)


# Fixed splits


def _with_masks(data: Data, splits: list[dict[str, NDArray[np.int64]]]) -> Data:
    """Add splits, each a list of nodes for every part, as masks."""
    for part, key in PARTS.items():
        masks = torch.zeros((data.num_nodes, len(splits)), dtype=torch.bool)
        for index, split in enumerate(splits):
            if len(split[part]) and not 0 <= split[part].min() <= split[part].max() < data.num_nodes:
                raise ValueError(f"the splits name nodes outside 0..{data.num_nodes - 1}")
            masks[torch.from_numpy(split[part]), index] = True
        data[key] = masks
    return data


def read_luo_split(path: Path) -> dict[str, NDArray[np.int64]]:
    """Read the one split of Luo, Shi, Wu, Classic GNNs are Strong Baselines, 2024, from its archive of node numbers."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {part: stored[part].astype(np.int64, casting="safe") for part in PARTS}
    except (KeyError, TypeError, ValueError) as reason:
        raise ValueError(f"{path} does not hold a split: expected lists of nodes, {reason}") from reason


def read_linkx_splits(path: Path) -> list[dict[str, NDArray[np.int64]]]:
    """Read LINKX's splits, which numpy stores as a pickle: as plain arrays, without running it; the rest is refused."""
    data = path.read_bytes()
    try:
        size = 2 if data[6] == 1 else 4  # of the length of numpy's header
        stored = _parse(data[8 + size + int.from_bytes(data[8 : 8 + size], "little") :])
        return [{str(part): _integers(nodes) for part, nodes in split.items()} for split in _state(stored)[4]]
    except (AttributeError, IndexError, KeyError, TypeError) as reason:
        raise ValueError(f"{path} does not hold splits: expected lists of nodes, {type(reason).__name__}") from reason


@dataclass
class _Built:
    """What a pickle would build: the name of a function, its arguments and the state of the result."""

    name: str
    arguments: Any = ()
    state: Any = None


_ARRAY_PARTS = frozenset(f"numpy.{core}.multiarray._reconstruct" for core in ("core", "_core"))
_PARTS = _ARRAY_PARTS | {"numpy.ndarray", "numpy.dtype"}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_LITERALS = ("INT", "LONG", "UNICODE", "STRING", "BYTES")
_LENGTHS = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def _parse(data: bytes) -> Any:
    """The values of a pickle of lists, dicts, tuples, texts, numbers and arrays; nothing in it is called."""
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def pop(count: int) -> list[Any]:
        if not 0 <= count <= len(stack):
            raise IndexError
        taken = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        return taken

    for opcode, argument, _ in pickletools.genops(data):
        name = opcode.name
        if name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in ("EMPTY_LIST", "EMPTY_DICT"):
            stack.append([] if name == "EMPTY_LIST" else {})
        elif name in _LENGTHS:
            stack.append(tuple(pop(_LENGTHS[name])))
        elif name == "MARK":
            marks.append(len(stack))
        elif name == "TUPLE":
            stack.append(tuple(pop(len(stack) - marks.pop())))
        elif name in ("APPEND", "APPENDS"):
            items = pop(1 if name == "APPEND" else len(stack) - marks.pop())
            stack[-1].extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = pop(2 if name == "SETITEM" else len(stack) - marks.pop())
            stack[-1].update(zip(items[::2], items[1::2], strict=True))
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            known = ".".join(str(argument).split(" ") if name == "GLOBAL" else pop(2))
            if known not in _PARTS:
                raise ValueError(f"the splits hold {known!r:.60}, not plain arrays; the file is refused")
            stack.append(_Built(known))
        elif name == "REDUCE":
            (arguments,) = pop(1)
            stack[-1] = _Built(stack[-1].name, arguments)
        elif name == "BUILD":
            (state,) = pop(1)
            stack[-1].state = state
        elif name in ("MEMOIZE", "BINPUT", "LONG_BINPUT"):
            memo[len(memo) if argument is None else argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[int(argument or 0)])
        elif any(kind in name for kind in _LITERALS):
            stack.append(argument)
        elif name not in ("PROTO", "FRAME", "STOP"):
            raise ValueError(f"the splits hold the instruction {name}, not plain arrays; the file is refused")
    return stack.pop()


def _state(built: _Built) -> tuple[Any, ...]:
    """What numpy stores of an array: a version, the shape, the type, the order and the contents."""
    if built.name not in _ARRAY_PARTS or len(built.state) != 5:
        raise TypeError
    return tuple(built.state)


def _integers(built: _Built) -> NDArray[np.int64]:
    """An array of node numbers from what is stored of it; any other type of number is refused."""
    _, shape, kind, _, contents = _state(built)
    type_, order = kind.arguments[0], kind.state[1]
    if (
        kind.name != "numpy.dtype"
        or type_ not in ("i4", "i8", "u4", "u8")
        or order not in ("<", ">")
        or len(shape) != 1
    ):
        raise TypeError
    stored = contents if isinstance(contents, bytes) else contents.encode("latin1")  # Python 2 had one type for both
    return np.frombuffer(stored, dtype=f"{order}{type_}").reshape(shape).astype(np.int64)


OWN = {source.__name__: source for source in (CleanedGraph, Crocodile, OgbnArxiv, SparseLINKX, TwitchGamer)}
"""Classes that PyTorch Geometric lacks, by the name that the catalogue uses."""
