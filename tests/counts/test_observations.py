"""Observations: those that are refused, and those that are left after a restriction."""

import math
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luce import ConditionalCounts, from_pairs
from luce.counts.labels import Categories
from luce.counts.observations import Log, observed
from luce.errors import DataError

# Each case: an attempt, and words that the message must contain.
REFUSED_DATA: dict[str, tuple[Callable[[ConditionalCounts], Any], tuple[str, ...]]] = {
    "unknown outcome": (lambda c: c.observe({"x": 1}), ("'x'", "counts", "'a', 'b', 'c', 'd'")),
    "unknown in within": (lambda c: c.observe({"a": 1}, within="ax"), ("'x'", "within", "'d'")),
    "unknown in without": (lambda c: c.observe({"a": 1}, without="x"), ("'x'", "without", "'d'")),
    "unknown in group": (lambda c: c.observe_group("ax", 1), ("'x'", "members", "'d'")),
    "unknown in ranking": (lambda c: c.observe_ranking("abx"), ("'x'", "order", "'d'")),
    "unhashable outcome set": (lambda c: c.observe_group([["a"]], 1), ("['a']", "'d'")),
    "duplicate in within": (
        lambda c: c.observe({"a": 1}, within="aba"),
        ("'a'", "twice", "within"),
    ),
    "duplicate in without": (lambda c: c.observe({"a": 1}, without="bb"), ("'b'", "twice")),
    "duplicate in group": (lambda c: c.observe_group("cc", 1), ("'c'", "twice", "members")),
    "duplicate in ranking": (lambda c: c.observe_ranking("dad"), ("'d'", "twice", "order")),
    "empty within": (lambda c: c.observe({}, within=[]), ("within", "empty")),
    "everything excluded": (lambda c: c.observe({}, without="abcd"), ("without", "every")),
    "empty group": (lambda c: c.observe_group([], 1), ("members", "empty")),
    "outcome not in within": (lambda c: c.observe({"a": 1}, within="bc"), ("'a'", "within")),
    "outcome in without": (lambda c: c.observe({"a": 1}, without="ab"), ("'a'", "without")),
    "zero outcome outside": (lambda c: c.observe({"a": 0}, within="bc"), ("'a'", "within")),
    "group outside": (lambda c: c.observe_group("ab", 1, within="ac"), ("'b'", "within")),
    "group excluded": (lambda c: c.observe_group("ab", 1, without="b"), ("'b'", "without")),
    "negative": (lambda c: c.observe({"a": -1.5}), ("'a'", "-1.5", "negative")),
    "NaN": (lambda c: c.observe({"a": float("nan")}), ("'a'", "nan", "finite")),
    "infinite": (lambda c: c.observe({"a": float("inf")}), ("'a'", "inf", "finite")),
    "beyond floats": (lambda c: c.observe({"a": 10**400}), ("'a'",)),
    "not a number": (lambda c: c.observe({"a": None}), ("'a'", "None", "number")),
    "negative group": (lambda c: c.observe_group("ab", -2), ("-2", "negative")),
    "NaN group": (lambda c: c.observe_group("ab", float("nan")), ("nan", "finite")),
    "infinite group": (lambda c: c.observe_group("ab", float("inf")), ("inf", "finite")),
    "fractional group": (lambda c: c.observe_group("ab", 1.5), ("1.5", "whole")),
    "negative ranking": (lambda c: c.observe_ranking("ab", -1), ("-1", "negative")),
    "within and without": (
        lambda c: c.observe({"a": 1}, within="ab", without="c"),
        ("within", "without", "not both"),
    ),
    "group within and without": (
        lambda c: c.observe_group("a", 1, within="ab", without="c"),
        ("within", "without", "not both"),
    ),
    "list for counts": (lambda c: c.observe(["a"]), ("['a']", "list", "map")),
    "number for within": (lambda c: c.observe({"a": 1}, within=3), ("within", "3", "list")),
    "other categories": (
        lambda c: c + ConditionalCounts("abce"),
        ("same categories", "4", "'e'"),
    ),
    "fewer categories": (lambda c: c + ConditionalCounts("abc"), ("same categories", "4", "3")),
}


