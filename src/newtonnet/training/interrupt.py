"""Ctrl-C that waits for the end of an epoch, so that what is saved is a whole number of epochs."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], None]]:
    """Hold the first Ctrl-C back until the yielded function is called; a second one acts at once.

    Nothing is changed outside the main thread, where Python takes no signals, and where somebody else already handles
    Ctrl-C or ignores it: then theirs is the say, and ``stop`` is how they end a training.
    """
    asked = threading.Event()
    ours = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not ours or before is not signal.default_int_handler:
        yield lambda: None
        return

    def hold(number: int, frame: FrameType | None) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    def release() -> None:
        if asked.is_set():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, hold)
    try:
        yield release
    finally:
        signal.signal(signal.SIGINT, before)
