"""Filter first, transform after: propagated features on disk once, then training in mini-batches of nodes."""

from .adjacency import Adjacency, adjacency_of, open_adjacency, write_adjacency
from .batches import Batching, Worker
from .edge_files import parquet_edges
from .generate import generate
from .large_graph import LargeGraph, as_large, open_graph, write_graph
from .mapped_tables import read_mapped
from .model import FilterFirst
from .prediction import predict_precomputed
from .propagate_blocks import Done, precompute
from .run import train_precomputed
from .store import Store, open_store

__all__ = [
    "Adjacency",
    "Batching",
    "Done",
    "FilterFirst",
    "LargeGraph",
    "Store",
    "Worker",
    "adjacency_of",
    "as_large",
    "generate",
    "open_adjacency",
    "open_graph",
    "open_store",
    "parquet_edges",
    "precompute",
    "predict_precomputed",
    "read_mapped",
    "train_precomputed",
    "write_adjacency",
    "write_graph",
]
