"""Conditional counts: the one form in which luce holds data.

The likelihood of probabilities p over the categories is

    prod_i p_i^(n_i) * prod_S p(S)^(e_S),        p(S) = sum of p_i over i in S

    n_i    category_counts: how often category i was seen
    e_S    exponents: minus the number of outcomes recorded given that they lay in S,
           plus the number of grouped outcomes "one of S"

times the probability of `events`, such as contests with ties, where there are some.

A set may have known weights a_i >= 0; p(S) is then the sum of a_i p_i.  Weights are stored divided
by the largest one of their set, which leaves a constant factor in the likelihood (`log_constant`).

Invalid data is found here and nowhere later.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, IntArray, Label, Labels, WordArray
from luce.counts.events import Events, added
from luce.counts.family import SetFamily, describe_set, single_sets
from luce.counts.labels import (
    Categories,
    describe,
    hash_of_names,
    plural,
    read_probabilities,
    some,
)
from luce.counts.observations import (
    Entry,
    Log,
    Merged,
    expanded,
    grouped,
    merge,
    observed,
    powers,
    ranked,
    read_only,
    restricted,
    unfolded,
)
from luce.errors import DataError

if TYPE_CHECKING:
    from luce.counts.recorded import Sample
    from luce.counts.terms import Term

_TOO_MANY = "the counts add up to more than 1e308; scale them down."

# Kinds of effects: categories that stand for a tie, or for the advantage of one side.
EFFECTS = ("tie", "home")


class ConditionalCounts:
    """Counts of outcomes, each recorded given that it lay in some set; immutable.

    Parameters
    ----------
    categories
        The labels, which may be any hashable values, or a number n for the labels 0..n-1.

    Examples
    --------
    >>> counts = ConditionalCounts(["a", "b", "c"]).observe({"b": 2}, without=["a"])
    >>> counts + counts == counts.observe({"b": 2}, within=["b", "c"])
    True
    """

    def __init__(self, categories: int | Labels) -> None:
        self._categories = Categories(categories)
        self._log: Log = None
        self._n_outcomes = 0.0
        self._remembers = True  # does the log know the set of each outcome?
        self._merged: Merged | None = None  # the sum of the log, computed on demand
        self._effects: dict[int, str] = {}  # the kind of effect, by the category's number
        self._events: Events | None = None

    @property
    def categories(self) -> tuple[Label, ...] | range:
        """The labels, in order."""
        return self._categories.labels

    @property
    def n_categories(self) -> int:
        """Number of categories."""
        return len(self._categories)

    @property
    def n_outcomes(self) -> float:
        """Number of outcomes recorded, single or grouped."""
        return self._n_outcomes

    @property
    def events(self) -> Events | None:
        """Outcomes with a model of their own, such as contests with ties; None for most data."""
        return self._events

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that the likelihood has beside the probabilities."""
        return () if self._events is None else self._events.parameters

    @property
    def effects(self) -> dict[Label, str]:
        """Categories that are no competitors, each with its kind, "tie" or "home".

        Readers mark them (``ties="entity"``, ``home_effect="entity"``), and so does `with_effects`.
        They change neither the likelihood nor equality nor `digest`: answers leave them out of
        ranks, and show them apart.
        """
        return {self.categories[i]: kind for i, kind in self._effects.items()}

    @property
    def category_counts(self) -> FloatArray:
        """Exponent of each single category, shape (n_categories,), never negative."""
        return self._canonical[0]

    @property
    def sets(self) -> SetFamily:
        """Sets of two or more categories, with their exponents; all of them only with weights."""
        return self._canonical[1]

    @property
    def log_constant(self) -> float:
        """Log of a constant factor of the likelihood, from weights; 0 for data without weights.

        A set of weights 3 and 2 to the power e is stored with the weights 1 and 2/3, which leaves
        the constant e log 3.
        """
        return self.sets.log_constant

    @cached_property
    def is_whole(self) -> bool:
        """True where all counts and exponents are whole numbers."""
        if self._events is not None and not self._events.is_whole:
            return False
        return not ((self.category_counts % 1).any() or (self.sets.exponent % 1).any())

    @property
    def digest(self) -> str:
        """Fingerprint of labels and counts; the same for equal data, however it was entered."""
        content = hash_of_names(self.categories)
        for array in (self.category_counts, *self._sorted_sets):
            content.update(array.tobytes())
        if self._events is not None:
            content.update(repr(self._events.attributes()).encode())
            for name, (_, array) in self._events.arrays().items():
                content.update(name.encode() + array.tobytes())
        if self.log_constant != 0.0:  # to nine digits: the last ones depend on the order of sums
            content.update(f"{self.log_constant:.9g}".encode())
        return str(content.hexdigest())

    def __len__(self) -> int:
        """Return the number of distinct sets in the likelihood, without single categories."""
        return self.sets.n_sets

    def __repr__(self) -> str:
        return (
            f"ConditionalCounts({plural(self.n_categories, 'category', 'categories')}, "
            f"{plural(self._n_outcomes, 'outcome')}, {plural(len(self), 'set')}{self._and_events})"
        )

    def _repr_html_(self) -> str:
        from luce.counts.html import html_of_counts

        return html_of_counts(self)

    @property
    def _and_events(self) -> str:
        """Number and model of the events, in words."""
        if self._events is None:
            return ""
        return f", {plural(len(self._events), self._events.unit)}: {self._events.model}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConditionalCounts):
            return NotImplemented
        mine, theirs = ((c.category_counts, *c._sorted_sets) for c in (self, other))
        constants = math.isclose(
            self.log_constant, other.log_constant, rel_tol=1e-12, abs_tol=1e-12
        )
        same = self._categories == other._categories and all(map(np.array_equal, mine, theirs))
        return same and constants and _same_events(self._events, other._events)

    __hash__ = None  # type: ignore[assignment]  # equality compares contents, which may be large

    def __reduce__(self) -> tuple[object, ...]:  # without the log, which may be long
        totals = self.category_counts, self.sets, self._n_outcomes
        rest = True, None, self.effects, True, self._events
        return ConditionalCounts.from_nests, (self.categories, *totals, *rest)

    def observe(
        self,
        counts: Mapping[Label, float],
        *,
        within: Labels | Mapping[Label, float] | None = None,
        without: Labels | None = None,
    ) -> ConditionalCounts:
        """Add outcomes that were recorded given that they lay in one set.

        Parameters
        ----------
        counts
            Number of outcomes of each category, as a mapping or a pandas Series; any non-negative
            numbers. Where an index names a category twice, its counts add up.
        within
            The categories that could occur.  A mapping gives them known weights a_j >= 0; the
            likelihood of an outcome i is then p_i / Σ_j a_j p_j, without the weight of i itself,
            which is a constant factor: the likelihood of R's hyper3.
        without
            The categories that could not. Give one of the two, or neither: all could.

        Examples
        --------
        >>> ConditionalCounts(3).observe({0: 4, 2: 1}, within=[0, 2])
        ConditionalCounts(3 categories, 5 outcomes, 1 set)
        >>> weighted = ConditionalCounts("abc").observe({"a": 1}, within={"a": 3, "b": 2, "c": 1})
        >>> np.exp(weighted.log_likelihood([0.2, 0.3, 0.5])).round(4)  # 0.2 / (0.6 + 0.6 + 0.5)
        np.float64(0.1176)
        """
        return self._add(observed(self._categories, counts, within, without))

    def observe_group(
        self,
        members: Labels | Mapping[Label, float],
        count: float,
        *,
        within: Labels | Mapping[Label, float] | None = None,
        without: Labels | None = None,
    ) -> ConditionalCounts:
        """Add grouped outcomes: `count` times, the outcome was one of `members`.

        Parameters
        ----------
        members
            The categories it may have been: a team, a coarse answer.  A mapping gives them known
            weights a_i >= 0: the likelihood has the factor Σ_i a_i p_i, over `within`'s.
        count
            Number of such outcomes, a whole number.
        within, without
            The categories that could occur, as in `observe`.

        Examples
        --------
        >>> ConditionalCounts("wxyz").observe_group(["w", "x"], 3, without=["z"])
        ConditionalCounts(4 categories, 3 outcomes, 2 sets)

        Ann and Bo, who played half of the time, won against Cy:

        >>> team = {"ann": 1, "bo": 0.5}
        >>> counts = ConditionalCounts(["ann", "bo", "cy"])
        >>> counts.observe_group(team, 1, within={**team, "cy": 1})
        ConditionalCounts(3 categories, 1 outcome, 2 sets)
        """
        return self._add(grouped(self._categories, members, count, within, without))

    def observe_ranking(
        self,
        order: Labels,
        count: float = 1.0,
        *,
        clones: bool = False,
        nonfinishers: Labels = (),
    ) -> ConditionalCounts:
        """Add `count` rankings of these categories, best first.

        Each place is an outcome among those not yet placed (Plackett-Luce); categories that are
        not listed took no part. Costs one stored member per place.

        Parameters
        ----------
        order
            The labels, best first.
        count
            Number of such rankings, any non-negative number.
        clones
            May a label appear several times?  Each time it is another runner, of the same strength
            as its clones (R's hyper3); the set of a place then counts those of each label that are
            not yet placed.
        nonfinishers
            Labels of runners that took part and were not placed: behind all others, in an order
            that is not known.

        Examples
        --------
        >>> ConditionalCounts("abcd").observe_ranking("dba").sets.n_sets
        2
        >>> for term in ConditionalCounts("ab").observe_ranking("aba", clones=True).terms():
        ...     print(term)
        1 outcome in {a}
        1 outcome in {b}
        1 outcome given {a, 0.5 b}
        """
        return self._add(ranked(self._categories, order, count, clones, nonfinishers))

    def restrict(self, labels: Labels) -> ConditionalCounts:
        """Keep only some categories, and only the outcomes that lie among them.

        An outcome i recorded given the set S has the probability p_i / p(S).  Given also that it
        lies among the labels L, it has the probability p_i / p(S ∩ L) for i in L.  So outcomes
        outside of L are dropped, and each S becomes S ∩ L: m_i outcomes i in S become

            prod_{i in S ∩ L} (p_i / p(S ∩ L))^(m_i)

        and a ranking becomes the ranking of those of L in it.  A grouped outcome is kept if the
        whole group is in L and dropped if none of it is.

        Parameters
        ----------
        labels
            The categories to keep; they stay in their stored order.

        Raises
        ------
        DataError
            When the data does not tell how many outcomes lie in L: a group is partly in L, or the
            counts are totals (of exponents, of a saved run, or sent by another process) without
            the set of each outcome.  Counts made by `observe`, `observe_group`, `observe_ranking`
            and readers, and sums of such counts, remember these sets.  Equal counts may therefore
            be restricted to different ones.

        Examples
        --------
        >>> counts = ConditionalCounts("abcd").observe({"a": 3, "c": 1}, within="abc")
        >>> counts.restrict("ab") == ConditionalCounts("ab").observe({"a": 3})
        True
        >>> ranked = ConditionalCounts("abcd").observe_ranking("dbca")
        >>> ranked.restrict("abc") == ConditionalCounts("abc").observe_ranking("bca")
        True
        """
        kept = np.sort(self._categories.numbers(labels, "labels"))
        if len(kept) == 0:
            raise DataError("labels is empty: at least one category must be kept.")
        if len(kept) == self.n_categories:
            return self
        new = ConditionalCounts([self.categories[i] for i in kept.tolist()])
        for entry in restricted(self._categories, self._log, kept):
            new = new._add(entry)
        left = set(new.categories)
        if self._events is not None:
            place = np.full(self.n_categories, -1)
            place[kept] = np.arange(len(kept))
            inside = self._events.restricted(place, len(kept), self.categories)
            new = new.with_events(inside)
        return new.with_effects({c: kind for c, kind in self.effects.items() if c in left})

    def expand(self, labels: Labels) -> ConditionalCounts:
        """Put the counts among more categories, which could not have occurred.

        Where any of the present categories L could occur, the outcome becomes one given L:

            prod_{i in L} p_i^(n_i)   becomes   prod_{i in L} (p_i / p(L))^(n_i)

        Other sets stay as they are, without the new categories.  `restrict` goes the other way.

        Parameters
        ----------
        labels
            All categories, in their new order; those that are here must be among them.

        Examples
        --------
        >>> counts = ConditionalCounts("ab").observe({"a": 3, "b": 1})
        >>> counts.expand("abc") == ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
        True
        >>> counts.expand("abc").restrict("ab") == counts
        True
        """
        from luce.counts.comparability import unconditional

        wider = Categories(labels)
        missing = [label for label in self.categories if label not in wider.index]
        if missing:
            raise DataError(
                f"labels lacks {some(missing)}; expand keeps all categories, and restrict leaves "
                "some out."
            )
        if wider == self._categories:
            return self
        place, n = wider.numbers(self.categories, "labels"), len(wider)
        log: Log = None, Entry(place, self.category_counts, self.sets.expanded(place, n), 0.0)
        free = unconditional(self)
        if free > 0 and n > self.n_categories > 1:
            present = single_sets(n, [place], [False], [-free])
            log = log, Entry(np.empty(0, np.int64), np.empty(0), present, 0.0)
        own = self._log
        return ConditionalCounts.from_nests(
            wider.labels,
            *merge(n, log),
            self._n_outcomes,
            merged=True,
            source=(lambda: expanded(own, place, n)) if self._remembers else None,
            effects=self.effects,
            copy=False,
            events=None if self._events is None else self._events.renumbered(place, n),
        )

    def with_events(self, events: Events) -> ConditionalCounts:
        """Add events that are known to be right, over the same categories: the door for readers."""
        if events.n != self.n_categories:
            raise DataError(f"{self.n_categories} categories, but events over {events.n}.")
        new = self._copy()
        new._events = added(self._events, events)
        new._n_outcomes += events.n_outcomes
        return new

    def with_effects(self, effects: Mapping[Label, str]) -> ConditionalCounts:
        """Mark categories that are no competitors, beside those already marked.

        Parameters
        ----------
        effects
            Maps labels to the kind of effect: "tie", a category that wins where two sides tie, or
            "home", one that stands on the side of whoever has an advantage.

        Examples
        --------
        >>> counts = ConditionalCounts(["a", "b", "draw"]).observe({"a": 3, "draw": 2})
        >>> counts.with_effects({"draw": "tie"}).effects
        {'draw': 'tie'}
        """
        if not isinstance(effects, Mapping):
            raise DataError(
                f"effects must map labels to {some(EFFECTS)}; {describe(effects)} was given."
            )
        marks = dict(self._effects)
        for label, i in zip(effects, self._categories.numbers(effects, "effects"), strict=True):
            kind = effects[label]
            before = marks.setdefault(int(i), kind)
            if kind not in EFFECTS:
                raise DataError(
                    f"effects marks {label!r} as {kind!r}; {some(EFFECTS)} are possible."
                )
            if before != kind:
                raise DataError(
                    f"effects marks {label!r} as {kind!r}, and it is {before!r} already; rename "
                    "one of the two with relabel."
                )
        return self._with(dict(sorted(marks.items())))

    def recorded(self, *, apart: bool = False) -> list[Sample]:
        """List how often each outcome was seen in each set, for counts that remember it.

        Outcomes of `events` are not among them.

        Parameters
        ----------
        apart
            Keep rows of a table, and calls of `observe`, apart, even those in the same set?

        Raises
        ------
        DataError
            When the counts are totals (of exponents, of a saved run, or sent by another process)
            without the set of each outcome.

        Examples
        --------
        >>> counts = ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
        >>> for sample in counts.observe({"c": 2}).observe({"b": 1}, without="c").recorded():
        ...     print(sample.given, sample.outcomes)
        {a, b} {(0,): 3.0, (1,): 2.0}
        all {(2,): 2.0}
        """
        from luce.counts.recorded import samples_of

        return samples_of(self.categories, unfolded(self._log), apart)

    def relabel(
        self, labels: Mapping[Label, Label] | Callable[[Label], Label]
    ) -> ConditionalCounts:
        """Give categories other labels; the data stays the same.

        Parameters
        ----------
        labels
            A mapping from old labels to new ones, where labels that are left out stay, or a
            function from old to new.  All new labels must be different.

        Examples
        --------
        >>> counts = ConditionalCounts("ab").observe({"a": 1})
        >>> counts.relabel({"a": "Anna"}).categories, counts.relabel(str.upper).categories
        (('Anna', 'b'), ('A', 'B'))
        """
        if isinstance(labels, Mapping):
            self._categories.numbers(labels, "labels")  # refuses a label that is not a category
            new = [labels.get(label, label) for label in self.categories]
        elif callable(labels):
            new = [labels(label) for label in self.categories]
        else:
            raise DataError(
                f"labels must be a mapping or a function; {describe(labels)} was given."
            )
        renamed = self._copy()
        renamed._categories = Categories(new)
        return renamed

    def terms(self) -> Iterator[Term]:
        """Yield the factors of the likelihood: first categories that were seen, then sets.

        The likelihood is the product over the terms of the total probability of a term's members,
        times their weights where it has any, to the power of its exponent; of the constant of
        `log_constant`; and of the probability of `events`, which are no terms.

        Examples
        --------
        >>> for term in ConditionalCounts("abcd").observe({"b": 2}, without="a").terms():
        ...     print(term.exponent, term.members, "-", term)
        2.0 ('b',) - 2 outcomes in {b}
        -2.0 ('b', 'c', 'd') - 2 outcomes given all but {a}
        """
        from luce.counts.terms import terms_of

        return terms_of(self.categories, *self._canonical)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Lay the factors of the likelihood out as a data frame.

        There is a row for each of `terms`, then one for each two sides that met in contests.

        Parameters
        ----------
        backend
            "pandas" or "polars".

        Returns
        -------
        DataFrame
            `kind` ("outcome" of one category, "group" of several, "given" that it lay in a set),
            `members` or, for a set of more than half of the categories, `excluded`, then `size`
            and `exponent`, and `weights` where some set has any.  Where there are contests, rows of
            the kind "contest" have the first side, which is at home if one is, as `members` and the
            second as `against`; then come `at_home`, `wins`, `losses` and `ties`, and their sum is
            the `exponent`.  Weights of members, where there are some, stand in `weights` and
            `against_weights`.

        Examples
        --------
        >>> ConditionalCounts("abcd").observe({"b": 2}, without="a").to_frame()
              kind members excluded  size  exponent
        0  outcome    (b,)     None     1       2.0
        1    given    None     (a,)     3      -2.0
        >>> import luce
        >>> games = {"home": ["a", "b", "a"], "away": ["b", "a", "b"], "result": ["H", "D", "H"]}
        >>> frame = luce.from_pairs(games, ties="davidson", home="first").to_frame()
        >>> frame[["kind", "members", "against", "at_home", "wins", "losses", "ties"]]
              kind members against  at_home  wins  losses  ties
        0  contest    (a,)    (b,)     True   2.0     0.0   0.0
        1  contest    (b,)    (a,)     True   0.0     0.0   1.0
        """
        from luce.counts.terms import frame_of

        return frame_of(self.terms(), backend, self.categories, self._events)

    def log_likelihood(self, probabilities: ArrayLike, **parameters: ArrayLike) -> FloatArray:
        """Return the log likelihood at given probabilities, without multinomial coefficients.

        Parameters
        ----------
        probabilities
            Shape (..., n_categories), non-negative and adding up to 1, in the order of
            `categories`; draws of shape (chain, draw, category) for instance.
        **parameters
            Values of the counts' `parameters`, where there are some, of shape (...) each.

        Returns
        -------
        ndarray
            Shape (...); minus infinity where the data is impossible.

        Examples
        --------
        >>> counts = ConditionalCounts("abc").observe({"b": 2}, without="a")
        >>> np.exp(counts.log_likelihood([0.5, 0.3, 0.2])).round(4)  # (0.3 / 0.5)^2
        np.float64(0.36)
        """
        from luce.counts.likelihood import log_powers

        p = read_probabilities(probabilities, self.n_categories)
        values = read_parameters(self.parameters, parameters)
        powers = log_powers(p, *self._canonical)
        return powers if self._events is None else powers + self._events.log_likelihood(p, values)

    def summary(self, most: int = 10) -> str:
        """Describe the data in words: its size, then the `most` heaviest sets and meetings.

        Parameters that the data leaves to their priors are named at the end.

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
            f"({plural(len(family.members), 'stored member')}){self._and_events}"
        ]
        heaviest = np.argsort(-np.abs(family.exponent), kind="stable")[:most]
        lines += [f"  {describe_set(self.categories, family, int(t))}" for t in heaviest]
        if family.n_sets > most:
            lines.append(f"  ... and {family.n_sets - most:,} more")
        if self._events is not None:
            told = self._events.in_words(self.categories)
            lines += [f"  {event}" for event in told[:most]]
            if len(told) > most:
                lines.append(f"  ... and {len(told) - most:,} more")
            from luce.counts.confounding import untold_parameters

            lines += [f"  {name}: {why}" for name, why in untold_parameters(self).items()]
        return "\n".join(lines)

    def __add__(self, other: ConditionalCounts) -> ConditionalCounts:
        if not isinstance(other, ConditionalCounts):
            return NotImplemented
        if self.categories == other.categories:
            where, sets = np.arange(self.n_categories), other.sets
        else:
            where = self._numbers_in(other)
            sets = other.sets.renumbered(where, self.n_categories)
        marked = self.with_effects(other.effects)
        if other._events is not None:
            marked = marked.with_events(other._events.renumbered(where, self.n_categories))
        if other._log is None:
            return marked
        source = other._log if other._remembers else None
        number = other._n_outcomes
        if other._events is not None:
            number -= other._events.n_outcomes
        entry = Entry(where, other.category_counts, sets, number, source=source)
        return marked._add(entry)

    def _numbers_in(self, other: ConditionalCounts) -> IntArray:
        """Return the numbers here of another object's categories, which must be the same."""
        place = self._categories.index
        missing = [c for c in other.categories if c not in place]
        if missing or self.n_categories != other.n_categories:
            raise DataError(
                "counts can be added only over the same categories, because 'all categories' "
                f"means something else otherwise: {self.n_categories} and {other.n_categories} "
                f"were given{f', {missing[0]!r} being in one only' if missing else ''}."
            )
        return np.fromiter((place[c] for c in other._categories), np.int64, self.n_categories)

    def __radd__(self, other: object) -> ConditionalCounts:
        """Let `sum` start from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @classmethod
    def from_exponents(
        cls,
        categories: int | Labels,
        exponents: Mapping[object, float] | Iterable[tuple[object, float]],
    ) -> ConditionalCounts:
        """Build counts from the canonical form itself: a power for each set.

        Parameters
        ----------
        categories
            As in the constructor.
        exponents
            Maps sets of labels (tuples, frozensets, or a bare label for a single category)
            to the power of their total probability: positive for outcomes, negative for
            sets conditioned on, as in the brackets of R's hyper2.  Or pairs of a set and its power,
            where a set may also be a mapping from labels to weights, as in R's hyper3.

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
        >>> weighted = [("a", 1), ({"a": 3, "b": 2}, -1)]
        >>> ConditionalCounts.from_exponents("abc", weighted).sets.n_sets
        1
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
        source: Callable[[], Log] | None = None,
        effects: Mapping[Label, str] | None = None,
        copy: bool = True,
        events: Events | None = None,
    ) -> ConditionalCounts:
        """Build counts from arrays that are known to be right: the door for readers.

        Only the shapes are checked.

        Parameters
        ----------
        categories
            As in the constructor.
        category_counts
            Number of outcomes of each category.
        nests
            Sets with their exponents.
        n_outcomes
            Number of outcomes to report; the sum of all positive exponents unless given.
        merged
            The sets are in canonical form already: keep them in their order, and with it the draws
            of a seed.
        source
            Builds a log of observations that add up to these counts, for `restrict`.
        effects
            Categories that are no competitors, as in `with_effects`.
        copy
            Copy the arrays, to which the caller may still write?  Else they become read-only.
        events
            Outcomes with a model of their own; `n_outcomes` counts them, if it is given.
        """
        labels = Categories(categories)
        n = len(labels)
        if nests.n != n or len(category_counts) != n:
            raise DataError(
                f"{n} categories, but nests over {nests.n} and {len(category_counts)} counts."
            )
        own = read_only(np.array(category_counts, np.float64), deepcopy(nests) if copy else nests)
        values, sets = own
        inside = 0.0 if events is None else events.n_outcomes
        if n_outcomes is None:
            n_outcomes = float(values.sum() + sets.exponent.clip(min=0).sum()) + inside
        n_outcomes -= inside
        log = None, Entry(np.arange(n), values, sets, n_outcomes, source=source)
        total = own if merged else merge(n, log)
        counts = cls._of(labels, log, n_outcomes, source is not None, total)
        if events is not None:
            counts = counts.with_events(events)
        return counts.with_effects(effects) if effects else counts

    @classmethod
    def _of(
        cls,
        categories: Categories,
        log: Log,
        n_outcomes: float,
        remembers: bool,
        merged: Merged | None = None,
    ) -> ConditionalCounts:
        """Build counts from a log, and from the sum of the log where it is known."""
        if not math.isfinite(n_outcomes):
            raise DataError(_TOO_MANY)
        new = object.__new__(cls)
        new._categories, new._log, new._n_outcomes = categories, log, n_outcomes
        new._remembers, new._merged, new._effects = remembers, merged, {}
        new._events = None
        return new

    def _copy(self) -> ConditionalCounts:
        """Copy the counts; their parts are immutable, and shared."""
        new = self._of(self._categories, self._log, self._n_outcomes, self._remembers, self._merged)
        new._effects, new._events = self._effects, self._events
        return new

    def _with(self, effects: dict[int, str]) -> ConditionalCounts:
        """Copy the counts, with these categories marked as effects."""
        if effects == self._effects:
            return self
        new = self._copy()
        new._effects = effects
        return new

    def _add(self, entry: Entry) -> ConditionalCounts:
        """Append an entry to the log."""
        remembers = self._remembers and (entry.given is not None or entry.source is not None)
        new = self._copy()
        new._log, new._merged, new._remembers = (self._log, entry), None, remembers
        new._n_outcomes = self._n_outcomes + entry.total
        if not math.isfinite(new._n_outcomes):
            raise DataError(_TOO_MANY)
        return new

    @property
    def _canonical(self) -> Merged:
        """The counts of categories and the canonical sets."""
        if self._merged is None:
            self._merged = merge(self.n_categories, self._log)
        return self._merged

    @cached_property
    def _sorted_sets(self) -> tuple[WordArray, FloatArray]:
        """Signatures and exponents of the sets, in an order that does not depend on entry."""
        signatures = self.sets.signatures
        order = np.lexsort((signatures[:, 1], signatures[:, 0]))
        return signatures[order], self.sets.exponent[order]


def read_parameters(names: Sequence[str], given: Mapping[str, ArrayLike]) -> dict[str, FloatArray]:
    """Read the values of a likelihood's parameters: each must be given, and no other."""
    missing, extra = [x for x in names if x not in given], [x for x in given if x not in names]
    if missing or extra:
        need = f"the values of {some(names)} are needed" if names else "there are no parameters"
        raise DataError(
            f"{some(list(given)) if given else 'nothing'} was given beside the "
            f"probabilities; {need}."
        )
    return {name: np.asarray(given[name], np.float64) for name in names}


def _same_events(one: Events | None, other: Events | None) -> bool:
    if one is None or other is None:
        return one is other
    mine, theirs = one.arrays(), other.arrays()
    return (
        one.attributes() == other.attributes()
        and mine.keys() == theirs.keys()
        and all(np.array_equal(mine[name][1], theirs[name][1]) for name in mine)
    )
