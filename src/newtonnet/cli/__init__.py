"""The command line: one module for each command, registered by being imported."""

from . import datasets, demo, fit, predict, report, search, train
from .app import app, main

__all__ = [
    "app",
    "datasets",
    "demo",
    "fit",
    "main",
    "predict",
    "report",
    "search",
    "train",
]
