"""The algebra of sets with weights: canonical form, constants, rankings with clones, refusals."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lib.weighted_cases import CASES, counts_of, log_likelihood

import luce
from luce import ConditionalCounts
from luce.counts.attainable import check_attainable
from luce.errors import DataError

P = np.array([[0.2, 0.3, 0.5], [0.7, 0.1, 0.2]])
FORMULA = {"a": 3, "b": 2, "c": 1}


@pytest.mark.parametrize("case", CASES)
def test_likelihood_is_that_of_the_terms(case: str) -> None:
    counts = counts_of(CASES[case])
    np.testing.assert_allclose(
        counts.log_likelihood(P), log_likelihood(CASES[case], np.log(P)), rtol=1e-13
    )


def test_weights_are_divided_by_the_largest() -> None:
    counts = ConditionalCounts("abcd").observe({"a": 2}, within=FORMULA)
    again = ConditionalCounts("abcd").observe({"a": 2}, within={"c": 1 / 3, "b": 2 / 3, "a": 1})
    np.testing.assert_array_equal(counts.sets.weights, again.sets.weights)
    assert counts.log_constant == pytest.approx(-2 * math.log(3))
    assert again.log_constant == 0
    assert counts != again
    assert counts.digest != again.digest
    assert counts == ConditionalCounts("abcd").observe(
        {"a": 2}, within=dict(reversed(FORMULA.items()))
    )


def test_equal_weights_are_none() -> None:
    counts = ConditionalCounts("abcd").observe({"a": 2}, within={"a": 4, "b": 4, "c": 0})
    plain = ConditionalCounts("abcd").observe({"a": 2}, within="ab")
    assert counts.sets.weights is None
    np.testing.assert_array_equal(counts.sets.signatures, plain.sets.signatures)
    assert counts.log_constant == pytest.approx(-2 * math.log(4))
    ones = ConditionalCounts("abcd").observe({"a": 2}, within={"a": 1, "b": 1})
    assert ones == plain
    assert ones.digest == plain.digest
    alone = ConditionalCounts("abc").observe_group({"b": 5}, 2)
    assert alone.category_counts.tolist() == [0, 2, 0]
    assert alone.log_constant == pytest.approx(2 * math.log(5))


def test_a_full_set_stays_if_its_weights_differ() -> None:
    counts = ConditionalCounts("abc").observe({"a": 2}, within=FORMULA)
    assert counts.sets.sizes.tolist() == [3]
    assert (
        ConditionalCounts("abc").observe({"a": 2}, within=dict.fromkeys("abc", 3)).sets.n_sets == 0
    )


def test_sets_merge_where_members_and_weights_agree() -> None:
    one = ConditionalCounts("abcd").observe({"a": 1}, within=FORMULA)
    twice = one.observe({"b": 1}, within={"a": 6, "b": 4, "c": 2})
    assert twice.sets.exponent.tolist() == [-2]
    other = one.observe({"b": 1}, within={"a": 3, "b": 2, "c": 2}).observe({"b": 1}, within="abc")
    assert sorted(other.sets.exponent.tolist()) == [-1, -1, -1]
    gone = one.observe_group(FORMULA, 1)
    assert gone.sets.n_sets == 0
    assert gone.sets.weights is None
    assert gone.log_constant == pytest.approx(0)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.permutations(range(8)), st.integers(0, 8))
def test_order_of_entry_does_not_matter(order: list[int], cut: int) -> None:
    steps = [
        lambda c: c.observe({"a": 1.5}, within=FORMULA),
        lambda c: c.observe({"b": 0.25}, within=FORMULA),
        lambda c: c.observe({"b": 0.5}, within={"a": 6, "b": 4, "c": 2}),
        lambda c: c.observe_group({"c": 0.5, "d": 2}, 2, within={"c": 0.5, "d": 2, "a": 1}),
        lambda c: c.observe_ranking("dacba", clones=True),
        lambda c: c.observe_ranking("abcd"),
        lambda c: c.observe({"d": 3}),
        lambda c: c.observe({"a": 2}, without="d"),
    ]
    whole = first = second = ConditionalCounts("abcd")
    for step in steps:
        whole = step(whole)
    for place, k in enumerate(order):
        first, second = (steps[k](first), second) if place < cut else (first, steps[k](second))
    for found in (first + second, second + first, pickle.loads(pickle.dumps(first)) + second):
        assert found == whole
        assert found.digest == whole.digest
        p = [0.1, 0.2, 0.3, 0.4]
        assert found.log_likelihood(p) == pytest.approx(whole.log_likelihood(p), rel=1e-12)


def test_other_labels_and_another_order() -> None:
    counts = ConditionalCounts("abc").observe({"a": 2}, within=FORMULA)
    assert counts.relabel(str.upper).log_likelihood(P[0]) == counts.log_likelihood(P[0])
    turned = ConditionalCounts("cab") + counts
    assert turned.log_likelihood(P[0][[2, 0, 1]]) == pytest.approx(counts.log_likelihood(P[0]))


def test_restriction_keeps_the_weights_of_those_kept() -> None:
    counts = ConditionalCounts("abcd").observe({"a": 2, "c": 1}, within=FORMULA)
    counts = counts.observe_group({"a": 1, "b": 0.5}, 1, within={"a": 1, "b": 0.5, "d": 1})
    kept = ConditionalCounts("ab").observe({"a": 2}, within={"a": 3, "b": 2})
    assert counts.restrict("ab") == kept
    with pytest.raises(DataError, match="weighted sets"):
        pickle.loads(pickle.dumps(counts)).restrict("ab")


def test_terms_and_frames_tell_weights() -> None:
    counts = (
        ConditionalCounts("abcd").observe({"a": 2}, within=FORMULA).observe({"a": 1}, without="d")
    )
    told = {str(term): term.weights for term in counts.terms()}
    assert told == {
        "3 outcomes in {a}": None,
        "1 outcome given all but {d}": None,
        "2 outcomes given {a, 0.6667 b, 0.3333 c}": (1.0, 2 / 3, 1 / 3),
    }
    assert "weights" in counts.to_frame().columns
    assert "weights" in counts.to_frame("polars").columns
    assert "weights" not in ConditionalCounts("ab").observe({"a": 1}).to_frame().columns
    assert "0.6667 b" in counts.summary()


# -- rankings with clones -------------------------------------------------------------------------


def test_each_clone_is_a_runner_of_its_own() -> None:
    counts = ConditionalCounts("abc").observe_ranking("acbaab", clones=True)
    a, b, c = P[1]
    terms = [a / (3 * a + 2 * b + c), c / (2 * a + 2 * b + c), b / (2 * a + 2 * b)]
    terms += [a / (2 * a + b), a / (a + b), 1]
    assert counts.log_likelihood(P[1]) == pytest.approx(np.log(terms).sum())
    assert counts.log_likelihood([1 / 3] * 3) == pytest.approx(-math.log(720))
    assert counts.n_outcomes == 6


def test_without_repeats_clones_change_nothing() -> None:
    plain = ConditionalCounts("abcd").observe_ranking("dbca", 2)
    clones = ConditionalCounts("abcd").observe_ranking("dbca", 2, clones=True)
    assert clones == plain
    np.testing.assert_array_equal(clones.sets.members, plain.sets.members)


def test_nonfinishers_are_behind_all_others() -> None:
    counts = ConditionalCounts("abcd").observe_ranking("ab", nonfinishers="dc")
    p = np.array([0.1, 0.2, 0.3, 0.4])
    assert counts.log_likelihood(p) == pytest.approx(np.log(0.1 * 0.2 / 0.9))
    clones = ConditionalCounts("ab").observe_ranking("ab", clones=True, nonfinishers="ab")
    a, b = 0.3, 0.7
    expected = np.log(a / (2 * a + 2 * b) * b / (a + 2 * b))
    assert clones.log_likelihood([a, b]) == pytest.approx(expected)
    assert counts.restrict("abd") == ConditionalCounts("abd").observe_ranking(
        "ab", nonfinishers="d"
    )


def test_clones_must_be_asked_for() -> None:
    counts = ConditionalCounts("abc")
    with pytest.raises(DataError, match="twice in order"):
        counts.observe_ranking("aba")
    with pytest.raises(DataError, match="clones=True"):
        counts.observe_ranking("ab", nonfinishers="a")
    with pytest.raises(DataError, match="not a category"):
        counts.observe_ranking("abx", clones=True)
    with pytest.raises(DataError, match="list of labels"):
        counts.observe_ranking(3, clones=True)  # type: ignore[arg-type]


# -- other doors ----------------------------------------------------------------------------------


def test_exponents_with_weights() -> None:
    pairs = [("a", 2), ({"a": 3, "b": 2, "c": 1}, -2)]
    counts = ConditionalCounts.from_exponents("abc", pairs)
    assert counts == ConditionalCounts("abc").observe({"a": 2}, within=FORMULA)
    with pytest.raises(DataError, match="no data has these exponents"):
        ConditionalCounts.from_exponents("abc", [("c", 2), ({"a": 3, "b": 2}, -1)])
    with pytest.raises(DataError, match="pairs of a set"):
        ConditionalCounts.from_exponents("abc", 3)  # type: ignore[arg-type]
    check_attainable(counts.categories, counts.category_counts, counts.sets)


def test_comparable_groups_see_weighted_sets() -> None:
    counts = ConditionalCounts("abcd").observe({"a": 1}, within={"a": 1, "b": 0.5})
    assert luce.comparable_groups(counts) == [["a", "b"], ["c"], ["d"]]


@pytest.mark.parametrize(
    ("within", "words"),
    [
        ({"a": -1, "b": 1}, "a"),
        ({"a": math.nan, "b": 1}, "a"),
        ({"a": math.inf, "b": 1}, "a"),
        ({"b": 1}, "outside the set"),
        ({"a": 0, "b": 1}, "outside the set"),
        ({"a": 0, "b": 0}, "within is empty"),
        ({"a": 1, "b": 1e-200}, "factor of at most"),
        ({"a": 1, "x": 1}, "not a category"),
    ],
)
def test_bad_weights_are_refused(within: dict[str, float], words: str) -> None:
    with pytest.raises(DataError, match=words):
        ConditionalCounts("abc").observe({"a": 1}, within=within)


def test_categories_left_out_have_no_weights() -> None:
    with pytest.raises(DataError, match="no weights"):
        ConditionalCounts("abc").observe({"a": 1}, without={"b": 2})  # type: ignore[arg-type]
