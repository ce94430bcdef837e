"""The machine, its limits, and how near the sparse product comes to them."""

import ctypes
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import torch

from newtonnet import __version__
from newtonnet.graphs import Graph, normalised_operator, propagate
from newtonnet.kernels import AHEAD, thread_count, use_threads

BUSY = 0.5
"""Above this load average the figures are not reliable."""

UNKNOWN_CACHE, UNKNOWN_L2 = 32 * 2**20, 2**20
"""Bytes of the last and of the second cache where the system does not report them."""

ADDITIONS = 20
"""Additions within the second cache that are timed together, because one takes only microseconds."""

DEGREE = 5
"""Sparse products in one call."""

LARGEST_BLOCK = 2 * 2**30
"""Blocks of more bytes are skipped."""

BLOCKS = 6
"""How many blocks of the signals' size must fit into free memory."""


@dataclass(frozen=True)
class Limits:
    """The measured limits of this machine.

    Attributes:
        bandwidth: bytes per second, read and written, of a copy far larger than the caches.
        multiply_adds: float32 multiply-adds per second of a dense product within the cache.
        cache: bytes of the last cache.
        l2_bandwidth: bytes per second, read and written, of additions within the second cache of each thread's core.
    """

    bandwidth: float
    multiply_adds: float
    cache: int
    l2_bandwidth: float


def repeat(call: Callable[[], object], *, seconds: float, least: int = 3) -> float:
    """The median time of a call that is repeated for about this long, after one call that is not counted."""
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return median(times)


