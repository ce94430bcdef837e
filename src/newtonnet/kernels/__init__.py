"""The hot loops, made for this machine at run time where llvmlite is installed; every caller has a way without."""

from .adam_code import BETAS, EPSILON
from .compiler import KINDS, adam_kernel, available, full_width, series_kernel, widest
from .counting import agreeing, judge
from .dropping import Mask, drop, drop_flat
from .memory import kept_memory
from .noise_code import LAST_SHIFT, MIX, PER_WORD, STEP, words
from .product_code import AHEAD
from .products import CORE_CACHE, Pattern, back, can_combine, combine, make_pattern, multiply
from .threads import WORTH_A_THREAD, equal_parts, in_step, scratch, thread_count, total, use_threads

__all__ = [
    "AHEAD",
    "BETAS",
    "CORE_CACHE",
    "EPSILON",
    "KINDS",
    "LAST_SHIFT",
    "MIX",
    "PER_WORD",
    "STEP",
    "WORTH_A_THREAD",
    "Mask",
    "Pattern",
    "adam_kernel",
    "agreeing",
    "available",
    "back",
    "can_combine",
    "combine",
    "drop",
    "drop_flat",
    "equal_parts",
    "full_width",
    "in_step",
    "judge",
    "kept_memory",
    "make_pattern",
    "multiply",
    "scratch",
    "series_kernel",
    "thread_count",
    "total",
    "use_threads",
    "widest",
    "words",
]
