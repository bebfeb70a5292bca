"""Atoms, cores and the module tree against a comparison of every set with every other."""

import itertools
import re
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lib.fragments import cells, drawn, faults
from lib.oracles import Family, Set, brute_structure, cells_of, overlap

from luce import ConditionalCounts, Posterior
from luce.counts.canonical import canonical
from luce.counts.family import fields, single_sets
from luce.model.structure import Structure, find_structure, structure_of
from luce.paper.examples import paper_posterior

Sizes = tuple[int, list[tuple[int, int]]]


def expanded(counts: ConditionalCounts) -> Family:
    family = counts.sets
    listed = [frozenset(family.set_members(t).tolist()) for t in range(family.n_sets)]
    return dict(zip(listed, family.exponent.tolist(), strict=True))


def found_sizes(counts: ConditionalCounts) -> Sizes:
    structure = Posterior(counts).structure
    return structure.n_atoms, sorted((c.n_atoms, c.n_sets) for c in structure.cores)


def true_sizes(counts: ConditionalCounts) -> Sizes:
    truth = brute_structure(counts.n_categories, expanded(counts))
    return truth.n_atoms, truth.sizes


def check(counts: ConditionalCounts) -> None:
    """Everything that the structure says, against brute force."""
    family = expanded(counts)
    truth = brute_structure(counts.n_categories, family)
    structure = Posterior(counts).structure
    assert structure.n_atoms == truth.n_atoms
    assert sorted((c.n_atoms, c.n_sets) for c in structure.cores) == truth.sizes
    assert structure.is_exact == (not truth.sizes)
    check_tree(structure, counts, truth.classes, family)


def check_tree(
    structure: Structure, counts: ConditionalCounts, classes: list[list[Set]], family: Family
) -> None:
    tree = structure.tree
    assert tree.parent[0] == -1
    assert (tree.parent[1:] < np.arange(1, len(tree.parent))).all()  # parents come first
    inside: list[set[int]] = [set() for _ in tree.parent]
    for category, module in enumerate(tree.holder.tolist()):
        while module >= 0:
            inside[module].add(category)
            module = int(tree.parent[module])
    assert inside[0] == set(range(counts.n_categories))

    # A class of one set is a module that names that set.
    alone = [c[0] for c in classes if len(c) == 1]
    own = {t: frozenset(m) for t, m in zip(tree.set.tolist(), inside, strict=True) if t >= 0}
    assert Counter(own.values()) == Counter(alone)
    for t, members in own.items():
        assert members == frozenset(counts.sets.set_members(t).tolist())

    # A larger class is a core: its cells, its union, and its sets with their exponents.
    left = {frozenset(c): c for c in classes if len(c) > 1}
    for q, core in enumerate(structure.cores):
        cells = [frozenset(inside[m]) for m in core.cells.tolist()]
        assert (tree.core[core.cells] == q).all()
        assert (tree.parent[core.cells] == core.union).all()
        rebuilt = {
            frozenset().union(*(cells[k] for k in core.sets.set_members(t).tolist())): e
            for t, e in enumerate(core.sets.exponent.tolist())
        }
        assert len(rebuilt) == core.n_sets
        mine = left.pop(frozenset(rebuilt))
        assert rebuilt == {s: family[s] for s in mine}
        assert len(cells) == len(set(cells))
        assert set(cells) == cells_of(mine)
        assert inside[core.union] == set().union(*mine)
    assert left == {}


# -- random families ----------------------------------------------------------------------------


def observe_set(counts: ConditionalCounts, members: list[int], weight: int) -> ConditionalCounts:
    """Weight > 0: outcomes given the set; weight < 0: grouped outcomes in it."""
    if weight < 0:
        return counts.observe_group(members, -weight)
    return counts.observe({members[0]: weight}, within=members)


