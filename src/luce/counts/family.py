"""Families of sets over categories 0..n-1, stored as prefixes of nests.

A *nest* is a list of distinct members; the sets of a nest are prefixes of that list, or,
for a complement nest, everything but such a prefix.  A lone set is a nest with one
prefix, a ranking of k items one nest with k - 1 of them, and "all but i" is a nest
that lists i alone.  Storage is the length of the nests, never the size of the sets.

In a *canonical* family no two sets are equal, none is full or a singleton, every exponent
is nonzero, and a set is stored by the smaller side: 2 <= |S| <= n/2 directly,
|S| > n/2 by the categories it excludes.

Members may have *weights*: the set then stands for Σ a_i p_i and not for p(S).  A set whose weights
differ is a nest of its own, stored directly whatever its size, and may hold all categories.  In
canonical form its largest weight is 1; dividing by it leaves a constant factor (`log_constant`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, WordArray
from luce.counts.labels import plural, some
from luce.errors import DataError

_Array = TypeVar("_Array", bound=np.ndarray[Any, Any])


@dataclass(frozen=True, eq=False)
class SetFamily:
    """Sets as prefixes of nests, each with a real exponent.

    Parameters
    ----------
    n
        Number of categories.
    members
        All nests, one after another.
    nest_start
        Nest k is ``members[nest_start[k]:nest_start[k + 1]]``.
    complement
        Per nest: True where its sets are all categories *but* the prefixes.
    set_start
        Nest k holds the sets ``set_start[k]:set_start[k + 1]``, shortest prefix first.
    set_end
        Per set: the position in `members` where its prefix ends.
    exponent
        Per set: the power of its probability in the likelihood, negative for a set that
        was conditioned on, positive for a grouped outcome.
    weights
        Weight of each of `members`, positive; None where all are 1.  Nests that hold several sets,
        and complement nests, have weights 1.
    log_constant
        Log of the constant factor of the likelihood that normalising weights leaves.
    memo
        Cache of results derived from the sets, such as their structure; lives as long as they do.
    """

    n: int
    members: IntArray
    nest_start: IntArray
    complement: BoolArray
    set_start: IntArray
    set_end: IntArray
    exponent: FloatArray
    weights: FloatArray | None = None
    log_constant: float = 0.0
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the sets alone: results in the memo can be worked out again."""
        return SetFamily, fields(self)

    @property
    def n_sets(self) -> int:
        """Number of sets."""
        return len(self.set_end)

    @property
    def n_nests(self) -> int:
        """Number of nests."""
        return len(self.complement)

    @cached_property
    def nest_of_set(self) -> IntArray:
        """Number of the nest that holds each set."""
        return _frozen(np.repeat(np.arange(self.n_nests), np.diff(self.set_start)))

    @cached_property
    def prefix_lengths(self) -> IntArray:
        """Length of each set's prefix, in members of its nest."""
        return _frozen(self.set_end - self.nest_start[self.nest_of_set])

    @cached_property
    def sizes(self) -> IntArray:
        """Number of categories in each set."""
        excluded = self.complement[self.nest_of_set]
        return _frozen(np.where(excluded, self.n - self.prefix_lengths, self.prefix_lengths))

    @cached_property
    def weighted(self) -> BoolArray:
        """Which sets have weights other than 1."""
        found = np.zeros(self.n_sets, np.bool_)
        if self.weights is not None:
            nest = np.repeat(np.arange(self.n_nests), np.diff(self.nest_start))
            found = np.isin(self.nest_of_set, nest[self.weights != 1.0])
        return _frozen(found)

    @cached_property
    def signatures(self) -> WordArray:
        """Two random words per set; equal sets, and (but for chance 2^-128) only they, agree."""
        return _frozen(np.stack(self.signature_words, axis=1))

    @property
    def signature_words(self) -> tuple[WordArray, WordArray]:
        """The first word of each set, and the second.  Columns are summed faster than rows."""
        first, second = _words(self.n).T.copy()
        sums = self.set_sums(first), self.set_sums(second)
        if self.weights is not None:
            for t in np.flatnonzero(self.weighted).tolist():
                # A word times an odd number that the weight determines.
                times = self.listed_weights(t).view(np.uint64) * np.uint64(2) + np.uint64(1)
                for words, own in zip((first, second), sums, strict=True):
                    own[t] = (words[self.listed(t)] * times).sum()
        return sums

    def set_sums(self, values: _Array) -> _Array:
        """Sum values over the members of each set, for values of shape (n, ...), without weights.

        Sums are exact for whole numbers only: sums over complements are differences.
        """
        running = np.zeros((len(self.members) + 1, *values.shape[1:]), values.dtype)
        np.cumsum(values[self.members], axis=0, out=running[1:])
        sums = running[self.set_end] - running[self.nest_start[self.nest_of_set]]
        excluded = self.complement[self.nest_of_set]
        sums[excluded] = values.sum(axis=0) - sums[excluded]
        return sums  # type: ignore[return-value]

    def member_sums(self, values: FloatArray) -> FloatArray:
        """Sum, for each category, the values of the sets that hold it, at the cost of storage."""
        before = np.r_[0.0, np.cumsum(values)]
        last = before[self.set_start[1:]]  # up to the last set of each nest
        nest = np.repeat(np.arange(self.n_nests), np.diff(self.nest_start))
        # The first prefix that holds a member is the first that ends beyond it.
        holding = np.searchsorted(self.set_end, np.arange(len(self.members)), side="right")
        listed = last[nest] - before[np.minimum(holding, self.set_start[1:][nest])]
        outside = self.complement
        sums = np.bincount(self.members, np.where(outside[nest], -listed, listed), self.n)
        return np.asarray(sums + (last - before[self.set_start[:-1]])[outside].sum())

    def set_members(self, t: int) -> IntArray:
        """Expand set t into sorted category numbers."""
        if self.complement[self.nest_of_set[t]]:
            return np.setdiff1d(np.arange(self.n), self.listed(t))
        return np.sort(self.listed(t))

    def listed(self, t: int) -> IntArray:
        """Return the stored side of set t: its members or, in a complement nest, all others."""
        return self.members[self.nest_start[self.nest_of_set[t]] : self.set_end[t]]

    def listed_weights(self, t: int) -> FloatArray:
        """Return the weights of `listed`; ones where the family has none."""
        stored = slice(self.nest_start[self.nest_of_set[t]], self.set_end[t])
        if self.weights is None:
            return np.ones(stored.stop - stored.start)
        return self.weights[stored]

    def renumbered(self, place: IntArray, n: int) -> SetFamily:
        """Move category i to ``place[i]`` among n categories, or out of every set where that is -1.

        Sets keep their numbers and exponents, even those that become empty.
        """
        moved, start, end, weights = (
            place[self.members],
            self.nest_start,
            self.set_end,
            self.weights,
        )
        kept = moved >= 0
        if not kept.all():
            before = np.r_[0, np.cumsum(kept)]
            moved, start, end = moved[kept], before[start], before[end]
            weights = None if weights is None else weights[kept]
        sets = self.complement, self.set_start, end, self.exponent
        return SetFamily(n, moved, start, *sets, weights, self.log_constant)

    def expanded(self, place: IntArray, n: int) -> SetFamily:
        """Move category i to ``place[i]`` among n categories; no set gains any of the new ones.

        Complement nests list the new categories first, at the cost of storing them.
        """
        new = np.setdiff1d(np.arange(n), place)
        at = np.repeat(self.nest_start[:-1][self.complement], len(new))
        listed = np.tile(new, int(self.complement.sum()))
        members = np.insert(place[self.members], at, listed)
        weights = None if self.weights is None else np.insert(self.weights, at, 1.0)
        added = np.r_[0, np.cumsum(len(new) * self.complement)]  # before each nest, and after all
        ends = self.set_end + added[self.nest_of_set + 1]
        sets = self.complement, self.set_start, ends, self.exponent
        return SetFamily(n, members, self.nest_start + added, *sets, weights, self.log_constant)


