"""What people add to conditional counts, checked and turned into category numbers."""

from collections.abc import Mapping
from copy import deepcopy
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels
from luce.counts.canonical import CANCELLED, canonical
from luce.counts.family import SetFamily, fields, single_sets
from luce.counts.labels import Categories, as_mapping, describe, read_count, read_number
from luce.errors import DataError


class Entry(NamedTuple):
    """One addition: outcomes by category number, a family of sets, and how many outcomes."""

    outcomes: IntArray
    counts: FloatArray
    sets: SetFamily
    total: float


def observed(
    categories: Categories,
    counts: Mapping[Label, float],
    within: Labels | None,
    without: Labels | None,
) -> Entry:
    """Outcomes given one set."""
    counts = as_mapping(counts)
    if not isinstance(counts, Mapping):
        raise DataError(
            f"counts must map labels to numbers, as {{'a': 2}} does; {describe(counts)} was given."
        )
    members, excluded = _conditioning_set(categories, within, without)
    outcomes = categories.numbers(counts, "counts")
    _check_inside(categories, outcomes, members, excluded, "outcome")
    values = np.asarray([read_count(v, label) for label, v in counts.items()], np.float64)
    with np.errstate(over="ignore"):
        total = float(values.sum())
    if not np.isfinite(total):
        raise DataError(f"the counts add up to {total:g}; they must stay below 1e308 together.")
    return Entry(outcomes, values, _lone_sets(categories, [members], [excluded], [-total]), total)


def grouped(
    categories: Categories,
    members: Labels,
    count: float,
    within: Labels | None,
    without: Labels | None,
) -> Entry:
    """Outcomes known only to be one of some categories, given one set."""
    group = categories.numbers(members, "members")
    if len(group) == 0:
        raise DataError("members is empty: a grouped outcome needs at least one category.")
    number = read_count(count, "the group")
    if not number.is_integer():
        raise DataError(
            f"count = {count!r}: grouped outcomes must be whole numbers, because each of them is "
            "one outcome whose category is unknown."
        )
    allowed, excluded = _conditioning_set(categories, within, without)
    _check_inside(categories, group, allowed, excluded, "grouped outcome")
    sets = _lone_sets(categories, [group, allowed], [False, excluded], [number, -number])
    return Entry(np.empty(0, np.int64), np.empty(0), sets, number)


def ranked(categories: Categories, order: Labels, count: float) -> Entry:
    """Places of a ranking, each given those not yet placed."""
    placed = categories.numbers(order, "order")
    weight = read_count(count, "the ranking")
    k = len(placed)
    nest = SetFamily(
        len(categories),
        placed[::-1].copy(),
        np.asarray([0, k]),
        np.zeros(1, np.bool_),
        np.asarray([0, k]),
        np.arange(1, k + 1),
        np.full(k, -weight),
    )
    return Entry(placed, np.full(k, weight), nest, k * weight)


def powers(categories: Categories, exponents: Mapping[object, float]) -> Entry:
    """Exponents of sets, as they stand."""
    if not isinstance(exponents, Mapping):
        raise DataError(
            "exponents must map sets to numbers, as {('a', 'b'): -1} does; "
            f"{describe(exponents)} was given."
        )
    members = [categories.numbers(categories.as_set(key), "members") for key in exponents]
    values = [read_number(value, key) for key, value in exponents.items()]
    if any(len(m) == 0 for m in members):
        raise DataError("an exponent is given for the empty set, whose probability is 0.")
    sets = _lone_sets(categories, members, [False] * len(members), values)
    return Entry(np.empty(0, np.int64), np.empty(0), sets, sum(max(v, 0.0) for v in values))


def renumbered(sets: SetFamily, where: IntArray) -> SetFamily:
    """The same sets after category i became ``where[i]``."""
    return SetFamily(
        sets.n,
        where[sets.members],
        sets.nest_start,
        sets.complement,
        sets.set_start,
        sets.set_end,
        sets.exponent,
    )


def added_up(n: int, entries: list[Entry]) -> tuple[FloatArray, SetFamily]:
    """Add up entries: the count of each category, and the canonical family of sets, read-only."""
    outcomes = np.concatenate([np.empty(0, np.int64), *(e.outcomes for e in entries)])
    values = np.concatenate([np.empty(0), *(e.counts for e in entries)])
    order = np.argsort(values, kind="stable")  # so that sums do not depend on who came first
    summed = np.bincount(outcomes[order], values[order], n).astype(np.float64)
    family, singletons = canonical(n, [e.sets for e in entries])
    # 0.1 + 0.2 - 0.3 is to be 0; whole numbers cancel exactly.
    counts = summed + singletons
    fractions = (summed % 1 != 0) | (singletons % 1 != 0)
    size = np.abs(summed) + np.abs(singletons)
    counts[fractions & (np.abs(counts) <= CANCELLED * size)] = 0.0
    return frozen(counts, family)


def frozen(counts: FloatArray, family: SetFamily) -> tuple[FloatArray, SetFamily]:
    """Copy, since whoever gave the arrays may still write to them, and let nobody write."""
    counts, family = counts.copy(), deepcopy(family)
    for array in (counts, *fields(family)[1:]):
        array.setflags(write=False)
    return counts, family


def _conditioning_set(
    categories: Categories, within: Labels | None, without: Labels | None
) -> tuple[IntArray, bool]:
    """Category numbers of a set, and whether they are the excluded ones."""
    if within is not None and without is not None:
        raise DataError("give `within` or `without`, not both: each says which set it was.")
    if within is not None:
        members = categories.numbers(within, "within")
        if len(members) == 0:
            raise DataError("within is empty: some category must be able to occur.")
        return members, False
    members = categories.numbers(without if without is not None else (), "without")
    if len(members) == len(categories):
        raise DataError("without names every category: some category must be able to occur.")
    return members, True


def _check_inside(
    categories: Categories, outcomes: IntArray, members: IntArray, excluded: bool, what: str
) -> None:
    outside = np.isin(outcomes, members, invert=not excluded)
    if outside.any():
        label = categories[int(outcomes[outside][0])]
        raise DataError(
            f"{what} {label!r} lies outside the set it was recorded in "
            f"({'excluded by `without`' if excluded else 'not in `within`'})."
        )


def _lone_sets(
    categories: Categories, sets: list[IntArray], complement: list[bool], exponents: list[float]
) -> SetFamily:
    """Unrelated sets, each by its smaller side, so that neighbours that nest can be found."""
    n = len(categories)
    sides = []
    for i, members in enumerate(sets):
        if 2 * len(members) > n - complement[i]:
            members = np.setdiff1d(np.arange(n), members)
            complement[i] = not complement[i]
        sides.append(members)
    return single_sets(n, sides, complement, exponents)
