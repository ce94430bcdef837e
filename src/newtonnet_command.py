"""The ``newtonnet`` command, outside the package: Ctrl-C while the package is loading ends it with one line, too."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C prints one line and exits with code 130."""
    try:
        if sys.argv[1:] == ["--version"]:  # without loading the command line
            from newtonnet import __version__

            print(f"newtonnet {__version__}")
            return
        from newtonnet.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("newtonnet: stopped\n")
        sys.exit(130)