def some_counts() -> ConditionalCounts:
    return ConditionalCounts("abcd").observe({"a": 2, "c": 0.5}, without="d")


@pytest.mark.parametrize("case", REFUSED_DATA)
def test_bad_data_is_refused_and_changes_nothing(case: str) -> None:
    attempt, said = REFUSED_DATA[case]
    counts, untouched = some_counts(), some_counts()
    with pytest.raises(DataError) as caught:
        attempt(counts)
    assert [s for s in said if s not in str(caught.value)] == []
    assert counts == untouched
    assert counts.digest == untouched.digest


def test_a_string_of_unknown_characters_is_explained() -> None:
    with pytest.raises(DataError, match="read as its characters"):
        ConditionalCounts(["Anna", "Bea"]).observe({"Anna": 1}, within="Anna")


# -- restriction ------------------------------------------------------------------------------


class Observation(NamedTuple):
    """Outcomes, a ranking or a group over 0..n-1, each as its lists say."""

    kind: str
    inside: list[int]
    seen: dict[int, float]
    members: list[int]
    times: int

    def enter(self, counts: ConditionalCounts) -> ConditionalCounts:
        if self.kind == "ranking":
            return counts.observe_ranking(self.inside, self.times)
        if self.kind == "group":
            return counts.observe_group(self.members, self.times, within=self.inside)
        return counts.observe(self.seen, within=self.inside)

    def restricted(self, kept: set[int]) -> "Observation | None":
        """The same observation of the kept categories; None where it says nothing about them."""
        inside = [i for i in self.inside if i in kept]
        members = [i for i in self.members if i in kept]
        if self.kind == "group" and len(members) < len(self.members):
            return None
        if not inside:
            return None
        seen = {i: c for i, c in self.seen.items() if i in kept}
        return Observation(self.kind, inside, seen, members, self.times)

    def is_unclear(self, kept: set[int]) -> bool:
        """Is this a group that lies partly among the kept, and not all over what is left?"""
        among = {i for i in self.members if i in kept}
        split = self.kind == "group" and 0 < len(among) < len(self.members) and self.times > 0
        return split and among != kept.intersection(self.inside)

    def log_likelihood(self, p: list[float]) -> float:
        """The definition: log of a product of p_i / p(S)."""
        total = math.fsum(p[i] for i in self.inside)
        if self.kind == "group":
            return self.times * math.log(math.fsum(p[i] for i in self.members) / total)
        if self.kind == "ranking":
            rest = [math.fsum(p[i] for i in self.inside[k:]) for k in range(len(self.inside))]
            logs = [math.log(p[i] / r) for i, r in zip(self.inside, rest, strict=True)]
            return self.times * math.fsum(logs)
        return math.fsum(c * math.log(p[i] / total) for i, c in self.seen.items())


@st.composite
def observations(draw: st.DrawFn, n: int) -> list[Observation]:
    found = []
    for _ in range(draw(st.integers(0, 6))):
        order = draw(st.permutations(range(n)))
        inside = order[: draw(st.integers(1, n))]
        quarters = st.integers(0, 12).map(lambda k: k / 4)
        seen = {i: draw(quarters) for i in inside[: draw(st.integers(0, n))]}
        members = inside[: draw(st.integers(1, n))]
        kind = draw(st.sampled_from(["outcomes", "ranking", "group"]))
        found.append(Observation(kind, inside, seen, members, draw(st.integers(0, 3))))
    return found


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.data())
def test_a_restriction_is_the_data_of_the_restricted_observations(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 6))
    whole = data.draw(observations(n))
    cut = data.draw(st.integers(0, len(whole)))
    # Some observations come in by addition, with the categories in another order.
    added = ConditionalCounts(data.draw(st.permutations(range(n))))
    counts = ConditionalCounts(n)
    for one in whole[:cut]:
        counts = one.enter(counts)
    for one in whole[cut:]:
        added = one.enter(added)
    counts = counts + added
    kept = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=n)))
    if any(one.is_unclear(set(kept)) for one in whole):
        with pytest.raises(DataError, match="only partly among them"):
            counts.restrict(kept)
        return
    left = [one for x in whole if (one := x.restricted(set(kept))) is not None]
    by_hand = ConditionalCounts(kept)
    for one in left:
        by_hand = one.enter(by_hand)
    found = counts.restrict(reversed(kept))
    assert found == by_hand
    assert found.n_outcomes == by_hand.n_outcomes
    assert list(found.categories) == kept
    # Against the definition, at probabilities over all categories.
    p = np.random.default_rng(n).dirichlet(np.ones(n)).tolist()
    total = math.fsum(p[i] for i in kept)
    expected = math.fsum(one.log_likelihood(p) for one in left)
    here = float(found.log_likelihood([p[i] / total for i in kept]))
    assert here == pytest.approx(expected, rel=1e-12, abs=1e-11)
    # In two steps as in one.
    if len(kept) > 1 and not any(one.is_unclear(set(kept[1:])) for one in whole):
        assert found.restrict(kept[1:]) == counts.restrict(kept[1:])


