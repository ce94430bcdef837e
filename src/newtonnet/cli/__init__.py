"""The command line: one module for each command, which parses, calls the library and prints."""

from newtonnet.files import check_writable

from . import datasets, demo, fit, predict, report, search, train
from .app import STOPPED, app, console, main, print_json, run
from .options import Address, DataRoot, ExecutorName, Json, Place, Workers, memory, open_executor, seconds

__all__ = [
    "STOPPED",
    "Address",
    "DataRoot",
    "ExecutorName",
    "Json",
    "Place",
    "Workers",
    "app",
    "check_writable",
    "console",
    "datasets",
    "demo",
    "fit",
    "main",
    "memory",
    "open_executor",
    "predict",
    "print_json",
    "report",
    "run",
    "search",
    "seconds",
    "train",
]
