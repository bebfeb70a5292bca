"""Data over more categories than it was recorded among."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from luce._types import IntArray, Labels
from luce.counts.canonical import concatenate
from luce.counts.comparability import unconditional
from luce.counts.counts import ConditionalCounts
from luce.counts.family import SetFamily, single_sets
from luce.counts.labels import Categories


def widened(counts: ConditionalCounts, categories: Labels) -> ConditionalCounts:
    """Put data among more categories, of which the others could not occur.

    With C the categories of the data, the likelihood L(p) becomes L(p / p(C)): outcomes recorded
    among all of C are then outcomes given that they lay in C.

    Parameters
    ----------
    counts
        The data.
    categories
        All categories, those of the data among them, in the order wanted.

    Examples
    --------
    >>> counts = ConditionalCounts("ab").observe({"a": 3, "b": 1})
    >>> widened(counts, "bac") == ConditionalCounts("bac").observe({"a": 3, "b": 1}, without="c")
    True
    """
    wide = Categories(categories)
    n = len(wide)
    place = np.array([wide.index[label] for label in counts.categories], np.int64)
    if n == counts.n_categories and (place == np.arange(n)).all():
        return counts
    new = np.setdiff1d(np.arange(n), place)
    values = np.zeros(n)
    values[place] = counts.category_counts
    families = [_excluding(counts.sets.renumbered(place, n), new)]
    free = unconditional(counts)
    if free > 0 and len(new):
        families.append(single_sets(n, [new], [True], [-free]))
    events = counts.events
    return ConditionalCounts.from_nests(
        wide.labels,
        values,
        concatenate(n, families),
        counts.n_outcomes,
        effects=counts.effects,
        events=None if events is None else events.renumbered(place, n),
    )


def _excluding(family: SetFamily, new: IntArray) -> SetFamily:
    """Take some categories out of all sets that are stored by what they exclude."""
    if not len(new) or not family.complement.any():
        return family
    starts = family.nest_start[:-1][family.complement]
    at = np.repeat(starts, len(new))
    members = np.insert(family.members, at, np.tile(new, len(starts)))
    more = len(new) * np.r_[0, np.cumsum(family.complement)]
    weights = family.weights
    return replace(
        family,
        members=members,
        nest_start=family.nest_start + more,
        set_end=family.set_end + more[1:][family.nest_of_set],
        weights=None if weights is None else np.insert(weights, at, 1.0),
    )
