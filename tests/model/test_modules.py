"""Modules of families with weights against a comparison of every set with every other."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luce import ConditionalCounts, Posterior
from luce.model import modules
from luce.model.structure import Structure, find_structure

Weighted = frozenset[tuple[int, float]]  # members with their weights


def expanded(counts: ConditionalCounts) -> dict[Weighted, float]:
    """Spell out sets as members with weights, and their exponents."""
    found = {}
    for t, exponent in enumerate(counts.sets.exponent.tolist()):
        members = counts.sets.set_members(t).tolist()
        weights = [1.0] * len(members)
        if counts.sets.weighted[t]:
            members, weights = (
                counts.sets.listed(t).tolist(),
                counts.sets.listed_weights(t).tolist(),
            )
        found[frozenset(zip(members, weights, strict=True))] = exponent
    return found


def members(a: Weighted) -> frozenset[int]:
    return frozenset(i for i, _ in a)


def is_weighted(a: Weighted) -> bool:
    return len({weight for _, weight in a}) > 1


def joined(a: Weighted, b: Weighted) -> bool:
    """Do the sets overlap, or does one lie in the other and meet two of its levels?

    The ordinary set of all members of a weighted set is a module with that set inside.
    """
    one, two = members(a), members(b)
    if one == two and not (is_weighted(a) and is_weighted(b)):
        return False
    if one & two and not one <= two and not two <= one:
        return True
    return any(
        inner <= outer and len({w for i, w in weights if i in inner}) > 1
        for inner, outer, weights in ((one, two, b), (two, one, a))
    )


def classes_of(sets: Iterable[Weighted]) -> list[list[Weighted]]:
    left, found = list(sets), []
    while left:
        component = [left.pop()]
        for member in component:  # grows while it is read
            near = [s for s in left if joined(member, s)]
            component += near
            left = [s for s in left if s not in near]
        found.append(component)
    return found


def cells_of(sets: list[Weighted]) -> set[frozenset[int]]:
    """The parts into which the sets cut their union, by membership and weight."""
    tables = [dict(s) for s in sets]
    cells: dict[tuple[float, ...], set[int]] = {}
    for i in frozenset().union(*map(members, sets)):
        cells.setdefault(tuple(table.get(i, 0.0) for table in tables), set()).add(i)
    return {frozenset(cell) for cell in cells.values()}


def check(structure: Structure, counts: ConditionalCounts) -> None:
    tree, family = structure.tree, expanded(counts)
    assert tree.parent[0] == -1
    assert (tree.parent[1:] < np.arange(1, len(tree.parent))).all()
    inside: list[set[int]] = [set() for _ in tree.parent]
    for category, module in enumerate(tree.holder.tolist()):
        while module >= 0:
            inside[module].add(category)
            module = int(tree.parent[module])
    assert inside[0] == set(range(counts.n_categories))
    assert all(inside)

    classes = classes_of(family)
    alone = [c[0] for c in classes if len(c) == 1 and not is_weighted(c[0])]
    own = [frozenset(m) for t, m in zip(tree.set.tolist(), inside, strict=True) if t >= 0]
    assert sorted(map(sorted, own)) == sorted(sorted(members(s)) for s in alone)
    for t, m in zip(tree.set.tolist(), inside, strict=True):
        assert t < 0 or m == set(counts.sets.set_members(t).tolist())

    left = {frozenset(c): c for c in classes if c[0] not in alone or len(c) > 1}
    for q, core in enumerate(structure.cores):
        cells = [frozenset(inside[m]) for m in core.cells.tolist()]
        assert (tree.core[core.cells] == q).all()
        assert (tree.parent[core.cells] == core.union).all()
        rebuilt = {}
        for t, exponent in enumerate(core.sets.exponent.tolist()):
            numbers, weights = core.sets.set_members(t), np.ones(core.n_atoms)
            if core.sets.weighted[t]:
                weights[core.sets.listed(t)] = core.sets.listed_weights(t)
            spelled = {(i, float(weights[k])) for k in numbers.tolist() for i in cells[k]}
            rebuilt[frozenset(spelled)] = exponent
        assert len(rebuilt) == core.n_sets
        mine = left.pop(frozenset(rebuilt))
        assert rebuilt == {s: family[s] for s in mine}
        assert set(cells) == cells_of(mine)
        assert len(set(cells)) == len(cells)
        assert inside[core.union] == set().union(*map(members, mine))
        check_modules(cells, [dict(s) for s in family])
    assert left == {}


def check_modules(groups: list[frozenset[int]], sets: list[dict[int, float]]) -> None:
    """Every set lies inside a module, misses it, or contains it with equal weights."""
    for group in groups:
        for weights in sets:
            apart, within = not group & set(weights), set(weights) <= group
            contains = group <= set(weights) and len({weights[i] for i in group}) == 1
            assert apart or within or contains


@st.composite
def families(draw: st.DrawFn) -> ConditionalCounts:
    """Stretches of a common order, which nest, miss and overlap; some with weights on levels."""
    n = draw(st.integers(2, 12))
    order = draw(st.permutations(range(n)))
    counts = ConditionalCounts(n)
    seen: list[list[int]] = []
    for _ in range(draw(st.integers(1, 8))):
        i, j = sorted((draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))))
        stretch = list(order[i : j + 1])
        if seen and draw(st.integers(0, 3)) == 0:
            stretch = draw(st.sampled_from(seen))
        seen.append(stretch)
        kind = draw(st.sampled_from(["plain", "all but", "ranking", "halves", "levels", "group"]))
        if kind == "plain":
            counts = counts.observe({stretch[0]: draw(st.integers(1, 3))}, within=stretch)
        elif kind == "all but":
            others = [k for k in range(n) if k not in stretch] or stretch
            counts = counts.observe({others[0]: 1}, within=others)
        elif kind == "ranking":
            counts = counts.observe_ranking(stretch)
        else:
            cut = draw(st.integers(0, len(stretch)))
            weights = {k: 1.0 if place < cut else 0.5 for place, k in enumerate(stretch)}
            if kind == "levels":
                levels = st.sampled_from([1.0, 0.5, 0.25])
                weights = {k: draw(levels) for k in stretch}
            if kind == "group":
                counts = counts.observe_group(weights, 1)
            else:
                counts = counts.observe({stretch[0]: 1}, within=weights)
    return counts


@settings(max_examples=400, deadline=None, derandomize=True)
@given(families())
def test_modules_equal_brute_force(counts: ConditionalCounts) -> None:
    check(Posterior(counts).structure, counts)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(families())
def test_atoms_lie_in_the_same_sets_with_the_same_weights(counts: ConditionalCounts) -> None:
    tables = [dict(s) for s in expanded(counts)]
    kinds = {tuple(table.get(i, 0.0) for table in tables) for i in range(counts.n_categories)}
    assert Posterior(counts).structure.n_atoms == len(kinds)


def test_a_weighted_set_alone_is_a_core_over_its_levels() -> None:
    counts = ConditionalCounts(7).observe({0: 2, 3: 1}, within={0: 1, 1: 1, 2: 0.5, 3: 0.5, 4: 0.2})
    (core,) = Posterior(counts).structure.cores
    assert (core.n_atoms, core.n_sets) == (3, 1)
    assert sorted(core.sets.listed_weights(0).tolist()) == [0.2, 0.5, 1.0]


def test_sets_inside_a_level_and_around_stay_exact() -> None:
    weights = {0: 1, 1: 1, 2: 1, 3: 0.5}
    counts = ConditionalCounts(6).observe({0: 1}, within=weights).observe({1: 1}, within=[0, 1])
    counts = counts.observe({4: 1}, within=[0, 1, 2, 3, 4]).observe({0: 2}, within=[0, 1, 2, 3])
    check(Posterior(counts).structure, counts)
    assert [core.n_sets for core in Posterior(counts).structure.cores] == [1]
    across = counts.observe({2: 1}, within=[2, 3])
    assert [core.n_sets for core in Posterior(across).structure.cores] == [2]


def test_without_comparisons_cores_are_larger_and_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a bound, sets that contain a weighted one are taken to overlap it."""
    counts = ConditionalCounts(9).observe({0: 1}, within={0: 1, 1: 0.5})
    counts = counts.observe({2: 1}, within=range(4))
    (small,) = find_structure(counts.sets, compiled=False).cores
    assert small.n_sets == 1
    monkeypatch.setattr(modules, "MOST_SHARED", 0)
    structure = find_structure(counts.sets, compiled=False)
    (core,) = structure.cores
    assert core.n_sets == 2
    assert structure.tree.holder.shape == (9,)
