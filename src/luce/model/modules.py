"""The module tree of a family of sets, and the sets of each core over its cells.

With weights, a group A of categories is a module if every set lies inside A, misses A, or contains
A with equal weights.  A *level* of a weighted set W is its members of one weight.  Two sets are in
one class if they overlap, or if one is weighted and the other lies inside it and meets two or more
of its levels; only the ordinary set of all members of a weighted set is apart from it, since the
weighted set lies inside.

The tree of a family with weights is that of an ordinary family with one more category z for each
weighted set W: W becomes the sets L + {z}, L its levels, which overlap in z alone; z also joins
every unweighted set that contains W, and the level of another weighted set that contains W.  Then
sets overlap just where they are in one class, and the z are taken out again.
docs/structure.md has the proof.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray
from luce.counts.canonical import canonical, concatenate, keep_sets
from luce.counts.family import SetFamily, set_arrays, single_sets

if TYPE_CHECKING:
    from luce.kernels.structure.module_tree import ModuleTree

# Number of members that weighted sets share with nests beyond which sets that contain weighted ones
# are not looked for.  They may then be taken to overlap these, in one larger core, which is as
# right.
MOST_SHARED = 10_000_000


def find_tree(family: SetFamily, compiled: bool) -> tuple[ModuleTree, list[SetFamily]]:
    """Find the modules of a canonical family, and the sets of each core over its cells.

    Parameters
    ----------
    family
        The sets.
    compiled
        Whether to use compiled code, or the same code as plain Python.
    """
    from luce.kernels.structure.module_tree import modules_of

    weighted = family.weights is not None
    known = _with_extra(family) if weighted else family
    tree = modules_of(known.n, *set_arrays(known)[:5], known.sizes, compiled)
    cores = [_sets_of_core(tree, known.exponent, q) for q in range(len(tree.union))]
    return _without_extra(family, known, tree, cores) if weighted else (tree, cores)


def _sets_of_core(tree: ModuleTree, exponent: FloatArray, q: int) -> SetFamily:
    a, b = tree.core_nest[q], tree.core_nest[q + 1]
    first, last = tree.set_start[a], tree.set_start[b]
    return SetFamily(
        int(tree.cell_start[q + 1] - tree.cell_start[q]),
        tree.members[tree.nest_start[a] : tree.nest_start[b]],
        _counted_from(tree.nest_start[a], tree.nest_start[a : b + 1]),
        tree.complement[a:b] != 0,
        _counted_from(first, tree.set_start[a : b + 1]),
        _counted_from(tree.nest_start[a], tree.set_end[first:last]),
        exponent[tree.set_index[first:last]],
    )


def _counted_from(first: int, positions: IntArray) -> IntArray:
    """Subtract the first position; the only core of a posterior is not copied."""
    return positions - first if first else positions


def _with_extra(family: SetFamily) -> SetFamily:
    """Build the family with a category more for each weighted set; exponents number the sets.

    The exponent of a set is 1 plus its number in the family with weights; all levels of a weighted
    set have the same.
    """
    n, numbers = family.n, np.arange(1.0, family.n_sets + 1.0)
    bare = replace(family, weights=None, log_constant=0.0)
    plain = keep_sets(bare, ~family.weighted, numbers)
    sets = keep_sets(replace(family, log_constant=0.0), family.weighted, numbers)
    listed = np.bincount(family.members, minlength=n)
    compared = listed[sets.members].sum() <= MOST_SHARED
    joined = [_with_contained(plain, sets) if compared else plain]
    joined.append(_levels(sets, _within_levels(sets) if compared else {}))
    wider = [replace(part, n=n + sets.n_sets) for part in joined]
    return canonical(n + sets.n_sets, wider)[0]


class _Shared(NamedTuple):
    """Weighted sets and the nests that list members of them, a row for each such pair.

    Attributes
    ----------
    inner, nest
        Number of the weighted set, and of the nest.
    number
        Number of members that they share.
    first, last
        First and last position of these in the nests.
    lowest, highest
        Extreme weights of these in the nest.
    """

    inner: IntArray
    nest: IntArray
    number: IntArray
    first: IntArray
    last: IntArray
    lowest: FloatArray
    highest: FloatArray


def _shared(outer: SetFamily, sets: SetFamily) -> _Shared:
    """Find the nests of `outer` that list members of weighted `sets`, each a nest of its own."""
    by_member = np.argsort(outer.members, kind="stable")
    start = np.searchsorted(outer.members[by_member], np.arange(outer.n + 1))
    nest = np.repeat(np.arange(outer.n_nests), np.diff(outer.nest_start))
    times = np.diff(start)[sets.members]  # that each member is listed
    before = np.cumsum(times) - times
    rows = np.repeat(start[sets.members] - before, times) + np.arange(times.sum())
    position = by_member[rows]
    inner = np.repeat(np.repeat(np.arange(sets.n_nests), np.diff(sets.nest_start)), times)
    key = inner * outer.n_nests + nest[position]
    order = np.argsort(key, kind="stable")
    key, position = key[order], position[order]
    head = np.flatnonzero(np.r_[True, key[1:] != key[:-1]][: len(key)])
    weights = np.ones(len(key)) if outer.weights is None else outer.weights[position]
    numbers, nests = np.divmod(key[head], max(outer.n_nests, 1))
    return _Shared(
        numbers,
        nests,
        np.diff(np.r_[head, len(key)]),
        np.minimum.reduceat(position, head),
        np.maximum.reduceat(position, head),
        np.minimum.reduceat(weights, head),
        np.maximum.reduceat(weights, head),
    )


def _with_contained(plain: SetFamily, sets: SetFamily) -> SetFamily:
    """Add, to each unweighted set, the extra categories of the weighted sets inside it.

    A nest lists z from the first prefix on that holds all of W.  A nest of complements lists what
    its sets leave out: z from the first prefix on that holds some of W.
    """
    if plain.n_sets == 0:
        return plain
    found = _shared(plain, sets)
    outside = plain.complement[found.nest]
    whole = found.number == sets.sizes[found.inner]
    reached = np.where(outside, found.first, found.last)
    t = np.searchsorted(plain.set_end, reached, side="right")
    kept = outside | whole
    t, z = t[kept], (plain.n + found.inner)[kept]
    order = np.argsort(t, kind="stable")
    t, z = t[order], z[order]
    added = np.cumsum(np.bincount(t, minlength=plain.n_sets)).astype(np.int64)
    return replace(
        plain,
        members=np.insert(plain.members, plain.set_end[t], z),
        nest_start=plain.nest_start + np.r_[0, added][plain.set_start],
        set_end=plain.set_end + added,
    )


def _within_levels(sets: SetFamily) -> dict[tuple[int, float], list[int]]:
    """List the weighted sets inside each level of another, by that set's number and the weight."""
    found = _shared(sets, sets)
    inside = (found.number == sets.sizes[found.inner]) & (found.inner != found.nest)
    inside &= found.lowest == found.highest
    held: dict[tuple[int, float], list[int]] = {}
    rows = zip(found.nest[inside].tolist(), found.lowest[inside].tolist(), strict=True)
    for place, inner in zip(rows, found.inner[inside].tolist(), strict=True):
        held.setdefault(place, []).append(inner)
    return held


