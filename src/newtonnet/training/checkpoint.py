"""A run half done, on disk, and Ctrl-C that waits until there is a whole number of epochs to save."""

import hashlib
import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from newtonnet.files import parse_json, whole_file

STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that end a run; Windows has no SIGHUP."""
TEXT, SUM = "newtonnet", "checksum"
"""Fields of a file's header: what it says about its tensors, and the checksum of that and of them."""
LONGEST_HEADER = 100_000_000
"""Bytes of the longest header that safetensors reads."""


def write_tensors(path: Path, text: str, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors and a text with their checksum, whole or not at all; no pickle."""
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    data = save(contiguous, metadata={TEXT: text, SUM: _checksum(text, contiguous)})
    with whole_file(path) as temporary:
        temporary.write_bytes(data)


def read_tensors(path: Path) -> tuple[str, dict[str, Tensor], bool | None]:
    """Read a text and tensors back, and whether their checksum is right; None if there is none."""
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > LONGEST_HEADER:
                raise ValueError("another format")
            stream.seek(0)
            data = (
                stream.read()
            )  # mapped, the tensors would change, or end the process, when somebody writes to the file
        tensors = load(data)
        header = json.loads(data[8 : 8 + length]).get("__metadata__", {})
    except (SafetensorError, OSError, KeyError) as reason:
        raise ValueError(f"another format, or cut short ({' '.join(str(reason).split())})") from reason
    if TEXT not in header:
        raise ValueError("a safetensors file of something else")
    return header[TEXT], tensors, header[SUM] == _checksum(header[TEXT], tensors) if SUM in header else None


def _checksum(text: str, tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def save_checkpoint(path: Path, tensors: Mapping[str, Tensor], *, fingerprint: str) -> None:
    """Write the state of a run with a fingerprint of what it belongs to."""
    write_tensors(path, json.dumps({"fingerprint": fingerprint}), tensors)


def load_checkpoint(path: Path, *, fingerprint: str) -> dict[str, Tensor]:
    """Read the state back; an error where it belongs to another run or the file is damaged.

    A checkpoint from before there were checksums is read without a check.
    """
    try:
        text, tensors, right = read_tensors(path)
        if right is False:
            raise ValueError("it was changed after it was saved: its checksum differs")
        about = parse_json(text)
    except ValueError as error:
        raise ValueError(f"checkpoint {path} is damaged or no file ({error}); remove it and train again") from error
    if not isinstance(about, dict) or about.get("fingerprint") != fingerprint:
        raise ValueError(
            f"checkpoint {path} belongs to another run (other data, settings or version); remove it or name another "
            "file"
        )
    return tensors


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], None]]:
    """Hold the first Ctrl-C back until the yielded function is called; a second one acts at once.

    Nothing changes where the caller already handles Ctrl-C: such a caller ends a training with ``stop``.
    """
    if signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, signal.SIG_IGN):
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

    SIGTERM and SIGHUP count as Ctrl-C where the program has a handler for them, as the command line has; that handler
    is called too. ``say`` is called at the first. Nothing changes for a signal that is ignored, as Ctrl-C is in a
    background job, or outside the main thread, which gets no signals.
    """
    pressed = threading.Event()
    before = {number: signal.getsignal(number) for number in STOPPING}
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set
        return

    def note(number: int, frame: FrameType | None) -> None:
        again, handler = pressed.is_set(), before[signal.Signals(number)]
        pressed.set()
        if number != signal.SIGINT and callable(handler):
            with suppress(KeyboardInterrupt):
                handler(number, frame)  # it notes which signal it was
        if again:
            raise KeyboardInterrupt
        say()

    handled = {number: handler for number, handler in before.items() if callable(handler)}
    for number in handled:
        signal.signal(number, note)
    try:
        yield pressed.is_set
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
