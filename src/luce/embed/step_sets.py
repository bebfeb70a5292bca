"""The sets of a Gibbs step: read from labels, merged, and packed for compiled code."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from luce._types import IntArray, Labels
from luce.counts.canonical import canonical
from luce.counts.family import SetFamily, fields, single_sets
from luce.counts.labels import Categories
from luce.errors import DataError


def read_sets(labels: Categories, within: Iterable[Labels], without: Iterable[Labels]) -> SetFamily:
    """Sets by what they hold, then sets by what they lack."""
    inside = [labels.numbers(s, f"within[{t}]") for t, s in enumerate(_lists(within, "within"))]
    outside = [labels.numbers(s, f"without[{t}]") for t, s in enumerate(_lists(without, "without"))]
    for t, members in enumerate(inside):
        if len(members) == 0:
            raise DataError(f"within[{t}] is empty: some category must be able to occur.")
    for t, members in enumerate(outside):
        if len(members) == len(labels):
            raise DataError(
                f"without[{t}] names every category: some category must be able to occur."
            )
    kinds = [False] * len(inside) + [True] * len(outside)
    return single_sets(len(labels), inside + outside, kinds, [-1.0] * len(kinds))


def pack_sets(family: SetFamily) -> IntArray:
    """Merge and nest the sets, and put them and the way from terms to sets into one array."""
    from luce.kernels.changing_counts import NO_SET, pack
    from luce.kernels.problem import make_problem

    n, n_terms = family.n, family.n_sets
    stored, _ = canonical(n, [SetFamily(*fields(family)[:-1], np.full(n_terms, -1.0))])
    # The numbers of the sets travel as their exponents, so that they come out in their new order.
    numbers = -np.arange(1.0, stored.n_sets + 1)
    problem = make_problem(*fields(stored)[1:-1], numbers, np.ones(n), 1.0)
    place = np.empty(stored.n_sets, np.int64)
    place[problem.waits.astype(np.int64) - 1] = np.arange(stored.n_sets)
    number = {words.tobytes(): int(place[k]) for k, words in enumerate(stored.signatures)}
    set_of_term = np.empty(n_terms, np.int64)
    for t, words in enumerate(family.signatures):
        alone = family.sizes[t] == 1 and n > 1
        lacking = NO_SET - 1 - int(family.set_members(t)[0]) if alone else NO_SET
        set_of_term[t] = number.get(words.tobytes(), lacking)
    return pack(problem, set_of_term)


def _lists(given: Iterable[Labels], what: str) -> list[Labels]:
    try:
        return list(given)
    except TypeError:
        raise DataError(
            f"{what} must be a list of lists of labels, one for each term; {given!r} was given."
        ) from None
