"""Progress bars on standard error or in a notebook."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from rich.progress import Progress as TaskBars

Draw = Callable[[str, float, str], None]
"""Called with what is being done, its finished share, and a note."""

INTERVAL = 0.1
"""Seconds between two changes of a bar in a notebook; each is a message to the browser."""

console = Console(stderr=True, markup=False, highlight=False)
"""For progress and messages; standard output is for results."""


@contextmanager
def progress_bar(*, shown: bool = True) -> Iterator[Draw]:
    """A bar for one step after another, in a terminal or a notebook; it disappears at the end.

    Nothing is drawn where there is neither, or if it is not to be shown.
    """
    if not shown:
        yield lambda doing, share, note: None
    elif in_notebook():
        with _notebook_bar() as draw:
            yield draw
    else:
        with task_bars(width=12, remaining=False) as bars:
            task = bars.add_task("", total=1.0, note="")
            yield lambda doing, share, note: bars.update(task, description=doing, completed=share, note=note)


def task_bars(*, width: int = 40, remaining: bool = True) -> "TaskBars":
    """Bars on standard error, with a description and a note for each task; they disappear at the end."""
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as TaskBars

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=width), TextColumn("{task.fields[note]}"))
    time_left = [TimeRemainingColumn()] if remaining else []
    return TaskBars(*columns, *time_left, console=console, transient=True, disable=not console.is_terminal)


def in_notebook() -> bool:
    """Whether output is shown by Jupyter; IPython is asked only if somebody has imported it."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def _notebook_bar() -> Iterator[Draw]:
    from IPython.display import HTML, display

    drawn = -INTERVAL
    handle = display(HTML(""), display_id=True)

    def draw(doing: str, share: float, note: str) -> None:
        nonlocal drawn
        if time.monotonic() - drawn >= INTERVAL:
            drawn = time.monotonic()
            bar = f'<progress value="{share:.3f}" max="1"></progress>'
            handle.update(HTML(f"<div>{escape(doing)} {bar} {escape(note)}</div>"))

    try:
        yield draw
    finally:
        handle.update(HTML(""))
