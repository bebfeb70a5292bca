"""Kernels as plain Python: one source, compiled for large data and interpreted for small data.

Compiling the graph algorithms takes seconds, running them uncompiled on small data milliseconds.
Compiled code works on arrays, plain Python on lists, whose elements it reads and writes many times
faster.  Such kernels only index, slice and measure what they are given, and allocate with
`integers`, `reals` and `records`.
"""

from collections.abc import Callable
from dataclasses import make_dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from luce._types import FloatArray, IntArray, RecordArray
from luce.kernels.jit import borrowed, internal

_Function = TypeVar("_Function", bound=Callable[..., object])


@internal
def integers(n: int, value: int) -> IntArray:
    """Make an array of n equal integers; in plain Python a list."""
    return np.full(n, value, np.int64)


@internal
def reals(n: int, value: float) -> FloatArray:
    """Make an array of n equal real numbers; in plain Python a list."""
    return np.full(n, value, np.float64)


@internal
def records(n: int, kind: Any) -> RecordArray:
    """Make an array of n records of a NumPy type, all zero; in plain Python a list of objects."""
    return np.zeros(n, kind)


def _listed(n: int, value: float) -> list[float]:
    return [value] * n


def _listed_records(n: int, kind: Any) -> list[object]:
    make = _class_of_records(kind.names)
    return [make() for _ in range(n)]


@cache
def _class_of_records(names: tuple[str, ...]) -> type:
    """Make a class of objects with these fields, all zero."""
    return make_dataclass("Record", [(name, int, 0) for name in names], slots=True)


def _unchanged(value: object) -> object:
    return value


_ON_LISTS: dict[Any, Any] = {
    integers: _listed,
    reals: _listed,
    records: _listed_records,
    borrowed: _unchanged,
}


@cache
def uncompiled(function: _Function) -> _Function:
    """Return a kernel as plain Python that works on lists, as do all kernels that it calls."""
    if function in _ON_LISTS:
        return cast(_Function, _ON_LISTS[function])
    source: Any = getattr(function, "py_func", function)
    known = {name: source.__globals__.get(name) for name in source.__code__.co_names}
    called = {name: uncompiled(value) for name, value in known.items() if _is_kernel(value)}
    plain = FunctionType(source.__code__, {**source.__globals__, **called}, source.__name__)
    return cast(_Function, plain)


def on_lists(kernel: Callable[..., Any], *given: Any) -> Any:
    """Run a kernel as plain Python on lists of what the given arrays hold."""
    return uncompiled(kernel)(*(x.tolist() if isinstance(x, np.ndarray) else x for x in given))


def _is_kernel(value: object) -> bool:
    """Tell compiled functions, and what they are when compilation is switched off, from others."""
    is_python = isinstance(value, FunctionType) and value.__module__.startswith("luce.kernels")
    return hasattr(value, "py_func") or value is borrowed or is_python


def can_compile(kernel: Callable[..., object]) -> bool:
    """Tell whether a kernel would be compiled, unless compilation is switched off."""
    return hasattr(kernel, "py_func")


def is_ready(kernel: Callable[..., object]) -> bool:
    """Tell whether compiled code of a kernel is loaded, or in the cache of compiled code."""
    if not can_compile(kernel):
        return False
    known: Any = kernel
    if known.signatures:
        return True
    folder, name = known.stats.cache_path, known.py_func.__qualname__
    return folder is not None and any(Path(folder).glob(f"*.{name}-*.nbi"))
