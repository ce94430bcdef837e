"""The catalogue of published and generated graphs: what an entry holds, and the entries from ``catalogue.toml``."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

from newtonnet.graphs import Graph

from .generated import csbm, digits

Metric = Literal["accuracy", "roc_auc"]


@dataclass(frozen=True)
class Published:
    """Published statistics; ``homophily`` is None where it was not published."""

    nodes: int
    edges: int
    features: int
    classes: int
    citation: str
    homophily: float | None = None


@dataclass(frozen=True)
class DatasetEntry:
    """One data set.

    Attributes:
        name: name for ``load``.
        about: one line on what nodes, edges and classes are.
        source: where the files come from, or how the graph is generated.
        licence: as the source states it.
        metric: how models are scored on it.
        published: statistics to compare with.
        differences: why the measured statistics differ from the published ones.
        warnings: what a reader of any result must know.
        generate: makes the graph, for generated ones that need no file.
        kind: the dataset class, in ``sources`` or PyTorch Geometric.
        options: arguments of that class other than its root.
        root: the root of that class below the data root.
        files: required raw files, below the data root.
        splits: optional raw file of fixed splits, below the data root.
        fixed: protocol of the published splits, if the files hold any.
        row_normalised: divide each node's features by their sum, as the paper's code does for this graph.
    """

    name: str
    about: str
    source: str
    licence: str
    metric: Metric = "accuracy"
    published: Published | None = None
    differences: str = ""
    warnings: tuple[str, ...] = ()
    generate: Callable[[], Graph] | None = None
    kind: str = ""
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    root: str = ""
    files: tuple[str, ...] = ()
    splits: str = ""
    fixed: str = ""
    row_normalised: bool = False


_TEN = "{0-9}"
"""Stands for ten files in the name of one."""

_GENERATORS: Mapping[str, Callable[..., Graph]] = {"csbm": csbm, "digits": digits}


def _entry(name: str, row: dict[str, Any]) -> DatasetEntry:
    """An entry from its table in ``catalogue.toml``."""
    if "published" in row:
        row["published"] = Published(**row["published"])
    if arguments := row.get("generate"):
        row["generate"] = partial(_GENERATORS[arguments.pop("function")], **arguments)
    names = row.get("files", ())
    row["files"] = tuple(file.replace(_TEN, str(i)) for file in names for i in range(10 if _TEN in file else 1))
    row["warnings"] = tuple(row.get("warnings", ()))
    return DatasetEntry(name=name, **row)


_ROWS = tomllib.loads(files("newtonnet.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8"))
CATALOGUE: Mapping[str, DatasetEntry] = MappingProxyType({name: _entry(name, row) for name, row in _ROWS.items()})
"""Every data set by its name, as ``catalogue.toml`` lists them."""
