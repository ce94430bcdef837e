"""The hot loops, made for this machine at run time where llvmlite is installed; every caller has a way without."""

from .adam_code import BETAS, EPSILON
from .compiler import KINDS, adam_kernel, available, full_width, series_kernel, widest
from .noise_code import LAST_SHIFT, MIX, PER_WORD, STEP, words
from .product_code import AHEAD
from .products import CORE_CACHE, WORTH_A_THREAD, Mask, Pattern, back, drop, drop_flat, make_pattern, multiply
from .threads import equal_parts, in_step, use_threads

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
    "available",
    "back",
    "drop",
    "drop_flat",
    "equal_parts",
    "full_width",
    "in_step",
    "make_pattern",
    "multiply",
    "series_kernel",
    "use_threads",
    "widest",
    "words",
]