def fields(f: SetFamily) -> tuple[Any, ...]:
    """Return the arguments that a family was constructed from."""
    return f.n, *set_arrays(f), f.weights, f.log_constant


def set_arrays(
    f: SetFamily,
) -> tuple[IntArray, IntArray, BoolArray, IntArray, IntArray, FloatArray]:
    """Return the arrays of the sets and their exponents; weights are apart, in `f.weights`."""
    return f.members, f.nest_start, f.complement, f.set_start, f.set_end, f.exponent


def refuse_weighted_sets(family: SetFamily, what: str, instead: str) -> None:
    """Refuse data with weighted sets, in words, where something does not take them."""
    if family.weights is not None:
        raise DataError(
            f"{what} does not take weighted sets, such as the {int(family.weighted.sum()):,} here "
            f"(sums of a_i p_i with weights a_i that differ). {instead}"
        )


def describe_set(labels: Sequence[Label], family: SetFamily, t: int) -> str:
    """Put a set and its exponent into words."""
    names = [labels[int(i)] for i in family.listed(t)]
    excluded = bool(family.complement[family.nest_of_set[t]])
    weights = None if family.weights is None else family.listed_weights(t).tolist()
    return in_words(names, excluded, float(family.exponent[t]), weights)


def in_words(
    listed: Sequence[Label],
    excluded: bool,
    exponent: float,
    weights: Sequence[float] | None = None,
) -> str:
    """Put a power of the probability of a set into words.

    Parameters
    ----------
    listed
        The members of the set or, if `excluded`, the categories outside of it.
    weights
        A weight for each of them, None where all are 1.

    Examples
    --------
    >>> in_words("a", True, -2)
    '2 outcomes given all but {a}'
    >>> in_words("ab", False, -1, [1, 0.5])
    '1 outcome given {a, 0.5 b}'
    """
    if weights is not None:
        pairs = zip(weights, listed, strict=True)
        listed = [label if a == 1 else f"{a:.4g} {label}" for a, label in pairs]
    where = f"{'all but ' if excluded else ''}{{{some(listed, quote=False)}}}"
    if exponent < 0:
        return f"{plural(-exponent, 'outcome')} given {where}"
    return f"{plural(exponent, 'grouped outcome')} in {where}"


