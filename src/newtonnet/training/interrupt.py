"""Ctrl-C that waits for the end of an epoch, so that what is saved is a whole number of epochs."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], None]]:
    """Hold the first Ctrl-C back until the yielded function is called; a second one acts at once.

    Outside the main thread, where Python takes no signals, nothing is changed.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    before = signal.getsignal(signal.SIGINT)

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