def test_restrictions_by_hand() -> None:
    counts = (
        ConditionalCounts("abcde")
        .observe({"a": 3, "b": 1, "d": 5}, within="abd")
        .observe({"e": 2, "c": 4}, without="a")
        .observe_ranking("cadb", 2)
        .observe_group("ab", 7, within="abe")
        .observe_group("de", 6)
        .observe({"a": 1, "e": 1})
    )
    by_hand = (
        ConditionalCounts("abc")
        .observe({"a": 3, "b": 1}, within="ab")
        .observe({"c": 4}, within="bc")
        .observe_ranking("cab", 2)
        .observe_group("ab", 7, within="ab")
        .observe({"a": 1})
    )
    assert counts.restrict("abc") == by_hand
    assert counts.restrict("abc").n_outcomes == by_hand.n_outcomes == 4 + 4 + 6 + 7 + 1
    assert counts.restrict("ecdba") == counts


def test_equal_counts_may_be_restricted_to_different_ones() -> None:
    # Everybody won once; who beat whom is not in the totals.
    one, other = ConditionalCounts("abc"), ConditionalCounts("abc")
    for winner, loser in ["ab", "bc", "ca"]:
        one = one.observe({winner: 1}, within=[winner, loser])
        other = other.observe({loser: 1}, within=[winner, loser])
    assert one == other
    assert one.restrict("ab") == ConditionalCounts("ab").observe({"a": 1})
    assert other.restrict("ab") == ConditionalCounts("ab").observe({"b": 1})
    forgotten = pickle.loads(pickle.dumps(one))
    with pytest.raises(DataError, match=r"1 outcome given .* before they are saved"):
        forgotten.restrict("ab")


def test_totals_are_restricted_where_they_tell_enough() -> None:
    # d was never seen, so that all outcomes given {a, b, d} were a or b; c was alone with d.
    exponents = {"a": 2, "b": 1, "c": 5, ("a", "b", "d"): -3, ("c", "d"): -1}
    read = ConditionalCounts.from_exponents("abcde", exponents)
    assert read.restrict("abc") == ConditionalCounts("abc").observe(
        {"a": 2, "b": 1}, within="ab"
    ).observe({"c": 4})
    # Given all but e, the outcomes among the rest are counted without a condition.
    most = ConditionalCounts.from_exponents("abcde", {"a": 2, "c": 1, tuple("abcd"): -3})
    assert most.restrict("ab") == ConditionalCounts("ab").observe({"a": 2})
    # A group within the labels stays, one outside of them goes, one across them is unclear.
    groups = ConditionalCounts.from_exponents("abcde", {("a", "b"): 2, ("d", "e"): 3, "c": 1})
    assert groups.restrict("abc") == ConditionalCounts("abc").observe_group("ab", 2).observe(
        {"c": 1}
    )
    assert groups.restrict("abc").n_outcomes == 3
    with pytest.raises(DataError, match=r"2 grouped outcomes in \{a, b\}"):
        groups.restrict("acd")
    # A grouped outcome may have been one of those left out.
    hidden = ConditionalCounts.from_exponents("abcde", {("d", "e"): 1, ("a", "b", "d", "e"): -1})
    with pytest.raises(DataError, match=r"1 outcome given all but \{c\}"):
        hidden.restrict("abc")


