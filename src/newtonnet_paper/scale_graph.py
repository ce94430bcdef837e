"""A heterophilous graph of any size, generated on disk in pieces, on which out-of-core training is measured."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from newtonnet.out_of_core import LargeGraph, write_graph

PIECE = 1 << 20
"""Number of edges, labels or feature values that are drawn at once."""


def generate(
    folder: str | Path,
    *,
    nodes: int,
    edges: int,
    features: int = 16,
    homophily: float = 0.1,
    signal: float = 0.25,
    seed: int = 0,
    entries: int = 1 << 23,
) -> LargeGraph:
    r"""Generate a graph with two equal classes in a new folder.

    Node i has class i mod 2 and features :math:`\pm\mu u + w_i` with a fixed direction :math:`u` of length 1 and
    :math:`w_i \sim N(0, I)`. Both ends of an edge are uniform; they have equal classes with probability h. Repeated
    edges and self-loops are dropped, so slightly fewer remain. A piece depends only on its number and the seed, so the
    graph is the same on every machine and with any amount of memory.

    Args:
        folder: a new or empty folder.
        nodes: number of nodes, even.
        edges: number of edges to draw.
        features: number of features F.
        homophily: h.
        signal: :math:`\mu`; an optimal classifier on a node's own features has accuracy :math:`\Phi(\mu)`.
        seed: random seed of edges and features.
        entries: entries of the adjacency that are sorted at once.

    Returns:
        The graph, mapped from its files.
    """
    if nodes < 4 or nodes % 2 or edges < 1 or features < 1:
        raise ValueError(
            "expected an even number of at least 4 nodes, at least 1 edge and 1 feature, "
            f"got nodes={nodes}, edges={edges}, features={features}"
        )
    if not 0 <= homophily <= 1:
        raise ValueError(f"homophily must be between 0 and 1, got {homophily}")
    return write_graph(
        folder,
        _edges(nodes, edges, homophily, seed),
        _features(nodes, features, signal, seed),
        (np.arange(start, stop) % 2 for start, stop in _pieces(nodes, PIECE)),
        nodes=nodes,
        class_names=("even", "odd"),
        name=f"generated-{edges}",
        entries=entries,
    )


def _pieces(count: int, step: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + step, count)) for start in range(0, count, step))


def _edges(nodes: int, edges: int, homophily: float, seed: int) -> Iterator[NDArray[np.int32]]:
    for number, (start, stop) in enumerate(_pieces(edges, PIECE)):
        rng = np.random.default_rng([seed, 1, number])
        source = rng.integers(0, nodes, size=stop - start, dtype=np.int32)
        other = (source % 2) ^ (rng.random(stop - start, dtype=np.float32) >= homophily)
        target = 2 * rng.integers(0, nodes // 2, size=stop - start, dtype=np.int32) + other.astype(np.int32)
        yield np.stack([source, target])


def _features(nodes: int, features: int, signal: float, seed: int) -> Iterator[NDArray[np.float32]]:
    direction = np.random.default_rng([seed, 2]).standard_normal(features)
    shift = (signal * direction / np.linalg.norm(direction)).astype(np.float32)
    for number, (start, stop) in enumerate(_pieces(nodes, max(1, PIECE // features))):
        noise = np.random.default_rng([seed, 3, number]).standard_normal((stop - start, features), dtype=np.float32)
        signs = (2 * (np.arange(start, stop) % 2) - 1).astype(np.float32)
        yield noise + signs[:, None] * shift
