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

    Nothing changes outside the main thread, where Python receives no signals, or where the caller already handles or
    ignores Ctrl-C: such a caller ends a training with ``stop``.
    """
    pressed = threading.Event()
    ours = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not ours or before is not signal.default_int_handler:
        yield lambda: None
        return

    def hold(number: int, frame: FrameType | None) -> None:
        pressed.set()
        signal.signal(signal.SIGINT, before)

    def release() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, hold)
    try:
        yield release
    finally:
        signal.signal(signal.SIGINT, before)
