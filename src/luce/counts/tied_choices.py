"""Choices in which several may tie, by the model of Davidson and Luce.

From a set S, the outcome T ⊆ S of d tied categories has the probability

    δ_d (Π_{i ∈ T} p_i)^(1/d) / Σ_{k <= D} δ_k e_k(S),    e_k(S) = Σ_{|U| = k} (Π_{i ∈ U} p_i)^(1/k)

with δ_1 = 1 and D the largest tie that is possible.  δ_d is the parameter `tie2`, `tie3`, and so
on.  For two categories this is Davidson's model with ν = δ_2.  A ranking with ties is a sequence of
such choices, each from those not yet placed (Turner, van Etten, Firth and Kosmidis 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, IntArray, Label
from luce.counts.placings import Placings


@dataclass(frozen=True, eq=False)
class TiedChoices(Placings):
    """Choices from sets in which several may tie; see `Placings`.

    Parameters
    ----------
    largest
        D: the size of the largest tie that is possible.
    """

    kind: ClassVar[str] = "davidson-luce"
    unit: ClassVar[str] = "choice"

    largest: int

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters: tie2, tie3, and so on."""
        return tuple(f"tie{d}" for d in range(2, self.largest + 1))

    @property
    def model(self) -> str:
        """The model in words."""
        return f"Davidson-Luce ties of up to {self.largest}"

    @property
    def n_outcomes(self) -> float:
        """Number of choices, repeated ones counted."""
        return float(self.times.sum())

    def wins(self) -> FloatArray:
        """Count the choices of each category, tied ones in equal parts."""
        each = (self.times / self.sizes)[self.owner][self.is_placed]
        return np.bincount(self.members[self.is_placed], each, self.n).astype(np.float64)

    def tie_counts(self) -> FloatArray:
        """Count the ties of 2, 3, ... D."""
        return np.bincount(self.sizes, self.times, self.largest + 1)[2:].astype(np.float64)

    def log_probabilities(self, p: FloatArray, parameters: Mapping[str, ArrayLike]) -> FloatArray:
        """Compute the log probability of each choice."""
        with np.errstate(divide="ignore"):
            logs = np.log(p)
            weights = [np.zeros(p.shape[:-1])]
            weights += [np.log(np.asarray(parameters[name])) for name in self.parameters]
        values = np.empty((*p.shape[:-1], len(self)))
        sizes, whole = self.sizes, np.diff(self.start[::2])
        for d, size in np.unique(np.stack([sizes, whole]), axis=1).T:
            which = np.flatnonzero((sizes == d) & (whole == size))
            members = self.members[self.start[2 * which][:, None] + np.arange(size)]
            own = logs[..., members]
            chosen = weights[d - 1][..., None] + own[..., :d].mean(axis=-1)
            values[..., which] = chosen - _log_total(own, weights)
        return values

    def plus(self, other: Any) -> TiedChoices:
        """Add choices over the same categories; the largest tie is the larger one of both."""
        most = max(self.largest, other.largest)
        mine, theirs = replace(self, largest=most), replace(other, largest=most)
        return super(TiedChoices, mine).plus(theirs)

    def restricted(self, place: IntArray, n: int, labels: Sequence[Label]) -> TiedChoices:
        """Keep the choices of those whose place is not -1, each given that it was among them."""
        inside = place[self.members] >= 0
        out = np.bincount(self.owner[self.is_placed & ~inside], minlength=len(self)) > 0
        kept = self.take(~out)
        inside = place[kept.members] >= 0
        lengths = np.bincount(
            np.repeat(np.arange(2 * len(kept)), np.diff(kept.start)), inside, 2 * len(kept)
        )
        start = np.r_[0, np.cumsum(lengths)].astype(np.int64)
        return replace(kept, members=kept.members[inside], start=start).renumbered(place, n)

    def _says_something(self, placed: tuple[int, ...], rest: tuple[int, ...]) -> bool:
        return len(placed) + len(rest) > 1

    def attributes(self) -> dict[str, Any]:
        """Return kind and largest tie as attributes of a run."""
        return {"events": self.kind, "largest_tie": self.largest}


def tied_choices(n: int, members: IntArray, start: IntArray, times: FloatArray) -> TiedChoices:
    """Build choices whose largest possible tie is the largest one that occurs.

    The arguments are those of `Placings`.
    """
    sizes = np.diff(start)[::2]
    return TiedChoices(n, members, start, times, int(max(sizes, default=1))).merged()


def _log_total(logs: FloatArray, weights: list[FloatArray]) -> FloatArray:
    """Compute log Σ_d δ_d e_d of sets of equal size, members on the last dimension."""
    size = logs.shape[-1]
    top = logs.max(axis=-1)
    total = np.full(top.shape, -np.inf)
    for d, weight in enumerate(weights[:size], 1):
        roots = np.exp((logs - top[..., None]) / d)
        sums = np.zeros((d + 1, *top.shape))
        sums[0] = 1.0
        for k in range(size):
            sums[1:] += roots[..., k] * sums[:-1]
        with np.errstate(divide="ignore"):
            total = np.logaddexp(total, weight[..., None] + np.log(sums[d]))
    return np.asarray(total + top)
