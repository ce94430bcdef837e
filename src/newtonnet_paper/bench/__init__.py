"""Benchmarks: what an epoch, a sparse product and a training's memory cost on this machine, as ratios of one run."""

from .page import Sheet, read_results, sheets, update_page
from .profiles import FULL, QUICK, Profile
from .reference import find_reference
from .sized_graphs import SIZES, Size, sized_graph
from .suite import run_bench

__all__ = [
    "FULL",
    "QUICK",
    "SIZES",
    "Profile",
    "Sheet",
    "Size",
    "find_reference",
    "read_results",
    "run_bench",
    "sheets",
    "sized_graph",
    "update_page",
]
