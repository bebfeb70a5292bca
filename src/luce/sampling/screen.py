"""A screen of all entries of a parameter: one pass over the draws, in bounded memory.

Ranking every entry would take longer than drawing it.  The screen compares means of batches, says
which entries stand still, and chooses the entries that are worth ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, NumberArray
from luce.counts.labels import printable

# Entries of a parameter that are ranked: those with the worst means, and those with the worst
# spreads, by the screen.
_RANKED = 100

# Batches that the screen cuts a chain into, and draws that its centres and scales are taken from.
_BATCHES, _FOR_SCALES = 25, 16

# Numbers that are read at once, and that are worked on at once, within a core's own cache.
_READ, _PIECE = 1 << 22, 1 << 16

# Finite number that stands for the logarithm of 0; differences of such numbers are finite too.
_LOG_OF_ZERO = float(np.finfo(np.float64).min) / 4


class DrawsToCheck(Protocol):
    """Draws that can be read in parts, from memory or from a disk."""

    @property
    def draws(self) -> int:
        """Draws of each chain."""

    def read(self, path: str, chain: int, rows: slice, entries: slice | IntArray) -> NumberArray:
        """Read some entries of some stored draws of a chain, shape (draw, entry)."""


@dataclass(frozen=True, eq=False)
class Quantity:
    """A parameter whose draws are judged.

    Parameters
    ----------
    name
        Its name in the run's group ``posterior``.
    labels
        Labels of the stored entries along each of its dimensions.
    competitor
        Are its entries known by their labels alone?
    logs
        Are the logarithms stored too?  They are judged then: they move where probabilities are
        too close to 0 or 1 for doubles.
    simplex
        Do its entries add up to 1, all of them being stored?
    """

    name: str
    labels: Sequence[Any] = ()
    competitor: bool = False
    logs: bool = False
    simplex: bool = False

    @property
    def path(self) -> str:
        """Path of its draws in the run."""
        return f"posterior/{self.name}"

    @property
    def judged_path(self) -> str:
        """Path of the draws that are judged: the logarithms where they are stored."""
        return f"posterior/log_{self.name}" if self.logs else self.path

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod([len(labels) for labels in self.labels], dtype=np.int64))

    def entry(self, number: int) -> str:
        """Name one of its entries for a message: a competitor by its label."""
        shape = tuple(len(labels) for labels in self.labels)
        places = np.unravel_index(number, shape) if shape else ()
        own = [labels[int(k)] for labels, k in zip(self.labels, places, strict=True)]
        if self.competitor and len(own) == 1:
            return printable(own[0])
        words = f"the {self.name.replace('_', ' ')}"
        return f"{words}[{', '.join(map(printable, own))}]" if own else words


@dataclass(frozen=True)
class Screened:
    """Result of the screen: are all draws finite, entries that stand still, and those to rank."""

    finite: bool
    still: BoolArray
    worst: IntArray


def screen(sink: DrawsToCheck, chains: int, quantity: Quantity, every: int) -> Screened:
    """Read all draws once, and find the entries that mix worst.

    Draws x are centred at a median m and bounded, u = (x - m) / (|x - m| + s), s being the median
    distance.  The chains are cut into batches of L draws.  With independent draws the means of the
    batches have the variance of u divided by L; the entries where they vary most beyond that mix
    worst.  |u| shows chains of unequal spreads.

    Where there are few entries all are ranked, whatever their means.
    """
    if quantity.size <= _RANKED:
        return _look_at_all(sink, chains, quantity, every)
    with np.errstate(invalid="ignore"):  # draws that are not finite give nan
        return _Screen(sink, chains, quantity, every).run()


def _look_at_all(sink: DrawsToCheck, chains: int, quantity: Quantity, every: int) -> Screened:
    """Find out whether all draws are finite, and which entries move."""
    x = judged_columns(sink, chains, quantity, slice(None), every)
    first = x[:, 0]
    moved = (x != first[:, None]).any(axis=1)
    stands = np.array([_may_stand_still(own, quantity) for own in first])
    exempt = stands[0] & (~moved & (first == first[0])).all(axis=0)
    still = (~moved & ~stands).any(axis=0)
    return Screened(bool(np.isfinite(x).all()), still, np.flatnonzero(~exempt))


class _Screen:
    """Sums over all draws of a parameter, which are read in pieces of whole draws."""

    def __init__(self, sink: DrawsToCheck, chains: int, quantity: Quantity, every: int) -> None:
        self.sink, self.chains, self.quantity, self.every = sink, chains, quantity, every
        self.centre, self.scale = self._centres_and_scales()
        # Of means of u and of |u| over batches, of their squares, and of the squares of u.
        self.means, self.squares = np.zeros((2, 2, quantity.size))
        self.total = np.zeros(quantity.size)

    def run(self) -> Screened:
        """Compute ratios of variances, and mark entries that stand still.

        The ratio is -inf for entries that need no ranking, and nan where draws are not finite.
        """
        n, length = self.quantity.size, -(-self.sink.draws // self.every)
        edges = np.linspace(0, length, min(_BATCHES, length // 2) + 1).astype(np.int64).tolist()
        still = np.zeros(n, np.bool_)
        at = self._read(0, slice(0, 1))[0]
        exempt = _may_stand_still(at, self.quantity)
        for chain in range(self.chains):
            first = self._read(chain, slice(0, 1))[0]
            moved = np.zeros(n, np.bool_)
            for start, stop in pairwise(edges):
                self._add_batch(chain, start, stop, first, moved)
            still |= ~moved & ~_may_stand_still(first, self.quantity)
            exempt &= ~moved & (first == at)
        ratio = self._variance_ratios(self.chains * (len(edges) - 1), self.chains * length)
        ratio[:, exempt] = -np.inf
        finite = not np.isnan(ratio).any()
        return Screened(finite, still, _largest(ratio) if finite else np.empty(0, np.int64))

    def _read(self, chain: int, rows: slice) -> FloatArray:
        drawn = self.sink.read(self.quantity.judged_path, chain, rows, slice(None))
        return _finite_logs(drawn) if self.quantity.logs else drawn

    def _centres_and_scales(self) -> tuple[FloatArray, FloatArray]:
        """Compute median and median distance from it of each entry, from a few draws."""
        step = max(1, self.sink.draws // max(8, _FOR_SCALES // self.chains))
        every = slice(0, None, step)
        few = np.concatenate([self._read(chain, every) for chain in range(self.chains)])
        few = np.ascontiguousarray(few[:: max(1, len(few) // _FOR_SCALES)].T)
        centre = _medians(few)
        far = np.abs(few - centre[:, None])
        scale = _medians(far)
        scale = np.where(scale > 0, scale, far.max(axis=1))
        return centre, np.where(scale > 0, scale, 1.0)

    def _add_batch(
        self, chain: int, start: int, stop: int, first: FloatArray, moved: BoolArray
    ) -> None:
        """Add one batch to the sums; entries that differ from the `first` draw are marked."""
        n = self.quantity.size
        means = np.zeros((2, n))
        size = max(1, _READ // n)
        for begin in range(start, stop, size):
            last = min(begin + size, stop) - 1
            rows = slice(begin * self.every, last * self.every + 1, self.every)
            drawn = self._read(chain, rows)
            width = max(1, _PIECE // len(drawn))
            for here in (slice(k, k + width) for k in range(0, n, width)):
                x = drawn[:, here]
                if not moved[here].all():
                    moved[here] |= (x != first[here]).any(axis=0)
                self._add_piece(x, here, means)
        means /= stop - start
        self.means += means
        self.squares += means**2

    def _add_piece(self, x: FloatArray, here: slice, means: FloatArray) -> None:
        """Add some entries of some draws: u and |u| to `means`, squares of u to the total."""
        u = x - self.centre[here]
        bound = np.abs(u)
        bound += self.scale[here]
        u /= bound
        means[0, here] += u.sum(axis=0)
        means[1, here] += np.abs(u, out=u).sum(axis=0)
        self.total[here] += np.multiply(u, u, out=u).sum(axis=0)

    def _variance_ratios(self, batches: int, draws: int) -> FloatArray:
        """Compute variances of batch means over variances of draws, for u and for |u|."""
        means = self.means / batches
        between = self.squares / batches - means**2
        within = self.total / draws - means**2
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = between / within
        ratio = np.where(np.isnan(ratio), np.inf, ratio)
        ratio[:, ~np.isfinite(self.total)] = np.nan
        return ratio


def _medians(x: FloatArray) -> FloatArray:
    """Compute the median of each row."""
    rising, n = np.sort(x, axis=1), x.shape[1]
    return np.asarray((rising[:, (n - 1) // 2] + rising[:, n // 2]) / 2)


def columns(
    sink: DrawsToCheck, chains: int, path: str, entries: slice | IntArray, every: int = 1
) -> FloatArray:
    """Read some entries of every `every`-th draw, shape (chain, draw, entry)."""
    rows = slice(None, None, every)
    return np.stack([sink.read(path, chain, rows, entries) for chain in range(chains)])


def judged_columns(
    sink: DrawsToCheck, chains: int, quantity: Quantity, entries: slice | IntArray, every: int
) -> FloatArray:
    """Read the draws of some entries that are judged, with finite logarithms of 0."""
    x = columns(sink, chains, quantity.judged_path, entries, every)
    return _finite_logs(x) if quantity.logs else x


def _finite_logs(x: FloatArray) -> FloatArray:
    """Copy logarithms, with a finite number for that of 0."""
    return np.asarray(np.maximum(x, _LOG_OF_ZERO))


def _may_stand_still(value: FloatArray, quantity: Quantity) -> BoolArray:
    """Mark the values at which an entry may stand still, being one of probabilities.

    A category that is the only one has probability 1.  Logarithms of 0 are structural zeros, and a
    logarithm that rounds to 0 is judged by the other categories, which share what it leaves.  In a
    matrix, 0 stands for moves that cannot occur, and 1 for the only move that can.
    """
    if not quantity.simplex:
        return np.zeros(len(value), np.bool_)
    if quantity.size == 1:
        return np.ones(1, np.bool_)
    if not quantity.logs and len(quantity.labels) > 1:
        return np.isin(value, [0.0, 1.0])
    if not quantity.logs:
        return np.zeros(len(value), np.bool_)
    return np.isin(value, [0.0, _LOG_OF_ZERO])


def _largest(ratio: FloatArray) -> IntArray:
    """Return the numbers of the entries with the largest ratios of either kind."""
    ranked = np.flatnonzero(ratio[0] > -np.inf)
    few = min(len(ranked), _RANKED)
    if few == 0:
        return np.empty(0, np.int64)
    return np.unique([ranked[np.argpartition(-row[ranked], few - 1)[:few]] for row in ratio])
