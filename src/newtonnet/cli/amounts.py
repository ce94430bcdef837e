"""Times and amounts of memory as people write them: 90s, 30m, 1h30m; 500MB, 2GB."""

import re

SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}
BYTES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def seconds(text: str) -> float:
    """The seconds of a time such as ``90s``, ``30m`` or ``1h30m``.

    >>> seconds("1h30m")
    5400.0
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)([hms])", text)
    total = sum(float(number) * SECONDS[unit] for number, unit in parts)
    if "".join(number + unit for number, unit in parts) != text or total <= 0:
        raise ValueError(f"--for takes a time such as 90s, 30m or 1h30m, got {text!r}")
    return total


def at_least(option: str, value: int | None, least: int) -> None:
    """Refuse a number below the least that an option takes; None is not given.

    >>> at_least("--seed", 0, 0)
    """
    if value is not None and value < least:
        raise ValueError(f"{option} must be {least} or more, got {value}")


def memory(text: str | None) -> int | None:
    """The bytes of an amount such as ``500MB`` or ``2GB``; None stays None.

    >>> memory("1.5GB")
    1500000000
    """
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]B)", text.strip().upper())
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"--max-memory takes an amount such as 500MB or 2GB, got {text!r}")
    return int(float(match[1]) * BYTES[match[2]])
