"""Which moves between states cannot be made, as people tell it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from luce._types import BoolArray
from luce.counts.labels import Categories
from luce.errors import DataError
from luce.reading.columns import is_list


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
    if isinstance(given, Mapping):
        wrong = [others for others in given.values() if not is_list(others)]
        if wrong:
            raise DataError(f"forbidden maps a state to {wrong[0]!r}; a list of states is needed.")
        given = [(a, b) for a, others in given.items() for b in others]
    if not is_list(given):
        raise DataError(f"forbidden = {given!r}; a mapping, a list of (from, to) or an array of "
                        "True and False is needed.")  # fmt: skip
    for pair in given:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise DataError(f"forbidden holds {pair!r}; (from, to) is needed.")
        i, j = (int(states.numbers([x], "forbidden")[0]) for x in pair)
        closed[i, j] = True
    return closed
