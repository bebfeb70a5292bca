"""The algebra of counts, against brute force."""

import itertools
import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lib.oracles import Family, canonical_form

import luce
from luce import ConditionalCounts, Posterior
from luce.counts.family import single_sets
from luce.errors import DataError

Terms = list[tuple[tuple[int, ...], float]]


def expanded(counts: ConditionalCounts) -> Family:
    """The sets with their exponents, spelled out; fails if a set is listed twice."""
    family = counts.sets
    listed = [frozenset(family.set_members(t).tolist()) for t in range(family.n_sets)]
    assert len(set(listed)) == len(listed)
    return dict(zip(listed, family.exponent.tolist(), strict=True))


def some_counts() -> ConditionalCounts:
    return ConditionalCounts("abcd").observe({"a": 2, "c": 0.5}, without="d")


# Each case: the categories given, and words that the message must contain.
REFUSED_CATEGORIES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "none": (0, ("0", "at least 1")),
    "negative number": (-3, ("-3", "at least 1")),
    "empty list": ([], ("no categories", "at least 1")),
    "empty range": (range(0), ("no categories", "at least 1")),
    "duplicate": (["x", "y", "x"], ("'x'", "twice", "different")),
    "equal labels": ([1, "y", 1.0], ("1.0", "twice", "different")),
    "unhashable": (["x", ["y"]], ("['y']", "hashable")),
    "NaN label": (["x", float("nan")], ("nan", "equal itself")),
    "fraction": (2.5, ("2.5", "float", "number")),
    "yes": (True, ("True", "bool", "number")),
    "nothing": (None, ("None", "list of labels")),
}


@pytest.mark.parametrize("case", REFUSED_CATEGORIES)
def test_bad_categories_are_refused(case: str) -> None:
    given, said = REFUSED_CATEGORIES[case]
    with pytest.raises(DataError) as caught:
        ConditionalCounts(given)
    assert [s for s in said if s not in str(caught.value)] == []


def test_only_counts_can_be_added() -> None:
    with pytest.raises(TypeError):
        some_counts() + {"a": 1}  # type: ignore[operator]


def test_from_nests_checks_shapes() -> None:
    family = some_counts().sets
    with pytest.raises(DataError, match="3 categories, but nests over 4 and 4"):
        ConditionalCounts.from_nests(3, np.zeros(4), family)


# -- labels and data that are allowed ----------------------------------------------------------


def test_one_category() -> None:
    counts = ConditionalCounts(["only"]).observe({"only": 3}).observe({"only": 1}, within=["only"])
    assert (counts.n_categories, len(counts)) == (1, 0)
    assert counts.sets.n_sets == 0
    assert counts.observe_ranking(["only"]).n_categories == 1


def test_no_data() -> None:
    counts = ConditionalCounts(3)
    assert counts.category_counts.tolist() == [0.0, 0.0, 0.0]
    assert len(counts) == 0
    assert counts == ConditionalCounts(range(3)) == ConditionalCounts([0, 1, 2])


def test_zero_counts_and_categories_never_seen() -> None:
    counts = ConditionalCounts("abc").observe({"a": 0}, within="ab").observe_group("bc", 0)
    assert counts == ConditionalCounts("abc")
    assert ConditionalCounts("abc").observe({}, within="ab") == ConditionalCounts("abc")
    seen = ConditionalCounts("abc").observe({"b": 2}, without="a")
    assert seen.category_counts.tolist() == [0.0, 2.0, 0.0]


def test_empty_ranking_adds_nothing() -> None:
    before = ConditionalCounts(4).observe({0: 1}, within=[0, 1])
    after = before.observe_ranking([])
    assert after == before
    assert after.sets.n_nests == 1


def test_huge_counts_are_kept_exactly() -> None:
    counts = ConditionalCounts("abc").observe({"a": 10**15, "b": 1}, within="ab")
    assert counts.category_counts.tolist() == [1e15, 1.0, 0.0]
    assert expanded(counts) == {frozenset([0, 1]): -(1e15 + 1)}


