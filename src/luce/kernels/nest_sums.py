"""Sums along nests by NumPy, where compiling a loop would take longer than the sums."""

from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray


def sums_by(number: IntArray, values: FloatArray, n: int) -> FloatArray:
    """Add up the values of each number 0..n - 1."""
    return np.asarray(np.bincount(number, values, n), np.float64)


def ring_starts(nest_start: IntArray, set_start: IntArray, set_end: IntArray) -> IntArray:
    """Return, for each set, the position of its first member that no shorter prefix holds."""
    starts = np.zeros_like(set_end)
    starts[1:] = set_end[:-1]
    some = np.diff(set_start) > 0
    starts[set_start[:-1][some]] = nest_start[:-1][some]
    return starts


class Ladder(NamedTuple):
    """Nests of similar numbers of sets, as rows of a table that is padded with zeros.

    Attributes
    ----------
    sets
        The sets of these nests.
    place
        Where each of them stands in the table, read row by row.
    shape
        Of the table.
    """

    sets: IntArray
    place: IntArray
    shape: tuple[int, int]

    def add_up(self, v: FloatArray) -> None:
        """Replace the v_t of each set by their sum over the set and the shorter prefixes."""
        table = self._table(v)
        v[self.sets] = np.cumsum(table, axis=1).ravel()[self.place]

    def add_down(self, v: FloatArray) -> None:
        """Replace the v_t of each set by their sum over the set and the longer prefixes."""
        table = self._table(v)[:, ::-1]
        v[self.sets] = np.cumsum(table, axis=1)[:, ::-1].ravel()[self.place]

    def _table(self, v: FloatArray) -> FloatArray:
        table = np.zeros(self.shape[0] * self.shape[1])
        table[self.place] = v[self.sets]
        return table.reshape(self.shape)


def ladders(set_start: IntArray) -> list[Ladder]:
    """Group the nests with several sets by the binary length of their number."""
    found = []
    number = np.diff(set_start)
    kind = np.frexp(np.maximum(number - 1, 0).astype(np.float64))[1]
    for k in np.unique(kind[number > 1]).tolist():
        nests = np.flatnonzero((kind == k) & (number > 1))
        length = number[nests]
        row = np.repeat(np.arange(len(nests)), length)
        rank = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)
        width = int(length.max())
        sets = set_start[nests][row] + rank
        found.append(Ladder(sets, row * width + rank, (len(nests), width)))
    return found
