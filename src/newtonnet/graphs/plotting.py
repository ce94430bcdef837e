"""A drawing of a graph, or of a part of it."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.drawing import CLASS_COLOURS, GREY, figure, label

from .graph import Graph

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

UNKNOWN = "unknown class"


def plot_graph(graph: Graph, node: int | str | None = None, most: int = 150) -> "Figure":
    """A drawing of a graph as a figure of plotly, its nodes coloured by class; of a large one a part.

    Args:
        graph: the graph.
        node: number or name of the node that the part is drawn around; the one with most edges if not given.
        most: maximum number of nodes, the nearest ones by hops.
    """
    import networkx as nx

    start = _start(graph, node)
    nodes = np.arange(graph.nodes) if graph.nodes <= most else nearest_nodes(graph, start, most)
    part = graph.adjacency[nodes][:, nodes]
    layout = nx.spring_layout(nx.from_scipy_sparse_array(part + part.T), seed=0)
    x, y = np.array([layout[i] for i in range(len(nodes))]).reshape(-1, 2).T
    lines = part.tocoo()
    gaps = np.full(lines.nnz, np.nan)
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": np.stack([x[lines.row], x[lines.col], gaps], axis=1).ravel(),
            "y": np.stack([y[lines.row], y[lines.col], gaps], axis=1).ravel(),
            "line": {"color": GREY, "width": 0.6},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]
    labels = graph.labels[nodes]
    for code in np.unique(labels):
        own = np.flatnonzero(labels == code)
        colour = GREY if code < 0 else CLASS_COLOURS[code % len(CLASS_COLOURS)]
        ring = [2 if nodes[i] == start else 0.5 for i in own]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": x[own],
                "y": y[own],
                "name": UNKNOWN if code < 0 else label(graph.class_names[code], 30),
                "text": [label(graph.node_names[nodes[i]] if graph.node_names else str(nodes[i])) for i in own],
                "hovertemplate": "%{text}",
                "marker": {"color": colour, "size": 9, "line": {"width": ring, "color": "black"}},
            }
        )
    title = label(graph.name, 60)
    if len(nodes) < graph.nodes:
        around = graph.node_names[start] if graph.node_names else str(start)
        title += f": {len(nodes):,} of {graph.nodes:,} nodes, around {label(around, 30)}"
    bare = {"visible": False}
    return figure(traces, title=title, xaxis=bare, yaxis={**bare, "scaleanchor": "x"}, height=520)


def nearest_nodes(graph: Graph, start: int, most: int) -> NDArray[np.int64]:
    """The nodes within the fewest hops of one, ignoring directions, ascending; fewer if no more can be reached.

    >>> from newtonnet.graphs import from_edges
    >>> nearest_nodes(from_edges([[0, 1, 2], [1, 2, 3]], np.eye(5)), 1, 3)
    array([0, 1, 2])
    """
    links = graph.adjacency + graph.adjacency.T if graph.directed else graph.adjacency
    chosen, front = [start], np.array([start])
    seen = np.zeros(graph.nodes, dtype=np.bool_)
    seen[start] = True
    while len(front) and len(chosen) < most:
        reached = np.unique(links[front].indices)
        front = reached[~seen[reached]]
        seen[front] = True
        chosen += front[: most - len(chosen)].tolist()
    return np.sort(np.array(chosen))


def _start(graph: Graph, node: int | str | None) -> int:
    if node is None:
        return int(np.diff(graph.adjacency.indptr).argmax())
    if isinstance(node, str):
        if node not in graph.node_names:
            raise ValueError(f"no node is called {node!r}; give its number or one of the graph's node_names")
        return graph.node_names.index(node)
    if not 0 <= node < graph.nodes:
        raise ValueError(f"node {node} is not in the graph, whose nodes are 0..{graph.nodes - 1}")
    return int(node)