def single_sets(
    n: int,
    sets: Iterable[IntArray],
    complement: Iterable[bool],
    exponents: Iterable[float],
    weights: Iterable[FloatArray | None] = (),
) -> SetFamily:
    """Build a family of unrelated sets, each given by its members or by those it excludes.

    `weights` has an array for each set, None for ones; nothing where no set has weights.
    """
    lists = [np.asarray(s, np.int64) for s in sets]
    ends = np.cumsum([0] + [len(s) for s in lists])
    given = list(weights)
    joined = None
    if any(a is not None for a in given):
        pairs = zip(given, lists, strict=True)
        joined = np.concatenate([np.ones(len(s)) if a is None else a for a, s in pairs])
    return SetFamily(
        n,
        np.concatenate(lists) if lists else np.empty(0, np.int64),
        ends,
        np.fromiter(complement, np.bool_, len(lists)),
        np.arange(len(lists) + 1),
        ends[1:],
        np.fromiter(exponents, np.float64, len(lists)),
        joined,
    )


def _words(n: int) -> WordArray:
    """Return two 64-bit words per category: splitmix64 of its number, equal on every machine."""
    x = np.arange(1, 2 * n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))).reshape(n, 2)


def _frozen(array: _Array) -> _Array:
    """Make an array read-only."""
    array.setflags(write=False)
    return array
