"""The command ``newtonnet-paper``: reproduce, bench and scale."""

import sys
from collections.abc import Sequence

from newtonnet.cli.app import run

from . import bench, reproduce, scale
from .app import app

__all__ = ["app", "bench", "main", "reproduce", "scale"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; mistakes become one line on standard error and exit code 2."""
    sys.exit(run(app, arguments, name="newtonnet-paper"))
