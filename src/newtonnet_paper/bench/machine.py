"""What the figures were measured on, and the two limits of it that are measured beside them."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from .clock import repeat

BUSY = 0.5
"""A load average above this spoils the figures."""

UNKNOWN_CACHE = 32 * 2**20
"""Size of the last cache in bytes where the system does not tell it."""


@dataclass(frozen=True)
class Limits:
    """What this machine can do at most, measured now.

    Attributes:
        bandwidth: bytes per second, read and written, of a copy far larger than the caches.
        multiply_adds: float32 multiply-adds per second of a dense product within the cache.
        cache: bytes of the last cache.
    """

    bandwidth: float
    multiply_adds: float
    cache: int


def measure_limits(*, copy_bytes: int | None = None, order: int = 512, seconds: float) -> Limits:
    """Measure both limits with all threads that torch uses.

    Args:
        copy_bytes: size of the copied array; 16 times the last cache, and 256 MB at least, if not given.
        order: rows and columns of the dense product's matrices.
        seconds: how long each is repeated.
    """
    cache = last_cache()
    count = (copy_bytes or max(16 * cache, 2**28)) // 4
    source, target = torch.ones(count), torch.zeros(count)
    copy = repeat(lambda: target.copy_(source), seconds=seconds, least=7)
    a, b, c = (torch.ones(order, order) for _ in range(3))
    product = repeat(lambda: torch.mm(a, b, out=c), seconds=seconds, least=7)
    return Limits(bandwidth=8 * count / copy, multiply_adds=order**3 / product, cache=cache)


def describe_machine(limits: Limits) -> dict[str, Any]:
    """The machine and its software as plain data."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": torch.get_num_threads(),
        "caches": _caches(),
        "memory_gb": round(total_memory() / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version()}
        | {
            name: found
            for name in ("newtonnet", "torch", "torch_geometric", "numba")
            if (found := _version(name))
        },
        "bandwidth_gb_per_s": round(limits.bandwidth / 1e9, 2),
        "multiply_adds_g_per_s": round(limits.multiply_adds / 1e9, 1),
        "load": round(load(), 2),
    }


def load() -> float:
    """The load average of the last minute; 0 where the system has none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def last_cache() -> int:
    """Bytes of the largest cache of the first core."""
    sizes = [_bytes(size) for size in _caches().values()]
    return max(sizes, default=UNKNOWN_CACHE)


def total_memory() -> int:
    """Bytes of main memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def free_memory() -> int:
    """Bytes of main memory that are free, or can be made free without swapping."""
    try:
        rows = dict(row.split(":") for row in Path("/proc/meminfo").read_text().splitlines())
        return int(rows["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return total_memory() // 2


def _cpu() -> str:
    try:
        rows = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        rows = []
    names = [row.split(":", 1)[1].strip() for row in rows if row.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _caches() -> dict[str, str]:
    """Level and kind to size, such as ``{"L1 data": "32K", "L2": "1024K"}``."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            found[f"L{level}" if kind == "Unified" else f"L{level} {kind.lower()}"] = size
    return found


def _bytes(size: str) -> int:
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    return int(size[:-1]) * units[size[-1]] if size[-1] in units else int(size)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
