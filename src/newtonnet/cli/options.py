"""Options that several commands have, each with its words in one place."""

from pathlib import Path
from typing import Annotated

import typer

from newtonnet.datasets import PROTOCOLS

SPLITS, MODEL, LOOP = "What is measured", "The model", "The run"
"""Headings of the options in the help."""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
DataRoot = Annotated[
    Path | None, typer.Option(help="Folder with raw data sets, only read; $NEWTONNET_DATA if not given.")
]
Protocol = Annotated[str, typer.Option(rich_help_panel=SPLITS, help=f"How to split: {', '.join(PROTOCOLS)}, or fixed.")]
MaxEpochs = Annotated[int, typer.Option(rich_help_panel=LOOP, help="Longest training.")]
Patience = Annotated[
    int, typer.Option(rich_help_panel=LOOP, help="Epochs without a better validation score; 0: never stop.")
]
Threads = Annotated[
    int | None, typer.Option(rich_help_panel=LOOP, help="Threads to train with; torch's number if not given.")
]
MaxMemory = Annotated[
    str | None,
    typer.Option(rich_help_panel=LOOP, help="Memory that training may take beside the graph, such as 500MB or 2GB."),
]
