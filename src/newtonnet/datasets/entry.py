"""A row of the catalogue: where a data set comes from, what was published about it and what to beware of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from newtonnet.graphs import Graph

Metric = Literal["accuracy", "roc_auc"]


@dataclass(frozen=True)
class Published:
    """Statistics as somebody printed them; None where they printed none."""

    nodes: int
    edges: int
    features: int
    classes: int
    homophily: float | None
    citation: str


@dataclass(frozen=True)
class Entry:
    """One data set.

    Attributes:
        name: what ``load`` takes.
        about: one line on what nodes, edges and classes are.
        source: where the files come from, or how the graph is made.
        licence: as the source states it.
        metric: how models are scored on it.
        published: statistics to measure against.
        differences: why the measured statistics are not the published ones.
        warnings: what a reader of any result must know.
        generate: makes the graph, for the embedded ones that need no file.
        kind: the dataset class, a key of ``sources.CLASSES``.
        options: what that class takes beside its root.
        root: the class's root below the data root.
        files: raw files that must be there, below the data root.
        splits: the raw file of fixed splits, below the data root, that is used if it is there.
        fixed: the protocol of the published splits, if the files hold any.
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
