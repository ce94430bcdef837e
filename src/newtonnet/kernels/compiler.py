"""Kernels made for this machine at run time by llvmlite, an optional extra; without it nothing here is called."""

import ctypes
import functools
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch

from .adam_code import adam_code
from .agree_code import agree_code
from .back_code import back_code
from .combine_code import combine_code
from .judge_code import judge_code
from .noise_code import drop_code
from .product_code import product_code, summed_at_once
from .row_code import Row
from .series_code import series_code
from .thin_code import thin_code

KINDS = {torch.float32: "float", torch.float64: "double"}

_POINTER, _NUMBER, _SHORT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint16
_REAL = {torch.float32: ctypes.c_float, torch.float64: ctypes.c_double}

_making = threading.Lock()


@functools.cache
def available() -> bool:
    """Whether kernels can be made here."""
    return find_spec("llvmlite") is not None


def widest(dtype: torch.dtype) -> int:
    """Columns that a kernel handles at once: four of the widest vector registers."""
    return 4 * _register_bytes() // dtype.itemsize


@functools.cache
def full_width(width: int, dtype: torch.dtype) -> int:
    """Numbers in the registers that a row of this width takes."""
    return _row(width, dtype).full.width


@functools.cache
def product_lanes(width: int, dtype: torch.dtype) -> int:
    """Entries of a row that a product with blocks of this width sums side by side."""
    return summed_at_once(_row(width, dtype))


@functools.cache
def product_kernel(
    width: int, dtype: torch.dtype, *, ahead: bool, activate: bool = False, drop: bool = False
) -> Callable[..., None]:
    """``multiply`` of :mod:`.product_code` for blocks of this width."""
    p, i = _POINTER, _NUMBER
    arguments = [p, p, p, p, i, p, i, p, i, i, i, _SHORT, _REAL[dtype], i, i]
    return _compile(product_code(_row(width, dtype), ahead=ahead, activate=activate, drop=drop), "multiply", arguments)


@functools.cache
def thin_kernel(lanes: int, dtype: torch.dtype, *, ordered: bool) -> Callable[..., None]:
    """``thin`` of :mod:`.thin_code`."""
    code = thin_code(KINDS[dtype], lanes=lanes, ordered=ordered)
    return _compile(code, "thin", [*[_POINTER] * 7, _NUMBER])


@functools.cache
def back_kernel(width: int, dtype: torch.dtype) -> Callable[..., None]:
    """``back`` of :mod:`.back_code` for hidden layers of this width."""
    p, i = _POINTER, _NUMBER
    return _compile(back_code(_row(width, dtype)), "back", [p, i, p, p, i, p, p, p, i, i, _REAL[dtype], i, i])


@functools.cache
def drop_kernel(width: int, dtype: torch.dtype) -> Callable[..., None]:
    """``drop`` of :mod:`.noise_code` for members of this width."""
    p, i = _POINTER, _NUMBER
    return _compile(drop_code(_row(width, dtype)), "drop", [p, p, p, i, _SHORT, _REAL[dtype], i, i])


@functools.cache
def series_kernel(width: int, dtype: torch.dtype, *, weighted: bool, inner: bool, ahead: bool) -> Callable[..., None]:
    """``series`` of :mod:`.series_code` for blocks of this width."""
    p, i = _POINTER, _NUMBER
    arguments = [*[p] * 10, i, *[p] * 5, i, p, i, i, i, p, i]
    return _compile(series_code(_row(width, dtype), weighted=weighted, inner=inner, ahead=ahead), "series", arguments)


@functools.cache
def adam_kernel(dtype: torch.dtype, *, decoupled: bool) -> Callable[..., None]:
    """``adam`` of :mod:`.adam_code`."""
    p, i, real = _POINTER, _NUMBER, _REAL[dtype]
    code = adam_code(KINDS[dtype], _register_bytes() // dtype.itemsize, decoupled=decoupled)
    return _compile(code, "adam", [p, p, p, p, p, p, i, i, i, real, real])


@functools.cache
def combine_kernel(width: int, dtype: torch.dtype) -> Callable[..., None]:
    """``combine`` of :mod:`.combine_code` for this many columns."""
    p, i = _POINTER, _NUMBER
    return _compile(combine_code(_row(width, dtype)), "combine", [p, i, p, p, p, i, i, i, i])


@functools.cache
def judge_kernel(dtype: torch.dtype) -> Callable[..., None]:
    """``judge`` of :mod:`.judge_code`."""
    p, i = _POINTER, _NUMBER
    return _compile(judge_code(KINDS[dtype]), "judge", [p, p, p, p, p, p, i, i, i])


@functools.cache
def agree_kernel(*, alone: bool) -> Callable[..., None]:
    """``agree`` of :mod:`.agree_code`."""
    p, i = _POINTER, _NUMBER
    return _compile(agree_code(alone=alone), "agree", [p, p, p, p, i, i])


def _row(width: int, dtype: torch.dtype) -> Row:
    return Row(width, KINDS[dtype], _register_bytes())


@functools.cache
def _register_bytes() -> int:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    return next((size for name, size in (("avx512f", 64), ("avx", 32)) if features.get(name)), 16)


def _compile(code: str, name: str, arguments: list[Any]) -> Callable[..., None]:
    import llvmlite.binding as llvm

    with _making:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        module = llvm.parse_assembly(code)
        module.verify()
        target = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, jit=True
        )
        engine = llvm.create_mcjit_compiler(module, target)
        engine.finalize_object()
        function: Any = ctypes.CFUNCTYPE(None, *arguments)(engine.get_function_address(name))
        function.engine = engine  # the code lives as long as the function
        call: Callable[..., None] = function
        return call
