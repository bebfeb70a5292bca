"""Observations: checked additions to conditional counts, by category numbers.

Counts keep their observations in a log and merge them on demand.  The log also remembers
the set in which each outcome was recorded, which the merged exponents do not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels
from luce.counts.canonical import CANCELLED, canonical
from luce.counts.family import (
    SetFamily,
    describe_set,
    refuse_weighted_sets,
    set_arrays,
    single_sets,
)
from luce.counts.labels import (
    Categories,
    describe,
    labelled_values,
    plural,
    read_count,
    read_number,
)
from luce.errors import DataError

# Smallest ratio of two weights of one set, so that their products with counts stay doubles.
_LEAST_RATIO = 1e-100


class Entry(NamedTuple):
    """One addition to the counts.

    Attributes
    ----------
    outcomes, counts
        Numbers of the categories that were seen, and how often each was.
    sets
        Sets conditioned on, with negative exponents, and grouped outcomes, with positive ones.
    total
        Number of outcomes, single or grouped.
    given
        Number, in `sets`, of the set that each outcome was recorded in: first for `outcomes`, then
        for the grouped ones in their order.  None where only the totals are known.
    source
        Log of entries that add up to this one, with `given` known, or a function that builds this
        log when it is needed.  Its category i is number ``outcomes[i]`` here.
    """

    outcomes: IntArray
    counts: FloatArray
    sets: SetFamily
    total: float
    given: IntArray | None = None
    source: Log | Callable[[], Log] = None


# A linked list, newest entry first: an addition to a long log costs the same as to a short one.
Log: TypeAlias = "tuple[Log, Entry] | None"

Merged: TypeAlias = tuple[FloatArray, SetFamily]  # count of each category, canonical sets


def observed(
    categories: Categories,
    counts: Mapping[Label, float],
    within: Labels | Mapping[Label, float] | None,
    without: Labels | None,
) -> Entry:
    """Read outcomes recorded in one set."""
    totals = _totals(counts)
    members, excluded, weights = _conditioning_set(categories, within, without)
    outcomes = categories.numbers(totals, "counts")
    _check_inside(categories, outcomes, members, excluded, "outcome")
    values = np.asarray(list(totals.values()), np.float64)
    with np.errstate(over="ignore"):
        total = float(values.sum())
    if not np.isfinite(total):
        raise DataError(f"the counts add up to {total:g}; they must stay below 1e308 together.")
    sets = _lone_sets(categories, [members], [excluded], [-total], [weights])
    return Entry(outcomes, values, sets, total, given=np.zeros(len(outcomes), np.int64))


def _totals(counts: Mapping[Label, float]) -> dict[Label, float]:
    """Read the count of each label; counts of a label that appears twice add up."""
    pairs = labelled_values(counts)
    if pairs is None:
        raise DataError(
            f"counts must map labels to numbers, as {{'a': 2}} does; {describe(counts)} was given."
        )
    totals: dict[Label, float] = {}
    for label, value in pairs:
        totals[label] = totals.get(label, 0.0) + read_count(value, label)
    return totals


def grouped(
    categories: Categories,
    members: Labels | Mapping[Label, float],
    count: float,
    within: Labels | Mapping[Label, float] | None,
    without: Labels | None,
) -> Entry:
    """Read outcomes known only to lie in a group of categories, recorded in one set."""
    group, group_weights = _weighted_members(categories, members, "members")
    if len(group) == 0:
        raise DataError("members is empty: a grouped outcome needs at least one category.")
    number = read_count(count, "the group")
    if not number.is_integer():
        raise DataError(
            f"count = {count!r}: grouped outcomes must be whole numbers, because each of them is "
            "one outcome whose category is unknown."
        )
    allowed, excluded, weights = _conditioning_set(categories, within, without)
    _check_inside(categories, group, allowed, excluded, "grouped outcome")
    both, exponents = [group_weights, weights], [number, -number]
    sets = _lone_sets(categories, [group, allowed], [False, excluded], exponents, both)
    given = np.ones(int(number > 0), np.int64)
    return Entry(np.empty(0, np.int64), np.empty(0), sets, number, given)


def ranked(
    categories: Categories,
    order: Labels,
    count: float,
    clones: bool = False,
    nonfinishers: Labels = (),
) -> Entry:
    """Read a ranking: each place is an outcome among those not yet placed."""
    weight = read_count(count, "the ranking")
    placed, unplaced = (
        _runners(categories, given, what, clones)
        for given, what in ((order, "order"), (nonfinishers, "nonfinishers"))
    )
    k, worst_first = len(placed), np.r_[unplaced, placed[::-1]]
    if len(np.unique(worst_first)) < len(worst_first):
        if not clones:
            both = categories[int(np.intersect1d(placed, unplaced)[0])]
            raise DataError(
                f"{both!r} appears in order and in nonfinishers; give clones=True if several "
                "runners of this strength took part."
            )
        sets = _sets_of_clones(len(categories), worst_first, len(unplaced), weight)
    else:
        ends, direct = np.asarray([0, len(worst_first)]), np.zeros(1, np.bool_)
        prefixes, exponents = (
            np.arange(len(unplaced) + 1, len(worst_first) + 1),
            np.full(k, -weight),
        )
        nests = worst_first, ends, direct, np.asarray([0, k])
        sets = SetFamily(len(categories), *nests, prefixes, exponents)
    return Entry(placed, np.full(k, weight), sets, k * weight, given=np.arange(k)[::-1])


def _runners(categories: Categories, given: Labels, what: str, clones: bool) -> IntArray:
    """Turn labels into category numbers; a label may be repeated if `clones`."""
    if not clones:
        return categories.numbers(given, what)
    try:
        labels = list(given)
        categories.numbers(dict.fromkeys(labels), what)  # refuses a label that is not a category
    except TypeError:
        raise DataError(f"{what} must be a list of labels; {describe(given)} was given.") from None
    return np.asarray([categories.index[label] for label in labels], np.int64)


def _sets_of_clones(n: int, worst_first: IntArray, unplaced: int, weight: float) -> SetFamily:
    """Build, worst place first, the sets of runners not yet placed, each label with its number."""
    left = [
        np.unique(worst_first[:end], return_counts=True)
        for end in range(unplaced + 1, len(worst_first) + 1)
    ]
    members, numbers = [each[0] for each in left], [each[1].astype(np.float64) for each in left]
    return single_sets(n, members, [False] * len(left), [-weight] * len(left), numbers)


def powers(
    categories: Categories,
    exponents: Mapping[object, float] | Iterable[tuple[object, float]],
) -> Entry:
    """Read the exponents of sets."""
    pairs = exponents.items() if isinstance(exponents, Mapping) else exponents
    try:
        given = [(key, value) for key, value in pairs]
    except (TypeError, ValueError):
        raise DataError(
            "exponents must map sets to numbers, as {('a', 'b'): -1} does, or list pairs of a set "
            f"and a number, as [({{'a': 2, 'b': 1}}, -1)] does; {describe(exponents)} was given."
        ) from None
    read = [
        _weighted_members(
            categories, key if isinstance(key, Mapping) else categories.as_set(key), "members"
        )
        for key, _ in given
    ]
    members, weights = [own for own, _ in read], [own for _, own in read]
    values = [read_number(value, key) for key, value in given]
    if any(len(m) == 0 for m in members):
        raise DataError("an exponent is given for the empty set, whose probability is 0.")
    sets = _lone_sets(categories, members, [False] * len(members), values, weights)
    return Entry(np.empty(0, np.int64), np.empty(0), sets, sum(max(v, 0.0) for v in values))


def merge(n: int, log: Log) -> Merged:
    """Add up a log: the count of each category, and the canonical family of sets, read-only."""
    entries = list[Entry]()
    while log is not None:
        log, entry = log
        entries.append(entry)
    entries.reverse()
    outcomes = np.concatenate([np.empty(0, np.int64), *(e.outcomes for e in entries)])
    values = np.concatenate([np.empty(0), *(e.counts for e in entries)])
    order = np.argsort(values, kind="stable")  # so that sums do not depend on the order of entries
    summed = np.bincount(outcomes[order], values[order], n).astype(np.float64)
    family, singletons = canonical(n, [e.sets for e in entries])
    # 0.1 + 0.2 - 0.3 is to be 0; whole numbers cancel exactly.
    counts = summed + singletons
    fractions = (summed % 1 != 0) | (singletons % 1 != 0)
    size = np.abs(summed) + np.abs(singletons)
    counts[fractions & (np.abs(counts) <= CANCELLED * size)] = 0.0
    if n == 1:
        counts[:] = 0.0  # the only category is the full set, whose probability is 1
    return read_only(counts, family)


def read_only(counts: FloatArray, family: SetFamily) -> Merged:
    """Forbid writing to the arrays."""
    for array in (counts, *set_arrays(family), family.weights):
        if array is not None:
            array.setflags(write=False)
    return counts, family


def restricted(categories: Categories, log: Log, kept: IntArray) -> list[Entry]:
    """Keep of each entry the outcomes that lie in the `kept` categories, renumbered, oldest first.

    Each set S becomes its intersection with the kept categories.  Its exponent is minus the number
    of kept outcomes recorded in it.
    """
    place = np.full(len(categories), -1)
    place[kept] = np.arange(len(kept))
    return [_restricted(categories, entry, place, len(kept)) for entry in unfolded(log)]


def expanded(log: Log, place: IntArray, n: int) -> Log:
    """Move category i of all entries to ``place[i]`` among n; no set gains the new categories."""
    new: Log = None
    for entry in unfolded(log):
        sets = entry.sets.expanded(place, n)
        new = new, entry._replace(outcomes=place[entry.outcomes], sets=sets)
    return new


def unfolded(log: Log) -> list[Entry]:
    """List the entries of a log, oldest first, with those of added counts in place of their sum."""
    found = list[Entry]()
    todo: list[tuple[Log, IntArray | None]] = [(log, None)]
    while todo:
        log, place = todo.pop()
        if log is None:
            continue
        rest, entry = log
        todo.append((rest, place))
        own = entry if place is None else _renumbered(entry, place)
        if entry.source is not None:
            inner = entry.source() if callable(entry.source) else entry.source
            todo.append((inner, own.outcomes))
        else:
            found.append(own)
    return found[::-1]


def _renumbered(entry: Entry, place: IntArray) -> Entry:
    """Move category i of an entry to ``place[i]``."""
    sets = entry.sets.renumbered(place, len(place))
    return entry._replace(outcomes=place[entry.outcomes], sets=sets)


def _restricted(categories: Categories, entry: Entry, place: IntArray, n: int) -> Entry:
    """Restrict one entry to the n categories whose `place` is not -1."""
    if entry.given is None:
        return _restricted_totals(categories, entry, place, n)
    sets, inner = entry.sets, entry.sets.renumbered(place, n)
    groups = np.flatnonzero(sets.exponent > 0)
    conditions = entry.given[len(entry.outcomes) :]
    whole = inner.sizes[groups] == sets.sizes[groups]
    # A group that covers all that is left of its set says nothing about the kept categories.
    unclear = ~whole & (inner.sizes[groups] > 0)
    unclear &= inner.sizes[groups] < inner.sizes[conditions]
    if unclear.any():
        words = describe_set(categories.labels, sets, int(groups[unclear][0]))
        raise DataError(
            f"{words} may lie among the labels or not: the group is only partly among them. "
            "Keep all of the group, or none of it."
        )
    kept = np.r_[place[entry.outcomes] >= 0, whole]
    values = np.r_[entry.counts, sets.exponent[groups]][kept]
    exponent = np.negative(np.bincount(entry.given[kept], values, sets.n_sets), dtype=np.float64)
    exponent[groups] = np.where(whole, sets.exponent[groups], 0.0)
    alone = kept[: len(entry.outcomes)]
    return Entry(
        place[entry.outcomes[alone]],
        entry.counts[alone],
        replace(inner, exponent=exponent),
        float(values.sum()),
        given=entry.given[kept],
    )


def _restricted_totals(categories: Categories, entry: Entry, place: IntArray, n: int) -> Entry:
    """Restrict an entry of which only totals are known, or refuse where they do not suffice.

    They suffice for a set that contains none or all of the kept categories, and for one whose
    other categories were never seen.
    """
    counts, sets = merge(len(categories), (None, entry))
    refuse_weighted_sets(
        sets,
        "restrict, of counts that hold totals and not the set that each outcome was recorded in,",
        "Restrict the counts that were read or observed before they are saved, sent or turned "
        "into exponents.",
    )
    inner = sets.renumbered(place, n)
    split = (inner.sizes > 0) & (inner.sizes < np.minimum(sets.sizes, n))
    seen = (counts > 0) | (sets.member_sums((sets.exponent > 0).astype(np.float64)) > 0)
    lost = sets.set_sums((seen & (place < 0)).astype(np.int64))  # categories seen and not kept
    unknown = split & ((lost > 0) | (sets.exponent > 0))
    if unknown.any():
        words = describe_set(categories.labels, sets, int(np.argmax(unknown)))
        raise DataError(
            f"how many outcomes lie among the {plural(n, 'label')} is not known: these counts "
            f"hold totals, such as {words}, and not the set that each outcome was recorded in. "
            "Restrict the counts that were read or observed before they are saved, sent or turned "
            "into exponents: those remember the sets."
        )
    kept = np.flatnonzero(place >= 0)
    exponent = np.where(split | (inner.sizes == sets.sizes), sets.exponent, 0.0)
    total = float(counts[kept].sum() + exponent.clip(min=0).sum())
    return Entry(place[kept], counts[kept], replace(inner, exponent=exponent), total)


def _conditioning_set(
    categories: Categories,
    within: Labels | Mapping[Label, float] | None,
    without: Labels | None,
) -> tuple[IntArray, bool, FloatArray | None]:
    """Read a set: category numbers, whether they are the excluded ones, and weights if any."""
    if within is not None and without is not None:
        raise DataError("give `within` or `without`, not both: each says which set it was.")
    if within is not None:
        members, weights = _weighted_members(categories, within, "within")
        if len(members) == 0:
            raise DataError("within is empty: some category must be able to occur.")
        return members, False, weights
    if isinstance(without, Mapping):
        raise DataError(
            "without is a mapping; it lists the categories that could not occur, and these have "
            "no weights. Map the categories that could to their weights in `within`."
        )
    members = categories.numbers(without if without is not None else (), "without")
    if len(members) == len(categories):
        raise DataError("without names every category: some category must be able to occur.")
    return members, True, None


def _weighted_members(
    categories: Categories, given: Labels | Mapping[Label, float], what: str
) -> tuple[IntArray, FloatArray | None]:
    """Read the members of a set and, from a mapping, their weights; a weight 0 leaves one out."""
    members = categories.numbers(given, what)
    if not isinstance(given, Mapping):
        return members, None
    weights = np.asarray([read_count(a, label) for label, a in given.items()], np.float64)
    kept = weights > 0
    members, weights = members[kept], weights[kept]
    if len(weights) and not weights.min() >= _LEAST_RATIO * weights.max():
        raise DataError(
            f"the weights in {what} run from {weights.min():g} to {weights.max():g}; they may "
            f"differ by a factor of at most {1 / _LEAST_RATIO:g}. Weight 0 leaves a category out."
        )
    return members, weights


def _check_inside(
    categories: Categories, outcomes: IntArray, members: IntArray, excluded: bool, what: str
) -> None:
    """Refuse an outcome outside of the set that it was recorded in."""
    named = set(members.tolist())
    outside = [i for i in outcomes.tolist() if (i in named) == excluded]
    if outside:
        raise DataError(
            f"{what} {categories[outside[0]]!r} lies outside the set it was recorded in "
            f"({'excluded by `without`' if excluded else 'not in `within`'})."
        )


def _lone_sets(
    categories: Categories,
    sets: list[IntArray],
    complement: list[bool],
    exponents: list[float],
    weights: list[FloatArray | None],
) -> SetFamily:
    """Store each set by its smaller side, so that neighbours that nest can be found.

    A set with weights is stored directly.
    """
    n = len(categories)
    sides = []
    for i, members in enumerate(sets):
        if weights[i] is None and 2 * len(members) > n - complement[i]:
            members = np.setdiff1d(np.arange(n), members)
            complement[i] = not complement[i]
        sides.append(members)
    return single_sets(n, sides, complement, exponents, weights)
