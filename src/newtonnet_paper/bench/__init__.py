"""Benchmarks: the cost of an epoch, a sparse product and a training's memory on this machine, as ratios of one run."""

from .fresh import forget_peak, resident
from .page import read_results, tables, update_page
from .sizes import PROFILES, SIZES, GraphSize, Profile, sized_graph
from .suite import run_bench
from .timing import find_reference

__all__ = [
    "PROFILES",
    "SIZES",
    "GraphSize",
    "Profile",
    "find_reference",
    "forget_peak",
    "read_results",
    "resident",
    "run_bench",
    "sized_graph",
    "tables",
    "update_page",
]
