"""Graphs and splits: the catalogue, own tables, generated graphs, and which nodes train, validate and test."""

from .catalogue import Dataset, load, load_dataset, load_splits, summarise
from .columns import Columns, column_names, find_columns
from .encoding import Encoding
from .entries import CATALOGUE
from .entry import Entry
from .first_loads import ChangedFileWarning
from .raw_files import DatasetNotFoundError
from .splits import PAPER_SEED, PROTOCOLS, Split, check_split, describe_split, make_splits
from .statistics import Statistics, describe
from .summary import Summary
from .synthetic import csbm, digits
from .tables import Reading, load_tables, read_tables

__all__ = [
    "CATALOGUE",
    "PAPER_SEED",
    "PROTOCOLS",
    "ChangedFileWarning",
    "Columns",
    "Dataset",
    "DatasetNotFoundError",
    "Encoding",
    "Entry",
    "Reading",
    "Split",
    "Statistics",
    "Summary",
    "check_split",
    "column_names",
    "csbm",
    "describe",
    "describe_split",
    "digits",
    "find_columns",
    "load",
    "load_dataset",
    "load_splits",
    "load_tables",
    "make_splits",
    "read_tables",
    "summarise",
]
