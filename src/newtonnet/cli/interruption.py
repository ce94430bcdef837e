"""Ctrl-C that asks a long command to come to its end: what is done is kept, what is left is skipped."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from .app import talk


@contextmanager
def first_interrupt() -> Iterator[Callable[[], bool]]:
    """A function that says whether Ctrl-C was pressed; pressed a second time, it acts at once.

    Where Ctrl-C is ignored, as in a command that runs in the background, it stays so; and outside the main thread,
    where Python takes no signals, nothing is changed.
    """
    asked = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield asked.is_set
        return

    def note(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    signal.signal(signal.SIGINT, note)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def told_once(stop: Callable[[], bool]) -> Callable[[], bool]:
    """The same answer; the first time that it is yes, whoever waits at the terminal hears so."""
    told = False

    def asked() -> bool:
        nonlocal told
        answer = stop()
        if answer and not told:
            told = True
            talk.print("stopping: what is done is kept and written; Ctrl-C once more stops at once", style="dim")
        return answer

    return asked
