"""A screen of all entries of a parameter: one pass over the draws, in bounded memory.

Ranking every entry would take longer than drawing it.  The screen compares means of batches, says
which entries stand still, and chooses the entries that are worth ranking.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray

# Entries of a parameter that are ranked: those with the worst means, and those with the worst
# spreads, by the screen.
_RANKED = 100

# Batches that the screen cuts a chain into, and draws that its centres and scales are taken from.
_BATCHES, _FOR_SCALES = 25, 32

# Numbers that are worked on at once.
_PIECE = 1 << 16

# Finite number that stands for the logarithm of 0; differences of such numbers are finite too.
_LOG_OF_ZERO = float(np.finfo(np.float64).min) / 4


class DrawsToCheck(Protocol):
    """Draws that can be read by row and by column, from memory or from a disk."""

    @property
    def draws(self) -> int:
        """Draws of each chain."""

    def read(self, path: str, chain: int, rows: slice) -> FloatArray:
        """Read some draws of a chain, shape (draw, entry)."""

    def columns(self, path: str, numbers: IntArray, every: int) -> FloatArray:
        """Read some entries of every `every`-th draw, shape (chain, draw, entry)."""


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
        """Name one of its entries: a competitor by its label."""
        shape = tuple(len(labels) for labels in self.labels)
        places = np.unravel_index(number, shape) if shape else ()
        own = [labels[int(k)] for labels, k in zip(self.labels, places, strict=True)]
        if self.competitor and len(own) == 1:
            return str(own[0])
        words = f"the {self.name.replace('_', ' ')}"
        return f"{words}[{', '.join(str(label) for label in own)}]" if own else words


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
    path, n = quantity.judged_path, quantity.size
    length = -(-sink.draws // every)
    centre, scale = _centres_and_scales(sink, path, chains)
    edges = np.linspace(0, length, min(_BATCHES, length // 2) + 1).astype(np.int64)
    sums = np.zeros((5, n))
    still = np.zeros(n, np.bool_)
    allowed = np.zeros(n, np.bool_)
    for chain in range(chains):
        first = finite_logs(sink.read(path, chain, slice(0, 1)))[0]
        moved = np.zeros(n, np.bool_)
        for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            batch = np.zeros((2, n))
            for x in _pieces(sink, quantity, chain, a, b, every):
                if not moved.all():
                    moved |= (x != first).any(axis=0)
                x -= centre
                x /= np.abs(x) + scale
                batch[0] += x.sum(axis=0)
                sums[4] += np.einsum("ij,ij->j", x, x)
                batch[1] += np.abs(x, out=x).sum(axis=0)
            batch /= b - a
            sums[:2] += batch
            sums[2:4] += batch**2
        here = ~moved & _may_stand_still(first, quantity)
        allowed |= here
        still |= ~moved & ~here
    if not np.isfinite(sums).all():
        return Screened(False, still, np.empty(0, np.int64))
    ratio = _variance_ratios(sums, chains * (len(edges) - 1), chains * length)
    ratio[:, allowed] = -np.inf
    return Screened(True, still, _largest(ratio, n - int(allowed.sum())))


def _centres_and_scales(
    sink: DrawsToCheck, path: str, chains: int
) -> tuple[FloatArray, FloatArray]:
    """Compute median and median distance from it of each entry, from a few draws."""
    step = max(1, sink.draws // max(8, _FOR_SCALES // chains))
    few = np.concatenate([sink.read(path, c, slice(0, None, step)) for c in range(chains)])
    few = finite_logs(few)
    few = few[:: max(1, len(few) // _FOR_SCALES)]
    centre = np.asarray(np.median(few, axis=0))
    far = np.abs(few - centre)
    scale = np.asarray(np.median(far, axis=0))
    scale = np.where(scale > 0, scale, far.max(axis=0))
    return centre, np.where(scale > 0, scale, 1.0)


def _pieces(
    sink: DrawsToCheck, quantity: Quantity, chain: int, start: int, stop: int, every: int
) -> Iterable[FloatArray]:
    """Copy thinned draws `start` to `stop` of a chain, a few rows at a time."""
    rows = max(1, _PIECE // max(1, quantity.size))
    for a in range(start, stop, rows):
        b = min(a + rows, stop)
        rows_here = slice(a * every, (b - 1) * every + 1, every)
        yield finite_logs(sink.read(quantity.judged_path, chain, rows_here))


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


def _largest(ratio: FloatArray, n: int) -> IntArray:
    """Return the numbers of the entries with the largest ratios of either kind."""
    few = min(n, _RANKED)
    if few == 0:
        return np.empty(0, np.int64)
    return np.unique([np.argpartition(-row, few - 1)[:few] for row in ratio])
