"""The command line: one module for each command, which parses, calls the library and prints."""

from newtonnet.progress import console

from . import datasets, demo, explain, export, fit, predict, report, search, train  # noqa: F401, importing a command registers it
from .app import STOPPED, Application, Group, app, main, print_json, run
from .options import Address, DataRoot, ExecutorName, Json, Place, Workers, memory, open_executor, seconds

__all__ = [
    "STOPPED",
    "Address",
    "Application",
    "DataRoot",
    "ExecutorName",
    "Group",
    "Json",
    "Place",
    "Workers",
    "app",
    "console",
    "main",
    "memory",
    "open_executor",
    "print_json",
    "run",
    "seconds",
]
