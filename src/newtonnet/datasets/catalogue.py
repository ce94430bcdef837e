"""Data sets by name: find the raw files or fetch them, check them, parse them once, and read the cache after that."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from newtonnet.graphs import Graph
from newtonnet.meaning import meant

from .cache import Masks, cache_path, locked, parsed_paths, read_facts, read_graph
from .download import download
from .entries import CATALOGUE
from .entry import Entry
from .first_loads import judge_by_first_load, record_first_load, warn_of_changes
from .parse import parse_into
from .raw_files import DatasetNotFoundError, RawFile, data_roots, download_root, find_root, inspect, present_files
from .splits import PAPER_SEED, PROTOCOLS, Split, make_splits
from .summary import Summary, absent, measure

Directed = Literal["as-stored"] | None
Root = str | os.PathLike[str] | None


@dataclass(frozen=True, eq=False)
class Dataset:
    """A loaded data set.

    Attributes:
        entry: its row of the catalogue.
        graph: the graph.
        splits: the published ones.
        files: the raw files it was parsed from.
        root: the folder that holds those files; None for a graph that is generated, and for one whose raw files are
            not here any more, so that it is the cached one that was parsed last.
    """

    entry: Entry
    graph: Graph
    splits: tuple[Split, ...]
    files: tuple[RawFile, ...]
    root: Path | None


def load(name: str, *, data_root: Root = None, directed: Directed = None) -> Graph:
    """The graph of a data set, symmetric and without self-loops.

    Args:
        name: a name of the catalogue, such as ``"cora"``.
        data_root: a folder of raw files, which is only read; ``$NEWTONNET_DATA`` if not given. What it does not hold
            is the graph of that name that was parsed last, if no folder was given and there is one, and is
            downloaded into the cache folder otherwise.
        directed: ``"as-stored"`` keeps edges one-way and counts rows that are stored n times as weight n, which is what
            the paper's code does on some graphs.

    >>> load("digits")
    Graph('digits', nodes=1797, edges=6309, features=64, classes=10, labelled=1797)
    """
    return load_dataset(name, data_root=data_root, directed=directed).graph


def load_dataset(name: str, *, data_root: Root = None, directed: Directed = None) -> Dataset:
    """A data set with its published splits and provenance; see :func:`load`.

    The sums of raw files without a known checksum are recorded at their first load; if one of them has other bytes
    later, it is used all the same, its status is ``changed``, and a ``ChangedFileWarning`` says so.
    """
    if directed not in (None, "as-stored"):
        raise ValueError(f"directed must be None or 'as-stored', got {directed!r}")
    entry = find_entry(name)
    if entry.generate is not None:
        return Dataset(entry, replace(entry.generate(), name=entry.name), (), (), None)
    roots = data_roots(data_root)
    root = find_root(entry.files, roots)
    if root is None and data_root is None and (kept := _last_parsed(entry, directed=directed is not None)):
        return kept
    if root is None:
        with locked(download_root() / entry.name):
            root = find_root(entry.files, roots) or download(entry, wanted=roots[0])
    files = judge_by_first_load(inspect(root, present_files(entry, root)))
    path = cache_path(entry.name, files, directed=directed is not None)
    cached = read_graph(path)
    if cached is None:
        with locked(path):
            cached = read_graph(path) or parse_into(path, entry, root, files, directed=directed is not None)
    record_first_load(files)
    warn_of_changes(files)
    graph, masks = cached
    return Dataset(entry, graph, _fixed_splits(entry, masks), files, root)


def _last_parsed(entry: Entry, *, directed: bool) -> Dataset | None:
    """The data set from the cache alone, with the provenance it was parsed with."""
    for path in parsed_paths(entry.name, directed=directed):
        cached, facts = read_graph(path), read_facts(path)
        if cached is not None and facts is not None:
            graph, masks = cached
            files = tuple(RawFile(**file) for file in facts["files"])
            return Dataset(entry, graph, _fixed_splits(entry, masks), files, None)
    return None


def load_splits(
    name: str, protocol: str = "random", *, count: int | None = None, seed: int = PAPER_SEED, data_root: Root = None
) -> list[Split]:
    """Splits of a data set: the published ones for ``"fixed"``, those of :func:`make_splits` otherwise.

    Args:
        name: a name of the catalogue.
        protocol: ``"fixed"`` or a protocol of :func:`make_splits`. A fixed split's own ``protocol`` says whose it is.
        count: how many; all the published ones, or 10 otherwise, if not given.
        seed: of the random protocols.
        data_root: see :func:`load`.
    """
    dataset = load_dataset(name, data_root=data_root)
    if protocol not in ("fixed", *PROTOCOLS):
        raise ValueError(f"unknown protocol {protocol!r}; available: fixed, {', '.join(PROTOCOLS)}")
    if protocol != "fixed":
        return make_splits(dataset.graph, protocol, count=10 if count is None else count, seed=seed)
    if not dataset.splits:
        raise ValueError(f"data set {name!r} has no published splits in its files; use another protocol")
    if count is not None and not 1 <= count <= len(dataset.splits):
        raise ValueError(f"data set {name!r} has {len(dataset.splits)} published splits, got count={count}")
    return list(dataset.splits[:count])


def find_entry(name: str) -> Entry:
    """The row of the catalogue."""
    if name not in CATALOGUE:
        there = ", ".join(sorted(CATALOGUE))
        raise DatasetNotFoundError(f"unknown dataset {name!r}; {meant(name, CATALOGUE)}available: {there}")
    return CATALOGUE[name]


def summarise(name: str, *, data_root: Root = None) -> Summary:
    """The line of one data set in a list; nothing is downloaded, and the graph itself is read once only."""
    entry = find_entry(name)
    if entry.generate is None:
        root = find_root(entry.files, data_roots(data_root))
        if root is not None:
            paths = [cache_path(entry.name, inspect(root, present_files(entry, root)), directed=False)]
        else:
            paths = parsed_paths(entry.name, directed=False) if data_root is None else []
        facts = next((facts for path in paths if (facts := read_facts(path)) is not None), None)
        if facts is not None:
            return Summary(**facts["summary"])
        if root is None:
            return absent(entry)
    return measure(entry, load(name, data_root=data_root))


def _fixed_splits(entry: Entry, masks: Masks) -> tuple[Split, ...]:
    if not entry.fixed:
        return ()
    return tuple(
        Split(
            train=np.flatnonzero(row == 1),
            validation=np.flatnonzero(row == 2),
            test=np.flatnonzero(row == 3),
            protocol=entry.fixed,
            index=index,
        )
        for index, row in enumerate(masks)
    )
