"""Generated graphs with the size and degree distribution of real ones, and the profiles of the benchmark."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from newtonnet.datasets import load, summarise
from newtonnet.graphs import Graph, from_edges


@dataclass(frozen=True)
class GraphSize:
    """Size of a generated graph, and the distribution of its degrees and features.

    Attributes:
        edges: number of undirected edges E, at least the number of nodes.
        largest: expected largest degree, before duplicate edges are replaced.
        skew: exponent a of the degrees by rank, ``(rank + s)^-a``; near 0 all are equal.
        per_row: non-zeros in a row of sparse features; 0 makes them dense.
    """

    name: str
    nodes: int
    edges: int
    largest: int
    skew: float
    features: int = 16
    per_row: int = 0
    classes: int = 2

    def __post_init__(self) -> None:
        if not self.nodes <= self.edges <= self.nodes * (self.nodes - 1) // 4:
            raise ValueError(f"expected {self.nodes} to n(n-1)/4 edges on {self.nodes} nodes, got {self.edges}")
        if not 0 < self.skew < 1:
            raise ValueError(f"skew must be above 0 and below 1, got {self.skew}")
        if not 2 * self.edges / self.nodes < self.largest < self.nodes:
            raise ValueError(f"the largest degree must lie between the mean and n, got {self.largest}")
        if self.per_row > self.features:
            raise ValueError(f"a row of {self.features} features cannot have {self.per_row} non-zeros")


SIZES = {
    size.name: size
    for size in (
        GraphSize("cora", 2708, 5278, 168, 0.60, features=1433, per_row=18, classes=7),
        GraphSize("chameleon", 2277, 31371, 1000, 0.82, features=2325, per_row=13, classes=5),
        GraphSize("squirrel", 5201, 198353, 2800, 0.95, features=2089, per_row=18, classes=5),
        GraphSize("pubmed", 19717, 44324, 171, 0.55, features=500, per_row=50, classes=3),
        GraphSize("minesweeper", 10000, 39402, 9, 0.01, features=7),
        GraphSize("penn94", 41554, 1362229, 4800, 0.45, features=4814, per_row=5),
        GraphSize("genius", 421961, 984979, 5400, 0.80, features=12),
        GraphSize("twitch-gamer", 168114, 6797557, 55000, 0.81, features=7),
    )
}
"""Counts are those of the real graphs; ``largest`` and ``skew`` give about their largest and median degrees (cora 168
and 3, chameleon 732 and 13, squirrel 1903 and 17, pubmed 171 and 2, penn94 4410 and 50, twitch-gamer 35279 and 32; for
genius, whose degrees are not available, a heavy tail above a median of 3)."""


def real_or_sized(name: str) -> Graph:
    """The real graph where its files are available (nothing is downloaded), or else a generated one, ``NAME-sized``."""
    return load(name) if summarise(name).available else sized_graph(replace(SIZES[name], name=f"{name}-sized"))


def sized_graph(size: GraphSize, *, seed: int = 0) -> Graph:
    """A generated graph with random features and labels; a seed always gives the same graph."""
    rng = np.random.default_rng(seed)
    pairs = sized_pairs(size, rng)
    shape = (size.nodes, size.features)
    features = _one_hot(size, rng) if size.per_row else rng.standard_normal(shape, dtype=np.float32)
    labels = rng.permutation(np.arange(size.nodes) % size.classes)
    return from_edges(pairs, features, labels=labels, name=size.name)


def grown(size: GraphSize, edges: int) -> GraphSize:
    """The same kind of graph with another number of edges and the same mean degree, largest degree and features."""
    return replace(size, name=f"{size.name}-{edges}", nodes=round(edges * size.nodes / size.edges), edges=edges)


def sized_pairs(size: GraphSize, rng: np.random.Generator) -> NDArray[np.int64]:
    r"""Distinct undirected edges without loops whose degrees follow a power law of the rank.

    .. math:: d(r) \approx 1 + (2E - n)\, \frac{(r + s)^{-a}}{\int_0^n (x + s)^{-a} dx}, \qquad r = 0, \dots, n - 1

    Every node draws one partner, and all other edges draw both ends, in proportion to these weights. Duplicates are
    drawn again, which lowers the largest degrees. Nodes are numbered at random.

    Returns:
        Ends of every edge once, shape ``(2, E)``, the smaller number first.
    """
    n, shift = size.nodes, _shift(size)
    names = rng.permutation(n)

    def draw(count: int) -> NDArray[np.int64]:
        # The inverse of the continuous distribution function: without a table there are no cache misses.
        power = 1 - size.skew
        low, high = shift**power, (n + shift) ** power
        ranks = (low + (high - low) * rng.random(count)) ** (1 / power) - shift
        drawn: NDArray[np.int64] = names[np.clip(ranks.astype(np.int64), 0, n - 1)]
        return drawn

    keys, accepted = _distinct(_keys(np.arange(n), draw(n), n)), 0.95
    while (missing := size.edges - len(keys)) > 0:
        count = int(1.02 * missing / accepted) + 16
        more = _distinct(np.concatenate([keys, _keys(draw(count), draw(count), n)]))
        accepted = max((len(more) - len(keys)) / count, 0.01)
        keys = more
    return np.stack(np.divmod(rng.choice(keys, size.edges, replace=False, shuffle=False), n))


def _keys(first: NDArray[np.int64], second: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Unordered pairs as numbers, without loops."""
    keys: NDArray[np.int64] = (np.minimum(first, second) * n + np.maximum(first, second))[first != second]
    return keys


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each number once, ascending; sorting is several times faster here than ``np.unique``."""
    keys.sort()
    return keys[np.diff(keys, prepend=-1) > 0]


def _shift(size: GraphSize) -> float:
    """The shift s that gives the first rank its expected degree, by bisection of its logarithm."""
    power = 1 - size.skew

    def largest(shift: float) -> float:
        area = ((size.nodes + shift) ** power - shift**power) / power
        return 1 + (2 * size.edges - size.nodes) * float((shift + 0.5) ** -size.skew) / float(area)

    low, high = 1e-3, 1e3 * size.nodes
    for _ in range(100):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if largest(middle) > size.largest else (low, middle)
    return low


def _one_hot(size: GraphSize, rng: np.random.Generator) -> sp.csr_array:
    """One-hot columns side by side: a one in each of ``per_row`` equal groups of the features."""
    edges = np.linspace(0, size.features, size.per_row + 1).astype(np.int64)
    columns = rng.integers(edges[:-1], edges[1:], size=(size.nodes, size.per_row))
    rows = np.arange(size.nodes + 1) * size.per_row
    data = np.ones(columns.size, dtype=np.float32)
    return sp.csr_array((data, columns.ravel(), rows), shape=(size.nodes, size.features))


WIDTHS = (2, 4, 8, 16, 64, 256, 1024)
"""Columns of the sparse product's dense factor."""


