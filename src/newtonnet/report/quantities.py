"""Numbers as people read them: percentages, counts and times, and a dash where there is none."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeGuard

DASH = "–"


def is_known(number: float | None) -> TypeGuard[float]:
    """Whether there is a finite number to show."""
    return number is not None and math.isfinite(number)


def has_width(low: float, high: float) -> bool:
    """Whether an interval says something: where all splits happen to agree it has no width, and they are only too few.

    >>> has_width(0.25, 0.5), has_width(0.5, 0.5 + 1e-16), has_width(float("nan"), float("nan"))
    (True, False, False)
    """
    return high - low > 1e-9


def percent(share: float | None, digits: int = 1) -> str:
    """A share of one.

    >>> percent(0.2345), percent(0.2345, 0), percent(None), percent(float("nan"))
    ('23.4%', '23%', '–', '–')
    """
    return f"{100 * share:.{digits}f}%" if is_known(share) else DASH


def percent_range(interval: tuple[float, float]) -> str:
    """An interval of shares.

    >>> percent_range((0.25, 0.5)), percent_range((float("nan"), 0.5))
    ('25.0% to 50.0%', '–')
    """
    return f"{percent(interval[0])} to {percent(interval[1])}" if all(map(is_known, interval)) else DASH


def points(difference: float) -> str:
    """A difference of two shares in percentage points, with its sign.

    >>> points(0.0512), points(-0.003), points(-0.0001)
    ('+5.1', '−0.3', '0.0')
    """
    text = f"{100 * difference:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def decimal(number: float | None, digits: int = 3) -> str:
    """A number with so many decimals.

    >>> decimal(0.25), decimal(None)
    ('0.250', '–')
    """
    return f"{number:.{digits}f}" if is_known(number) else DASH


def duration(seconds: float | None) -> str:
    """A time in its two largest units.

    >>> duration(0.42), duration(75), duration(7261), duration(None)
    ('0.4 s', '1 min 15 s', '2 h 1 min', '–')
    """
    if not is_known(seconds):
        return DASH
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """A count with its noun.

    >>> plural(1, "node"), plural(1200, "node"), plural(2, "class", "classes")
    ('1 node', '1,200 nodes', '2 classes')
    """
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def plain(value: object) -> str:
    """Any setting as text.

    >>> plain(0.05), plain(True), plain(None), plain((1.0, 2.0)), plain({"a": 1})
    ('0.05', 'yes', '–', '1, 2', 'a 1')
    """
    match value:
        case None:
            return DASH
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}" if math.isfinite(value) else DASH
        case str():
            return value
        case Mapping():
            return ", ".join(f"{plain(name)} {plain(one)}" for name, one in value.items())
        case Sequence():
            return ", ".join(plain(one) for one in value)
        case _:
            return str(value)
