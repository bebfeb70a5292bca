"""Find the categories that data can compare, and those it says nothing about."""

from __future__ import annotations

import math

import numpy as np

from luce._types import BoolArray, IntArray, Label
from luce.counts.counts import ConditionalCounts
from luce.errors import DataError

# A sum of fractions below this part of the sum of their sizes is rounding error, and counts as 0.
_CANCELLED = 1e-9


def comparable_groups(counts: ConditionalCounts) -> list[list[Label]]:
    """Group the categories that data can compare, directly or through others.

    Two categories are linked when both lie in a set that some outcome was recorded in.  An
    unconditional outcome was recorded in the set of all categories.  Data says nothing between
    groups: the total probability of each group has its prior distribution.

    Parameters
    ----------
    counts
        The data.

    Returns
    -------
    list
        Groups of labels, each in stored order, sorted by their first labels.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("abcde").observe({"a": 1}, within="ab")
    >>> counts = counts.observe({"d": 2}, within="cd")
    >>> luce.comparable_groups(counts)
    [['a', 'b'], ['c', 'd'], ['e']]
    >>> luce.comparable_groups(counts.observe({"b": 1}, within="bc"))
    [['a', 'b', 'c', 'd'], ['e']]
    """
    group, _ = linked(counts)
    members = np.argsort(group, kind="stable")
    cuts = np.flatnonzero(np.diff(group[members])) + 1
    parts = sorted(np.split(members, cuts), key=lambda part: int(part[0]))
    return [[counts.categories[int(i)] for i in part] for part in parts]


def prior_only(counts: ConditionalCounts) -> list[Label]:
    """List the categories that data says nothing about, in stored order.

    They lie in no set that an outcome was recorded in.  The probability of such a category has its
    prior distribution.

    Parameters
    ----------
    counts
        The data.

    Examples
    --------
    >>> import luce
    >>> luce.counts.prior_only(luce.ConditionalCounts("abcde").observe({"a": 1}, without="de"))
    ['d', 'e']
    """
    _, covered = linked(counts)
    return [counts.categories[int(i)] for i in np.flatnonzero(~covered)]


def unconditional(counts: ConditionalCounts) -> float:
    """Return the number of outcomes recorded with all categories possible."""
    powers = [*counts.category_counts.tolist(), *counts.sets.exponent.tolist()]
    total = math.fsum(powers)
    whole = all(x.is_integer() for x in powers)
    cancelled = 0.0 if whole else _CANCELLED * math.fsum(map(abs, powers))
    return total if total > cancelled else 0.0


def linked(counts: ConditionalCounts, *, events: bool = True) -> tuple[IntArray, BoolArray]:
    """Return the group of each category, and whether it lies in any set; at the cost of storage.

    With ``events=False`` the outcomes in sets alone make groups, and no contests.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not isinstance(counts, ConditionalCounts):
        raise DataError(f"counts must be ConditionalCounts; {type(counts).__name__} was given.")
    n, family = counts.n_categories, counts.sets
    if unconditional(counts) > 0:
        return np.zeros(n, np.int64), np.ones(n, np.bool_)
    covered = np.zeros(n, np.bool_)
    # The largest set of a nest contains the others: link each of its members to the first.
    nest = np.repeat(np.arange(family.n_nests), np.diff(family.nest_start))
    direct = ~family.complement[nest]
    ends = [family.members[direct]]
    starts = [family.members[family.nest_start[nest[direct]]]]
    covered[family.members[direct]] = True
    outside = np.flatnonzero(family.complement)
    if len(outside):
        # Any two sets of more than half of the categories meet, so that all such sets form one
        # group: the categories that at least one of them contains.
        shortest = family.set_end[family.set_start[:-1]][nest]
        excluded = family.complement[nest] & (np.arange(len(nest)) < shortest)
        left_out = np.bincount(family.members[excluded], minlength=n)
        inside = np.flatnonzero(left_out < len(outside))
        covered[inside] = True
        ends.append(inside)
        starts.append(np.full(len(inside), inside[0]))
    if events and counts.events is not None:
        pairs = counts.events.links()
        for linked, part in zip((starts, ends), pairs, strict=True):
            linked.append(part)
            covered[part] = True
    rows, columns = np.concatenate(starts), np.concatenate(ends)
    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    return connected_components(graph, directed=False)[1].astype(np.int64), covered
