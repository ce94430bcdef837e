"""The hot loops in C++, compiled at installation; where they are missing, every caller lets torch do the same."""

from .elementwise import (
    BETAS,
    EPSILON,
    LAST_SHIFT,
    MIX,
    PER_WORD,
    STEP,
    Mask,
    adam_step,
    drop,
    drop_flat,
    words,
)
from .native import KINDS, available
from .products import AHEAD, Pattern, back, make_operator, make_pattern, multiply, series
from .threads import kept_memory, thread_count, use_threads

__all__ = [
    "AHEAD",
    "BETAS",
    "EPSILON",
    "KINDS",
    "LAST_SHIFT",
    "MIX",
    "PER_WORD",
    "STEP",
    "Mask",
    "Pattern",
    "adam_step",
    "available",
    "back",
    "drop",
    "drop_flat",
    "kept_memory",
    "make_operator",
    "make_pattern",
    "multiply",
    "series",
    "thread_count",
    "use_threads",
    "words",
]
