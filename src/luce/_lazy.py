"""Import public names on first access, and large packages quickly."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module


def lazy_names(
    package: str, homes: Mapping[str, str], rooms: Iterable[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package that loads names on demand.

    Parameters
    ----------
    package
        The package's own name, ``__name__``.
    homes
        The module, below the package, that each public name is defined in.
    rooms
        Subpackages and modules that are public as a whole.
    """
    rooms = frozenset(rooms)
    public = sorted({*homes, *rooms})

    def load(name: str) -> object:
        if name in homes:
            with without_collections():
                module = import_module(f"{package}.{homes[name]}")
            value = getattr(module, name)
        elif name in rooms:
            value = import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: public, public


@contextmanager
def without_collections() -> Iterator[None]:
    """Import packages without looking for garbage meanwhile.

    An import makes many objects and hardly any garbage, and looking through them over and over
    takes a fifth of the time of an import of numba or xarray.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