@st.composite
def families(draw: st.DrawFn) -> ConditionalCounts:
    """Small sets, all-but sets, stretches of a common order, chains, and variants of these.

    Stretches nest, miss and overlap each other about equally often; sets drawn at random from
    many categories would nearly all overlap.
    """
    n = draw(st.integers(1, 14))
    order = draw(st.permutations(range(n)))
    counts = ConditionalCounts(n)
    seen: list[list[int]] = []
    place = st.integers(0, n - 1)
    for _ in range(draw(st.integers(0, 9))):
        kind = draw(st.sampled_from(["small", "all but", "stretch", "chain", "again", "join"]))
        i, j = draw(place), draw(place)
        stretch = list(order[min(i, j) : max(i, j) + 1])
        weight = draw(st.integers(-2, 3))
        if kind == "small" or (kind in ("again", "join") and not seen):
            members = sorted({order[i], order[j], draw(place)})
        elif kind == "all but":
            left_out = {order[i], draw(place)}
            members = [k for k in range(n) if k not in left_out] or [i]
        elif kind == "stretch":
            members = stretch
        elif kind == "chain":
            counts = counts.observe_ranking(stretch, abs(weight))
            seen += [stretch[k:] for k in range(len(stretch))]
            continue
        elif kind == "again":  # the same set, or all others, perhaps cancelling it
            members = draw(st.sampled_from(seen))
            if draw(st.booleans()):
                members = [k for k in range(n) if k not in members] or members
        else:
            members = sorted({*draw(st.sampled_from(seen)), *draw(st.sampled_from(seen))})
        counts = observe_set(counts, members, weight)
        seen.append(members)
    return counts


@settings(max_examples=500, deadline=None, derandomize=True)
@given(families())
def test_structure_equals_brute_force(counts: ConditionalCounts) -> None:
    check(counts)


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(families())
def test_structure_of_many_more_equals_brute_force(counts: ConditionalCounts) -> None:
    check(counts)


