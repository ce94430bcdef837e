"""``newtonnet export``: a fitted model as two files that score graphs without torch."""

from pathlib import Path
from typing import Annotated

import typer

from newtonnet.progress import console

from .app import app, print_json
from .options import Json


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that newtonnet fit wrote.")],
    out: Annotated[Path, typer.Option(help="Folder for model.npz and scorer.py.")],
    json: Json = False,
) -> None:
    """Write a scorer that needs NumPy and SciPy only: model.npz and scorer.py, with the model's probabilities.

    Example: newtonnet export run --out scorer
    """
    from newtonnet.analysis import export as write

    files = write(folder, out)
    if json:
        print_json({"files": [str(path) for path in files]})
        return
    console.print(f"{' and '.join(str(path) for path in files)} written", style="dim", soft_wrap=True)
