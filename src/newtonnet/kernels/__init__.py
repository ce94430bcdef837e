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
from .layer import Entries, activation_gradient, activation_sums, combine, gather, row_norm, row_norm_gradients
from .native import KINDS, arrays, available, kind
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
    "Entries",
    "Mask",
    "Pattern",
    "activation_gradient",
    "activation_sums",
    "adam_step",
    "arrays",
    "available",
    "back",
    "combine",
    "drop",
    "drop_flat",
    "gather",
    "kept_memory",
    "kind",
    "make_operator",
    "make_pattern",
    "multiply",
    "row_norm",
    "row_norm_gradients",
    "series",
    "thread_count",
    "use_threads",
    "words",
]
