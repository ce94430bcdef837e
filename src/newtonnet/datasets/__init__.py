"""Graphs and splits: generated graphs, and which nodes train, validate and test."""

from .splits import PAPER_SEED, PROTOCOLS, Split, check_split, make_splits, split_from_masks
from .synthetic import csbm, digits

__all__ = [
    "PAPER_SEED",
    "PROTOCOLS",
    "Split",
    "check_split",
    "csbm",
    "digits",
    "make_splits",
    "split_from_masks",
]
