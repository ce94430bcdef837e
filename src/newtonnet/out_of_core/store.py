"""The folder of propagated features: one file for each Chebyshev term, and a manifest with checksums."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.files import write_whole
from newtonnet.graphs import read_rows, row_chunks

from .array_files import (
    FORMAT,
    WHOLE,
    checked_count,
    full_disk,
    read_array,
    read_manifest,
    reserve,
    sample_checksum,
)

MANIFEST = "manifest.json"
LOCK = ".lock"
"""Held by the process that writes to the store."""


@dataclass(frozen=True)
class StoreIdentity:
    """What determines the numbers in a store: n, F, K, whether the graph gets self-loops, and checksums of its data."""

    nodes: int
    features: int
    degree: int
    self_loops: bool
    adjacency: str
    features_checksum: str


@dataclass(frozen=True)
class StoredPart:
    """A finished part: some columns of one term, and the hash of its numbers."""

    columns: tuple[int, int]
    k: int
    sha256: str
    sample: str | None = None
    """Hash of some of the numbers; None in stores from before there were samples."""


@dataclass(frozen=True)
class FeatureStore:
    """A folder with the Chebyshev terms :math:`T_k(L - I) X` for k from 0 to K, each ``(n, F)`` in float32.

    They are computed ``width`` columns at a time; ``parts`` are the finished parts, in order.
    """

    folder: Path
    identity: StoreIdentity
    width: int
    parts: tuple[StoredPart, ...] = ()

    @property
    def columns(self) -> list[tuple[int, int]]:
        """First and last + 1 of the columns that are computed together."""
        f = self.identity.features
        return [(start, min(start + self.width, f)) for start in range(0, f, self.width)]

    @property
    def complete(self) -> bool:
        """Whether every part is finished."""
        return len(self.parts) == len(self.columns) * (self.identity.degree + 1)

    @property
    def checksum(self) -> str:
        """Short hash of the checksums of all parts."""
        return hashlib.sha256("".join(part.sha256 for part in self.parts).encode()).hexdigest()[:16]

    def path(self, k: int) -> Path:
        """The file of term k."""
        return self.folder / f"T{k}.f32"

    def term(self, k: int) -> NDArray[np.float32]:
        """Term k as an array mapped from its file, ``(n, F)``."""
        return read_array(self.path(k), "<f4", (self.identity.nodes, self.identity.features))


def create_store(folder: Path, identity: StoreIdentity, width: int) -> FeatureStore:
    """Create a store in an existing folder: reserve the room of all terms, or leave no file behind."""
    store = FeatureStore(folder, identity, width)
    paths = [store.path(k) for k in range(identity.degree + 1)]
    for path in paths:  # left by a process that was killed before it wrote its manifest
        path.unlink(missing_ok=True)
    reserve(dict.fromkeys(paths, 4 * identity.nodes * identity.features))
    try:
        _save(store)
    except OSError as error:
        for path in (folder / MANIFEST, *paths):
            path.unlink(missing_ok=True)
        raise full_disk(error, folder) from error
    return store


def open_store(folder: str | Path, *, verify: bool | None = None) -> FeatureStore:
    """Open a store, finished or not.

    Args:
        folder: where the files are.
        verify: compare everything that is finished with its checksums; by default up to 1 GB, and samples of more.

    Returns:
        The store.
    """
    folder = Path(folder)
    holds, again = "propagated features; compute them with propagate_to_disk", "remove the folder and compute it again"
    with read_manifest(folder / MANIFEST, holds, again=again) as about:
        identity, width = StoreIdentity(**about["identity"]), checked_count(about["width"])
        for number in (identity.nodes, identity.features, identity.degree):
            checked_count(number)
        parts = tuple(
            StoredPart((checked_count(lo), checked_count(hi)), checked_count(part["k"]), *_sums(part))
            for part in about["parts"]
            for lo, hi in [part["columns"]]
        )
        store = FeatureStore(folder, identity, width, parts)
        if not (width and identity.nodes and identity.features):
            raise TypeError("a store of nothing")
        for k in range(identity.degree + 1):
            store.term(k)  # checks the size of the file
        expected = ((columns, k) for columns in store.columns for k in range(identity.degree + 1))
        if [(part.columns, part.k) for part in parts] != list(islice(expected, len(parts))):
            raise TypeError("parts that do not follow each other")
    size = 4 * sum(part.columns[1] - part.columns[0] for part in parts) * identity.nodes
    whole = size <= WHOLE if verify is None else verify
    for part in () if verify is False else parts:
        if (_hash(store, part) != part.sha256) if whole else (part.sample not in (None, _hash_sample(store, part))):
            where = f"columns {part.columns[0]} to {part.columns[1] - 1} of {store.path(part.k)}"
            raise ValueError(f"{where} have changed since they were written; {again}")
    return store


def check_identity(store: FeatureStore, wanted: StoreIdentity) -> None:
    """Raise an error if the store was computed from something else."""
    words = {
        "self_loops": "self-loops",
        "adjacency": "another graph, adjacency",
        "features_checksum": "other features,",
    }
    for name, here in asdict(wanted).items():
        if (stored := getattr(store.identity, name)) != here:
            found = f"{words.get(name, name)} {stored} there, {here} here"
            raise ValueError(f"{store.folder} belongs to another run ({found}); name another folder")


def write_part(store: FeatureStore, columns: tuple[int, int], k: int, values: NDArray[np.float32]) -> FeatureStore:
    """Write some columns of term k, ``(n, c)``, sync them to the disk, then list them as finished."""
    lo, hi = columns
    width = store.identity.features
    digest = hashlib.sha256()
    try:
        with store.path(k).open("r+b") as stream:
            for rows in row_chunks(len(values), 4 * width):
                piece = np.ascontiguousarray(values[rows], dtype="<f4")
                digest.update(piece.data)
                if hi - lo < width:  # rewrite the other columns as they are
                    whole = read_rows(store.term(k), rows)
                    whole[:, lo:hi] = piece
                    piece = whole
                stream.write(piece.data)
            stream.flush()
            os.fsync(stream.fileno())
        written = StoredPart(columns, k, digest.hexdigest())
        written = replace(written, sample=_hash_sample(store, written))
        grown = replace(store, parts=(*store.parts, written))
        _save(grown)
    except OSError as error:
        raise full_disk(error, store.folder) from error
    return grown


def _hash(store: FeatureStore, part: StoredPart) -> str:
    digest, term = hashlib.sha256(), store.term(part.k)
    for rows in row_chunks(len(term), 4 * store.identity.features):
        digest.update(np.ascontiguousarray(read_rows(term, rows)[:, slice(*part.columns)]).data)
    return digest.hexdigest()


def _hash_sample(store: FeatureStore, part: StoredPart) -> str:
    return sample_checksum(store.term(part.k), columns=slice(*part.columns))


def _sums(part: Mapping[str, Any]) -> tuple[str, str | None]:
    return str(part["sha256"]), part.get("sample")


def _save(store: FeatureStore) -> None:
    about = {
        "format": FORMAT,
        "dtype": "float32",
        "identity": asdict(store.identity),
        "width": store.width,
        "parts": [asdict(part) for part in store.parts],
    }
    write_whole(store.folder / MANIFEST, json.dumps(about, indent=1) + "\n")
