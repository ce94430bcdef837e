"""``python -m newtonnet_paper.cli`` is the command line."""

from newtonnet_paper.cli import main

main()
