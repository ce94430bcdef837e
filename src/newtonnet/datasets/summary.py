"""The line of one data set in a list."""

from dataclasses import dataclass

from newtonnet.graphs import Graph, homophily

from .entry import Entry


@dataclass(frozen=True)
class Summary:
    """What a list of data sets shows of one; None where it is not available."""

    name: str
    available: bool
    nodes: int | None
    edges: int | None
    features: int | None
    classes: int | None
    homophily: float | None
    metric: str


def absent(entry: Entry) -> Summary:
    """The summary of a data set whose files are not there, or cannot be read."""
    return Summary(entry.name, False, None, None, None, None, None, entry.metric)


def measure(entry: Entry, graph: Graph) -> Summary:
    """The summary of a graph that is there."""
    return Summary(
        name=entry.name,
        available=True,
        nodes=graph.nodes,
        edges=graph.edges,
        features=int(graph.features.shape[1]),
        classes=graph.classes,
        homophily=round(homophily(graph).edge, 4),
        metric=entry.metric,
    )
