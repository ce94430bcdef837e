"""Time that is left, and whether somebody asked to stop."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """When to stop.

    Attributes:
        end: a moment of the monotonic clock, infinite where time does not count.
        asked: whether somebody wants an end before that.
    """

    end: float
    asked: Callable[[], bool]

    def over(self) -> bool:
        """Whether to stop now."""
        return time.monotonic() >= self.end or self.asked()

    def part(self, share: float) -> "Clock":
        """A clock for a share of the time that is left."""
        now = time.monotonic()
        return Clock(now + max(self.end - now, 0.0) * share if math.isfinite(self.end) else self.end, self.asked)


def start_clock(seconds: float | None, asked: Callable[[], bool] | None = None) -> Clock:
    """A clock that runs for so many seconds from now; None: for ever."""
    return Clock(math.inf if seconds is None else time.monotonic() + seconds, asked or (lambda: False))