def measure_limits(*, copy_bytes: int | None = None, order: int = 512, seconds: float) -> Limits:
    """Measure all limits with all threads of torch; the copy has 16 times the last cache, at least 256 MB.

    Within the second cache, one thread adds an array to another, and that is counted once for each.
    """
    cache = cache_size()
    count = (copy_bytes or max(16 * cache, 2**28)) // 4
    source, target = torch.ones(count), torch.zeros(count)
    copy = repeat(lambda: target.copy_(source), seconds=seconds, least=7)
    a, b, c = (torch.ones(order, order) for _ in range(3))
    product = repeat(lambda: torch.mm(a, b, out=c), seconds=seconds, least=7)
    near, other = (torch.ones(cache_size("L2") // 12) for _ in range(2))  # two thirds of the cache
    with use_threads(1):
        within = repeat(partial(_add, near, other), seconds=seconds, least=7) / ADDITIONS
    return Limits(
        bandwidth=8 * count / copy,
        multiply_adds=order**3 / product,
        cache=cache,
        l2_bandwidth=torch.get_num_threads() * 3 * near.nbytes / within,
    )


def _add(target: torch.Tensor, source: torch.Tensor) -> None:
    for _ in range(ADDITIONS):
        target += source


def describe_machine(limits: Limits) -> dict[str, Any]:
    """The machine and its software as plain data."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": torch.get_num_threads(),
        "caches": _caches(),
        "memory_gb": round(total_memory() / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version(), "newtonnet": __version__}
        | {name: found for name in ("torch", "torch_geometric") if (found := _version(name))},
        "bandwidth_gb_per_s": round(limits.bandwidth / 1e9, 2),
        "l2_bandwidth_gb_per_s": round(limits.l2_bandwidth / 1e9, 1),
        "multiply_adds_g_per_s": round(limits.multiply_adds / 1e9, 1),
        "load": round(load(), 2),
    }


def load() -> float:
    """The load average of the last minute; 0 where the system does not report it."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def cache_size(name: str | None = None) -> int:
    """Bytes of a cache of the first core by its name; the largest if there is no name."""
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    sizes = {level: int(size[:-1]) * units[size[-1]] for level, size in _caches().items()}
    return max(sizes.values(), default=UNKNOWN_CACHE) if name is None else sizes.get(name, UNKNOWN_L2)


def total_memory() -> int:
    """Bytes of main memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def free_memory() -> int:
    """Bytes of main memory that are available without swapping."""
    try:
        rows = dict(row.split(":") for row in Path("/proc/meminfo").read_text().splitlines())
        return int(rows["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return total_memory() // 2


def _cpu() -> str:
    try:
        rows = Path("/proc/cpuinfo").read_text().splitlines()
        return next(row.split(":", 1)[1].strip() for row in rows if row.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _caches() -> dict[str, str]:
    """Level and kind to size, such as ``{"L1 data": "32K", "L2": "1024K"}``."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found[f"L{level}" if kind == "Unified" else f"L{level} {kind.lower()}"] = size
    return found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def product_bytes(nodes: int, stored: int, columns: int, *, cache: int) -> int:
    r"""The byte model of one product :math:`\hat A X` in float32 with int32 indices.

    .. math:: 8\,\mathrm{nnz} + 8\,n c \quad [+\ 4\,\mathrm{nnz}\,c \text{ where } 4\,n c \text{ exceeds the cache}]

    The matrix is read once, the block is read once and written once; a block that does not fit in the cache is read
    again for each of the ``stored`` entries.

    >>> product_bytes(10, 40, 2, cache=80), product_bytes(10, 40, 2, cache=79)
    (480, 800)
    """
    again = 4 * stored * columns if 4 * nodes * columns > cache else 0
    return 8 * stored + 8 * nodes * columns + again


GATHERED = (2, 4, 8, 16, 64)
"""Columns for which the loop that only reads rows was written."""

Gather = Callable[[torch.Tensor, torch.Tensor, int], object]
"""Reads the rows of a block that the entries of a matrix name, and prefetches some entries ahead, or none.

The entries are int32 ``(nnz,)``, the block is contiguous float32 ``(n, c)``.
"""


def build_gather() -> Gather | None:
    """The loop of ``gather.cpp``, compiled for this processor; None without a compiler."""
    compiler = shutil.which("c++")
    if compiler is None:
        return None
    source = Path(__file__).with_name("gather.cpp")
    with tempfile.TemporaryDirectory(prefix="newtonnet-bench-") as folder:
        target = Path(folder) / "gather.so"
        flags = ["-O3", "-march=native", "-std=c++20", "-shared", "-fPIC", "-pthread"]
        subprocess.run([compiler, *flags, source, "-o", target], check=True)
        loop = ctypes.CDLL(str(target)).gather

    def gather(entries: torch.Tensor, x: torch.Tensor, ahead: int) -> object:
        numbers = (entries.data_ptr(), len(entries), x.data_ptr(), x.shape[1], ahead, thread_count())
        return loop(*map(ctypes.c_int64, numbers))

    return gather


def time_kernel(
    graph: Graph,
    widths: Sequence[int],
    limits: Limits,
    *,
    seconds: float,
    note: Callable[[str], None],
    gather: Gather | None = None,
) -> dict[str, Any]:
    """Time one sparse product, a fifth of ``propagate`` at K = 5, on blocks of these widths, against limits."""
    operator = normalised_operator(graph)
    plan = operator.plan
    entries = operator.matrix.col_indices() if plan is None else plan.columns[: operator.matrix.values().numel()]
    nodes, stored = graph.nodes, int(graph.adjacency.nnz)
    coefficients = torch.linspace(1, 0.5, DEGREE + 1)[:, None]
    products = {}
    for columns in widths:
        block = 4 * nodes * columns
        if block > LARGEST_BLOCK or BLOCKS * block > free_memory():
            note(f"kernel: {graph.name} with {columns} columns skipped, its blocks would take too much memory")
            continue
        x = torch.ones(nodes, 1, columns)
        x += torch.arange(nodes)[:, None, None] % 7  # neither a constant block nor a slow random one
        with torch.no_grad():
            taken = repeat(partial(propagate, operator, x, coefficients), seconds=seconds) / DEGREE
        least = product_bytes(nodes, stored, columns, cache=limits.cache) / limits.bandwidth
        products[str(columns)] = {
            "ms": 1e3 * taken,
            "bound_ms": 1e3 * least,
            "fraction": least / taken,
            "arithmetic_fraction": stored * columns / limits.multiply_adds / taken,
        }
        if gather is not None and columns in GATHERED:
            plain, ahead = (repeat(partial(gather, entries, x[:, 0], e), seconds=seconds) for e in (0, AHEAD))
            products[str(columns)] |= {
                "gather_ms": 1e3 * plain,
                "gather_fraction": plain / taken,
                "prefetched_gather_ms": 1e3 * ahead,
                "prefetched_gather_fraction": ahead / taken,
            }
    return {"nodes": nodes, "stored": stored, "products": products}