def random_family(rng: np.random.Generator, most: int) -> ConditionalCounts:
    """Rankings, small sets and all-but sets, mostly inside blocks, so that several cores arise."""
    n = int(rng.integers(2, most + 1))
    order = rng.permutation(n)
    n_blocks = int(rng.integers(1, max(2, n // 3)))
    cuts = np.sort(rng.integers(0, n + 1, n_blocks - 1))
    blocks = [b for b in np.split(order, cuts) if len(b) > 1] + [order]
    counts = ConditionalCounts(n)
    for _ in range(int(most ** rng.random())):  # few terms as often as many
        block = blocks[int(rng.integers(len(blocks)))]
        block = rng.permutation(block) if rng.random() < 0.5 else block
        size = int(rng.integers(1, len(block) + 1))
        if rng.random() < 0.6:
            size = min(size, 4)
        members = block[:size].tolist() if rng.random() < 0.6 else block[-size:].tolist()
        kind = rng.random()
        if kind < 0.4:
            counts = counts.observe_ranking(members, int(rng.integers(1, 4)))
        elif kind < 0.5:
            others = [i for i in range(n) if i not in members]
            if others:
                counts = counts.observe({others[0]: int(rng.integers(1, 4))}, without=members)
        else:
            counts = observe_set(counts, members, int(rng.integers(-2, 4)))
    return counts


@pytest.mark.slow
def test_structure_of_larger_families_equals_brute_force() -> None:
    rng = np.random.default_rng(7)
    cores: Counter[int] = Counter()
    for _ in range(500):
        counts = random_family(rng, 60)
        check(counts)
        cores[min(3, len(Posterior(counts).structure.cores))] += 1
    # No core, one, two, and more: each kind was met often enough to mean something.
    assert min(cores[k] for k in range(4)) >= 10, cores


def equally_large_sets(rng: np.random.Generator) -> ConditionalCounts:
    """Pairs, sets of k, or all but k; few or many of them."""
    n = int(rng.integers(4, 40))
    size = 2 if rng.random() < 0.4 else int(rng.integers(1, n // 2))
    number = int(rng.integers(1, n))
    sets = [rng.choice(n, size, replace=False) for _ in range(number)]
    excluded = rng.random() < 0.3
    family = single_sets(n, sets, [excluded] * number, [-1.0] * number)
    return ConditionalCounts.from_nests(n, np.full(n, float(number)), family)


def test_structure_of_equally_large_sets_equals_brute_force() -> None:
    rng = np.random.default_rng(12)
    cores: Counter[int] = Counter()
    for _ in range(200):
        counts = equally_large_sets(rng)
        check(counts)
        cores[min(2, len(Posterior(counts).structure.cores))] += 1
    assert min(cores[k] for k in range(3)) >= 10, cores


def arrays_of(structure: Structure) -> list[np.ndarray]:
    cores = [(*fields(c.sets), c.cells, c.union) for c in structure.cores]
    return [np.asarray(a) for a in (structure.n_atoms, *structure.tree, *itertools.chain(*cores))]


@pytest.mark.compiled
def test_plain_python_finds_what_compiled_code_finds() -> None:
    """Every array is the same, of the same type: numbers of modules, order of cells, sets."""
    rng = np.random.default_rng(13)
    made = [random_family(rng, most) for most in (8, 30, 80) for _ in range(150)]
    made += [equally_large_sets(rng) for _ in range(100)] + [ConditionalCounts(1)]
    for counts in made:
        plain, compiled = (arrays_of(find_structure(counts.sets, c)) for c in (False, True))
        assert [a.dtype for a in plain] == [a.dtype for a in compiled]
        assert all(map(np.array_equal, plain, compiled))


def test_another_order_of_categories_is_found_out() -> None:
    """The comparison has power: with the categories in reverse order some array is another."""
    rng = np.random.default_rng(14)
    differ = 0
    for _ in range(100):
        counts = random_family(rng, 14)
        nests = [counts.sets.renumbered(np.arange(counts.n_categories)[::-1], counts.n_categories)]
        other, _ = canonical(counts.n_categories, nests)
        mine, others = (arrays_of(find_structure(f, False)) for f in (counts.sets, other))
        differ += not all(map(np.array_equal, mine, others))
    assert differ >= 50


def meet(a: Set, b: Set) -> bool:
    return bool(a & b)


def nest(a: Set, b: Set) -> bool:
    return a <= b or b <= a


@pytest.mark.parametrize("joined", [meet, nest, lambda a, b: False, lambda a, b: True])
def test_a_wrong_oracle_is_found_out(joined: Callable[[Set, Set], bool]) -> None:
    """The comparison has power: another notion of overlap disagrees with what luce finds."""
    rng = np.random.default_rng(8)
    wrong = 0
    for _ in range(100):
        counts = random_family(rng, 14)
        other = brute_structure(counts.n_categories, expanded(counts), joined).sizes
        wrong += other != found_sizes(counts)[1]
    # What is wrong on one family in ten escapes 500 of them with probability 0.9^500 < 1e-22.
    assert wrong >= 10


def test_an_oracle_that_forgets_a_set_is_found_out() -> None:
    rng = np.random.default_rng(9)
    wrong = families_seen = 0
    while families_seen < 100:
        counts = random_family(rng, 14)
        family = expanded(counts)
        if not family:
            continue
        families_seen += 1
        truth = brute_structure(counts.n_categories, list(family)[1:])
        wrong += (truth.n_atoms, truth.sizes) != found_sizes(counts)
    assert wrong >= 10


# -- families with a name -------------------------------------------------------------------------


@pytest.mark.parametrize("n", [10, 20])
def test_the_papers_problem(n: int) -> None:
    structure = paper_posterior(n).structure
    half = n // 2
    assert structure.n_atoms == half + 1
    assert [(c.n_atoms, c.n_sets) for c in structure.cores] == [(half + 1, half)]
    assert not structure.is_exact
    check(paper_posterior(n).counts)


def test_one_ranking_is_exact() -> None:
    counts = ConditionalCounts(7).observe_ranking([3, 0, 6, 1, 5])
    structure = Posterior(counts).structure
    # Who took part, place by place (the last two are one atom), and who did not.
    assert (structure.is_exact, structure.n_atoms) == (True, 5)
    check(counts)


def test_nested_menus_are_exact() -> None:
    menus = [["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d", "e"]]
    counts = ConditionalCounts("abcdefg")
    for k, menu in enumerate(menus):
        counts = counts.observe({menu[-1]: 1 + k}, within=menu)
    assert found_sizes(counts) == (4, [])
    check(counts)


def test_disjoint_groups_are_exact() -> None:
    counts = ConditionalCounts("abcdefg").observe_group("ab", 2).observe_group("cde", 5)
    assert found_sizes(counts) == (3, [])
    check(counts)


def test_no_data_and_one_category_are_exact() -> None:
    assert found_sizes(ConditionalCounts(5)) == (1, [])
    assert found_sizes(ConditionalCounts(1).observe({0: 3})) == (1, [])
    check(ConditionalCounts(1))


def test_two_leagues_held_by_one_set_stay_two_cores() -> None:
    # Everybody once met everybody: a set that holds both leagues, but overlaps no pair.
    east, west = "abcd", "wxyz"
    counts = ConditionalCounts(east + west + "?").observe({"a": 1, "z": 2}, within=east + west)
    for league in (east, west):
        for i, j in itertools.pairwise(league):
            counts = counts.observe({i: 2, j: 1}, within=[i, j])
    # Each league is a path of 4 teams and 3 games; merging them would give one core (8, 6).
    assert found_sizes(counts) == (9, [(4, 3), (4, 3)])
    check(counts)


def test_two_leagues_joined_by_one_game_are_one_core() -> None:
    counts = ConditionalCounts("abcwxyz")
    for i, j in ["ab", "bc", "wx", "xy", "yz", "cw"]:
        counts = counts.observe({i: 1}, within=[i, j])
    assert found_sizes(counts) == (7, [(7, 6)])
    check(counts)


def test_a_core_inside_a_cell_of_another_core() -> None:
    # {a,b,c,d} and {c,d,...}: the inner triangle lies in one cell of the outer pair.
    counts = ConditionalCounts("abcdefgh")
    for members in ["abcde", "defgh", "ab", "bc", "fgh"]:
        counts = counts.observe({members[0]: 1}, within=members)
    # Outer: {abcde, defgh} has cells abc, de, fgh.  Inner: {ab, bc} has cells a, b, c.
    assert found_sizes(counts) == (5, [(3, 2), (3, 2)])
    check(counts)


def test_cores_within_cores_need_more_modules_than_sets_and_categories() -> None:
    # 1 root, the outer union and its cells 0, 2, 134; the set 134; an inner union and its
    # cells 1, 3, 4: that makes 10 modules, of 5 categories and 3 classes.
    counts = ConditionalCounts(5)
    for members in [[0, 1, 3, 4], [1, 2, 3, 4], [1, 3, 4], [3, 4], [1, 3]]:
        counts = counts.observe({members[0]: 1}, within=members)
    structure = Posterior(counts).structure
    assert sorted((c.n_atoms, c.n_sets) for c in structure.cores) == [(3, 2), (3, 2)]
    assert len(structure.tree.parent) == 10
    check(counts)


def test_complements_overlap_only_if_they_meet() -> None:
    # All but one: with 3 categories two such sets meet in one, with 2 they are singletons.
    counts = ConditionalCounts(3).observe({1: 1}, without=[0]).observe({0: 1}, without=[1])
    assert found_sizes(counts) == (3, [(3, 2)])
    halves = ConditionalCounts(4).observe({0: 1}, within=[0, 1]).observe({2: 1}, without=[0, 1])
    assert found_sizes(halves) == (2, [])


def test_a_cancelled_set_no_longer_joins_a_core() -> None:
    counts = ConditionalCounts("abcd").observe({"a": 1}, within="ab").observe({"b": 1}, within="bc")
    assert found_sizes(counts) == (4, [(3, 2)])
    cancelled = counts.observe_group("bc", 1)
    assert found_sizes(cancelled) == (2, [])


def test_an_empty_ranking_changes_nothing() -> None:
    counts = ConditionalCounts(4).observe({0: 1}, within=[0, 1]).observe_ranking([])
    assert found_sizes(counts) == (2, [])


def test_many_categories_in_few_atoms() -> None:
    n = 1_000_000
    counts = ConditionalCounts(n).observe({5: 1}, without=[0, 1]).observe({0: 1}, without=[1, 2])
    structure = Posterior(counts).structure
    # 0; 1; 2; everybody else: 1 is in neither set, so the core has three cells.
    assert structure.n_atoms == 4
    assert [(c.n_atoms, c.n_sets) for c in structure.cores] == [(3, 2)]


def test_labels_and_order_do_not_matter() -> None:
    rng = np.random.default_rng(10)
    for _ in range(50):
        counts = random_family(rng, 12)
        shuffled = rng.permutation(counts.n_categories).tolist()
        assert found_sizes(ConditionalCounts(shuffled) + counts) == found_sizes(counts)


def test_said_in_a_sentence() -> None:
    exact = Posterior(ConditionalCounts("abc").observe({"b": 2}, without="a")).structure
    assert repr(exact) == "3 categories: the sets nest, so every draw is exact and independent."
    assert exact.details == "3 categories in 2 atoms, no core"
    paper = paper_posterior(10).structure
    assert repr(paper) == (
        "10 categories: 5 sets overlap among 6 groups of categories, which are simulated together; "
        "the rest is exact."
    )
    assert paper.details == "10 categories in 6 atoms, 1 core (6 atoms and 5 sets)"
    assert repr(Posterior(ConditionalCounts(1)).structure).startswith("1 category: the sets nest")
    path = ConditionalCounts(3).observe({0: 1}, within=[0, 1]).observe({1: 1}, within=[1, 2])
    assert repr(Posterior(path).structure) == (
        "3 categories: 2 sets overlap among all of them, which are simulated together."
    )


def test_several_places_are_named_apart() -> None:
    two = ConditionalCounts("abcdefgh")
    for members in ["ab", "bc", "ef", "fg", "gh"]:
        two = two.observe({members[0]: 1}, within=members)
    structure = Posterior(two).structure
    places = re.search(r"overlap in 2 places \((.*)\), which", repr(structure))
    assert places is not None
    assert sorted(places[1].split("; ")) == [
        "2 sets among 3 categories",
        "3 sets among 4 categories",
    ]
    assert "2 cores (" in structure.details
    assert "3 atoms and 2 sets" in structure.details
    assert "place 1: " in str(structure)
    assert "place 2: " in str(structure)


def test_the_oracle_itself() -> None:
    """Two families worked out by hand."""
    sets = [frozenset(s) for s in ([0, 1], [1, 2], [0, 1, 2], [4, 5])]
    truth = brute_structure(7, sets)
    assert truth.n_atoms == 5  # 0; 1; 2; 3 and 6; 4 and 5
    assert truth.sizes == [(3, 2)]
    assert sorted(map(len, truth.classes)) == [1, 1, 2]
    assert not overlap(sets[0], sets[2])
    assert overlap(sets[0], sets[1])
    assert cells_of(sets[:2]) == {frozenset([0]), frozenset([1]), frozenset([2])}


def test_overlaps_of_many_large_sets() -> None:
    """Forty sets lack 0, one more and more than the other; those that come between may not."""
    n = 100
    counts = ConditionalCounts(n)
    for k in range(1, 41):
        counts = counts.observe({n - 1: 1}, without=range(k))
    check(counts)
    for lacking in ([50, 51], list(range(41, 79)), list(range(41, 85)), [97]):
        counts = counts.observe({n - 1: 1}, without=lacking)
        check(counts)


# -- in a notebook ----------------------------------------------------------------------


def test_places_are_drawn_in_a_notebook() -> None:
    counts = ConditionalCounts("abcdefgh").observe({"a": 1, "b": 1}, within="abc")
    counts = counts.observe({"c": 1, "d": 1}, within="cde")
    html = structure_of(counts.sets)._repr_html_()
    assert faults(html) == []
    whole, part = (float(bar.attrib["width"]) for bar in drawn(html, "rect"))
    assert part / whole == pytest.approx(5 / 8, abs=1e-3)
    assert cells(html)[1][:4] == ["1", "2 sets", "3 groups of categories", "62.5 %"]
    exact = structure_of(ConditionalCounts("ab").sets)
    assert exact._repr_html_() == f"<p>{exact!r}</p>"


def test_many_places_are_counted_in_a_notebook() -> None:
    counts = ConditionalCounts(100)
    for i in range(0, 100, 4):
        counts = counts.observe({i: 1, i + 1: 1}, within=[i, i + 1])
        counts = counts.observe({i + 1: 1, i + 2: 1}, within=[i + 1, i + 2])
    html = structure_of(counts.sets)._repr_html_()
    assert faults(html) == []
    assert html.count("<tr>") == 21
    assert "... and 5 more places" in html
