"""``python -m newtonnet.cli`` is the command line."""

from . import main

main()
