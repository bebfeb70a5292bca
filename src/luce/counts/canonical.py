"""Bring families of sets into canonical form.

Equal sets are merged, singletons become counts of categories, neighbours that are nested share a
nest, and each set is stored by its smaller side.  The weights of a set are divided by the largest
one; a set whose weights are then equal is an ordinary set.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, WordArray
from luce.counts.family import SetFamily, single_sets

# A sum of fractions below this part of the sum of their sizes is rounding error, and counts as 0.
# Whole numbers cancel exactly.
CANCELLED = 1e-14

# Share of sets that equal another, beyond which all sets are sorted and not these alone.
_MANY_EQUAL = 1e-3


def canonical(n: int, families: list[SetFamily]) -> tuple[SetFamily, FloatArray]:
    """Merge families into one canonical family.

    Returns
    -------
    family
        The canonical family.
    singletons
        Exponents of the sets that hold one category, shape (n,).
    """
    family = concatenate(n, families)
    singletons, unequal = np.zeros(n), None
    if family.weights is not None or family.log_constant != 0.0:
        family, unequal = _apart(family)
    constant = family.log_constant
    family = _merge_equal(family, singletons)
    family = _store_by_smaller_side(_nest_neighbours(family))
    if unequal is not None and (merged := _merge_weighted(unequal)).n_sets:
        family = concatenate(n, [family, merged])
    return replace(family, log_constant=constant) if constant else family, singletons


def _apart(family: SetFamily) -> tuple[SetFamily, SetFamily | None]:
    """Normalise weights, and part the sets with unequal ones from all others.

    The weights of a set with exponent e are divided by the largest, a, which leaves the constant
    e log a.
    """
    plain, constants = np.flatnonzero(~family.weighted), [family.log_constant]
    equal, unequal = list[SetFamily](), list[SetFamily]()
    for t in np.flatnonzero(family.weighted).tolist():
        order = np.argsort(family.listed(t), kind="stable")
        order = order[family.listed_weights(t)[order] > 0.0]
        members, weights = family.listed(t)[order], family.listed_weights(t)[order]
        exponent, most = float(family.exponent[t]), float(weights.max(initial=1e-300))
        constants.append(exponent * math.log(most))
        weights = weights / most
        same = bool((weights == 1.0).all())
        kept = [None if same else weights]
        lone = single_sets(family.n, [members], [False], [exponent], kept)
        (equal if same else unequal).append(lone)
    bare = replace(family, weights=None, log_constant=0.0)
    rest = keep_sets(bare, np.isin(np.arange(family.n_sets), plain), family.exponent)
    constant, size = math.fsum(constants), math.fsum(map(abs, constants))
    constant = 0.0 if abs(constant) <= CANCELLED * size else constant
    rest = replace(concatenate(family.n, [rest, *equal]), log_constant=constant)
    return rest, concatenate(family.n, unequal) if unequal else None


def _merge_weighted(family: SetFamily) -> SetFamily:
    """Add the exponents of sets with the same members and weights; drop those that cancel."""
    powers: dict[bytes, list[float]] = {}
    first: dict[bytes, int] = {}
    for t in range(family.n_sets):
        key = family.signatures[t].tobytes()
        powers.setdefault(key, []).append(float(family.exponent[t]))
        first.setdefault(key, t)
    exponent = np.zeros(family.n_sets)
    for key, given in powers.items():
        total = math.fsum(given)
        if abs(total) > CANCELLED * math.fsum(map(abs, given)):
            exponent[first[key]] = total
    return keep_sets(family, exponent != 0, exponent)


def concatenate(n: int, families: list[SetFamily]) -> SetFamily:
    """Put families over the same n categories one after another."""
    if len(families) == 1:
        return families[0]
    members = np.cumsum([0] + [len(f.members) for f in families])
    sets = np.cumsum([0] + [f.n_sets for f in families])
    starts = [f.nest_start[:-1] + o for f, o in zip(families, members[:-1], strict=True)]
    set_starts = [f.set_start[:-1] + o for f, o in zip(families, sets[:-1], strict=True)]
    ends = [f.set_end + o for f, o in zip(families, members[:-1], strict=True)]
    return SetFamily(
        n,
        np.concatenate([np.empty(0, np.int64), *(f.members for f in families)]),
        np.concatenate([*starts, members[-1:]]),
        np.concatenate([np.empty(0, np.bool_), *(f.complement for f in families)]),
        np.concatenate([*set_starts, sets[-1:]]),
        np.concatenate([np.empty(0, np.int64), *ends]),
        np.concatenate([np.empty(0), *(f.exponent for f in families)]),
        _joined_weights(families),
        math.fsum(f.log_constant for f in families),
    )


def _joined_weights(families: list[SetFamily]) -> FloatArray | None:
    """Join the weights of families, ones for those without; None where none has any."""
    if all(f.weights is None for f in families):
        return None
    own = (np.ones(len(f.members)) if f.weights is None else f.weights for f in families)
    return np.concatenate(list(own))


def _merge_equal(family: SetFamily, singletons: FloatArray) -> SetFamily:
    """Add the exponents of equal sets; fold singletons away; drop full and cancelled sets."""
    if family.n_sets == 0:
        return single_sets(family.n, [], [], [])
    exponent = _merged_exponents(family)
    alone = np.flatnonzero((family.sizes == 1) & (exponent != 0))
    if len(alone):
        # The sum of the numbers of the one member is its number.
        singletons[family.set_sums(np.arange(family.n))[alone]] += exponent[alone]
    keep = (exponent != 0) & (family.sizes > 1) & (family.sizes < family.n)
    return keep_sets(family, keep, exponent)


def _merged_exponents(family: SetFamily) -> FloatArray:
    """Sum the exponents of equal sets into one of them; the others get 0."""
    exponent = family.exponent.copy()
    words, more_words = family.signature_words
    several = _sets_with_an_equal(words)
    if len(several) == 0:
        return exponent
    fractions = bool((np.floor(exponent) != exponent).any())
    if fractions:
        # Fractions are added in order of size, so that sums do not depend on the order of sets.
        order = several[np.lexsort((exponent[several], words[several]))]
    else:
        order = several[np.argsort(words[several])]
    first = _first_of_each(words[order], more_words[order])
    powers = exponent[order]
    total, weight = np.add.reduceat(powers, first), np.add.reduceat(np.abs(powers), first)
    gone = np.abs(total) <= CANCELLED * weight if fractions else total == 0
    exponent[several] = 0.0
    kept = order[first] if fractions else np.minimum.reduceat(order, first)
    exponent[kept] = np.where(gone, 0.0, total)
    return exponent


def _sets_with_an_equal(words: WordArray) -> IntArray:
    """List the sets whose word occurs more than once, or all sets where many do."""
    ordered = np.sort(words)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice) > _MANY_EQUAL * len(words):
        return np.arange(len(words))
    return np.flatnonzero(np.isin(words, twice)) if len(twice) else np.empty(0, np.int64)


def _first_of_each(*keys: IntArray | WordArray) -> IntArray:
    """Find where runs of equal keys start in sorted arrays."""
    starts = np.zeros(len(keys[0]), np.bool_)
    starts[:1] = True
    for key in keys:
        starts[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(starts)


def _ranges(start: IntArray, length: IntArray) -> IntArray:
    """Join the ranges of integers with these starts and lengths."""
    before = np.cumsum(length) - length
    joined = np.repeat(start - before, length)
    joined += np.arange(len(joined))
    return joined


def keep_sets(family: SetFamily, keep: BoolArray, exponent: FloatArray) -> SetFamily:
    """Drop some sets, the members after the last set of a nest, and empty nests."""
    in_use = (np.diff(family.set_start) > 0).all()
    if (
        keep.all()
        and in_use
        and (family.set_end[family.set_start[1:] - 1] == family.nest_start[1:]).all()
    ):
        return replace(family, exponent=exponent)
    kept = np.flatnonzero(keep)
    nest_of_set = family.nest_of_set[kept]
    first = _first_of_each(nest_of_set)
    nests, set_start = nest_of_set[first], np.r_[first, len(kept)]
    start = family.nest_start[nests]
    length = family.set_end[kept[set_start[1:] - 1]] - start
    new_start = np.r_[0, np.cumsum(length)]
    shift = np.repeat(new_start[:-1] - start, np.diff(set_start))
    taken = _ranges(start, length)
    return SetFamily(
        family.n,
        family.members[taken],
        new_start,
        family.complement[nests],
        set_start,
        family.set_end[kept] + shift,
        exponent[kept],
        None if family.weights is None else family.weights[taken],
        family.log_constant,
    )


def _nest_neighbours(family: SetFamily) -> SetFamily:
    """Merge lone sets that were given one after another, each inside the next, into one nest.

    A ranking entered as "first of all of them, second of the rest, ..." is then stored at the cost
    of a ranking.
    """
    if family.n_nests < 2:
        return family
    lone = np.diff(family.set_start) == 1
    length = np.diff(family.nest_start)
    pair = lone[1:] & lone[:-1] & (family.complement[1:] == family.complement[:-1])
    left = np.flatnonzero(pair & (length[1:] != length[:-1]))
    if len(left) == 0:
        return family
    nest_of_member = np.repeat(np.arange(family.n_nests), length)
    keys = np.sort(nest_of_member * family.n + family.members)
    longer = np.where(length[left] > length[left + 1], left, left + 1)
    shorter = 2 * left + 1 - longer
    positions = _ranges(family.nest_start[longer], length[longer])
    wanted = np.repeat(shorter, length[longer]) * family.n + family.members[positions]
    found = keys[np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)] == wanted
    pair_start = np.r_[0, np.cumsum(length[longer])]
    nested = np.add.reduceat(found, pair_start[:-1], dtype=np.int64) == length[shorter]
    if not nested.any():
        return family

    # Runs of neighbours that keep growing, or keep shrinking, become one nest each.
    step = np.zeros(family.n_nests, np.int64)  # 1 or -1: nest k + 1 contains nest k, or lies in it
    step[left[nested]] = np.where(longer == left, -1, 1)[nested]
    fresh = np.ones(len(family.members), np.bool_)  # not in the set below
    base = np.full(family.n_nests, -1, np.int64)
    runs = list(_runs(step))
    pair_of = {int(k): i for i, k in enumerate(left)}
    for run in runs:
        for below, above in pairwise(run):
            base[above] = below
            i = pair_of[min(below, above)]
            fresh[positions[pair_start[i] : pair_start[i + 1]]] = ~found[
                pair_start[i] : pair_start[i + 1]
            ]
    order = [k for run in runs for k in run]
    return _nest_up(family, np.asarray(order), base, fresh)


def _runs(step: IntArray) -> Iterator[list[int]]:
    """Yield the nests 0..K-1 in runs, each from the smallest set to the largest."""
    k = 0
    while k < len(step):
        end, direction = k, step[k]
        while direction and end < len(step) - 1 and step[end] == direction:
            end += 1
        run = list(range(k, end + 1))
        yield run if direction >= 0 else run[::-1]
        k = end + 1


def _nest_up(family: SetFamily, order: IntArray, base: IntArray, fresh: BoolArray) -> SetFamily:
    """Rebuild the nests in `order`, each as a continuation of its `base` unless that is -1."""
    length = np.diff(family.nest_start)
    take = _ranges(family.nest_start[order], length[order])
    kept = fresh[take]
    upto = np.r_[0, np.cumsum(kept)]
    sets = _ranges(family.set_start[order], np.diff(family.set_start)[order])
    old_start = np.r_[0, np.cumsum(length[order])]
    shift = np.repeat(old_start[:-1] - family.nest_start[order], np.diff(family.set_start)[order])
    head = base[order] < 0
    set_count = np.r_[0, np.cumsum(np.diff(family.set_start)[order])]
    return SetFamily(
        family.n,
        family.members[take][kept],
        np.r_[upto[old_start[:-1]][head], upto[-1]],
        family.complement[order][head],
        np.r_[set_count[:-1][head], set_count[-1]],
        upto[family.set_end[sets] + shift],
        family.exponent[sets],
    )


def _store_by_smaller_side(family: SetFamily) -> SetFamily:
    """Store each set by its smaller side, moving it into a nest of the other kind where needed.

    With prefixes P_1 < ... < P_k of which P_j..P_k are too long, the new nest lists the
    rest V - P_k, then P_k - P_(k-1), ..., then P_(j+1) - P_j.
    """
    # |S| = n/2 exactly counts as small, so that the two sides cannot both claim a set.
    doubled = 2 * family.prefix_lengths
    wrong = np.where(family.complement[family.nest_of_set], doubled >= family.n, doubled > family.n)
    if not wrong.any():
        return family
    turned = []
    for k in np.unique(family.nest_of_set[wrong]):
        sets = np.arange(family.set_start[k], family.set_start[k + 1])
        ends = family.set_end[sets[wrong[sets]]]
        rest = np.ones(family.n, np.bool_)
        rest[family.members[family.nest_start[k] : ends[-1]]] = False
        pieces = [np.flatnonzero(rest)]
        pieces += [family.members[a:b] for a, b in zip(ends[-2::-1], ends[:0:-1], strict=True)]
        turned.append(
            SetFamily(
                family.n,
                np.concatenate(pieces),
                np.asarray([0, sum(map(len, pieces))]),
                ~family.complement[k : k + 1],
                np.asarray([0, len(ends)]),
                np.cumsum([len(p) for p in pieces]),
                family.exponent[sets[wrong[sets]]][::-1],
            )
        )
    return concatenate(family.n, [keep_sets(family, ~wrong, family.exponent), *turned])
