"""Conditional counts: the one form in which luce holds data.

The likelihood of probabilities p over the categories is

    prod_i p_i^(n_i) * prod_S p(S)^(e_S),        p(S) = sum of p_i over i in S

    n_i    category_counts: how often category i was seen
    e_S    exponents: minus the number of outcomes recorded given that they lay in S,
           plus the number of grouped outcomes "one of S"

Everything that can be wrong with data is found here and nowhere later.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from luce._types import FloatArray, Label, Labels, WordArray
from luce.counts.family import SetFamily, describe_set
from luce.counts.labels import Categories, hash_of_names, plural
from luce.counts.observations import (
    Entry,
    added_up,
    frozen,
    grouped,
    observed,
    powers,
    ranked,
    renumbered,
)
from luce.errors import DataError

# Entries are kept as a linked list, newest first, so that observing in a loop costs the same
# each time; they are merged once, when somebody looks.
_Log = tuple["_Log", Entry] | None


class ConditionalCounts:
    """Counts of outcomes, each given that it lay in some set of categories; never changes.

    Parameters
    ----------
    categories
        The labels, any hashable ones, or a number n for the labels 0..n-1.

    Examples
    --------
    >>> counts = ConditionalCounts(["a", "b", "c"]).observe({"b": 2}, without=["a"])
    >>> counts + counts == counts.observe({"b": 2}, within=["b", "c"])
    True
    """

    def __init__(self, categories: int | Labels) -> None:
        self._categories = Categories(categories)
        self._log: _Log = None
        self._n_outcomes = 0.0

    @property
    def categories(self) -> tuple[Label, ...] | range:
        """The labels, in order."""
        return self._categories.labels

    @property
    def n_categories(self) -> int:
        """How many categories there are."""
        return len(self._categories)

    @property
    def n_outcomes(self) -> float:
        """How many outcomes were recorded, single or grouped."""
        return self._n_outcomes

    @property
    def category_counts(self) -> FloatArray:
        """Shape (n_categories,): the exponent of each single category, never negative."""
        return self._canonical[0]

    @property
    def sets(self) -> SetFamily:
        """The sets of two or more categories that do not hold them all, with their exponents."""
        return self._canonical[1]

    @cached_property
    def is_whole(self) -> bool:
        """Are all counts and exponents whole?"""
        return not ((self.category_counts % 1).any() or (self.sets.exponent % 1).any())

    @property
    def digest(self) -> str:
        """A fingerprint of labels and counts: equal data, however it was entered, share it."""
        content = hash_of_names(self.categories)
        for array in (self.category_counts, *self._sorted_sets):
            content.update(array.tobytes())
        return str(content.hexdigest())

    def __len__(self) -> int:
        """Return how many distinct sets stand in the likelihood besides single categories."""
        return self.sets.n_sets

    def __repr__(self) -> str:
        return (
            f"ConditionalCounts({plural(self.n_categories, 'category', 'categories')}, "
            f"{plural(self._n_outcomes, 'outcome')}, {plural(len(self), 'set')})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConditionalCounts):
            return NotImplemented
        mine, theirs = ((c.category_counts, *c._sorted_sets) for c in (self, other))
        return self._categories == other._categories and all(map(np.array_equal, mine, theirs))

    __hash__ = None  # type: ignore[assignment]  # equality is by content, which may be large

    def __reduce__(self) -> tuple[object, ...]:  # merged: the log of entries may be long
        arguments = self.categories, self.category_counts, self.sets, self._n_outcomes, True
        return ConditionalCounts.from_nests, arguments

    def summary(self, most: int = 10) -> str:
        """Describe the data in words: its size, then the `most` heaviest sets.

        Examples
        --------
        >>> print(ConditionalCounts(["a", "b", "c"]).observe({"b": 2}, without=["a"]).summary())
        3 categories, 2 outcomes, 1 set (1 stored member)
          2 outcomes given all but {a}
        """
        family = self.sets
        lines = [
            f"{plural(self.n_categories, 'category', 'categories')}, "
            f"{plural(self._n_outcomes, 'outcome')}, {plural(len(self), 'set')} "
            f"({plural(len(family.members), 'stored member')})"
        ]
        heaviest = np.argsort(-np.abs(family.exponent), kind="stable")[:most]
        lines += [f"  {describe_set(self.categories, family, int(t))}" for t in heaviest]
        if family.n_sets > most:
            lines.append(f"  ... and {family.n_sets - most:,} more")
        return "\n".join(lines)

    def observe(
        self,
        counts: Mapping[Label, float],
        *,
        within: Labels | None = None,
        without: Labels | None = None,
    ) -> ConditionalCounts:
        """Add outcomes that were recorded given that they lay in one set.

        Parameters
        ----------
        counts
            How often each category was seen; any non-negative numbers.
        within
            The categories that could occur.
        without
            The categories that could not. Give one of the two, or neither: all could.

        Examples
        --------
        >>> ConditionalCounts(3).observe({0: 4, 2: 1}, within=[0, 2])
        ConditionalCounts(3 categories, 5 outcomes, 1 set)
        """
        return self._add(observed(self._categories, counts, within, without))

    def observe_group(
        self,
        members: Labels,
        count: float,
        *,
        within: Labels | None = None,
        without: Labels | None = None,
    ) -> ConditionalCounts:
        """Add grouped outcomes: `count` times, the outcome was one of `members`.

        Parameters
        ----------
        members
            The categories it may have been: a team, a coarse answer.
        count
            How often, a whole number.
        within, without
            What could occur, as in `observe`.

        Examples
        --------
        >>> ConditionalCounts("wxyz").observe_group(["w", "x"], 3, without=["z"])
        ConditionalCounts(4 categories, 3 outcomes, 2 sets)
        """
        return self._add(grouped(self._categories, members, count, within, without))

    def observe_ranking(self, order: Labels, count: float = 1.0) -> ConditionalCounts:
        """Add `count` rankings of these categories, best first.

        Each place is an outcome among those not yet placed (Plackett-Luce); categories that are
        not listed took no part. Costs one stored member per place.

        Examples
        --------
        >>> ConditionalCounts("abcd").observe_ranking("dba").sets.n_sets
        2
        """
        return self._add(ranked(self._categories, order, count))

    def __add__(self, other: ConditionalCounts) -> ConditionalCounts:
        if not isinstance(other, ConditionalCounts):
            return NotImplemented
        place = self._categories.index
        missing = [c for c in other.categories if c not in place]
        if missing or self.n_categories != other.n_categories:
            raise DataError(
                "counts can be added only over the same categories, because 'all categories' "
                f"means something else otherwise: {self.n_categories} and {other.n_categories} "
                f"were given{f', {missing[0]!r} being in one only' if missing else ''}."
            )
        where = np.fromiter((place[c] for c in other._categories), np.int64, self.n_categories)
        sets = renumbered(other.sets, where)
        return self._add(Entry(where, other.category_counts, sets, other._n_outcomes))

    def __radd__(self, other: object) -> ConditionalCounts:
        """Let `sum` start from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @classmethod
    def from_exponents(
        cls, categories: int | Labels, exponents: Mapping[object, float]
    ) -> ConditionalCounts:
        """Build counts from the canonical form itself: a power for each set.

        Parameters
        ----------
        categories
            As in the constructor.
        exponents
            Maps sets of labels (tuples, frozensets, or a bare label for a single category)
            to the power of their total probability: positive for outcomes, negative for
            sets conditioned on, as in the brackets of R's hyper2.

        Raises
        ------
        DataError
            When no real data could have produced these exponents: every set conditioned on
            needs an outcome of its own inside it.

        Examples
        --------
        >>> abc = ConditionalCounts.from_exponents("abc", {"a": 3, "b": 1, ("a", "b"): -4})
        >>> abc == ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
        True
        """
        from luce.counts.attainable import check_attainable

        empty = cls(categories)
        counts = empty._add(powers(empty._categories, exponents))
        check_attainable(counts.categories, counts.category_counts, counts.sets)
        return counts

    @classmethod
    def from_nests(
        cls,
        categories: int | Labels,
        category_counts: FloatArray,
        nests: SetFamily,
        n_outcomes: float | None = None,
        merged: bool = False,
    ) -> ConditionalCounts:
        """Build counts from arrays that are known to be right: the door for readers.

        Nothing is checked but the shapes; equal sets are merged as ever, unless they are said to
        be `merged`: then they stay in their order, and so do the draws of a seed.  `n_outcomes`
        is what will be reported, unless given the sum of all positive exponents.
        """
        empty = cls(categories)
        n = empty.n_categories
        if nests.n != n or len(category_counts) != n:
            raise DataError(
                f"{n} categories, but nests over {nests.n} and {len(category_counts)} counts."
            )
        values = np.asarray(category_counts, np.float64)
        if n_outcomes is None:
            n_outcomes = float(values.sum() + nests.exponent.clip(min=0).sum())
        counts = empty._add(Entry(np.arange(n), values, nests, n_outcomes))
        if merged:
            counts.__dict__["_canonical"] = frozen(values, nests)
        _ = counts._canonical  # merge now, before somebody writes to the arrays
        return counts

    @cached_property
    def _canonical(self) -> tuple[FloatArray, SetFamily]:
        entries, log = list[Entry](), self._log
        while log is not None:
            log, entry = log
            entries.append(entry)
        return added_up(self.n_categories, entries[::-1])

    @cached_property
    def _sorted_sets(self) -> tuple[WordArray, FloatArray]:
        signatures = self.sets.signatures
        order = np.lexsort((signatures[:, 1], signatures[:, 0]))
        return signatures[order], self.sets.exponent[order]

    def _add(self, entry: Entry) -> ConditionalCounts:
        if not np.isfinite(self._n_outcomes + entry.total):
            raise DataError("the counts add up to more than 1e308; scale them down.")
        new = object.__new__(ConditionalCounts)
        new._categories, new._log = self._categories, (self._log, entry)
        new._n_outcomes = self._n_outcomes + entry.total
        return new
