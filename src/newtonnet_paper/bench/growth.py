"""How time and memory grow with the graph and with the filter's degree, and the exponents fitted to both."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from newtonnet.graphs import Graph
from newtonnet.nn import find_model
from newtonnet.training import Config

from .clock import epoch_clock, exponent, line, make_task, take_turns
from .epochs import equal_options
from .sized_graphs import Size


def grown(size: Size, edges: int) -> Size:
    """The same kind of graph with so many edges: the mean degree, the largest degree and the features stay.

    >>> grown(Size("g", nodes=100, edges=500, largest=50, skew=0.5), 5000).nodes
    1000
    """
    return replace(size, name=f"{size.name}-{edges}", nodes=round(edges * size.nodes / size.edges), edges=edges)


def time_epoch(graph: Graph, *, rounds: int, seconds: float, threads: int | None = None) -> float:
    """Seconds of one epoch of NewtonNet with its default settings."""
    config = Config(**find_model("newtonnet").training)
    task = make_task(graph, "newtonnet", equal_options("newtonnet"), config, threads=threads)
    return min(take_turns({"": epoch_clock(task, seconds=seconds, step=2)}, rounds)[""])


def time_degrees(
    graph: Graph, degrees: Sequence[int], *, rounds: int, seconds: float, threads: int | None = None
) -> list[dict[str, float]]:
    """Milliseconds of one epoch for each degree K, the degrees taking turns.

    The encoder is narrow, and there is neither dropout nor penalty, so that the filter's products are nearly all that
    is timed. Points are Chebyshev's: equispaced ones of degree 20 lose too many digits.
    """
    config = replace(Config(**find_model("newtonnet").training), gammas=(0.0, 0.0, 0.0))
    clocks = {}
    for degree in degrees:
        options = equal_options(
            "newtonnet", degree=degree, points="chebyshev", hidden=16, dropout=0.0, propagation_dropout=0.0
        )
        task = make_task(graph, "newtonnet", options, config, threads=threads)
        clocks[str(degree)] = epoch_clock(task, seconds=seconds, step=5)
    times = take_turns(clocks, rounds)
    return [{"degree": degree, "ms": 1e3 * min(times[str(degree)])} for degree in degrees]


def fit_growth(by_edges: Sequence[dict[str, float]], by_degree: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Exponents of the log-log fits, from which nothing is subtracted, and the line ``a + b K`` of the degrees.

    Args:
        by_edges: rows with ``edges``, ``ms`` and ``mb``.
        by_degree: rows with ``degree`` and ``ms``.

    Returns:
        ``exponents`` for edges, degree and memory_edges; ``degree_line`` with ``fixed_ms`` and ``ms_per_degree``.
    """
    edges = [row["edges"] for row in by_edges]
    degrees = [row["degree"] for row in by_degree]
    fixed, slope = line(degrees, [row["ms"] for row in by_degree])
    weighed = [row for row in by_edges if row.get("mb")]
    exponents = {
        "edges": exponent(edges, [row["ms"] for row in by_edges]),
        "degree": exponent(degrees, [row["ms"] for row in by_degree]),
    }
    if len(weighed) > 1:
        exponents["memory_edges"] = exponent([row["edges"] for row in weighed], [row["mb"] for row in weighed])
    return {"exponents": exponents, "degree_line": {"fixed_ms": fixed, "ms_per_degree": slope}}
