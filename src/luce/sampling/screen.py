"""A screen of all entries of a parameter: one pass over the draws, in bounded memory.

Ranking every entry would take longer than drawing it.  The screen compares means of batches, says
which entries stand still, and chooses the entries that are worth ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.counts.labels import printable

# Entries of a parameter that are ranked: those with the worst means, and those with the worst
# spreads, by the screen.
_RANKED = 100

# Batches that the screen cuts a chain into, and draws that its centres and scales are taken from.
_BATCHES, _FOR_SCALES = 25, 16

# Entries that are screened together, and numbers that are worked on at once.
_SLAB, _PIECE = 1 << 15, 1 << 16

# Finite number that stands for the logarithm of 0; differences of such numbers are finite too.
_LOG_OF_ZERO = float(np.finfo(np.float64).min) / 4


class DrawsToCheck(Protocol):
    """Draws that can be read in parts, from memory or from a disk."""

    @property
    def draws(self) -> int:
        """Draws of each chain."""

    def read(self, path: str, chain: int, rows: slice, entries: slice | IntArray) -> FloatArray:
        """Read some entries of some draws of a chain, shape (draw, entry)."""


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
    """
    starts = range(0, quantity.size, _SLAB)
    slabs = [
        _Slab(sink, chains, quantity, every, slice(a, min(a + _SLAB, quantity.size)))
        for a in starts
    ]
    found = [slab.screen() for slab in slabs]
    ratio = np.concatenate([one[0] for one in found], axis=1)
    still = np.concatenate([one[1] for one in found])
    finite = not np.isnan(ratio).any()
    worst = _largest(ratio) if finite else np.empty(0, np.int64)
    return Screened(finite, still, worst)


@dataclass(frozen=True)
class _Slab:
    """Neighbouring entries of a parameter, few enough to be screened within the cache."""

    sink: DrawsToCheck
    chains: int
    quantity: Quantity
    every: int
    entries: slice

    def screen(self) -> tuple[FloatArray, BoolArray]:
        """Compute ratios of variances, shape (2, entry), and mark entries that stand still.

        The ratio is -inf for entries that need no ranking, and nan where draws are not finite.
        """
        n = self.entries.stop - self.entries.start
        length = -(-self.sink.draws // self.every)
        edges = np.linspace(0, length, min(_BATCHES, length // 2) + 1).astype(np.int64)
        centre, scale = self._centres_and_scales()
        sums, still = np.zeros((5, n)), np.zeros(n, np.bool_)
        at = self._read(0, slice(0, 1))[0]
        exempt = _may_stand_still(at, self.quantity)
        for chain in range(self.chains):
            first = self._read(chain, slice(0, 1))[0]
            moved = np.zeros(n, np.bool_)
            for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
                sums += self._batch(chain, a, b, centre, scale, first, moved)
            still |= ~moved & ~_may_stand_still(first, self.quantity)
            exempt &= ~moved & (first == at)
        ratio = _variance_ratios(sums, self.chains * (len(edges) - 1), self.chains * length)
        ratio[:, ~np.isfinite(sums).all(axis=0)] = np.nan
        ratio[:, exempt] = -np.inf
        return ratio, still

    def _read(self, chain: int, rows: slice) -> FloatArray:
        path = self.quantity.judged_path
        return finite_logs(self.sink.read(path, chain, rows, self.entries))

    def _centres_and_scales(self) -> tuple[FloatArray, FloatArray]:
        """Compute median and median distance from it of each entry, from a few draws."""
        step = max(1, self.sink.draws // max(8, _FOR_SCALES // self.chains))
        every = slice(0, None, step)
        few = np.concatenate([self._read(chain, every) for chain in range(self.chains)])
        few = few[:: max(1, len(few) // _FOR_SCALES)]
        centre = np.asarray(np.median(few, axis=0))
        far = np.abs(few - centre)
        scale = np.asarray(np.median(far, axis=0))
        scale = np.where(scale > 0, scale, far.max(axis=0))
        return centre, np.where(scale > 0, scale, 1.0)

    def _batch(
        self,
        chain: int,
        start: int,
        stop: int,
        centre: FloatArray,
        scale: FloatArray,
        first: FloatArray,
        moved: BoolArray,
    ) -> FloatArray:
        """Sum one batch up: means of u and of |u|, their squares, and the sum of u squared.

        Entries that differ from the `first` draw are marked in `moved`.
        """
        rows = slice(start * self.every, (stop - 1) * self.every + 1, self.every)
        drawn = self.sink.read(self.quantity.judged_path, chain, rows, self.entries)
        found = np.zeros((5, len(centre)))
        size = max(1, _PIECE // len(centre))
        for k in range(0, len(drawn), size):
            x = finite_logs(drawn[k : k + size])
            if not moved.all():
                moved |= (x != first).any(axis=0)
            x -= centre
            x /= np.abs(x) + scale
            found[0] += x.sum(axis=0)
            found[4] += np.einsum("ij,ij->j", x, x)
            found[1] += np.abs(x, out=x).sum(axis=0)
        found[:2] /= stop - start
        found[2:4] = found[:2] ** 2
        return found


def columns(
    sink: DrawsToCheck, chains: int, path: str, entries: slice | IntArray, every: int = 1
) -> FloatArray:
    """Read some entries of every `every`-th draw, shape (chain, draw, entry)."""
    rows = slice(None, None, every)
    return np.stack([sink.read(path, chain, rows, entries) for chain in range(chains)])


def finite_logs(x: FloatArray) -> FloatArray:
    """Copy draws, with a finite number for the logarithm of 0."""
    return np.asarray(np.maximum(x, _LOG_OF_ZERO))


def _may_stand_still(value: FloatArray, quantity: Quantity) -> BoolArray:
    """Mark the values at which an entry may stand still, being one of probabilities.

    A category that is the only one has probability 1.  Logarithms of 0 are structural zeros, and a
    logarithm that rounds to 0 is judged by the other categories, which share what it leaves.
    """
    if not quantity.simplex:
        return np.zeros(len(value), np.bool_)
    if quantity.size == 1:
        return np.ones(1, np.bool_)
    if not quantity.logs:
        return np.zeros(len(value), np.bool_)
    return np.isin(value, [0.0, _LOG_OF_ZERO])


def _variance_ratios(sums: FloatArray, batches: int, draws: int) -> FloatArray:
    """Compute variances of batch means over variances of draws, for u and for |u|."""
    means = sums[:2] / batches
    between = sums[2:4] / batches - means**2
    within = sums[4] / draws - means**2
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = between / within
    return np.where(np.isnan(ratio), np.inf, ratio)


def _largest(ratio: FloatArray) -> IntArray:
    """Return the numbers of the entries with the largest ratios of either kind."""
    ranked = np.flatnonzero(ratio[0] > -np.inf)
    few = min(len(ranked), _RANKED)
    if few == 0:
        return np.empty(0, np.int64)
    return np.unique([ranked[np.argpartition(-row[ranked], few - 1)[:few]] for row in ratio])
