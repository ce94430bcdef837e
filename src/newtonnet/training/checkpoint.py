"""A run half done, on disk, and Ctrl-C that waits until there is a whole number of epochs to save."""

import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from newtonnet.files import whole_file


def save_checkpoint(path: Path, tensors: Mapping[str, Tensor], *, fingerprint: str) -> None:
    """Write the state of a run with a fingerprint of what it belongs to, whole or not at all; no pickle."""
    with whole_file(path) as temporary:
        contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        save_file(contiguous, temporary, metadata={"newtonnet": json.dumps({"fingerprint": fingerprint})})


def load_checkpoint(path: Path, *, fingerprint: str) -> dict[str, Tensor]:
    """Read the state back; an error where it belongs to another run or the file is damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            found = json.loads((file.metadata() or {}).get("newtonnet", "{}")).get("fingerprint")
            if found != fingerprint:
                raise ValueError(
                    f"checkpoint {path} belongs to another run (other data, settings or version); "
                    "remove it or name another file"
                )
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, OSError) as error:
        raise ValueError(f"checkpoint {path} is damaged or no file ({error}); remove it and train again") from error


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], None]]:
    """Hold the first Ctrl-C back until the yielded function is called; a second one acts at once.

    Nothing changes where the caller already handles or ignores Ctrl-C: such a caller ends a training with ``stop``.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: None
        return
    with first_interrupt() as pressed:

        def release() -> None:
            if pressed():
                raise KeyboardInterrupt

        yield release


@contextmanager
def first_interrupt(say: Callable[[], None] = lambda: None) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed; a second Ctrl-C raises ``KeyboardInterrupt`` at once.

    ``say`` is called at the first. Nothing changes if Ctrl-C is ignored, as in a background job, or outside the main
    thread, which gets no signals.
    """
    pressed = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield pressed.is_set
        return

    def note(number: int, frame: FrameType | None) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()
        say()

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)
