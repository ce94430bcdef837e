"""Load data sets by name: find or download the raw files, check them, parse them once, then read the cache."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from newtonnet.graphs import Graph
from newtonnet.meaning import meant

from .entries import CATALOGUE, DatasetEntry
from .parse import Masks, cache_path, parse_into, parsed_paths, read_facts, read_graph_file
from .raw_files import (
    DatasetNotFoundError,
    RawFile,
    announce,
    data_roots,
    download,
    download_root,
    find_root,
    inspect,
    locked,
    record_first_load,
)
from .splits import PAPER_SEED, Split, make_splits
from .statistics import DatasetSummary, absent, measure

Directed = Literal["as-stored"] | None
Root = str | os.PathLike[str] | None


@dataclass(frozen=True, eq=False)
class Dataset:
    """A loaded data set.

    Attributes:
        entry: its entry in the catalogue.
        graph: the graph.
        splits: the published splits.
        files: the raw files it was parsed from.
        root: the folder that holds those files; None for a generated graph, and for a cached one whose raw files are
            gone.
    """

    entry: DatasetEntry
    graph: Graph
    splits: tuple[Split, ...]
    files: tuple[RawFile, ...]
    root: Path | None


def load(name: str, *, data_root: Root = None, directed: Directed = None) -> Graph:
    """Load the graph of a data set, symmetric and without self-loops.

    Args:
        name: a name in the catalogue, such as ``"cora"``.
        data_root: a folder of raw files, which is only read; ``$NEWTONNET_DATA`` if not given. If the files are not
            there, the graph that was parsed last is read from the cache (unless a folder was given), or the files are
            downloaded into the cache folder.
        directed: ``"as-stored"`` keeps the direction of edges and gives rows that are stored n times the weight n, as
            the paper's code does on some graphs.

    Returns:
        The graph.

    >>> load("digits")
    Graph('digits', nodes=1797, edges=6309, features=64, classes=10, labelled=1797)
    """
    return load_dataset(name, data_root=data_root, directed=directed).graph


def load_dataset(name: str, *, data_root: Root = None, directed: Directed = None) -> Dataset:
    """Load a data set with its published splits and provenance; for the arguments see :func:`load`.

    Checksums of raw files without a known one are recorded at their first load. A file that changed later is still
    used; its status is ``changed``, with a ``ChangedFileWarning``.
    """
    if directed not in (None, "as-stored"):
        raise ValueError(f"directed must be None or 'as-stored', got {directed!r}")
    as_stored = directed is not None
    entry = find_entry(name)
    if entry.generate is not None:
        return Dataset(entry, replace(entry.generate(), name=entry.name), (), (), None)
    roots = data_roots(data_root)
    root = find_root(entry.files, roots)
    if root is None and data_root is None and (kept := _last_parsed(entry, directed=as_stored)):
        announce(kept.files)
        return kept
    if root is None:
        with locked(download_root() / entry.name):
            root = find_root(entry.files, roots) or download(entry, wanted=roots[0])
    files = inspect(entry, root)
    path = cache_path(entry.name, files, directed=as_stored)
    cached = read_graph_file(path)
    if cached is None:
        with locked(path):
            cached = read_graph_file(path) or parse_into(path, entry, root, files, directed=as_stored)
    record_first_load(files)
    graph, masks = cached
    return Dataset(entry, graph, _fixed_splits(entry, masks), files, root)


def _last_parsed(entry: DatasetEntry, *, directed: bool) -> Dataset | None:
    """The data set from the cache alone, with the provenance stored there."""
    for path in parsed_paths(entry.name, directed=directed):
        if (cached := read_graph_file(path)) and (facts := read_facts(path)):
            graph, masks = cached
            return Dataset(entry, graph, _fixed_splits(entry, masks), facts[1], None)
    return None


def load_splits(
    name: str, protocol: str = "random", *, count: int | None = None, seed: int = PAPER_SEED, data_root: Root = None
) -> list[Split]:
    """Splits of a data set: the published ones for ``"fixed"``, those of :func:`make_splits` otherwise.

    Args:
        name: a name in the catalogue.
        protocol: ``"fixed"`` or a protocol of :func:`make_splits`. The ``protocol`` of a fixed split names its authors.
        count: number of splits; all the published ones, or 10 otherwise, if not given.
        seed: seed of the random protocols.
        data_root: see :func:`load`.

    Returns:
        The splits.
    """
    dataset = load_dataset(name, data_root=data_root)
    if protocol != "fixed":
        return make_splits(dataset.graph, protocol, count=10 if count is None else count, seed=seed)
    if not dataset.splits:
        raise ValueError(f"data set {name!r} has no published splits in its files; use another protocol")
    if count is not None and not 1 <= count <= len(dataset.splits):
        raise ValueError(f"data set {name!r} has {len(dataset.splits)} published splits, got count={count}")
    return list(dataset.splits[:count])


def find_entry(name: str) -> DatasetEntry:
    """The entry of a data set in the catalogue."""
    if name not in CATALOGUE:
        names = ", ".join(sorted(CATALOGUE))
        raise DatasetNotFoundError(f"unknown dataset {name!r}; {meant(name, CATALOGUE)}available: {names}")
    return CATALOGUE[name]


def summarise(name: str, *, data_root: Root = None) -> DatasetSummary:
    """Summarise one data set for a list; nothing is downloaded, and a cached summary is used without its graph."""
    entry = find_entry(name)
    if entry.generate is None:
        root = find_root(entry.files, data_roots(data_root))
        if root is not None:
            paths = [cache_path(entry.name, inspect(entry, root), directed=False)]
        else:
            paths = parsed_paths(entry.name, directed=False) if data_root is None else []
        facts = next((facts for path in paths if (facts := read_facts(path)) is not None), None)
        if facts is not None:
            return facts[0]
        if root is None:
            return absent(entry)
    return measure(entry, load(name, data_root=data_root))


def _fixed_splits(entry: DatasetEntry, masks: Masks) -> tuple[Split, ...]:
    return tuple(
        Split(np.flatnonzero(row == 1), np.flatnonzero(row == 2), np.flatnonzero(row == 3), entry.fixed, index)
        for index, row in enumerate(masks if entry.fixed else ())
    )