@dataclass(frozen=True)
class Profile:
    """What the sections of the benchmark measure.

    Attributes:
        graphs: graphs on which models are timed; the real ones if ``real`` and their files are available.
        large: a graph with sparse features on which only NewtonNet and the reference are timed.
        kernels_off: graphs on which an epoch is timed with and without the kernels.
        stacks: graphs on which the Newton stack and the same in plain torch are timed.
        populations: sizes P for the throughput; 64 is used for the ratio to the reference.
        kernel: graphs and numbers of columns for the sparse product.
        roofline: graphs and sizes P of populations whose phases are timed.
        stack_widths: numbers of hidden units of the stack whose phases are timed on the graphs of ``stacks``.
        growth_edges: numbers of edges to which the graph of ``growth_size`` grows.
        degrees: degrees K, compared on the graph of ``degree_size``.
        memory: graphs whose peak memory is measured for NewtonNet.
        costs: graphs for the paper's tables of time and memory; the real ones, too, where available.
        rounds: how often populations and the reference take turns; rivals, with ratios near 1, three times as often.
        copy_bytes: size of the array whose copy measures the bandwidth; None for far above the caches.
    """

    name: str
    graphs: tuple[GraphSize, ...]
    real: bool
    methods: tuple[str, ...] | None
    large: GraphSize | None
    kernels_off: tuple[GraphSize, ...]
    stacks: tuple[GraphSize, ...]
    populations: tuple[int, ...]
    kernel: tuple[tuple[GraphSize, tuple[int, ...]], ...]
    roofline: tuple[tuple[GraphSize, tuple[int, ...]], ...]
    stack_widths: tuple[int, ...]
    growth_edges: tuple[int, ...]
    growth_size: GraphSize
    degrees: tuple[int, ...]
    degree_size: GraphSize
    memory: tuple[GraphSize, ...]
    costs: tuple[GraphSize, ...]
    rounds: int
    seconds: float
    copy_bytes: int | None = None


def _sized(*names: str) -> tuple[GraphSize, ...]:
    """Sizes that are always generated."""
    return tuple(replace(SIZES[name], name=f"{name}-sized") for name in names)


QUICK = Profile(
    name="quick",
    graphs=(SIZES["cora"], SIZES["chameleon"], SIZES["squirrel"]),
    real=True,
    methods=None,
    large=_sized("penn94")[0],
    kernels_off=(SIZES["cora"], SIZES["chameleon"], SIZES["squirrel"], *_sized("penn94", "genius")),
    stacks=_sized("minesweeper"),
    populations=(1, 64),
    kernel=(
        (SIZES["chameleon"], (2, 8, 64, 1024)),
        *((SIZES[name], (2, 16, 64)) for name in ("penn94", "genius", "twitch-gamer")),
    ),
    roofline=(
        *((SIZES[name], (1, 64)) for name in ("cora", "chameleon", "squirrel", "pubmed")),
        *((size, (1,)) for size in _sized("penn94", "genius", "twitch-gamer")),
    ),
    stack_widths=(64, 256),
    growth_edges=(100_000, 300_000, 1_000_000),
    growth_size=GraphSize("growth", nodes=10_000, edges=100_000, largest=1000, skew=0.5),
    degrees=(2, 5, 10, 20),
    # Many classes and a narrow encoder: the filter's sparse products dominate the epoch.
    degree_size=GraphSize("degrees", nodes=25_000, edges=1_000_000, largest=3000, skew=0.5, classes=16),
    memory=_sized("genius", "twitch-gamer"),
    costs=(),
    rounds=3,
    seconds=0.1,
)

FULL = replace(
    QUICK,
    name="full",
    graphs=(*QUICK.graphs, SIZES["pubmed"]),
    populations=(1, 10, 64, 256),
    kernel=tuple((SIZES[name], WIDTHS) for name in ("chameleon", "penn94", "genius", "twitch-gamer")),
    growth_edges=(100_000, 300_000, 1_000_000, 3_000_000, 10_000_000),
    costs=tuple(SIZES[name] for name in ("chameleon", "pubmed", "penn94", "genius", "twitch-gamer")),
    rounds=5,
    seconds=0.3,
)

PROFILES = {profile.name: profile for profile in (QUICK, FULL)}
"""The quick profile takes minutes; the full one is for the record."""
