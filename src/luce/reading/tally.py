"""Outcomes and sets, added up many at a time, until they are conditional counts."""

from __future__ import annotations

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label
from luce.counts.canonical import concatenate
from luce.counts.counts import ConditionalCounts
from luce.counts.family import SetFamily
from luce.reading.lists import Lists


class Tally:
    """Adds up outcomes and sets over categories 0..n-1, as arrays.

    Nothing is checked here: readers give it what they have checked.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._counts = np.zeros(n)
        self._families: list[SetFamily] = []
        self._n_outcomes = 0.0
        self._only_pairs = False

    def add_outcomes(self, codes: IntArray, counts: FloatArray) -> None:
        """Add single outcomes: category ``codes[i]`` came ``counts[i]`` times."""
        self._counts += _added_up(codes, counts, self.n)
        self._n_outcomes += float(counts.sum())

    def add_groups(self, groups: Lists, counts: FloatArray) -> None:
        """Add outcomes "one of these", ``counts[i]`` times for list i."""
        single = groups.lengths == 1
        self.add_outcomes(groups.take(single).members, counts[single])
        self.add_sets(groups.take(~single), counts[~single])
        self._n_outcomes += float(counts[~single].sum())

    def add_pairs(self, first: IntArray, second: IntArray, exponents: FloatArray) -> None:
        """Add sets of two; the many rows that name the same two are merged at once."""
        keys = np.minimum(first, second) * self.n + np.maximum(first, second)
        if self.n**2 <= 4 * len(keys) + 1_000_000:
            total = _added_up(keys, exponents, self.n**2)
            distinct = np.flatnonzero(total)
            total = total[distinct]
        else:
            distinct, inverse = np.unique(keys, return_inverse=True)
            total = _added_up(inverse.reshape(-1), exponents, len(distinct))
            distinct, total = distinct[total != 0], total[total != 0]
        members = np.stack([distinct // self.n, distinct % self.n], axis=1).ravel()
        self._families.append(_family(self.n, Lists(members, 2 * np.arange(len(total) + 1)), total))
        self._only_pairs = True

    def add_sets(self, sets: Lists, exponents: FloatArray, *, excluded: bool = False) -> None:
        """Add sets, each listed by its members or, if `excluded`, by what it leaves out."""
        if len(sets):
            self._families.append(_sorted(_family(self.n, sets, exponents, excluded)))

    def add_rankings(self, ranked: Lists, below: Lists | None, weights: FloatArray) -> None:
        """Add rankings: places best first, and who is only known to come after them.

        Each place is an outcome among those that come later.  With everybody else `below` (None),
        a set is "all but those placed so far": a top 3 of a million costs three stored members.
        """
        if not len(ranked):
            return
        length, owner = ranked.lengths, ranked.owner
        self.add_outcomes(ranked.members, weights[owner])
        place = np.arange(len(ranked.members)) - ranked.starts[owner]  # from 0 on
        if below is None:
            nests = ranked
            set_end = nests.starts[owner] + place
        else:
            worst_first = ranked.members[ranked.starts[owner] + length[owner] - 1 - place]
            nests = below.beside(Lists(worst_first, ranked.starts))
            set_end = nests.starts[owner] + below.lengths[owner] + 1 + place
        family = SetFamily(
            self.n,
            nests.members,
            nests.starts,
            np.full(len(ranked), below is None),
            ranked.starts,
            set_end,
            -weights[owner],
        )
        self._families.append(_sorted(family))

    def counts(self, labels: list[Label]) -> ConditionalCounts:
        """Merge everything."""
        if not self._families:
            self._families.append(_family(self.n, Lists.empty(0), np.empty(0)))
        family = concatenate(self.n, self._families)
        # Pairs alone have been merged already, and below four categories only are they large sets.
        merged = self._only_pairs and len(self._families) == 1 and self.n >= 4
        return ConditionalCounts.from_nests(
            labels, self._counts, family, self._n_outcomes, merged=merged
        )


def _added_up(codes: IntArray, values: FloatArray, n: int) -> FloatArray:
    if (values % 1 != 0).any():  # so that sums of fractions do not depend on who came first
        order = np.argsort(values, kind="stable")
        codes, values = codes[order], values[order]
    return np.bincount(codes, values, n).astype(np.float64, copy=False)


def _family(n: int, sets: Lists, exponents: FloatArray, excluded: bool = False) -> SetFamily:
    """Unrelated sets."""
    complement: BoolArray = np.full(len(sets), excluded)
    return SetFamily(n, sets.members, sets.starts, complement, np.arange(len(sets) + 1),
                     sets.starts[1:], exponents)  # fmt: skip


def _sorted(family: SetFamily) -> SetFamily:
    """The nests in an order that depends on what they are, not on who came first.

    Engines return groups in any order, and a seed is to give the same draws every time.
    """
    lists = Lists(family.members, family.nest_start)
    position = np.arange(len(family.members)) - family.nest_start[lists.owner]
    # A sum of words, one for each member and its place, tells lists apart but for rare chance;
    # then they keep the order they came in.
    word = (family.members + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    word ^= word >> np.uint64(29)
    word *= (2 * position + 1).astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
    running = np.zeros(len(word) + 1, np.uint64)
    np.cumsum(word, out=running[1:])
    total = running[family.nest_start[1:]] - running[family.nest_start[:-1]]
    order = np.argsort(total, kind="stable")
    nests = lists.take(order)
    sets = Lists(np.arange(family.n_sets), family.set_start).take(order)
    moved = np.repeat(nests.starts[:-1] - family.nest_start[order], sets.lengths)
    return SetFamily(
        family.n,
        nests.members,
        nests.starts,
        family.complement[order],
        sets.starts,
        family.set_end[sets.members] + moved,
        family.exponent[sets.members],
    )
