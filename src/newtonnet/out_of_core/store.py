"""The folder of propagated features: one file for each power, a manifest of what is finished, checksums of all."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.files import write_whole

from .disk import full_disk, read_array, read_rows, reserve, row_chunks

FORMAT = 1
MANIFEST = "manifest.json"
LOCK = ".lock"
"""Held by the process that writes to the store."""


@dataclass(frozen=True)
class Identity:
    """What decides the numbers in a store.

    Attributes:
        nodes: n.
        features: F.
        degree: K; there are K+1 blocks.
        self_loops: whether the operator is that of the graph with self-loops.
        adjacency: checksum of the adjacency.
        features_checksum: checksum of the features.
    """

    nodes: int
    features: int
    degree: int
    self_loops: bool
    adjacency: str
    features_checksum: str


@dataclass(frozen=True)
class Part:
    """A finished part: some columns of one block, and the hash of its numbers."""

    columns: tuple[int, int]
    k: int
    sha256: str


@dataclass(frozen=True)
class Store:
    """A folder with the blocks :math:`T_k(L - I) X` for k from 0 to K, each ``(n, F)`` in float32.

    Attributes:
        folder: where it lies.
        identity: what decides its numbers.
        width: columns that are computed at once.
        parts: what is finished, in order.
    """

    folder: Path
    identity: Identity
    width: int
    parts: tuple[Part, ...] = ()

    @property
    def columns(self) -> list[tuple[int, int]]:
        """The blocks of columns, one after the other."""
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
        """The file of a block."""
        return self.folder / f"T{k}.f32"

    def block(self, k: int) -> NDArray[np.float32]:
        """A block as an array that is read where it is looked at, ``(n, F)``."""
        return read_array(self.path(k), "<f4", (self.identity.nodes, self.identity.features))


def create_store(folder: Path, identity: Identity, width: int) -> Store:
    """Begin a store in an existing folder: take the room of all its blocks, or leave no file behind."""
    store = Store(folder, identity, width)
    paths = [store.path(k) for k in range(identity.degree + 1)]
    for path in paths:  # of a process that was killed before its manifest
        path.unlink(missing_ok=True)
    reserve(dict.fromkeys(paths, 4 * identity.nodes * identity.features))
    try:
        _save(store)
    except OSError as error:
        for path in paths:
            path.unlink(missing_ok=True)
        raise full_disk(error, folder) from error
    return store


def open_store(folder: str | Path, *, verify: bool = False) -> Store:
    """A store as it is, finished or not.

    Args:
        folder: where it lies.
        verify: read everything that is finished and compare it with its checksums.
    """
    folder = Path(folder)
    try:
        about = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if about["format"] != FORMAT or about["dtype"] != "float32":
            found = f"format {about['format']} ({about['dtype']})"
            raise ValueError(f"{folder} has {found}, expected {FORMAT} (float32); remove it and compute it again")
        parts = tuple(
            Part((part["columns"][0], part["columns"][1]), part["k"], part["sha256"]) for part in about["parts"]
        )
        store = Store(folder, Identity(**about["identity"]), int(about["width"]), parts)
    except FileNotFoundError:
        raise ValueError(f"{folder} holds no precomputed blocks; precompute makes them") from None
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{folder / MANIFEST} cannot be read ({error}); remove the folder, compute again") from error
    for k in range(store.identity.degree + 1):
        store.block(k)
    if verify:
        for part in store.parts:
            if _hash(store, part) != part.sha256:
                where = f"columns {part.columns[0]} to {part.columns[1] - 1} of {store.path(part.k)}"
                raise ValueError(f"{where} have changed since they were written; remove the folder, compute again")
    return store


def check_identity(store: Store, wanted: Identity) -> None:
    """Refuse a store that was made from something else."""
    words = {
        "nodes": "nodes",
        "features": "features",
        "degree": "degree",
        "self_loops": "self-loops",
        "adjacency": "another graph, adjacency",
        "features_checksum": "other features,",
    }
    for name, word in words.items():
        here, there = getattr(store.identity, name), getattr(wanted, name)
        if here != there:
            raise ValueError(
                f"{store.folder} belongs to another run ({word} {here} there, {there} here); name another folder"
            )


def write_part(store: Store, columns: tuple[int, int], k: int, block: NDArray[np.float32]) -> Store:
    """Write some columns of a block, ``(n, c)``, to the disk for good, then note them as finished."""
    lo, hi = columns
    width = store.identity.features
    digest = hashlib.sha256()
    try:
        with store.path(k).open("r+b", buffering=0) as stream:
            for rows in row_chunks(len(block), 4 * width):
                piece = np.ascontiguousarray(block[rows], dtype="<f4")
                digest.update(piece.data)
                if hi - lo < width:  # the other columns are written again as they are
                    whole = read_rows(store.block(k), rows)
                    whole[:, lo:hi] = piece
                    piece = whole
                _write_all(stream.fileno(), piece, rows.start * 4 * width)
            os.fsync(stream.fileno())
        grown = replace(store, parts=(*store.parts, Part(columns, k, digest.hexdigest())))
        _save(grown)
    except OSError as error:
        raise full_disk(error, store.folder) from error
    return grown


def _write_all(handle: int, piece: NDArray[np.float32], offset: int) -> None:
    left = piece.data.cast("B")
    while len(left):
        written = os.pwrite(handle, left, offset)
        left, offset = left[written:], offset + written


def _hash(store: Store, part: Part) -> str:
    digest, block = hashlib.sha256(), store.block(part.k)
    for rows in row_chunks(len(block), 4 * store.identity.features):
        digest.update(np.ascontiguousarray(read_rows(block, rows)[:, slice(*part.columns)]).data)
    return digest.hexdigest()


def _save(store: Store) -> None:
    about: dict[str, Any] = {
        "format": FORMAT,
        "dtype": "float32",
        "identity": asdict(store.identity),
        "width": store.width,
        "parts": [asdict(part) for part in store.parts],
    }
    write_whole(store.folder / MANIFEST, json.dumps(about, indent=1) + "\n")
