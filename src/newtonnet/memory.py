"""Amounts of memory: in words, and what this process holds."""

import os
import re
import sys
from numbers import Real
from typing import Any

BYTES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def parse_amount(amount: Any) -> int:
    """Bytes of an amount such as ``500MB`` or ``2GB``, or of a number of bytes.

    >>> parse_amount("1.5GB"), parse_amount(10**6)
    (1500000000, 1000000)
    """
    if isinstance(amount, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]B)", amount.strip().upper())
        if match is None or float(match[1]) <= 0:
            raise ValueError(f"an amount such as 500MB or 2GB, got {amount!r}")
        return int(float(match[1]) * BYTES[match[2]])
    if isinstance(amount, bool) or not isinstance(amount, Real) or not float(amount).is_integer() or amount < 1:
        raise ValueError(f"a whole number of bytes, or an amount such as 500MB or 2GB, got {amount!r}")
    return int(float(amount))


def in_words(amount: float) -> str:
    """An amount for people.

    >>> in_words(1_240_000_000), in_words(613_000_000), in_words(25_300_000_000)
    ('1.2 GB', '610 MB', '25 GB')
    """
    if amount >= 10**9:
        return f"{amount / 1e9:.{1 if amount < 1e10 else 0}f} GB"
    return f"{max(round(amount / 1e7), 1) * 10} MB"


def resident_memory() -> int:
    """Bytes that this process holds in memory; where the system does not say, the most that it has held; else 0."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return peak_memory()


def peak_memory() -> int:
    """The most bytes that this process has held in memory so far; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
