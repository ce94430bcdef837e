"""The command line: one module for each command."""

from .app import app, main

__all__ = ["app", "main"]
