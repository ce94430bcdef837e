"""Out-of-core training: propagated features are written to disk once, then models train in mini-batches of nodes."""

from .adjacency import Adjacency, adjacency_of, open_adjacency, write_adjacency
from .batches import MAPPED, Batching, Worker
from .large_graph import LargeGraph, as_large, open_graph, read_tables_on_disk, write_graph
from .model import OUT_OF_CORE_MODEL, OutOfCoreNet, make_filter, predict_out_of_core
from .propagate import PROPAGATION_MEMORY, PropagationProgress, is_free_for, propagate_to_disk
from .ray_training import train_on_ray
from .store import FeatureStore, open_store
from .training import train_out_of_core

__all__ = [
    "MAPPED",
    "OUT_OF_CORE_MODEL",
    "PROPAGATION_MEMORY",
    "Adjacency",
    "Batching",
    "FeatureStore",
    "LargeGraph",
    "OutOfCoreNet",
    "PropagationProgress",
    "Worker",
    "adjacency_of",
    "as_large",
    "is_free_for",
    "make_filter",
    "open_adjacency",
    "open_graph",
    "open_store",
    "predict_out_of_core",
    "propagate_to_disk",
    "read_tables_on_disk",
    "train_on_ray",
    "train_out_of_core",
    "write_adjacency",
    "write_graph",
]
