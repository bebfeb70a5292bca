"""Families of sets over categories 0..n-1, stored as prefixes of nests.

A *nest* is a list of distinct members; the sets of a nest are prefixes of that list, or,
for a complement nest, everything but such a prefix.  A lone set is a nest with one
prefix, a ranking of k items one nest with k - 1 of them, and "all but i" is a nest
that lists i alone.  Storage is the length of the nests, never the size of the sets.

In a *canonical* family no two sets are equal, none is full or a singleton, every exponent
is nonzero, and a set is stored by the smaller side: 2 <= |S| <= n/2 directly,
|S| > n/2 by what it excludes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, WordArray
from luce.counts.labels import plural, some

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
        Per nest: are its sets everything *but* the prefixes?
    set_start
        Nest k holds the sets ``set_start[k]:set_start[k + 1]``, shortest prefix first.
    set_end
        Per set: where its prefix ends in `members`.
    exponent
        Per set: the power of its probability in the likelihood, negative for a set that
        was conditioned on, positive for a grouped outcome.
    memo
        Results that others worked out from the sets, kept as long as the sets are.
    """

    n: int
    members: IntArray
    nest_start: IntArray
    complement: BoolArray
    set_start: IntArray
    set_end: IntArray
    exponent: FloatArray
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

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
        """Nest of each set."""
        return _frozen(np.repeat(np.arange(self.n_nests), np.diff(self.set_start)))

    @cached_property
    def prefix_lengths(self) -> IntArray:
        """How many members of its nest each set's prefix has."""
        return _frozen(self.set_end - self.nest_start[self.nest_of_set])

    @cached_property
    def sizes(self) -> IntArray:
        """Number of categories in each set."""
        excluded = self.complement[self.nest_of_set]
        return _frozen(np.where(excluded, self.n - self.prefix_lengths, self.prefix_lengths))

    @cached_property
    def signatures(self) -> WordArray:
        """Two random words per set; equal sets, and (but for chance 2^-128) only they, agree."""
        words = _words(self.n)
        total = words.sum(axis=0)
        running = np.zeros((len(self.members) + 1, 2), np.uint64)
        np.cumsum(words[self.members], axis=0, out=running[1:])
        prefix = running[self.set_end] - running[self.nest_start[self.nest_of_set]]
        excluded = self.complement[self.nest_of_set, None]
        return _frozen(np.where(excluded, total - prefix, prefix))

    def member_sums(self, values: FloatArray) -> FloatArray:
        """Per category: the sum of the values of the sets that hold it, at stored cost."""
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
        """Category numbers in set t, expanded: for printing and for tests."""
        k = self.nest_of_set[t]
        prefix = self.members[self.nest_start[k] : self.set_end[t]]
        if self.complement[k]:
            return np.setdiff1d(np.arange(self.n), prefix)
        return np.sort(prefix)


def fields(
    f: SetFamily,
) -> tuple[int, IntArray, IntArray, BoolArray, IntArray, IntArray, FloatArray]:
    """What a family is made of, in the order of its constructor."""
    return f.n, f.members, f.nest_start, f.complement, f.set_start, f.set_end, f.exponent


def describe_set(labels: Sequence[Label], family: SetFamily, t: int) -> str:
    """Put a set and its exponent into words."""
    k = int(family.nest_of_set[t])
    listed = family.members[family.nest_start[k] : family.set_end[t]]
    names = some([labels[int(i)] for i in listed], quote=False)
    where = f"all but {{{names}}}" if family.complement[k] else f"{{{names}}}"
    e = float(family.exponent[t])
    if e < 0:
        return f"{plural(-e, 'outcome')} given {where}"
    return f"{plural(e, 'grouped outcome')} in {where}"


def single_sets(
    n: int,
    sets: Iterable[IntArray],
    complement: Iterable[bool],
    exponents: Iterable[float],
) -> SetFamily:
    """A family of unrelated sets, each given by its members or by what it excludes."""
    lists = [np.asarray(s, np.int64) for s in sets]
    ends = np.cumsum([0] + [len(s) for s in lists])
    return SetFamily(
        n,
        np.concatenate(lists) if lists else np.empty(0, np.int64),
        ends,
        np.fromiter(complement, np.bool_, len(lists)),
        np.arange(len(lists) + 1),
        ends[1:],
        np.fromiter(exponents, np.float64, len(lists)),
    )


def _words(n: int) -> WordArray:
    """Two 64-bit words per category: splitmix64 of its number, so the same on every machine."""
    x = np.arange(1, 2 * n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))).reshape(n, 2)


def _frozen(array: _Array) -> _Array:
    array.setflags(write=False)
    return array
