"""Graphs and splits: the catalogue, generated graphs, and which nodes train, validate and test."""

from .catalogue import Dataset, load, load_dataset, load_splits, summarise
from .entries import CATALOGUE
from .entry import Entry
from .first_loads import ChangedFileWarning
from .raw_files import DatasetNotFoundError
from .splits import PAPER_SEED, PROTOCOLS, Split, check_split, describe_split, make_splits
from .statistics import Statistics, describe
from .summary import Summary
from .synthetic import csbm, digits

__all__ = [
    "CATALOGUE",
    "PAPER_SEED",
    "PROTOCOLS",
    "ChangedFileWarning",
    "Dataset",
    "DatasetNotFoundError",
    "Entry",
    "Split",
    "Statistics",
    "Summary",
    "check_split",
    "csbm",
    "describe",
    "describe_split",
    "digits",
    "load",
    "load_dataset",
    "load_splits",
    "make_splits",
    "summarise",
]
