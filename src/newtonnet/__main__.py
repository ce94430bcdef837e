"""``python -m newtonnet`` is the command line."""

from newtonnet.cli import main

main()
