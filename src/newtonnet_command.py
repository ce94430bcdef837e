"""The ``newtonnet`` command: it stands outside the package, whose import takes seconds in which Ctrl-C may come."""

import sys
from importlib.metadata import version


def main() -> None:
    """Run the command line; one line and exit code 130 for Ctrl-C, even before it has started."""
    if sys.argv[1:] == ["--version"]:  # at once
        print(f"newtonnet {version('newtonnet')}")
        return
    try:
        from newtonnet.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("newtonnet: stopped\n")
        sys.exit(130)
