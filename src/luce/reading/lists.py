"""Many lists of category numbers, one after another in one array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from luce._types import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Lists:
    """List i is ``members[starts[i]:starts[i + 1]]``."""

    members: IntArray
    starts: IntArray

    @staticmethod
    def of(lists: Iterable[Sequence[int]]) -> Lists:
        """Pack Python lists."""
        given = list(lists)
        lengths = np.fromiter(map(len, given), np.int64, len(given))
        return Lists(np.fromiter(chain.from_iterable(given), np.int64, lengths.sum()),
                     starts_of(lengths))  # fmt: skip

    @staticmethod
    def singles(members: IntArray) -> Lists:
        """Lists of one each."""
        return Lists(members, np.arange(len(members) + 1))

    @staticmethod
    def empty(n: int) -> Lists:
        """Return n lists of nothing."""
        return Lists(np.empty(0, np.int64), np.zeros(n + 1, np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        """How long each list is."""
        return np.diff(self.starts)

    @property
    def owner(self) -> IntArray:
        """Which list each member belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, which: IntArray | BoolArray) -> Lists:
        """Return some of the lists, in the order and as often as they are named."""
        if which.dtype == np.bool_:
            which = np.flatnonzero(which)
        lengths = self.lengths[which]
        starts = starts_of(lengths)
        take = np.arange(starts[-1]) + np.repeat(self.starts[which] - starts[:-1], lengths)
        return Lists(self.members[take], starts)

    def beside(self, *others: Lists) -> Lists:
        """Lengthen each list by the lists of the same number."""
        parts = (self, *others)
        starts = starts_of(np.sum([part.lengths for part in parts], axis=0))
        members = np.empty(starts[-1], np.int64)
        done = starts[:-1].copy()
        for part in parts:
            shift = np.repeat(done - part.starts[:-1], part.lengths)
            members[np.arange(len(part.members)) + shift] = part.members
            done += part.lengths
        return Lists(members, starts)


def starts_of(lengths: IntArray) -> IntArray:
    """Where each of several lists begins, once they stand one after another."""
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts
