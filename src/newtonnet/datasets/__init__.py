"""Published graphs by name, generated graphs, and which nodes train, validate and test.

torch_geometric and pyarrow are imported only to parse raw files that are not in the cache.
"""

from .catalogue import Dataset, load, load_dataset, load_splits, summarise
from .entries import CATALOGUE, DatasetEntry, Published
from .generated import csbm, customers, digits
from .parse import read_graph_file, write_graph_file
from .raw_files import ChangedFileWarning, DatasetNotFoundError, RawFile, data_roots
from .splits import PAPER_SEED, PROTOCOLS, Split, check_split, describe_split, make_splits
from .statistics import DatasetSummary, Statistics, absent, describe

__all__ = [
    "CATALOGUE",
    "PAPER_SEED",
    "PROTOCOLS",
    "ChangedFileWarning",
    "Dataset",
    "DatasetEntry",
    "DatasetNotFoundError",
    "DatasetSummary",
    "Published",
    "RawFile",
    "Split",
    "Statistics",
    "absent",
    "check_split",
    "csbm",
    "customers",
    "data_roots",
    "describe",
    "describe_split",
    "digits",
    "load",
    "load_dataset",
    "load_splits",
    "make_splits",
    "read_graph_file",
    "summarise",
    "write_graph_file",
]
