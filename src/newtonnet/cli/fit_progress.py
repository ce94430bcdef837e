"""How far ``newtonnet fit`` is: what is being done, the best validation score, and the time left."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn

from newtonnet.report import percent

from .app import talk
from .held_out import Step


@contextmanager
def watch_steps(deadline: float, *, opening: Sequence[str] = ()) -> Iterator[Step]:
    """A bar on standard error for one step after another; it appears once something is under way.

    Before that a mistake may still be found, whose message is to stand alone.

    Args:
        deadline: when all steps are to be done, by the monotonic clock.
        opening: lines to say first.
    """
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=12), TextColumn("{task.fields[note]}"))
    bar = Progress(*columns, console=talk, transient=True, disable=not talk.is_terminal)
    task = bar.add_task("", total=1.0, note="")
    lines = list(opening)

    def step(what: str) -> Callable[[str, float, float], None]:
        bar.update(task, description=what, completed=0.0, note="")

        def tell(doing: str, share: float, best: float) -> None:
            while lines:
                talk.print(lines.pop(0), style="dim", soft_wrap=True)
            bar.start()
            left = max(int(deadline - time.monotonic()), 0)
            note = f"best {percent(best)}, {left // 60}:{left % 60:02d} left"
            bar.update(task, description=f"{what}: {doing}", completed=share, note=note)

        return tell

    try:
        yield step
    finally:
        bar.stop()
