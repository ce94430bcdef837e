"""Raw files to a graph, parsed once and cached as a compact npz file that loads in a fraction of a second."""

import contextlib
import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from newtonnet.files import whole_file
from newtonnet.graphs import Features, Graph
from newtonnet.meaning import lacking

from .entries import DatasetEntry
from .raw_files import RawFile, cache_folder, scratch
from .statistics import DatasetSummary, measure

FORMAT = 3
"""Version of the cached files; raised when those of an older release must not be used."""

Masks = NDArray[np.uint8]
"""Fixed splits, shape ``(S, n)``: 1 train, 2 validation, 3 test, 0 neither."""


def cache_path(name: str, files: Sequence[RawFile], *, directed: bool) -> Path:
    """The file that holds this graph, made from exactly these raw files."""
    parts = [str(FORMAT), str(directed), *(f"{file.path} {file.sha256}" for file in files)]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return cache_folder() / "graphs" / f"{_stem(name, directed=directed)}-{key}.npz"


def parsed_paths(name: str, *, directed: bool) -> list[Path]:
    """Every file that holds a graph of this name, from any raw files, the newest first."""
    stem = _stem(name, directed=directed)
    found = (cache_folder() / "graphs").glob(f"{stem}-*.npz")
    # A pattern alone would also find chameleon-filtered for chameleon.
    own = [path for path in found if re.fullmatch("[0-9a-f]{16}", path.stem.removeprefix(f"{stem}-"))]
    return sorted(own, key=lambda path: path.stat().st_mtime, reverse=True)


def _stem(name: str, *, directed: bool) -> str:
    return f"{name}-as-stored" if directed else name


def parse_into(
    path: Path, entry: DatasetEntry, root: Path, files: Sequence[RawFile], *, directed: bool
) -> tuple[Graph, Masks]:
    """Parse checked raw files below ``root``, and cache the graph in ``path``, with the files as its provenance."""
    try:
        from .sources import read_source  # imports torch_geometric
    except Exception as error:  # a broken installation can raise anything
        raise lacking(f"reading data set {entry.name!r} needs PyTorch Geometric", "pyg", error) from None
    splits = root / entry.splits if entry.splits in {file.path for file in files} else None
    with scratch() as work, contextlib.redirect_stderr(io.StringIO()):  # the dataset classes print each step
        try:
            graph, masks = read_source(entry, root, processed=work, splits=splits, directed=directed)
        except Exception as reason:
            raise ValueError(
                f"data set {entry.name!r}: the raw files in {root / Path(entry.files[0]).parent} cannot be read "
                f"({type(reason).__name__}: {' '.join(str(reason).split())})"
            ) from reason
    facts = {"summary": asdict(measure(entry, graph)), "files": [asdict(file) for file in files]}
    write_graph_file(path, graph, masks, facts)
    return graph, masks


# The cached file


def write_graph_file(path: Path, graph: Graph, masks: Masks, facts: Mapping[str, Any]) -> None:
    """Write a graph, its fixed splits and a few facts; the file appears whole or not at all.

    Values that are all 1 are not stored; indices, and dense features that are small whole numbers, take as few bytes
    as they need.
    """
    arrays = {
        **_pack("adjacency", graph.adjacency),
        **_pack("features", graph.features),
        "labels": _narrow(graph.labels),
        "masks": masks,
        "facts": np.frombuffer(json.dumps(dict(facts)).encode(), dtype=np.uint8),
        "names": np.frombuffer(json.dumps([graph.name, graph.class_names]).encode(), dtype=np.uint8),
        "directed": np.array(graph.directed),
        **({} if graph.rows is None else {"rows": _narrow(graph.rows)}),
        "format": np.array(FORMAT),
    }
    with whole_file(path) as draft, draft.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def read_graph_file(path: Path) -> tuple[Graph, Masks] | None:
    """Read a graph and its fixed splits; None if there is no such file or it is damaged."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            if stored["format"] != FORMAT:
                return None
            arrays = {key: stored[key] for key in stored.files}
        name, class_names = json.loads(arrays["names"].tobytes())
        graph = Graph(
            features=_unpack("features", arrays),
            adjacency=_unpack("adjacency", arrays),
            labels=arrays["labels"].astype(np.int64),
            class_names=tuple(class_names),
            name=name,
            directed=bool(arrays["directed"]),
            rows=arrays["rows"].astype(np.int32) if "rows" in arrays else None,
        )
        masks = arrays["masks"]
        return (graph, masks) if masks.dtype == np.uint8 and masks.shape[1:] == (graph.nodes,) else None
    except Exception:  # zip files and headers of arrays that are damaged can raise anything
        return None


def read_facts(path: Path) -> tuple[DatasetSummary, tuple[RawFile, ...]] | None:
    """Read only the summary and the raw files of a graph file; None if there is no such file or it is damaged."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            facts = json.loads(stored["facts"].tobytes()) if stored["format"] == FORMAT else {}
        summary, files = DatasetSummary(**facts["summary"]), tuple(RawFile(**file) for file in facts["files"])
        return (summary, files) if all(map(_has_its_types, (summary, *files))) else None
    except Exception:  # as above
        return None


def _has_its_types(row: object) -> bool:
    hints = get_type_hints(type(row)).items()
    return all(
        value in get_args(kind) if get_origin(kind) is Literal else isinstance(value, kind)
        for value, kind in ((getattr(row, name), kind) for name, kind in hints)
    )


def _pack(key: str, matrix: Features) -> dict[str, NDArray[np.generic]]:
    if isinstance(matrix, np.ndarray):
        with np.errstate(invalid="ignore"):
            bytes_ = matrix.astype(np.uint8)
        return {key: bytes_ if np.array_equal(bytes_, matrix) else matrix}
    packed: dict[str, NDArray[np.generic]] = {
        f"{key}_rows": _narrow(np.diff(matrix.indptr)),
        f"{key}_columns": _narrow(matrix.indices),
        f"{key}_shape": np.array(matrix.shape),
    }
    if not bool((matrix.data == 1).all()):
        packed[f"{key}_values"] = matrix.data
    return packed


def _unpack(key: str, arrays: Mapping[str, NDArray[Any]]) -> Features:
    if key in arrays:
        return arrays[key].astype(np.float32, copy=False)
    columns = arrays[f"{key}_columns"].astype(np.int32)
    counts = arrays[f"{key}_rows"].astype(np.int64)
    if counts.ndim != 1 or counts.min(initial=0) < 0 or counts.sum() != len(columns):
        raise ValueError("the rows of a matrix do not hold its entries")
    pointers = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    values = arrays.get(f"{key}_values", np.ones(len(columns), dtype=np.float32))
    return sp.csr_array((values, columns, pointers), shape=tuple(arrays[f"{key}_shape"].tolist()))


def _narrow(numbers: NDArray[np.integer]) -> NDArray[np.integer]:
    """The same whole numbers in the smallest type that holds them."""
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    return numbers.astype(np.promote_types(np.min_scalar_type(low), np.min_scalar_type(high)))
