"""Which moves between states cannot be made, as people tell it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from luce._types import BoolArray
from luce.errors import DataError
from luce.labels import Categories


def forbidden_moves(given: Any, states: Categories) -> BoolArray:
    """Read a mapping from states to states, a list of (from, to), or an array of flags.

    Returns
    -------
    closed
        Shape (n, n): True where the state of the row cannot move to that of the column.
    """
    n = len(states)
    closed = np.zeros((n, n), np.bool_)
    if given is None:
        return closed
    if isinstance(given, np.ndarray):
        if given.shape != (n, n) or given.dtype != np.bool_:
            raise DataError(
                f"forbidden has shape {given.shape} and type {given.dtype}; ({n}, {n}) of True "
                "and False is needed, in the order of the states."
            )
        return given.copy()
    pairs = (
        [(a, b) for a, others in given.items() for b in others]
        if isinstance(given, Mapping)
        else [tuple(pair) for pair in given]
    )
    for pair in pairs:
        if len(pair) != 2:
            raise DataError(f"forbidden holds {pair!r}; (from, to) is needed.")
        i, j = (int(states.numbers([x], "forbidden")[0]) for x in pair)
        closed[i, j] = True
    return closed