def test_totals_are_refused_in_words() -> None:
    games = pickle.loads(pickle.dumps(from_pairs([("a", "b"), ("b", "c"), ("c", "a")])))
    with pytest.raises(DataError, match=r"among the 2 labels is not known.*read or observed"):
        games.restrict("ab")
    # Counts that do not remember make no sum remember.
    entered = ConditionalCounts("abc").observe({"a": 1}, within="ac")
    with pytest.raises(DataError, match="not known"):
        (entered + games).restrict("ab")


def test_arrays_may_bring_their_observations() -> None:
    entered = ConditionalCounts("abc").observe({"a": 2}, within="ac").observe({"b": 1}, within="bc")
    labels = Categories("abc")
    asked = []

    def observations() -> Log:
        asked.append(True)
        first = None, observed(labels, {"a": 2}, "ac", None)
        return first, observed(labels, {"b": 1}, "bc", None)

    arrays = entered.category_counts, entered.sets
    counts = ConditionalCounts.from_nests("abc", *arrays, source=observations)
    assert counts == entered
    assert asked == []
    assert counts.restrict("ab") == entered.restrict("ab")
    other_order = ConditionalCounts("cab") + counts
    assert other_order.restrict("bc") == ConditionalCounts("cb").observe({"b": 1})
    assert len(asked) == 2


def test_labels_to_keep_are_checked() -> None:
    counts = some_counts()
    with pytest.raises(DataError, match="'x' in labels is not a category"):
        counts.restrict("ax")
    with pytest.raises(DataError, match="labels is empty"):
        counts.restrict([])
    with pytest.raises(DataError, match="'a' appears twice in labels"):
        counts.restrict("aa")


def test_an_empty_addition_forgets_nothing() -> None:
    counts = ConditionalCounts("abc").observe({"a": 1}, within="ab").observe({"b": 2}, within="bc")
    sums = [counts + ConditionalCounts("cba"), ConditionalCounts("bca") + counts, sum([counts])]
    assert all(c == counts or c.categories != counts.categories for c in sums)
    by_hand = ConditionalCounts("ab").observe({"a": 1})
    assert [(by_hand + c.restrict("ba")) == by_hand + by_hand for c in sums] == [True] * 3


def test_deeply_nested_sums_are_restricted() -> None:
    total = ConditionalCounts("abc").observe({"a": 1}, within="ab")
    for _ in range(3000):
        total = ConditionalCounts("abc").observe({"b": 1}, within="bc") + total
    assert total.restrict("bc") == ConditionalCounts("bc").observe({"b": 3000})


# -- other labels -----------------------------------------------------------------------------


def test_other_labels_same_data() -> None:
    counts = some_counts().observe_ranking("dba")
    named = counts.relabel({"a": "Anna", "d": ("D", 4)})
    by_hand = (
        ConditionalCounts(["Anna", "b", "c", ("D", 4)])
        .observe({"Anna": 2, "c": 0.5}, without=[("D", 4)])
        .observe_ranking([("D", 4), "b", "Anna"])
    )
    assert named == by_hand
    assert named.digest == by_hand.digest
    assert named.n_outcomes == counts.n_outcomes
    assert counts.relabel({}) == counts
    assert counts.relabel(str.upper).restrict("AB") == counts.restrict("ab").relabel(str.upper)
    swapped = counts.relabel({"a": "b", "b": "a"})
    assert swapped.categories == tuple("bacd")
    # Data may be added before it is looked at, and after.
    assert named.observe({"b": 1}) == counts.observe({"b": 1}).relabel({"a": "Anna", "d": ("D", 4)})


REFUSED_LABELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "unknown": ({"x": "y"}, ("'x' in labels is not a category", "'a', 'b', 'c', 'd'")),
    "two alike": ({"a": "b"}, ("'b'", "twice", "different")),
    "all alike": (lambda label: 1, ("1", "twice")),
    "unhashable": ({"a": []}, ("[]", "hashable")),
    "list": (["w", "x", "y", "z"], ("['w', 'x', 'y', 'z']", "mapping or a function")),
}


@pytest.mark.parametrize("case", REFUSED_LABELS)
def test_bad_labels_are_refused(case: str) -> None:
    given, said = REFUSED_LABELS[case]
    with pytest.raises(DataError) as caught:
        some_counts().relabel(given)
    assert [s for s in said if s not in str(caught.value)] == []
