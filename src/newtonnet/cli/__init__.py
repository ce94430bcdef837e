"""The command line: one module for each command, registered by being imported."""

from . import bench, datasets, demo, reproduce, search, train
from .app import app, main

__all__ = ["app", "bench", "datasets", "demo", "main", "reproduce", "search", "train"]
