"""The log posterior of rankings with ties, with its slope and precision.

Both models are concave in z = (log λ, logarithms of the parameters).  A sum over the orders of a
tied block is the probability of a convex set of the logarithms of finishing times, whose density is
log-concave and is shifted by z.  A denominator of Davidson and Luce is a sum of exponentials of
linear forms of z.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray
from luce.counts.tied_blocks import TiedBlocks, nodes
from luce.counts.tied_choices import TiedChoices
from luce.sampling.contest_posterior import Known
from luce.sampling.log_posterior import LogPosterior

if TYPE_CHECKING:
    from luce.kernels.problem import Problem
    from luce.kernels.rankings.block_slopes import OpenBlocks
    from luce.kernels.rankings.choices import TieChoices, TieWeights

# Half the distance of two slopes whose difference is a second derivative.
_STEP = 1e-4


class RankingPosterior(ABC):
    """Log posterior f of z = (log λ, the logarithms of the drawn parameters).

    Parameters
    ----------
    problem
        Powers of the categories and sets.
    own
        The density of each drawn parameter: the prior Gamma(a, b) is ``Known(a, b)``.
    """

    def __init__(self, problem: Problem, own: dict[str, Known]) -> None:
        self.base, self.own = LogPosterior(problem), own
        self.n = len(problem.shape)
        self.names = tuple(own)
        self.size = self.n + len(own)

    def value(self, z: FloatArray) -> float:
        """Compute f(z)."""
        value = self.base.at(z[: self.n]).value + self._event_value(z)
        return value if np.isfinite(value) else -np.inf

    def slope_and_precision(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute the slope of f and minus its second derivatives."""
        at = self.base.at(z[: self.n])
        slope, precision = self._event_slope_and_precision(z)
        slope[: self.n] += self.base.slope(at)
        precision[: self.n, : self.n] += self.base.precision(at)
        return slope, precision

    @property
    @abstractmethod
    def arrays(self) -> TieChoices | OpenBlocks:
        """The events as kernels of moves take them."""

    @property
    @abstractmethod
    def weights(self) -> TieWeights:
        """The parameters as kernels of moves take them."""

    @abstractmethod
    def _event_value(self, z: FloatArray) -> float:
        """Compute the events' part of f."""

    @abstractmethod
    def _event_slope_and_precision(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute the events' parts of slope and precision, in new arrays."""


class BlockPosterior(RankingPosterior):
    """Log posterior of tied blocks of unknown order.

    With r_i = λ_i / λ(R), t = e^y, and E the mean under the integrand's own density of y,

        ∂ log P / ∂ log r_i = E g(r_i t),       g(x) = x / (e^x - 1)
        ∂² log P / ∂ log r_i ∂ log r_j = Cov(g_i, g_j) + [i = j] E g_i (1 - r_i t - g_i)
    """

    def __init__(self, problem: Problem, blocks: TiedBlocks) -> None:
        super().__init__(problem, {})
        self.blocks = blocks

    @cached_property
    def arrays(self) -> OpenBlocks:
        """The blocks as kernels of moves take them."""
        from luce.kernels.rankings.block_slopes import OpenBlocks

        b = self.blocks
        arrays = b.members.astype(np.uint32), np.array(b.start), np.array(b.times)
        return OpenBlocks(*arrays, int(max(b.sizes, default=0)))

    @cached_property
    def weights(self) -> TieWeights:
        """Parameters as kernels take them: none."""
        return _tie_weights((), {}, {}, {})

    def _event_value(self, z: FloatArray) -> float:
        p = np.exp(z - z.max())
        return float(self.blocks.log_likelihood(p, {}))

    def _event_slope_and_precision(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        b, p = self.blocks, np.exp(z - z.max())
        slope, precision = np.zeros(self.n), np.zeros((self.n, self.n))
        for t in range(len(b)):
            first, middle, stop = b.start[2 * t : 2 * t + 3]
            block, rest = b.members[first:middle], b.members[middle:stop]
            share = p[rest] / p[rest].sum()
            mean, second = _derivatives(z[block] - z.max() - np.log(p[rest].sum()))
            m, total = b.times[t], mean.sum()
            slope[block] += m * mean
            slope[rest] -= m * total * share
            # log r = log λ_B - log λ(R), and log λ(R) has the second derivative diag(q) - q q'.
            across = np.outer(second.sum(axis=1), share)
            precision[np.ix_(block, block)] -= m * second
            precision[np.ix_(block, rest)] += m * across
            precision[np.ix_(rest, block)] += m * across.T
            both = (second.sum() + total) * np.outer(share, share)
            precision[np.ix_(rest, rest)] -= m * (both - total * np.diag(share))
        return slope, precision


def _derivatives(log_ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute slope and second derivatives of log P by the logarithms of r."""
    y, _ = nodes(len(log_ratio))
    with np.errstate(all="ignore"):
        x = np.exp(np.minimum(log_ratio[:, None] + y, 700.0))
        logs = np.log(-np.expm1(-x)).sum(axis=0) + y - np.exp(y)
        g = np.where(x > 0, x / np.expm1(x), 1.0)
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    mean = g @ weight
    centred = g - mean[:, None]
    own = (g * (1.0 - np.where(g > 0, x, 0.0) - g)) @ weight
    return mean, (centred * weight) @ centred.T + np.diag(own)


class ChoicePosterior(RankingPosterior):
    """Log posterior of choices with ties by Davidson and Luce; numerators are in the problem."""

    def __init__(
        self,
        problem: Problem,
        choices: TiedChoices,
        own: dict[str, Known],
        known: dict[str, float],
    ) -> None:
        super().__init__(problem, own)
        self.choices, self.known = choices, known

    @cached_property
    def arrays(self) -> TieChoices:
        """The sets that were chosen from, each once, as kernels take them."""
        from luce.kernels.rankings.choices import TieChoices

        c = self.choices
        found: dict[tuple[int, ...], float] = {}
        for t in range(len(c)):
            key = tuple(sorted(c.members[c.start[2 * t] : c.start[2 * t + 2]].tolist()))
            found[key] = found.get(key, 0.0) + float(c.times[t])
        return TieChoices(
            np.array([i for key in found for i in key], np.uint32),
            np.cumsum([0, *map(len, found)]).astype(np.int64),
            np.array(list(found.values()), np.float64),
            c.tie_counts(),
            max(map(len, found), default=0),
        )

    @cached_property
    def weights(self) -> TieWeights:
        """Places and densities of the parameters, as kernels take them."""
        place = {name: self.n + k for k, name in enumerate(self.names)}
        return _tie_weights(self.choices.parameters, place, self.own, self.known)

    def _slope(self, z: FloatArray) -> tuple[float, FloatArray]:
        from luce.kernels.rankings.choices import choices_slope

        out = np.empty(self.size)
        value = choices_slope(self.arrays, self.weights, z, np.empty(0), out)
        return value, out

    def _event_value(self, z: FloatArray) -> float:
        return self._slope(z)[0]

    def _event_slope_and_precision(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        _, slope = self._slope(z)
        precision = np.empty((self.size, self.size))
        for k in range(self.size):
            ahead, behind = z.copy(), z.copy()
            ahead[k] += _STEP
            behind[k] -= _STEP
            precision[k] = (self._slope(behind)[1] - self._slope(ahead)[1]) / (2 * _STEP)
        return slope, (precision + precision.T) / 2


def _tie_weights(
    names: Sequence[str], place: dict[str, int], own: dict[str, Known], known: dict[str, float]
) -> TieWeights:
    """Lay out parameters of ties for kernels: their places, values and densities by name."""
    from luce.kernels.rankings.choices import TieWeights

    given = [own.get(name, Known(0.0, 0.0)) for name in names]
    return TieWeights(
        np.array([place.get(name, -1) for name in names], np.int64),
        np.array([known.get(name, 0.0) for name in names], np.float64),
        np.array([one.power for one in given], np.float64),
        np.array([one.rate for one in given], np.float64),
    )
