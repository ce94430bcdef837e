"""A graph that need not fit in memory: adjacency, features and labels in files, or those of a graph in memory."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from newtonnet.files import write_whole
from newtonnet.graphs import Features, Graph, read_rows

from .adjacency import ENTRIES, Adjacency, EdgePiece, adjacency_of, open_adjacency, write_adjacency
from .array_files import hash_arrays, new_folder, read_array

FORMAT = 1


@dataclass(frozen=True, eq=False)
class LargeGraph:
    """What the precomputed regime reads of a graph.

    Attributes:
        adjacency: symmetric, on disk or in memory.
        features: float32, ``(n, F)``, dense (in memory or mapped from a file) or CSR.
        labels: classes ``0 .. C-1`` and -1 where unknown, ``(n,)``.
        class_names: one for each class.
        name: what the graph is called in records.
        checksum: short hash of everything that training can see.
        features_checksum: short hash of the features alone.
        folder: where it lies; None in memory.
    """

    adjacency: Adjacency
    features: Features
    labels: NDArray[np.int32] | NDArray[np.int64]
    class_names: tuple[str, ...]
    name: str
    checksum: str
    features_checksum: str
    folder: Path | None = None

    @property
    def nodes(self) -> int:
        """Number of nodes n."""
        return self.adjacency.nodes

    @property
    def classes(self) -> int:
        """Number of classes C."""
        return len(self.class_names)

    def dense(self, rows: slice, columns: slice) -> NDArray[np.float32]:
        """A dense piece of the features."""
        if isinstance(self.features, sp.csr_array):
            piece: NDArray[np.float32] = self.features[rows][:, columns].toarray()
            return piece
        return np.ascontiguousarray(read_rows(self.features, rows)[:, columns])

    def __repr__(self) -> str:
        place = None if self.folder is None else str(self.folder)
        return (
            f"LargeGraph({self.name!r}, nodes={self.nodes}, edges={self.adjacency.edges}, "
            f"features={self.features.shape[1]}, classes={self.classes}, folder={place!r})"
        )


def as_large(graph: Graph | LargeGraph) -> LargeGraph:
    """A graph in memory as the precomputed regime reads it."""
    if isinstance(graph, LargeGraph):
        return graph
    x = graph.features
    parts = (x.data, x.indices, x.indptr) if isinstance(x, sp.csr_array) else (x,)
    return LargeGraph(
        adjacency=adjacency_of(graph),
        features=x,
        labels=graph.labels,
        class_names=graph.class_names,
        name=graph.name,
        checksum=graph.checksum,
        features_checksum=hash_arrays(*parts),
    )


def open_graph(folder: str | Path) -> LargeGraph:
    """The graph that :func:`write_graph` has left in a folder."""
    folder = Path(folder)
    try:
        about = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
        if about["format"] != FORMAT:
            raise ValueError(f"{folder} has format {about['format']}, expected {FORMAT}; build it again")
        adjacency = open_adjacency(folder / "adjacency")
        return LargeGraph(
            adjacency=adjacency,
            features=read_array(folder / "features.f32", "<f4", (adjacency.nodes, int(about["features"]))),
            labels=read_array(folder / "labels.i32", "<i4", (adjacency.nodes,)),
            class_names=tuple(about["class_names"]),
            name=str(about["name"]),
            checksum=str(about["checksum"]),
            features_checksum=str(about["features_checksum"]),
            folder=folder,
        )
    except FileNotFoundError:
        raise ValueError(f"{folder} holds no graph; write_graph makes one") from None
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{folder / 'graph.json'} cannot be read ({error}); build it again") from error


def write_graph(
    folder: str | Path,
    edges: Iterable[EdgePiece],
    features: Iterable[NDArray[np.float32]],
    labels: Iterable[ArrayLike],
    *,
    nodes: int,
    class_names: Sequence[str] | None = None,
    name: str = "graph",
    entries: int = ENTRIES,
) -> LargeGraph:
    """Build a graph in a new folder from pieces, none of which need be kept.

    Args:
        folder: a new or empty one; nothing stays of it where building fails.
        edges: pieces of edges, see :func:`write_adjacency`.
        features: rows of features in the nodes' order, some at a time, each ``(m, F)``.
        labels: classes in the nodes' order, -1 for unknown, some at a time, each ``(m,)``.
        nodes: number of nodes n.
        class_names: one name for each class; their numbers if not given.
        name: the graph's name.
        entries: entries of the adjacency that are sorted at once.
    """
    folder = Path(folder)
    with new_folder(folder) as place:
        width = _write_features(place / "features.f32", features, nodes)
        largest = _write_labels(place / "labels.i32", labels, nodes)
        names = [str(c) for c in range(largest + 1)] if class_names is None else list(class_names)
        if largest >= len(names):
            raise ValueError(f"labels must be -1 or 0..{len(names) - 1}, one for each class name, got {largest}")
        adjacency = write_adjacency(place / "adjacency", edges, nodes=nodes, entries=entries)
        x = hash_arrays(read_array(place / "features.f32", "<f4", (nodes, width)))
        y = hash_arrays(read_array(place / "labels.i32", "<i4", (nodes,)))
        about = {
            "format": FORMAT,
            "name": name,
            "features": width,
            "class_names": names,
            "features_checksum": x,
            "checksum": hashlib.sha256(f"{adjacency.checksum} {x} {y}".encode()).hexdigest()[:16],
        }
        write_whole(place / "graph.json", json.dumps(about) + "\n")
    return open_graph(folder)


def _write_features(path: Path, pieces: Iterable[NDArray[np.float32]], nodes: int) -> int:
    seen, width = 0, 0
    with path.open("wb") as stream:
        for piece in pieces:
            rows = np.ascontiguousarray(piece, dtype="<f4")
            if rows.ndim != 2 or rows.shape[1] == 0 or (width and rows.shape[1] != width):
                expected = f"(m, {width})" if width else "(m, F)"
                raise ValueError(f"pieces of features must have shape {expected}, got {rows.shape}")
            bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
            if len(bad):
                raise ValueError(f"features must be finite, but node {seen + int(bad[0])} has a NaN or infinite one")
            stream.write(rows.data)
            seen, width = seen + len(rows), rows.shape[1]
    if seen != nodes or not width:
        raise ValueError(f"expected features of {nodes} nodes, got {seen}")
    return width


def _write_labels(path: Path, pieces: Iterable[ArrayLike], nodes: int) -> int:
    seen, largest = 0, -1
    with path.open("wb") as stream:
        for piece in pieces:
            y = np.asarray(piece)
            if y.ndim != 1 or not np.issubdtype(y.dtype, np.integer) or y.min(initial=0) < -1:
                raise ValueError(f"labels must be whole numbers 0..C-1, -1 for unknown, got {y.dtype} {y.shape}")
            stream.write(y.astype("<i4").data)
            seen, largest = seen + len(y), max(largest, int(y.max(initial=-1)))
    if seen != nodes:
        raise ValueError(f"expected labels of {nodes} nodes, got {seen}")
    return largest
