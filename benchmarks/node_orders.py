"""Time a sparse product with the nodes in different orders, in turns.

    python benchmarks/node_orders.py [--rounds 5] [--threads 2]

Graphs are generated, of genius's size, numbered at random: one without communities, one with. Orders: as given, which
the kernel sorts by degree; reverse Cuthill-McKee; communities that a few rounds of label propagation find. The kernel
leaves the last two as they are where neighbours lie near each other. The table shows milliseconds of one product, the
median over the rounds, and the seconds that it takes to find the order.
"""

import argparse
import time
from statistics import median

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from newtonnet.graphs import from_edges, normalised_operator, propagate
from newtonnet.kernels import use_threads

NODES, EDGES, COMMUNITY = 421_961, 984_979, 500
WIDTHS = (2, 16, 64)
DEGREE = 5
Order = NDArray[np.int64]


def random_ends(rng: np.random.Generator, *, communities: bool) -> NDArray[np.int64]:
    """Ends of edges whose degrees follow a power law; with communities, nine of ten edges stay within one."""
    ends = (NODES * rng.random((2, EDGES)) ** 3).astype(np.int64)
    if communities:
        inside = rng.random(EDGES) < 0.9
        first = ends[0, inside] // COMMUNITY * COMMUNITY
        ends[1, inside] = np.minimum(first + rng.integers(COMMUNITY, size=inside.sum()), NODES - 1)
    else:
        ends[1] = rng.permutation(NODES)[ends[1]]
    return rng.permutation(NODES)[ends]


def by_bandwidth(adjacency: sp.csr_array) -> Order:
    """Reverse Cuthill-McKee: neighbours get near numbers."""
    return reverse_cuthill_mckee(sp.csr_matrix(adjacency), symmetric_mode=True).astype(np.int64)


def by_community(adjacency: sp.csr_array, rounds: int = 5) -> Order:
    """Nodes sorted by a label that each takes over from most of its neighbours, a few times."""
    rows = np.repeat(np.arange(len(adjacency.indptr) - 1), np.diff(adjacency.indptr))
    labels = np.arange(adjacency.shape[0])
    for _ in range(rounds):
        pairs, counts = np.unique(rows * len(labels) + labels[adjacency.indices], return_counts=True)
        best = np.lexsort((counts, pairs // len(labels)))  # the last of a node is its most frequent label
        labels[pairs[best] // len(labels)] = pairs[best] % len(labels)
    return np.argsort(labels, kind="stable")


ORDERS = {"reverse Cuthill-McKee": by_bandwidth, "by community": by_community}


def main() -> None:
    """Measure all orders on both graphs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    for communities in (False, True):
        graph = from_edges(random_ends(np.random.default_rng(0), communities=communities), np.ones((NODES, 1)))
        print(
            f"\n{graph.nodes:,} nodes, {graph.adjacency.nnz:,} entries, {'with' if communities else 'no'} communities"
        )
        found = {"as given": (0.0, np.arange(NODES))}
        for name, find in ORDERS.items():
            began = time.perf_counter()
            order = find(graph.adjacency)
            found[name] = (time.perf_counter() - began, order)
        operators = {}
        for name, (_, order) in found.items():
            place = np.empty_like(order)
            place[order] = np.arange(NODES)
            edges = sp.coo_array(sp.triu(graph.adjacency))
            operators[name] = normalised_operator(from_edges(place[np.stack(edges.coords)], np.ones((NODES, 1))))
        print(f"{'order':24s}" + "".join(f"{width:>5d} columns" for width in WIDTHS) + "   to find it")
        times = {(name, width): list[float]() for name in operators for width in WIDTHS}
        blocks = {width: torch.rand(NODES, 1, width) for width in WIDTHS}
        coefficients = torch.linspace(1, 0.5, DEGREE + 1)[:, None]
        with use_threads(options.threads), torch.no_grad():
            for _ in range(options.rounds + 1):  # the first warms up
                for (name, width), taken in times.items():
                    began = time.perf_counter()
                    propagate(operators[name], blocks[width], coefficients)
                    taken.append(1000 * (time.perf_counter() - began) / DEGREE)
        for name, (seconds, _) in found.items():
            row = "".join(f"{median(times[name, width][1:]):10.2f} ms" for width in WIDTHS)
            print(f"{name:24s}{row}   {seconds:7.1f} s")


if __name__ == "__main__":
    main()
