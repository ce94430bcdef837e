"""How much a benchmark measures: the quick profile for everyone, the full one for the record."""

from dataclasses import dataclass, replace

from .sized_graphs import SIZES, Size

WIDTHS = (2, 4, 8, 16, 64, 256, 1024)
"""Columns of the kernel's blocks."""


@dataclass(frozen=True)
class Profile:
    """The sizes of all sections.

    Attributes:
        name: of the profile and of the file with its results.
        graphs: the graphs that models are timed on.
        real: take the real graph of that name where its files are at hand.
        methods: methods of the zoo to time; all if not given.
        large: a graph with sparse features that only NewtonNet and the reference are timed on.
        populations: sizes P for the throughput; 64 belongs to the ratio to the reference.
        kernel: graphs and the columns of blocks on them.
        growth_edges: numbers of edges E.
        growth_size: the graph that grows: its mean degree and features stay as they are.
        degrees: degrees K.
        degree_size: the graph that the degrees are compared on.
        memory: graphs whose peak memory is taken for NewtonNet.
        methods_memory: graphs whose peak memory is taken for every method.
        rounds: how often populations and the reference take turns; rivals, with ratios near 1, three times as often.
        seconds: about how long one timed stretch lasts.
        copy_bytes: size of the array whose copy gives the bandwidth; far above the caches if not given.
    """

    name: str
    graphs: tuple[Size, ...]
    real: bool
    methods: tuple[str, ...] | None
    large: Size | None
    populations: tuple[int, ...]
    kernel: tuple[tuple[Size, tuple[int, ...]], ...]
    growth_edges: tuple[int, ...]
    growth_size: Size
    degrees: tuple[int, ...]
    degree_size: Size
    memory: tuple[Size, ...]
    methods_memory: tuple[Size, ...]
    rounds: int
    seconds: float
    copy_bytes: int | None = None


QUICK = Profile(
    name="quick",
    graphs=(SIZES["cora"], SIZES["chameleon"], SIZES["squirrel"]),
    real=True,
    methods=None,
    large=replace(SIZES["penn94"], name="penn94-sized"),
    populations=(1, 64),
    kernel=(
        (SIZES["chameleon"], (2, 8, 64, 1024)),
        *((SIZES[name], (2, 8, 64)) for name in ("penn94", "genius", "twitch-gamer")),
    ),
    growth_edges=(100_000, 300_000, 1_000_000),
    growth_size=Size("growth", nodes=10_000, edges=100_000, largest=1000, skew=0.5),
    degrees=(2, 5, 10, 20),
    # Many classes and a narrow encoder: the filter's sparse products are nearly the whole epoch.
    degree_size=Size("degrees", nodes=25_000, edges=1_000_000, largest=3000, skew=0.5, classes=16),
    memory=(replace(SIZES["genius"], name="genius-sized"), replace(SIZES["twitch-gamer"], name="twitch-gamer-sized")),
    methods_memory=(),
    rounds=3,
    seconds=0.1,
)

FULL = replace(
    QUICK,
    name="full",
    populations=(1, 10, 64, 256),
    kernel=tuple((SIZES[name], WIDTHS) for name in ("chameleon", "penn94", "genius", "twitch-gamer")),
    growth_edges=(100_000, 300_000, 1_000_000, 3_000_000, 10_000_000),
    methods_memory=(SIZES["cora"], SIZES["chameleon"]),
    rounds=5,
    seconds=0.3,
)
