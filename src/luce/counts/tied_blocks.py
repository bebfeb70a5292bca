"""Tied blocks of unknown order: some come before the rest, in an order that was not recorded.

In a race with times T_i ~ Exponential(p_i), all of a block B finish before all of the rest R with

    P = ∫_0^1 Π_{i ∈ B} (1 - x^(p_i / p(R))) dx = Σ_{A ⊆ B} (-1)^|A| p(R) / (p(R) + p(A)),

which is the sum over all orders of B.  A ranking is a product of such factors, block by block:
given that the earlier blocks are gone, the race of the others starts anew.

The alternating sum cancels.  With x = exp(-e^y) the integrand is smooth, decays at both ends, and
is bounded for |Im y| < π/2 whatever the strengths are, so that a sum over equidistant y is exact to
rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, IntArray, Label
from luce.counts.placings import Placings

# The integrand falls by this many nats, at least, before it is cut off; and the largest steps of y,
# for few and for many members (there the integrand is about 1 / √(1 + |B|) wide).
_NATS, _STEP, _STEP_OF_MANY = 34.0, 0.22, 0.65


class TiedBlocks(Placings):
    """Blocks that come before the rest, in an order that was not recorded; see `Placings`."""

    kind: ClassVar[str] = "tied blocks"
    unit: ClassVar[str] = "tied block"

    @property
    def model(self) -> str:
        """The model in words."""
        return "tied blocks of unknown order"

    @property
    def n_outcomes(self) -> float:
        """Number of places in all blocks."""
        return float(self.sizes @ self.times)

    def wins(self) -> FloatArray:
        """Count, for each category, the blocks that it was placed in."""
        each = (self.times[self.owner])[self.is_placed]
        return np.bincount(self.members[self.is_placed], each, self.n).astype(np.float64)

    def log_probabilities(self, p: FloatArray, parameters: Mapping[str, ArrayLike]) -> FloatArray:
        """Compute the log probability that each block comes before its rest."""
        with np.errstate(divide="ignore"):
            rest = np.log(self.rest_sums(p))
            logs = np.log(p)
        values = np.empty((*p.shape[:-1], len(self)))
        for size in np.unique(self.sizes):
            which = np.flatnonzero(self.sizes == size)
            values[..., which] = log_all_before(logs[..., self.placed(which)], rest[..., which])
        return values

    def rest_sums(self, p: FloatArray) -> FloatArray:
        """Add up the probabilities of the rest of each block, shape (..., blocks)."""
        return np.asarray(
            np.add.reduceat(p[..., self.members], self.start[:-1], axis=-1)[..., 1::2]
        )

    def restricted(self, place: IntArray, n: int, labels: Sequence[Label]) -> TiedBlocks:
        """Keep the race of those whose place is not -1."""
        inside = place[self.members] >= 0
        lengths = np.bincount(np.repeat(np.arange(2 * len(self)), np.diff(self.start)), inside)
        start = np.r_[0, np.cumsum(lengths)].astype(np.int64)
        left = replace(self, members=self.members[inside], start=start)
        return left.renumbered(place, n)


def tied_blocks(n: int, members: IntArray, start: IntArray, times: FloatArray) -> TiedBlocks:
    """Build tied blocks; the arguments are those of `Placings`."""
    return TiedBlocks(n, members, start, times).merged()


def nodes(size: int) -> tuple[FloatArray, float]:
    """Return equidistant y, and their distance, for a block of some size."""
    step = min(_STEP, _STEP_OF_MANY / np.sqrt(1.0 + size))
    last = np.log(1.0 + size + 10.0 * np.sqrt(1.0 + size) + _NATS)
    return np.arange(-_NATS, last, step), float(step)


def log_all_before(logs: FloatArray, log_rest: FloatArray) -> FloatArray:
    """Compute the log probability that all of a block come before all of the rest.

    Parameters
    ----------
    logs
        Logarithms of the strengths of the block's members, shape (..., |B|).
    log_rest
        Logarithm of the total strength of the rest, shape (...).
    """
    y, step = nodes(logs.shape[-1])
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        ratio = logs - log_rest[..., None]
        # Nobody is left who could come first; a member without strength never finishes.
        ratio = np.where(np.isneginf(log_rest)[..., None], np.inf, ratio)
        ratio = np.where(np.isneginf(logs), -np.inf, ratio)
        total = np.full(log_rest.shape, -np.inf)
        for at in y:
            factors = np.log(-np.expm1(-np.exp(ratio + at))).sum(axis=-1)
            total = np.logaddexp(total, factors + (at - np.exp(at)))
    return np.asarray(np.minimum(total + np.log(step), 0.0))