def test_labels_of_any_hashable_kind() -> None:
    labels = [("t", 1), frozenset({2, 3}), None, 7, "seven", -1.5]
    counts = ConditionalCounts(labels).observe({None: 2, ("t", 1): 1}, within=labels[:3])
    assert counts.categories == tuple(labels)
    assert counts.category_counts.tolist() == [1.0, 0.0, 2.0, 0.0, 0.0, 0.0]
    assert expanded(counts) == {frozenset([0, 1, 2]): -3.0}
    # A tuple that is a category stands for itself, not for a set.
    again = ConditionalCounts.from_exponents(labels, {("t", 1): 2, (("t", 1), None): -1})
    assert again.category_counts.tolist() == [2.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_nothing_is_no_label_beside_texts() -> None:
    """Draws labelled by xarray turn None into NaN."""
    with pytest.raises(DataError, match="None cannot be a label"):
        ConditionalCounts([None, "a"])


def test_integer_and_string_categories() -> None:
    assert list(ConditionalCounts(3).categories) == [0, 1, 2]
    assert ConditionalCounts(np.int64(3)) == ConditionalCounts(3)
    assert ConditionalCounts("xyz").categories == ("x", "y", "z")
    counts = ConditionalCounts("xyz").observe({"x": 1}, within="xz")
    assert expanded(counts) == {frozenset([0, 2]): -1.0}


def test_sets_may_be_any_iterable() -> None:
    by_list = ConditionalCounts("abcd").observe({"a": 1}, within=["a", "b"])
    assert by_list == ConditionalCounts("abcd").observe({"a": 1}, within=iter("ba"))
    assert by_list == ConditionalCounts("abcd").observe({"a": 1}, within={"a": 1, "b": 1})


# -- the algebra ------------------------------------------------------------------------------


def test_equal_sets_merge_however_they_are_named() -> None:
    counts = (
        ConditionalCounts("abcd")
        .observe({"a": 2}, within="abc")
        .observe({"b": 0.5}, without="d")
        .observe({"c": 1}, within="cba")
    )
    assert expanded(counts) == {frozenset([0, 1, 2]): -3.5}
    assert len(counts) == 1


def test_singletons_fold_and_full_sets_drop() -> None:
    sure = ConditionalCounts("abc").observe({"b": 4}, within="b")
    assert sure == ConditionalCounts("abc")  # it could be nothing else: no information
    one = ConditionalCounts("abc").observe_group("b", 4)
    assert one == ConditionalCounts("abc").observe({"b": 4})
    everyone = ConditionalCounts("abc").observe_group("abc", 4)
    assert everyone == ConditionalCounts("abc")
    assert ConditionalCounts("abc").observe({"c": 2}, within="cab").sets.n_sets == 0


def test_a_group_cancels_a_condition_on_itself() -> None:
    counts = ConditionalCounts("abcd").observe_group("ab", 3).observe({"a": 3}, within="ab")
    assert counts == ConditionalCounts("abcd").observe({"a": 3})


def test_rounding_does_not_leave_a_set_behind() -> None:
    assert 0.1 + 0.2 - 0.3 != 0  # otherwise this would test nothing
    twice = ConditionalCounts("abc").observe({"a": 0.1}, within="ab")
    twice = twice.observe({"b": 0.2}, without="c")
    group = ConditionalCounts.from_exponents("abc", {("a", "b"): 0.3, "a": 0.7, "b": 0.5})
    assert expanded(twice + group) == {}
    # What is small but not rounding stays.
    more = twice.observe({"a": 1e-9}, within="ab") + group
    assert expanded(more)[frozenset([0, 1])] == pytest.approx(-1e-9, rel=1e-6)


def test_rounding_does_not_leave_a_negative_category_behind() -> None:
    # A category conditioned on itself: 0.1 + 0.2 outcomes, 0.3 of them certain.
    counts = ConditionalCounts("ab").observe({"a": 0.1}, within="a").observe({"a": 0.2}, within="a")
    assert counts.category_counts.tolist() == [0.0, 0.0]


def test_addition_is_commutative_and_associative() -> None:
    a = ConditionalCounts("abcd").observe({"a": 2}, within="ab")
    b = ConditionalCounts("abcd").observe_ranking("dca", 1.5)
    c = ConditionalCounts("abcd").observe_group("ab", 3, without="d")
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert (a + b).digest == (b + a).digest
    assert a + ConditionalCounts("abcd") == a
    assert a + b != a + c


def test_addition_follows_labels_not_positions() -> None:
    a = ConditionalCounts("abcd").observe({"b": 2}, within="ab")
    b = ConditionalCounts("dbca").observe({"c": 1, "a": 5}, within="cad").observe({"d": 3})
    total = a + b
    assert total.categories == tuple("abcd")
    assert total.category_counts.tolist() == [5.0, 2.0, 1.0, 3.0]
    assert expanded(total) == {frozenset([0, 1]): -2.0, frozenset([0, 2, 3]): -6.0}
    assert (b + a).categories == tuple("dbca")
    assert (b + a).category_counts.tolist() == [3.0, 2.0, 1.0, 5.0]


def entries(weights: Sequence[float]) -> list[tuple[str, float, dict[str, str]]]:
    return [
        ("a", weights[0], {"within": "ab"}),
        ("a", weights[1], {"without": "cd"}),
        ("c", weights[2], {"within": "dca"}),
        ("a", weights[2], {"without": "b"}),
    ]


@pytest.mark.parametrize("weights", [(1.0, 2.5, 4.0), (0.1, 0.2, 0.3)])
def test_order_of_observation_does_not_matter(weights: tuple[float, ...]) -> None:
    def enter(order: Sequence[tuple[str, float, dict[str, str]]]) -> ConditionalCounts:
        counts = ConditionalCounts("abcd")
        for label, weight, where in order:
            counts = counts.observe({label: weight}, **where)
        return counts

    first, *others = [enter(order) for order in itertools.permutations(entries(weights))]
    assert [c for c in others if c != first] == []
    assert {c.digest for c in others} == {first.digest}


def test_within_and_without_are_two_names_of_one_set() -> None:
    for within, without in [("ab", "cde"), ("abc", "de"), ("abcd", "e")]:
        one = ConditionalCounts("abcde").observe({"a": 2}, within=within)
        other = ConditionalCounts("abcde").observe({"a": 2}, without=without)
        assert one == other
        assert one.digest == other.digest
        assert len(one + other) == 1


def test_equal_labels_of_other_types_share_the_digest() -> None:
    plain = ConditionalCounts(3).observe({0: 1}, within=[0, 2])
    numpy_labels = ConditionalCounts(np.arange(3)).observe({0: 1}, within=[0, 2])
    assert plain == numpy_labels
    assert plain.digest == numpy_labels.digest


def test_different_data_differ() -> None:
    base = ConditionalCounts("abc").observe({"a": 1}, within="ab")
    others = [
        ConditionalCounts("abc").observe({"b": 1}, within="ab"),
        ConditionalCounts("abc").observe({"a": 1}, within="ac"),
        ConditionalCounts("abc").observe({"a": 2}, within="ab"),
        ConditionalCounts("abd").observe({"a": 1}, within="ab"),
        ConditionalCounts("bac").observe({"a": 1}, within="ab"),
        ConditionalCounts("abc"),
    ]
    assert [c for c in others if c == base] == []
    assert base.digest not in {c.digest for c in others}
    assert base != "abc"


def test_nothing_can_be_changed() -> None:
    counts = some_counts().observe_ranking("abcd")
    before = counts.digest
    arrays = [counts.category_counts]
    arrays += [v for v in vars(counts.sets).values() if isinstance(v, np.ndarray)]
    assert len(arrays) >= 7
    assert [a for a in arrays if a.flags.writeable] == []
    counts.observe({"a": 1})
    assert counts.digest == before


def test_inputs_are_not_changed_and_not_kept() -> None:
    labels, outcomes, within = ["a", "b", "c"], {"a": 1.0}, ["a", "b"]
    counts = ConditionalCounts(labels).observe(outcomes, within=within)
    assert (labels, outcomes, within) == (["a", "b", "c"], {"a": 1.0}, ["a", "b"])
    labels[0], outcomes["a"] = "z", 99.0
    within.append("c")
    assert counts == ConditionalCounts("abc").observe({"a": 1}, within="ab")


def test_from_nests_keeps_its_own_arrays() -> None:
    given = some_counts()
    exponent = given.sets.exponent.copy()
    family = replace(given.sets, exponent=exponent)
    kept = ConditionalCounts.from_nests("abcd", given.category_counts, family)
    exponent[:] = 77.0
    assert kept == given


# -- storage ----------------------------------------------------------------------------------


def ranking_in_a_loop(n: int, k: int) -> ConditionalCounts:
    counts = ConditionalCounts(n)
    for place in range(k - 1):
        counts = counts.observe({place: 1}, within=range(place, k))
    return counts


def test_a_ranking_costs_one_member_per_item() -> None:
    k = 60
    looped = ranking_in_a_loop(10 * k, k)
    # The last item is an outcome too, given itself alone: that says nothing.
    ranked = ConditionalCounts(10 * k).observe_ranking(range(k))
    assert looped == ranked
    assert len(looped.sets.members) == len(ranked.sets.members) == k
    assert (looped.sets.n_sets, looped.sets.n_nests) == (k - 1, 1)


def test_a_ranking_of_everybody_costs_one_member_per_item() -> None:
    n = 60
    for counts in (ranking_in_a_loop(n, n), ConditionalCounts(n).observe_ranking(range(n))):
        # n - 2 sets (all of them drops); those of more than n/2 are stored by who is out.
        assert counts.sets.n_sets == n - 2
        assert len(counts.sets.members) <= n


def test_all_but_one_sets_cost_one_member_each() -> None:
    n = 100
    counts = ConditionalCounts(n)
    for i in range(n):
        counts = counts.observe({(i + 1) % n: 1 + i}, without=[i])
    assert (counts.sets.n_sets, len(counts.sets.members)) == (n, n)
    inside = ConditionalCounts(n)
    for i in range(n):
        rest = [j for j in range(n) if j != i]
        inside = inside.observe({(i + 1) % n: 1 + i}, within=rest)
    assert inside == counts
    assert len(inside.sets.members) == n


def test_top_places_among_many_cost_the_places() -> None:
    n, k = 10_000, 8
    counts = ConditionalCounts(n)
    for place in range(k):
        counts = counts.observe({3 * place: 1}, without=range(0, 3 * place, 3))
    assert counts.sets.n_sets == k - 1
    assert len(counts.sets.members) == k - 1
    assert counts.sets.sizes.tolist() == [n - j for j in range(1, k)]


@pytest.mark.slow
def test_many_observations_in_a_loop() -> None:
    # 20,000 entries in a row: deep enough to find recursion where there should be none.
    counts = ConditionalCounts(50)
    for i in range(20_000):
        counts = counts.observe({i % 50: 1}, without=[(i + 1 + i // 50 % 49) % 50])
    assert counts.category_counts.tolist() == [400.0] * 50
    assert len(counts) == 50
    assert pickle.loads(pickle.dumps(counts)) == counts


# -- in words ---------------------------------------------------------------------------------


def test_repr_and_summary() -> None:
    counts = (
        ConditionalCounts(["ann", "bo", "cy", "di"])
        .observe({"bo": 2}, without=["ann"])
        .observe({"ann": 1}, within=["ann", "di"])
        .observe_group(["bo", "cy"], 5)
    )
    assert repr(counts) == "ConditionalCounts(4 categories, 8 outcomes, 3 sets)"
    # Heaviest first; the stored members are ann, ann and di, bo and cy.
    assert counts.summary().splitlines() == [
        "4 categories, 8 outcomes, 3 sets (5 stored members)",
        "  5 grouped outcomes in {bo, cy}",
        "  2 outcomes given all but {ann}",
        "  1 outcome given {ann, di}",
    ]
    assert counts.summary(most=1).splitlines()[1:] == [
        "  5 grouped outcomes in {bo, cy}",
        "  ... and 2 more",
    ]
    assert repr(ConditionalCounts(1)) == "ConditionalCounts(1 category, 0 outcomes, 0 sets)"


# -- random data ------------------------------------------------------------------------------

# Quarters add up without rounding, so that comparisons can be exact.
quarters = st.integers(0, 12).map(lambda k: k / 4)


@st.composite
def additions(draw: st.DrawFn, n: int) -> tuple[ConditionalCounts, Terms]:
    """Some data over 0..n-1, and the terms that it should amount to."""
    order = draw(st.permutations(range(n)))
    counts = ConditionalCounts(order)
    terms: Terms = []
    for _ in range(draw(st.integers(0, 6))):
        inside = draw(st.lists(st.sampled_from(order), min_size=1, max_size=n, unique=True))
        outside = [i for i in order if i not in inside]
        kind = draw(st.sampled_from(["observe", "group", "ranking", "top"]))
        named = {"without": outside} if draw(st.booleans()) else {"within": inside}
        if kind == "observe":
            seen = {i: draw(quarters) for i in inside[: draw(st.integers(0, n))]}
            counts = counts.observe(seen, **named)
            terms += [((i,), c) for i, c in seen.items()]
            terms.append((tuple(inside), -sum(seen.values())))
        elif kind == "group":
            members, times = inside[: draw(st.integers(1, n))], draw(st.integers(0, 3))
            counts = counts.observe_group(members, times, **named)
            terms += [(tuple(members), times), (tuple(inside), -times)]
        elif kind == "ranking":
            times = draw(quarters)
            counts = counts.observe_ranking(inside, times)
            for place, i in enumerate(inside):
                terms += [((i,), times), (tuple(inside[place:]), -times)]
        else:  # who came first, second, ... among all
            for place, i in enumerate(inside):
                counts = counts.observe({i: 1}, without=inside[:place])
                left = tuple(j for j in order if j not in inside[:place])
                terms += [((i,), 1), (left, -1)]
    return counts, terms


@st.composite
def data(draw: st.DrawFn) -> tuple[ConditionalCounts, int, Terms]:
    n = draw(st.integers(1, 7))
    total, terms = ConditionalCounts(n), Terms()
    for _ in range(draw(st.integers(1, 3))):
        more, added = draw(additions(n))
        total, terms = total + more, terms + added
    return total, n, terms


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data())
def test_random_data_is_the_brute_force_sum(case: tuple[ConditionalCounts, int, Terms]) -> None:
    counts, n, terms = case
    truth = canonical_form(n, terms)
    if n > 1:  # the count of an only category carries no information and may be kept
        assert counts.category_counts.tolist() == truth.counts
    assert expanded(counts) == truth.family
    sizes = counts.sets.sizes
    direct = ~counts.sets.complement[counts.sets.nest_of_set]
    assert (direct == (2 * sizes <= n)).all()  # every set is stored by its smaller side
    assert len(counts.sets.members) <= sum(min(s, n - s) for s in sizes.tolist())


def test_whole_counts_cancel_exactly_however_large() -> None:
    counts = ConditionalCounts("abc").observe({"a": 1e15}, within="a").observe({"a": 1000})
    assert counts.category_counts.tolist() == [1000.0, 0.0, 0.0]
    counts = ConditionalCounts("abc").observe({"a": 1e15 + 500}, within="ab")
    assert counts.observe_group("ab", 1e15).sets.exponent.tolist() == [-500.0]


def test_counts_that_overflow_together_are_refused() -> None:
    counts = ConditionalCounts(2).observe({0: 1e308})
    with pytest.raises(DataError, match="1e308"):
        counts.observe({0: 1e308})
    with pytest.raises(DataError, match="1e308"):
        ConditionalCounts(2).observe({0: 1e308, 1: 1e308})


def test_a_labelled_series_is_read_by_label() -> None:
    pandas = pytest.importorskip("pandas")
    counts = ConditionalCounts("abc").observe(pandas.Series({"c": 2, "a": 1}))
    assert counts.category_counts.tolist() == [1.0, 0.0, 2.0]
    prior = pandas.Series({"c": 1.0, "b": 2.0, "a": 3.0})
    assert Posterior(counts, prior).concentration.tolist() == [3.0, 2.0, 1.0]


def test_counts_of_a_label_that_an_index_repeats_add_up() -> None:
    pandas = pytest.importorskip("pandas")
    repeated = pandas.Series([1, 2, 4], index=["a", "a", "b"])
    counts = ConditionalCounts("ab").observe(repeated)
    assert counts == ConditionalCounts("ab").observe({"a": 3, "b": 4})
    assert counts.n_outcomes == 7
    with pytest.raises(DataError, match="1e308 together"):
        ConditionalCounts("ab").observe(pandas.Series([1e308, 1e308], index=["a", "a"]))


def test_a_prior_or_a_truth_names_each_label_once() -> None:
    pandas = pytest.importorskip("pandas")
    repeated = pandas.Series([0.1, 0.2, 0.4], index=["a", "a", "b"])
    counts = ConditionalCounts("ab")
    with pytest.raises(DataError, match="'a' appears twice in concentration"):
        Posterior(counts, repeated)
    with pytest.raises(DataError, match="'a' appears twice in base"):
        luce.DirichletProcess(1.0, base=repeated)
    with pytest.raises(DataError, match="'a' appears twice in probabilities"):
        luce.simulate.rankings(1, repeated, 5)
    draws = Posterior(ConditionalCounts("abc"), 1.0).sample(10, chains=1, seed=1)
    groups = pandas.Series([["a"], ["b"]], index=["g", "g"])
    with pytest.raises(DataError, match="'g' appears twice in groups"):
        luce.shares(draws, groups=groups)


def test_a_label_that_is_not_hashable_is_refused_in_words() -> None:
    class Labelled:
        def keys(self) -> list[object]:
            return [["a"]]

        def items(self) -> list[tuple[object, int]]:
            return [(["a"], 1)]

    with pytest.raises(DataError, match="labels must be hashable"):
        ConditionalCounts("ab").observe(Labelled())  # type: ignore[arg-type]


def test_sum_starts_from_nothing() -> None:
    counts = some_counts()
    assert sum([counts, counts]) == counts + counts


def test_later_additions_do_not_see_writes_to_the_given_arrays() -> None:
    family = single_sets(4, [np.array([0, 1])], [False], [-1.0])
    counts = ConditionalCounts.from_nests(4, np.array([1.0, 0, 0, 0]), family)
    digest, more = counts.digest, counts.observe({2: 1}).digest
    family.members[0] = 3
    assert counts.digest == digest
    assert counts.observe({2: 1}).digest == more


def test_pickled_counts_leave_their_structure_behind() -> None:
    counts = luce.ConditionalCounts(60)
    for i in range(59):
        counts = counts.observe({i: 2, i + 1: 1}, within=[i, i + 1])
    before = len(pickle.dumps(counts.sets))
    assert luce.Posterior(counts).structure.cores
    assert "structure" in counts.sets.memo
    assert len(pickle.dumps(counts.sets)) == before
    assert pickle.loads(pickle.dumps(counts)) == counts
