"""The one file that knows numba's options.

No fastmath: it would assume that there are no infinities, and log 0 is one.  Numba's cache on
disk looks at the file a function stands in, not at the functions it calls: after editing a
kernel that another file uses, remove ``__pycache__`` beside it.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

_Function = TypeVar("_Function", bound=Callable[..., object])


def compiled(function: _Function) -> _Function:
    """Compile on first use, keep the result on disk, release the interpreter lock."""
    jit = numba.njit(cache=True, nogil=True, error_model="numpy")
    return cast(_Function, jit(function))


def inlined(function: _Function) -> _Function:
    """As `compiled`, for small functions of many arrays: passing those costs more than they do."""
    jit = numba.njit(nogil=True, error_model="numpy", inline="always")
    return cast(_Function, jit(function))


def internal(function: _Function) -> _Function:
    """As `compiled`, for functions that only compiled ones call.

    No way in from Python is built: for a function of many arrays that is most of the code.
    """
    return _without_wrappers(function, forceinline=False)


def embedded(function: _Function) -> _Function:
    """As `internal`, but always merged into its caller by the optimiser."""
    return _without_wrappers(function, forceinline=True)


def _without_wrappers(function: _Function, forceinline: bool) -> _Function:
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    # Not cached: what calls it is, with this inside, and writing it out alone takes time.
    jit = numba.njit(nogil=True, error_model="numpy", forceinline=forceinline, **options)
    return cast(_Function, jit(function))
