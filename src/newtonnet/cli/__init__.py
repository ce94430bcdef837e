"""The command line: one module for each command, registered by being imported."""

from . import bench, datasets, demo, fit, predict, report, reproduce, scale, search, train
from .app import app, main

__all__ = [
    "app",
    "bench",
    "datasets",
    "demo",
    "fit",
    "main",
    "predict",
    "report",
    "reproduce",
    "scale",
    "search",
    "train",
]
