"""A part of the draws, which answers the same questions as all of them."""

from __future__ import annotations

import numpy as np

from luce._types import IntArray
from luce.answers.view import DrawsView


def of_categories(x: DrawsView, numbers: IntArray) -> DrawsView:
    """Keep some categories: those of the others need not be compared."""
    return x.take(numbers)


def of_draws(x: DrawsView, rows: IntArray) -> DrawsView:
    """Keep some draws, counted through all chains, as one chain."""
    return x.one_chain(rows)


def evenly(x: DrawsView, most: int) -> IntArray:
    """Choose at most so many draws of all chains, evenly spaced."""
    return np.linspace(0, x.n_draws - 1, min(most, x.n_draws)).astype(np.int64)
