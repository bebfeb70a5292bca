"""Outcomes by the set that they were recorded in."""

import pickle

import pytest

import luce
from luce import ConditionalCounts
from luce.errors import DataError

ABC = ConditionalCounts("abcdefghi").observe({"a": 3, "b": 1}, within="ab")


def test_equal_sets_are_added_up_or_kept_apart() -> None:
    twice = ABC + ABC.observe({"c": 2}).observe({"c": 2, "i": 1}, without="ab")
    found = {one.given: one for one in twice.recorded()}
    assert found["{a, b}"].outcomes == {(0,): 6.0, (1,): 2.0}
    assert found["all"].outcomes == {(2,): 2.0}
    assert found["all but {a, b}"].outcomes == {(2,): 2.0, (8,): 1.0}
    assert [one.total for one in twice.recorded(apart=True)].count(4.0) == 2


def test_the_same_set_however_it_was_named() -> None:
    counts = ABC.observe({"c": 1}, within="cdefghi").observe({"d": 2}, without="ab")
    assert len(counts.recorded()) == 2


def test_all_outcomes_are_there_whatever_the_reader() -> None:
    table = luce.from_table({"a": [1, 2], "b": [3, None], "c": [0, 4]})
    ranked = luce.from_rankings([["a", "b", "c"], ["c", "a", "b"]])
    pairs = luce.from_pairs([("a", "b"), ("b", "a"), ("a", "c")])
    teams = luce.from_teams({"side1": [["a", "b"]], "side2": [["c"]], "wins1": [3], "wins2": [1]})
    for counts in (table, ranked, pairs, teams):
        recorded = counts.recorded()
        assert sum(one.total for one in recorded) == counts.n_outcomes
        seen = ConditionalCounts(counts.categories)
        for one in recorded:
            within = [counts.categories[i] for i in one.members]
            for outcome, count in one.outcomes.items():
                group = [counts.categories[i] for i in outcome]
                seen = seen.observe_group(group, count, within=within)
        assert seen == counts


def test_totals_do_not_tell() -> None:
    for counts in (
        pickle.loads(pickle.dumps(ABC)),
        ConditionalCounts.from_exponents("a", {"a": 1}),
    ):
        with pytest.raises(DataError, match="hold totals"):
            counts.recorded()


def test_groups_of_other_weights_are_refused() -> None:
    counts = ConditionalCounts("abc").observe_group({"a": 2, "b": 1}, 3, within="abc")
    with pytest.raises(DataError, match="other weights"):
        counts.recorded()
