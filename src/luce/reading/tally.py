"""Outcomes and sets, summed as arrays, until they are conditional counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels
from luce.counts.canonical import concatenate
from luce.counts.contests import contests_of
from luce.counts.counts import ConditionalCounts
from luce.counts.events import Events, added
from luce.counts.family import SetFamily
from luce.counts.labels import Categories, some
from luce.counts.observations import Entry, Log
from luce.errors import DataError
from luce.reading.rows import Column, sorted_keys, starts_of
from luce.reading.values import in_order


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of category numbers, joined: list i is ``members[starts[i]:starts[i + 1]]``.

    `weights` has a weight for each of `members`; None where all are 1.
    """

    members: IntArray
    starts: IntArray
    weights: FloatArray | None = None

    @staticmethod
    def of(lists: Iterable[Sequence[int]]) -> Lists:
        """Join Python lists."""
        given = list(lists)
        starts = starts_of(np.fromiter(map(len, given), np.int64, len(given)))
        return Lists(np.fromiter(chain.from_iterable(given), np.int64, starts[-1]), starts)

    @staticmethod
    def singles(members: IntArray) -> Lists:
        """Make a list of each single member."""
        return Lists(members, np.arange(len(members) + 1))

    @staticmethod
    def empty(n: int) -> Lists:
        """Make n empty lists."""
        return Lists(np.empty(0, np.int64), np.zeros(n + 1, np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        """Length of each list."""
        return np.diff(self.starts)

    @property
    def owner(self) -> IntArray:
        """Number of the list that each member belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, which: IntArray | BoolArray) -> Lists:
        """Select lists by number, in the given order and with repeats, or by flags."""
        if which.dtype == np.bool_:
            which = np.flatnonzero(which)
        lengths = self.lengths[which]
        starts = starts_of(lengths)
        take = np.arange(starts[-1]) + np.repeat(self.starts[which] - starts[:-1], lengths)
        weights = None if self.weights is None else self.weights[take]
        return Lists(self.members[take], starts, weights)

    def weighed(self, column: Column) -> Lists:
        """Give the members the weights that a column lists in each row; weight 0 leaves one out."""
        lengths = np.fromiter(map(len, column.values), np.int64, len(column.values))
        positions = Lists(np.arange(lengths.sum()), starts_of(lengths)).take(column.codes).members
        weights = np.fromiter(chain.from_iterable(column.values), np.float64)[positions]
        kept = weights > 0
        starts = np.r_[0, np.cumsum(kept)][self.starts]
        return Lists(self.members[kept], starts, weights[kept])

    @property
    def is_single(self) -> BoolArray:
        """Which lists are one member of weight 1."""
        single: BoolArray = self.lengths == 1
        if self.weights is not None:
            single[single] = self.weights[self.starts[:-1][single]] == 1.0
        return single

    def beside(self, *others: Lists) -> Lists:
        """Append to each list the lists of the same number."""
        parts = (self, *others)
        starts = starts_of(np.sum([part.lengths for part in parts], axis=0))
        members, weights = np.empty(starts[-1], np.int64), np.ones(starts[-1])
        done = starts[:-1].copy()
        for part in parts:
            places = np.arange(len(part.members))
            places += np.repeat(done - part.starts[:-1], part.lengths)
            members[places] = part.members
            if part.weights is not None:
                weights[places] = part.weights
            done += part.lengths
        weighted = any(part.weights is not None for part in parts)
        return Lists(members, starts, weights if weighted else None)


class Tally:
    """Sums of outcomes and of exponents of sets over some categories.

    Nothing is checked here: readers add only rows that they have checked.  Beside the sums they
    give the observations, from which ``counts.restrict`` works.
    """

    def __init__(self, categories: Categories) -> None:
        self.categories = categories
        self.n = len(categories)
        self._counts = np.zeros(self.n)
        self._families: list[SetFamily] = []
        self._n_outcomes = 0.0
        self._only_pairs = False
        self._observations: list[Callable[[], Entry]] = []
        self._effects: Mapping[Label, str] = {}
        self._events: Events | None = None

    @staticmethod
    def over(
        used: Iterable[Label], named: Labels | None, effects: Mapping[Label, str] | None = None
    ) -> Tally:
        """Start a tally over the labels that occur, or over those that the user named.

        Categories for `effects`, as in `ConditionalCounts.with_effects`, are added to them.
        """
        tally = Tally(all_categories(used, named, effects or ()))
        tally._effects = effects or {}
        return tally

    def numbers(self, column: Column) -> IntArray:
        """Return the category number of the label in each row."""
        known = [self.categories.index.get(label, -1) for label in column.values]
        return np.asarray(known, np.int64)[column.codes]

    def lists(self, column: Column) -> Lists:
        """Return the category numbers of each row's tuple of labels."""
        starts = starts_of(np.fromiter(map(len, column.values), np.int64, len(column.values)))
        flat = chain.from_iterable(column.values)
        numbers = map(self.categories.index.get, flat, repeat(-1))
        return Lists(np.fromiter(numbers, np.int64, starts[-1]), starts).take(column.codes)

    def add_outcomes(self, codes: IntArray, counts: FloatArray) -> None:
        """Add single outcomes: category ``codes[i]`` occurred ``counts[i]`` times."""
        self._counts += _added_up(codes, counts, self.n)
        self._n_outcomes += float(counts.sum())

    def add_groups(self, groups: Lists, counts: FloatArray) -> None:
        """Add grouped outcomes: one of list i, ``counts[i]`` times."""
        single = groups.is_single
        self.add_outcomes(groups.take(single).members, counts[single])
        self.add_sets(groups.take(~single), counts[~single])
        self._n_outcomes += float(counts[~single].sum())

    def add_pairs(
        self, first: IntArray, second: IntArray, wins1: FloatArray, wins2: FloatArray
    ) -> None:
        """Add wins of two over each other, each an outcome in the set of both; remembers them."""
        self._add_sets_of_two(first, second, -(wins1 + wins2))
        if wins2.any() or _has_fractions(wins1):
            self.add_outcomes(np.r_[first, second], np.r_[wins1, wins2])
        else:
            self.add_outcomes(first, wins1)
        n = self.n

        def entry() -> Entry:
            rows = np.arange(len(first))
            outcomes, wins = Lists.singles(np.r_[first, second]), np.r_[wins1, wins2]
            pairs = Lists.singles(first).beside(Lists.singles(second))
            return _observation(n, outcomes, wins, pairs, np.r_[rows, rows], excluded=False)

        self._observations.append(entry)

    def _add_sets_of_two(self, first: IntArray, second: IntArray, exponents: FloatArray) -> None:
        """Add sets of two; rows that name the same two are merged at once."""
        keys = np.minimum(first, second)
        keys *= self.n
        keys += np.maximum(first, second)
        if self.n**2 <= 4 * len(keys) + 1_000_000:
            total = _added_up(keys, exponents, self.n**2)
            distinct = np.flatnonzero(total)
            total = total[distinct]
        else:
            distinct, total = _sum_by_key(keys, exponents, self.n**2)
            distinct, total = distinct[total != 0], total[total != 0]
        members = np.empty(2 * len(distinct), np.int64)
        members[::2], members[1::2] = np.divmod(distinct, self.n)
        self._families.append(_family(self.n, Lists(members, 2 * np.arange(len(total) + 1)), total))
        self._only_pairs = True

    def add_sets(self, sets: Lists, exponents: FloatArray, *, excluded: bool = False) -> None:
        """Add sets, each listed by its members or, if `excluded`, by the categories outside it."""
        if len(sets):
            self._families.append(_sorted(_family(self.n, sets, exponents, excluded)))

    def add_rankings(self, ranked: Lists, below: Lists | None, weights: FloatArray) -> None:
        """Add rankings: categories best first, and those only known to come below them.

        Each place is an outcome among this category and all later ones.  If `below` is None, all
        others come below, and a set is "all but those placed so far": a top 3 of a million
        categories costs three stored members.
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
        own = np.arange(len(place)) if below is None else ranked.starts[owner + 1] - 1 - place
        entry = Entry(ranked.members, weights[owner], family, float(weights @ length), given=own)
        self._observations.append(lambda: entry)

    def add_contests(
        self,
        first: Lists,
        second: Lists,
        at_home: IntArray,
        results: FloatArray,
        ties: str | None,
        home: bool,
    ) -> None:
        """Add meetings of two sides, whose likelihood has parameters.

        The arguments are those of `luce.counts.contests.contests_of_pairs`, with lists as sides.
        """
        both = first.beside(second)
        starts = np.empty(2 * len(first) + 1, np.int64)
        starts[::2], starts[1::2] = both.starts, both.starts[:-1] + first.lengths
        self.add_events(
            contests_of(self.n, both.members, starts, both.weights, at_home, results, ties, home)
        )

    def add_events(self, events: Events) -> None:
        """Add outcomes with a model of their own."""
        self._events = added(self._events, events)
        self._n_outcomes += events.n_outcomes

    def remember(
        self,
        outcomes: Lists,
        counts: FloatArray,
        sets: Callable[[], Lists] = lambda: Lists.empty(0),
        given: IntArray | None = None,
        *,
        excluded: bool = False,
    ) -> None:
        """Remember the set that each outcome was recorded in; nothing is added to the sums.

        Parameters
        ----------
        outcomes
            The category, or the group of categories, of each outcome.
        counts
            Number of such outcomes.
        sets
            Builds the sets when they are needed: lists of members or, if `excluded`, of all others.
        given
            Number of the list of each outcome; -1, as for all unless given, where all categories
            could occur.
        """
        own = np.full(len(counts), -1) if given is None else given
        n = self.n  # the function that is kept must not hold the tally
        self._observations.append(lambda: _observation(n, outcomes, counts, sets(), own, excluded))

    def counts(self) -> ConditionalCounts:
        """Merge all outcomes and sets into conditional counts."""
        if not self._families:
            self._families.append(_family(self.n, Lists.empty(0), np.empty(0)))
        family = concatenate(self.n, self._families)
        # Sets of two are merged already; below four categories they are stored by complements.
        merged = self._only_pairs and len(self._families) == 1 and self.n >= 4
        remembers = bool(self._observations) or self._events is not None
        return ConditionalCounts.from_nests(
            list(self.categories),
            self._counts,
            family,
            self._n_outcomes,
            merged=merged,
            source=partial(_log, self._observations) if remembers else None,
            effects=self._effects,
            copy=False,
            events=self._events,
        )


def _log(observations: list[Callable[[], Entry]]) -> Log:
    """Build the log of all observations."""
    log: Log = None
    for build in observations:
        log = log, build()
    return log


def _observation(
    n: int, outcomes: Lists, counts: FloatArray, sets: Lists, given: IntArray, excluded: bool
) -> Entry:
    """Build the entry of outcomes, single or grouped, each given one of the sets or all."""
    single = np.flatnonzero(outcomes.is_single & (counts > 0))
    grouped = np.flatnonzero(~outcomes.is_single & (outcomes.lengths > 0) & (counts > 0))
    order = np.r_[single, grouped]
    own = np.where(given < 0, len(sets), given)[order]  # after the sets: that of all categories
    conditioned = np.bincount(own, counts[order], len(sets) + 1).astype(np.float64)
    families = [
        _family(n, sets, -conditioned[:-1], excluded),
        _family(n, Lists.empty(1), -conditioned[-1:], excluded=True),
        _family(n, outcomes.take(grouped), counts[grouped]),
    ]
    members = outcomes.take(single).members
    total = float(counts[order].sum())
    return Entry(members, counts[single], concatenate(n, families), total, given=own)


def _added_up(codes: IntArray, values: FloatArray, n: int) -> FloatArray:
    if _has_fractions(values):  # sorted, so that sums of fractions do not depend on row order
        order = np.argsort(values, kind="stable")
        codes, values = codes[order], values[order]
    return np.bincount(codes, values, n).astype(np.float64, copy=False)


def _sum_by_key(keys: IntArray, values: FloatArray, size: int) -> tuple[IntArray, FloatArray]:
    """Add up the values of each key; returns the distinct keys, sorted, and their sums."""
    if _has_fractions(values):
        order = np.lexsort((values, keys))
        keys = keys[order]
    else:
        order, keys = sorted_keys(keys, size)
    new = np.r_[True, keys[1:] != keys[:-1]]
    return keys[new], np.bincount(np.cumsum(new) - 1, values[order]).astype(np.float64, copy=False)


def _has_fractions(values: FloatArray) -> bool:
    return bool((values != np.floor(values)).any())


def _family(n: int, sets: Lists, exponents: FloatArray, excluded: bool = False) -> SetFamily:
    """Make a family of sets that share no storage."""
    complement: BoolArray = np.full(len(sets), excluded)
    first = np.arange(len(sets) + 1)
    arrays = sets.members, sets.starts, complement, first, sets.starts[1:], exponents
    return SetFamily(n, *arrays, sets.weights)


def _sorted(family: SetFamily) -> SetFamily:
    """Sort nests by their content.

    Engines return groups in any order; sorted nests give the same draws of a seed every time.
    """
    lists = Lists(family.members, family.nest_start, family.weights)
    position = np.arange(len(family.members)) - family.nest_start[lists.owner]
    # The key of a list is a sum of hashes of each member with its position.  Lists with equal keys
    # keep their order; different lists have equal keys only by rare chance.
    word = (family.members + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    word ^= word >> np.uint64(29)
    if family.weights is not None:
        word ^= family.weights.view(np.uint64)
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
        nests.weights,
    )


def all_categories(
    used: Iterable[Label], named: Labels | None, additional: Iterable[Label] = ()
) -> Categories:
    """List the labels that occur, sorted, or those that the user named; then additional ones."""
    extra = list(additional)
    if named is None:
        return Categories([*in_order(used), *extra])
    listed = list(Categories(named))  # refuses values that cannot be labels
    known = set(listed) | set(extra)
    unknown = [label for label in used if label not in known]
    if unknown:
        raise DataError(
            f"{some(unknown)} {'occurs' if len(unknown) == 1 else 'occur'} in the data but not in "
            f"categories, which are {some(listed)}. Name every label, or leave categories out."
        )
    return Categories([*listed, *(label for label in extra if label not in listed)])
