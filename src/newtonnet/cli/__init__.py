"""The command line: one module for each command, registered by being imported."""

from . import datasets, demo, train
from .app import app, main

__all__ = ["app", "datasets", "demo", "main", "train"]
