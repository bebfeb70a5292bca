"""The log posterior f(θ) of a core in θ = log λ, with its slope and precision matrix, by NumPy.

`kernels.curvature` has the formulas.  It computes f and products with the precision for any number
of atoms, once compiled; this module computes the whole matrix and needs no compilation.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.kernels.nest_sums import ladders, ring_starts, sums_by

if TYPE_CHECKING:
    from luce.kernels.problem import Problem

# A difference smaller than this fraction of its terms has lost digits, and is added up anew.
_CANCELLED = 1e-3

# Largest number of pairs of members, or of entries of a membership table, that are held at once.
MOST_ENTRIES = 4_000_000


class Place(NamedTuple):
    """A point θ with λ = exp θ, f(θ), λ(S_t), and taken_i and given_i of the formulas."""

    theta: FloatArray
    x: FloatArray
    value: float
    sums: FloatArray
    taken: FloatArray
    given: FloatArray


class LogPosterior:
    """f(θ) = Σ_i c_i θ_i - s Σ_i λ_i - Σ_t k_t log λ(S_t), where k_t = m_t - n_t and λ = exp θ.

    Parameters
    ----------
    problem
        c, m, n and the sets; the scale s is 1, or 0 where the total shape A is 0.
    """

    def __init__(self, problem: Problem) -> None:
        self.shape, self.waits, self.groups = problem.shape, problem.waits, problem.groups
        self.total_shape = problem.total_shape
        self.scale = 1.0 if problem.total_shape > 0 else 0.0
        self.grouped = bool(problem.groups.any())
        self.power = problem.waits - problem.groups
        self._sets = _Sets(problem)

    def at(self, theta: FloatArray) -> Place:
        """Evaluate f, and all that its slope and its precision depend on."""
        with np.errstate(all="ignore"):
            x = np.exp(theta)
            sums = self._sets.sums_over_sets(x)
            taken = x * (self.scale + self._sets.sums_over_members(self.waits / sums))
            given = np.zeros(len(x))
            if self.grouped:
                given = x * self._sets.sums_over_members(self.groups / sums)
            value = -np.inf
            if (sums > 0).all():
                inside = theta > -np.inf
                value = self.shape[inside] @ theta[inside] - self.scale * x.sum()
                value -= self.power @ np.log(sums)
        return Place(theta, x, float(value), sums, taken, given)

    def slope(self, at: Place) -> FloatArray:
        """Compute ∂f/∂θ."""
        return np.asarray(self.shape + at.given - at.taken)

    def precision(self, at: Place) -> FloatArray:
        """Compute -∂²f/∂θ∂θ', shape (n, n).

        The diagonal is the number that makes row i add up to λ_i s, since only s makes f depend on
        the scale of λ; taken_i - given_i - λ_i² g_ii would cancel where i wins nearly always.
        """
        x = at.x
        with np.errstate(all="ignore"):
            matrix = self._sets.sums_over_pairs(self.power / at.sums**2)
            matrix *= -np.multiply.outer(x, x)
            np.fill_diagonal(matrix, 0.0)
            np.fill_diagonal(matrix, self.scale * x - matrix.sum(axis=1))
        return matrix

    def precision_diagonal(self, at: Place) -> FloatArray:
        """Compute the diagonal of -∂²f/∂θ∂θ' without the matrix, shape (n,).

        Where an atom wins nearly always, or grouped outcomes outweigh the others, the difference
        has lost digits or is negative.
        """
        with np.errstate(all="ignore"):
            squares = self._sets.sums_over_members(self.waits / at.sums**2, squared=True)
            if self.grouped:
                squares -= self._sets.sums_over_members(self.groups / at.sums**2, squared=True)
            return np.asarray(at.taken - at.given - at.x * squares * at.x)

    def complete_precision(self, at: Place) -> FloatArray:
        """Compute the precision matrix of f without its grouped outcomes, Σ_t n_t log λ(S_t).

        It is positive definite at every θ, and no smaller than that of f.
        """
        alone = copy(self)
        alone.power = self.waits
        return alone.precision(at)


class _Sets:
    """Sums over the members of sets, over the sets of a member, and over those of two members."""

    def __init__(self, problem: Problem) -> None:
        self.n, self.n_sets = len(problem.shape), len(problem.waits)
        number = np.diff(problem.set_start)
        nest = np.repeat(np.arange(len(number)), number)
        first = problem.nest_start[nest]  # position of the first member of each set's nest
        # A member belongs to the first set of its nest that holds it; all later ones hold it too.
        inner = ring_starts(problem.nest_start, problem.set_start, problem.set_end)
        ring = problem.set_end - inner
        self.set_of_member = np.repeat(np.arange(self.n_sets), ring)
        self.length = problem.set_end - first  # of the prefix of each set
        offset = np.cumsum(ring) - ring
        position = np.arange(len(self.set_of_member)) + np.repeat(inner - offset, ring)
        self.members = problem.members[position]
        self.start = offset - (inner - first)  # of each set's nest, in self.members
        self.ring = ring
        self.outside = problem.complement[nest]
        self.some_outside = bool(self.outside.any())
        self.ladders = ladders(problem.set_start)
        # Weights of `members`; None where all are 1.  No set is then a complement.
        self.weights = None if problem.weights is None else problem.weights[position]

    def sums_over_sets(self, x: FloatArray) -> FloatArray:
        """Compute Σ_{i ∈ S_t} a_ti x_i for each set t."""
        listed = x[self.members] if self.weights is None else x[self.members] * self.weights
        sums = sums_by(self.set_of_member, listed, self.n_sets)
        for ladder in self.ladders:
            ladder.add_up(sums)
        if self.some_outside:
            total, out = x.sum(), self.outside
            sums[out] = total - sums[out]
            lost = np.flatnonzero(out & (sums < _CANCELLED * total))
            for some in _pieces(lost, self.n):
                sums[some] = self._membership(some) @ x
        return sums

    def sums_over_members(self, w: FloatArray, squared: bool = False) -> FloatArray:
        """Compute Σ_{t ∋ i} a_ti w_t, or with a_ti², for each atom i, w >= 0."""
        listed = self._of_this_and_larger(w)
        if self.weights is not None:
            weights = self.weights**2 if squared else self.weights
            return sums_by(self.members, listed[self.set_of_member] * weights, self.n)
        if not self.some_outside:
            return sums_by(self.members, listed[self.set_of_member], self.n)
        out = self.outside
        inside = np.where(out, 0.0, listed)[self.set_of_member]
        left_out = np.where(out, listed, 0.0)[self.set_of_member]
        everything = w[out].sum()
        sums = everything - sums_by(self.members, left_out, self.n)
        lost = np.flatnonzero(sums < _CANCELLED * everything)
        if len(lost):
            sums[lost] = 0.0
            for some in _pieces(np.flatnonzero(out), self.n):
                sums[lost] += w[some] @ self._membership(some)[:, lost]
        return np.asarray(sums + sums_by(self.members, inside, self.n))

    def sums_over_pairs(self, w: FloatArray) -> FloatArray:
        """Compute g_ij = Σ_{t ∋ i, j} a_ti a_tj w_t, i ≠ j, shape (n, n); no diagonal is defined.

        Sets that are complements of lists hold i and j unless their list holds one of the two:
        all weights, less those of lists with i, less those with j, plus those with both.
        """
        n, listed = self.n, self._of_this_and_larger(w)
        pairs = np.zeros(n * n)
        for sets, both in self._pairs():
            each = np.repeat(listed[sets], self._pairs_of_set[sets])
            if self.weights is not None:
                each *= self._products(sets)
            pairs += sums_by(both, each, n * n)
        found = pairs.reshape(n, n)
        found = found + found.T
        if self.some_outside:
            out = self.outside
            weight = np.where(out, listed, 0.0)[self.set_of_member]
            left_out = sums_by(self.members, weight, n)
            found += w[out].sum() - np.add.outer(left_out, left_out)
            self._repair(w, _CANCELLED * np.abs(w[out]).sum(), found)
        return found

    def _repair(self, w: FloatArray, least: float, found: FloatArray) -> None:
        """Add up anew the rows of g with entries below `least`, in place."""
        cancelled = ~(np.abs(found) >= least)
        np.fill_diagonal(cancelled, False)
        rows = np.flatnonzero(cancelled.any(axis=1))
        if not len(rows):
            return
        anew = np.zeros((len(rows), self.n))
        for some in _pieces(np.arange(self.n_sets), self.n):
            table = self._membership(some)
            anew += (table[:, rows] * w[some, None]).T @ table
        anew[:, rows] = (anew[:, rows] + anew[:, rows].T) / 2  # equal but for rounding
        found[rows], found[:, rows] = anew, anew.T

    def _of_this_and_larger(self, w: FloatArray) -> FloatArray:
        """Add, for each set, the w_t of the sets of its nest whose lists hold its list."""
        if not self.ladders:
            return w
        sums = w.copy()
        for ladder in self.ladders:
            ladder.add_down(sums)
        return sums

    @cached_property
    def _pairs_of_set(self) -> IntArray:
        """Count the pairs of members of a set that are not both in a smaller set of the nest."""
        inner = self.length - self.ring
        return np.asarray(self.ring * inner + self.ring * (self.ring - 1) // 2)

    def _pairs(self) -> Iterator[tuple[slice, IntArray]]:
        """List pairs (i, j) of members of the same nest as i n + j, some sets at a time."""
        if self._pairs_of_set.sum() <= MOST_ENTRIES:
            yield slice(None), self._all_pairs
            return
        piece = np.cumsum(self._pairs_of_set) // MOST_ENTRIES
        ends = [*(np.flatnonzero(np.diff(piece)) + 1).tolist(), self.n_sets]
        for first, stop in zip([0, *ends], ends, strict=False):
            yield slice(first, stop), self._pairs_between(first, stop)

    @cached_property
    def _all_pairs(self) -> IntArray:
        return self._pairs_between(0, self.n_sets)

    def _pairs_between(self, first: int, stop: int) -> IntArray:
        later, earlier = self._places_between(first, stop)
        return np.asarray(self.members[later] * self.n + self.members[earlier])

    def _products(self, sets: slice) -> FloatArray:
        """Multiply the weights of the two members of each pair that `_pairs` lists."""
        first, stop, _ = sets.indices(self.n_sets)
        later, earlier = self._places_between(first, stop)
        assert self.weights is not None
        return np.asarray(self.weights[later] * self.weights[earlier])

    def _places_between(self, first: int, stop: int) -> tuple[IntArray, IntArray]:
        """List pairs of positions in `members`, the later and the earlier of each pair."""
        begin, end = np.searchsorted(self.set_of_member, [first, stop])
        later = np.arange(begin, end)
        start = self.start[self.set_of_member[begin:end]]
        number = later - start  # of earlier members of the nest
        offset = np.cumsum(number) - number
        earlier = np.arange(number.sum()) + np.repeat(start - offset, number)
        return np.repeat(later, number), earlier

    def _membership(self, sets: IntArray) -> FloatArray:
        """Return the 0/1 table of sets and atoms."""
        length = self.length[sets]
        offset = np.cumsum(length) - length
        position = np.arange(length.sum()) + np.repeat(self.start[sets] - offset, length)
        table = np.zeros((len(sets), self.n))
        table[np.repeat(np.arange(len(sets)), length), self.members[position]] = 1.0
        out = self.outside[sets]
        table[out] = 1.0 - table[out]
        return table


def _pieces(sets: IntArray, n: int) -> Iterator[IntArray]:
    """Split sets so that a membership table of n atoms stays small."""
    size = max(MOST_ENTRIES // n, 1)
    for first in range(0, len(sets), size):
        yield sets[first : first + size]


def supported(problem: Problem) -> BoolArray:
    """Mark atoms with a positive power, or in a set with grouped outcomes."""
    active = problem.shape > 0
    if problem.groups.any():
        active |= _Sets(problem).sums_over_members(problem.groups) > 0
    return np.asarray(active)