def _levels(sets: SetFamily, within: dict[tuple[int, float], list[int]]) -> SetFamily:
    """Build the levels of weighted sets, each with its set's extra category."""
    lists, numbers = list[IntArray](), list[float]()
    for t in range(sets.n_sets):
        weights = sets.listed_weights(t)
        for a in np.unique(weights).tolist():
            more = sets.n + np.array([t, *within.get((t, a), [])], np.int64)
            lists.append(np.r_[sets.listed(t)[weights == a], more])
            numbers.append(float(sets.exponent[t]))
    return single_sets(sets.n, lists, [False] * len(lists), numbers)


def _without_extra(
    family: SetFamily, known: SetFamily, tree: ModuleTree, cores: list[SetFamily]
) -> tuple[ModuleTree, list[SetFamily]]:
    """Take the extra categories out of the tree and the cores, and put weights in.

    The nests of cores in the returned tree are still those with extra categories.
    """
    from luce.kernels.dirichlet_tree import add_up

    number = known.exponent.astype(np.int64) - 1  # of the set in the family with weights
    size = np.bincount(tree.holder[: family.n], minlength=len(tree.parent)).astype(np.float64)
    add_up(tree.parent, size)
    kept = size > 0
    place = np.cumsum(kept) - 1
    in_use = kept[tree.cells]
    found = tree._replace(
        parent=np.where(tree.parent < 0, -1, place[tree.parent])[kept],
        core=tree.core[kept],
        set=np.where(tree.set < 0, -1, number[tree.set])[kept],
        holder=place[tree.holder[: family.n]],
        union=place[tree.union],
        cells=place[tree.cells[in_use]],
        cell_start=np.r_[0, np.cumsum(in_use)][tree.cell_start],
    )
    local = np.full(len(found.parent), -1)
    local[found.cells] = np.arange(len(found.cells)) - np.repeat(
        found.cell_start[:-1], np.diff(found.cell_start)
    )
    sets = list[SetFamily]()
    for q, core in enumerate(cores):
        own = in_use[tree.cell_start[q] : tree.cell_start[q + 1]]
        sets.append(_with_weights(family, found, q, core, own, local))
    return found, sets


def _with_weights(
    family: SetFamily,
    tree: ModuleTree,
    q: int,
    core: SetFamily,
    own: BoolArray,
    local: IntArray,
) -> SetFamily:
    """Return the sets of a core: unweighted ones without extra cells, then weighted ones.

    `own` marks the core's cells that are no extra categories; `local` numbers the cells in their
    cores.
    """
    number = core.exponent.astype(np.int64) - 1
    plain = ~family.weighted[number]
    place = np.where(own, np.cumsum(own) - 1, -1)
    n = int(own.sum())
    sets = keep_sets(core, plain, family.exponent[number]).renumbered(place, n)
    which = np.unique(number[~plain])
    if len(which) == 0:
        return sets
    lists, weights = list[IntArray](), list[FloatArray | None]()
    for t in which.tolist():
        module = tree.holder[family.listed(t)]
        while (above := tree.core[module] != q).any():
            module = np.where(above, tree.parent[module], module)
        cells, first = np.unique(local[module], return_index=True)
        lists.append(cells)
        weights.append(family.listed_weights(t)[first])
    directly = [False] * len(lists)
    return concatenate(n, [sets, single_sets(n, lists, directly, family.exponent[which], weights)])
