"""Ray, the engine that runs beyond one machine: whether it is here, and how one connects to it."""

from .connection import connected, last_line

__all__ = ["connected", "last_line"]
