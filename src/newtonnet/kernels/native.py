"""The compiled module: whether it is there, and what to say where it is not."""

import functools
import logging
import os
from contextlib import suppress
from importlib import import_module
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

KINDS = (torch.float32, torch.float64)
"""Types of numbers that the kernels work on."""

SETTING = "NEWTONNET_KERNELS"
"""Environment variable: ``off`` leaves all work to torch, ``require`` makes missing kernels an error."""

CHOICES = ("", "off", "require")


@functools.cache
def available() -> bool:
    """Whether the compiled kernels can be used; where they are missing, one line of the log says so.

    Raises:
        ImportError: the kernels are missing, and ``NEWTONNET_KERNELS`` is ``require``.
        ValueError: ``NEWTONNET_KERNELS`` has another value than ``off`` or ``require``.
    """
    setting = os.environ.get(SETTING, "")
    if setting not in CHOICES:
        raise ValueError(f"{SETTING} must be off, require or not set, got {setting!r}")
    if setting == "off":
        return False
    try:
        native()
    except Exception as error:  # a broken file can raise anything
        missing = f"the compiled kernels of newtonnet cannot be loaded ({error})"
        if setting == "require":
            raise ImportError(
                f"{missing}, and {SETTING}=require asks for them; reinstall newtonnet where there is a C++ compiler"
            ) from error
        logging.getLogger("newtonnet").warning(
            "%s: torch does the same work more slowly. Reinstall newtonnet with a C++ compiler, "
            "or set %s=off to hide this message",
            missing,
            SETTING,
        )
        return False
    return True


@functools.cache
def native() -> Any:
    """The fastest compiled module that this processor can run; an ImportError where none was built."""
    for instructions in reversed(instruction_sets()[1:]):
        with suppress(Exception):
            return load(instructions)
    return load("baseline")


def kind() -> str:
    """Who does the work of the kernels: an instruction set of the compiled ones, or ``torch``."""
    return str(native().__name__).rpartition("_native_")[2] if available() else "torch"


def instruction_sets() -> list[str]:
    """The instruction sets that this processor has, the fastest last."""
    capability = torch.backends.cpu.get_cpu_capability()
    return ["baseline", "avx2", "avx512"][: {"AVX2": 2, "AVX512": 3}.get(capability, 1)]


def load(instructions: str) -> Any:
    """The compiled module for an instruction set, ``baseline``, ``avx2`` or ``avx512``."""
    return import_module(f"newtonnet.kernels._native_{instructions}")


def arrays(*tensors: Tensor | None) -> list[NDArray[Any] | None]:
    """The tensors as numpy arrays, which share their memory and are what the kernels check and read."""
    try:
        return [t if t is None else t.detach().numpy() if t.requires_grad else t.numpy() for t in tensors]
    except AttributeError as error:
        raise TypeError(f"the kernels work on torch tensors: {error}") from error
