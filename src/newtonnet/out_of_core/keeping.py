"""A training of several splits half done: what is finished, what was begun, and where both are kept."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from newtonnet.training import Record, deferred_interrupt
from newtonnet.training.checkpoint import load_checkpoint, save_checkpoint

State = dict[str, Tensor]
"""A model's parameters, or anything else that training goes on from, by name."""

SECONDS = 60.0
"""Between two saves."""


class Keeper(Protocol):
    """Where the state of a training is kept; every worker has one, and all of them are asked alike."""

    def load(self) -> State | None:
        """What was kept last, if anything was."""

    def due(self) -> bool:
        """Whether it is time to save; where one worker says so, all save."""

    def save(self, tensors: State) -> None:
        """Keep this instead."""


@dataclass(frozen=True, eq=False)
class Progressed:
    """How far the splits are.

    Attributes:
        finished: record and state of the first splits.
        begun: where the next one stands; None where it has not begun.
    """

    finished: tuple[tuple[Record, State], ...] = ()
    begun: State | None = None

    def pack(self) -> State:
        """As tensors by name."""
        tensors: State = {}
        for place, (record, state) in enumerate(self.finished):
            text = np.frombuffer(record.to_json().encode(), dtype=np.uint8)
            tensors[f"{place}/record"] = torch.from_numpy(text.copy())
            tensors |= {f"{place}/state/{name}": tensor for name, tensor in state.items()}
        return tensors | {f"begun/{name}": tensor for name, tensor in (self.begun or {}).items()}


def unpack(tensors: State) -> Progressed:
    """The same from tensors."""
    count = sum(name.endswith("/record") for name in tensors)
    finished = tuple(
        (Record.from_json(tensors[f"{place}/record"].numpy().tobytes().decode()), _below(tensors, f"{place}/state/"))
        for place in range(count)
    )
    return Progressed(finished, _below(tensors, "begun/") or None)


def _below(tensors: State, prefix: str) -> State:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def fingerprint(ids: Sequence[str]) -> str:
    """Of everything that decides the results of several splits, from their records' ids."""
    return hashlib.sha256("".join(ids).encode()).hexdigest()


@dataclass
class FileKeeper:
    """Keeps a training in one file; the first Ctrl-C is held back until the epoch is done and saved."""

    path: Path
    belongs: str
    """Fingerprint of what is trained."""
    seconds: float = SECONDS
    saved: float = field(default_factory=time.monotonic)
    release: Callable[[], None] = lambda: None
    """Raises where Ctrl-C was pressed."""
    interrupted: bool = False

    @contextmanager
    def watching(self) -> Iterator["FileKeeper"]:
        """The keeper, while it minds Ctrl-C; its file is removed at a good end."""
        with deferred_interrupt() as self.release:
            yield self
            self.release()
        self.path.unlink(missing_ok=True)

    def load(self) -> State | None:
        """What the file holds, if there is one."""
        return load_checkpoint(self.path, fingerprint=self.belongs) if self.path.exists() else None

    def due(self) -> bool:
        """Now and then, and where somebody wants to stop."""
        try:
            self.release()
        except KeyboardInterrupt:
            self.interrupted = True
        return self.interrupted or time.monotonic() - self.saved > self.seconds

    def save(self, tensors: State) -> None:
        """Write the file, whole or not at all; then stop, where that was the reason."""
        save_checkpoint(self.path, tensors, fingerprint=self.belongs)
        self.saved = time.monotonic()
        if self.interrupted:
            raise KeyboardInterrupt


@dataclass(frozen=True)
class Beside:
    """Keeps the split that is trained now beside those that are finished."""

    keeper: Keeper
    finished: Progressed

    def due(self) -> bool:
        """As the keeper says."""
        return self.keeper.due()

    def save(self, begun: State) -> None:
        """Keep all of them."""
        self.keeper.save(replace(self.finished, begun=begun).pack())
