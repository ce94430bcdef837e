"""Times as people write them: 90s, 30m, 2h, 1h30m."""

import re

SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}


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
