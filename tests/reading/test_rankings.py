"""Rankings: layouts, items that are not ranked, ties and padding."""

import warnings
from typing import Any

import pytest
from lib.data_files import places, preflib, problems
from lib.reading_cases import ABC, same

import luce
from luce import ConditionalCounts, from_pairs, from_rankings
from luce.errors import BadRowsError, DataError, HalfWinsWarning


def test_who_is_not_ranked_is_asked_about_only_where_it_matters() -> None:
    complete = [["a", "b", "c"], ["c", "a", "b"]]
    same(from_rankings(complete), ABC.observe_ranking("abc").observe_ranking("cab"))
    for data, options in [
        ([*complete, ["b", "a"]], {}),
        (complete, {"categories": "abcd"}),
        ({"a": [1, 2], "b": [2, 1], "c": [3, 0]}, {}),
        ({"a": [1, 2], "b": [2, 1], "c": [3, None]}, {}),
    ]:
        with pytest.raises(DataError, match=r"unranked='absent' .* unranked='below'"):
            from_rankings(data, **options)
    part = [["b", "a"], ["c", "b", "a"]]
    same(from_rankings(part, unranked="absent"), ABC.observe_ranking("ba").observe_ranking("cba"))
    below = ABC.observe({"b": 1}).observe({"a": 1}, without=["b"]).observe_ranking("cba")
    same(from_rankings(part, unranked="below"), below)
    finished = {"boat": ["a", "b", "c"], "leg1": ["1", "DNF", "2"], "leg2": ["3", "2", "1"]}
    by_hand = ABC.observe({"a": 1}).observe({"c": 1}, without=["a"]).observe_ranking("cba")
    same(from_rankings(finished), by_hand)


def test_options_of_rankings() -> None:
    points = {"a": [12, 0], "b": [10, 12], "c": [None, 10]}
    read = {"best": "largest", "unranked": "below", "blank": "absent"}
    by_hand = ABC.observe_ranking("ab").observe({"b": 1}).observe({"c": 1}, without="b")
    same(from_rankings(points, **read), by_hand)
    read["best"] = "smallest"
    by_hand = ABC.observe_ranking("ba").observe({"c": 1}).observe({"b": 1}, without="c")
    same(from_rankings(points, **read), by_hand)
    read = {"best": "largest", "unranked": "below", "blank": "below"}
    by_hand = ABC.observe({"a": 1, "b": 1}).observe({"b": 1}, without="a")
    same(from_rankings(points, **read), by_hand.observe({"c": 1}, without="b"))

    races = {"who": ["a", "b", "c"], "one": ["1", "oops", "2"], "two": ["1", "2", "3"],
             "points": [3, 2, 1]}  # fmt: skip
    found = from_rankings(races, did_not_finish=["Oops"], ignore=["points"])
    first = ABC.observe({"a": 1}).observe({"c": 1}, without=["a"])
    same(found, first.observe_ranking("abc"))
    with pytest.raises(DataError, match="'points' may hold something else than ranks"):
        from_rankings(races, did_not_finish=["Oops"])
    same(from_rankings(races, did_not_finish=["Oops"], layout="items-in-rows"),
         first.observe_ranking("abc").observe_ranking("cba"))  # fmt: skip
    with pytest.raises(BadRowsError, match="the rank of 'b' is 'oops'"):
        from_rankings(races, layout="items-in-rows")

    numbers = {"x1": [1, 2], "x2": [2, 1]}
    items = ConditionalCounts(["x1", "x2"])
    same(from_rankings(numbers, layout="items-in-columns"),
         items.observe_ranking(["x1", "x2"]).observe_ranking(["x2", "x1"]))  # fmt: skip
    same(from_rankings(numbers, layout="places-in-columns"),
         ConditionalCounts([1, 2]).observe_ranking([1, 2]).observe_ranking([2, 1]))  # fmt: skip
    for options, message in [
        ({"layout": "heap"}, "layout = 'heap'"),
        ({"best": "middle"}, "best = 'middle'"),
        ({"unranked": "lost"}, "unranked = 'lost'"),
        ({"blank": "lost"}, "blank = 'lost'"),
        ({"item": "nobody"}, "item = 'nobody': there is no such column"),
    ]:
        with pytest.raises(DataError, match=message):
            from_rankings(races, **options)


def test_all_texts_of_a_column_are_split_alike() -> None:
    orders = ["New York > Boston", "New York", "Boston = New York"]
    towns = ConditionalCounts(["Boston", "New York"])
    by_hand = towns.observe({"New York": 2}).observe_ranking(["Boston", "New York"], 0.5)
    with pytest.warns(HalfWinsWarning):
        found = from_rankings(orders, unranked="below", ties="half")
    assert found == by_hand.observe_ranking(["New York", "Boston"], 0.5)
    same(from_rankings({"order": ["a b c", "c  b a"]}),
         ABC.observe_ranking("abc").observe_ranking("cba"))  # fmt: skip
    same(
        from_rankings({"order": ["a b,c", "c"]}, unranked="below"),
        ConditionalCounts(["a b", "c"]).observe_ranking(["a b", "c"]).observe({"c": 1}),
    )


def test_a_tie_that_leaves_nobody_below_is_in_last_place() -> None:
    found = from_rankings([["a", {"b", "c"}], ["b"]], unranked="below", ties="last")
    same(found, ABC.observe({"a": 1, "b": 1}))
    with pytest.raises(BadRowsError, match="above somebody who is only known to be below"):
        from_rankings([["a", {"b", "c"}], ["d"]], unranked="below", ties="last")


@pytest.mark.parametrize("layout", ["columns", "long"])
def test_an_item_that_is_never_ranked_is_still_there(layout: str) -> None:
    table: dict[str, Any] = {"a": [1, 2], "b": [2, 1], "c": [None, None]}
    if layout == "long":
        table = {"id": [1, 1, 1, 2, 2, 2], "item": list("abcabc"), "rank": [1, 2, None, 2, 1, None]}
    below = ABC.observe({"a": 1}).observe({"b": 1}, without="a")
    below = below.observe({"b": 1}).observe({"a": 1}, without="b")
    assert from_rankings(table, unranked="below") == below
    absent = from_rankings(table, unranked="absent")
    assert absent == ABC.observe({"a": 1, "b": 1}, within="ab")
    assert luce.counts.prior_only(absent) == ["c"]
    with pytest.raises(DataError, match="leave items out"):
        from_rankings(table)


def test_a_race_that_nobody_finished_says_nothing() -> None:
    races = {"a": ["DNF", 1], "b": [0, 2], "c": [0, 3]}
    assert from_rankings(races, unranked="below") == ABC.observe_ranking("abc")
    assert from_rankings({"a": ["DNF", 1], "b": ["Ret", 2]}) == from_rankings([["a", "b"]])


def test_a_tie_above_zeros_is_not_the_last() -> None:
    with pytest.raises(luce.errors.BadRowsError, match="not the last"):
        from_rankings({"a": [1], "b": [2], "c": [2], "d": [0]}, unranked="below", ties="last")


def test_items_may_be_called_as_columns_are() -> None:
    teams = from_rankings({"Bulls": [1, 2], "Heat": [2, 1], "Lakers": [3, 3]})
    assert teams.categories == ("Bulls", "Heat", "Lakers")
    papers = from_rankings({"Times": [1, 3], "Post": [2, 1], "Herald": [3, 2]})
    assert papers.categories == ("Herald", "Post", "Times")
    assert from_rankings({"judge": [7, 8], "a": [1, 2], "b": [2, 1]}).categories == ("a", "b")
    counted = from_rankings({"a": [1, 2], "b": [2, 1], "n": [5, 3]})
    assert counted == ConditionalCounts("ab").observe({"a": 5, "b": 3})
    with pytest.raises(DataError, match="two ways"):
        from_pairs({"player1": ["x"], "player2": ["y"], "won": [3], "lost": [1]})
    with pytest.raises(DataError, match="each row of this table is a ranking"):
        from_rankings({"person": ["x", "y"], "a": [1, 2], "b": [2, 1]})
    named = {"person": ["x", "y"], "a": [1, 2], "b": [2, 1]}
    assert from_rankings(named, ranking="person").categories == ("a", "b")
    assert from_rankings(named, layout="items-in-rows").categories == ("x", "y")


def test_padding_and_items_called_zero() -> None:
    assert from_rankings({"1": [1, 0], "2": [0, 1], "3": [2, 2]}).categories == (0, 1, 2)
    with pytest.raises(DataError, match="ends with 0"):
        from_rankings({"1": [1, 2], "2": [2, 1], "3": [0, 0]})
    padded = from_rankings({"1": [1, 2], "2": [2, 0]}, unranked="below")
    assert padded.categories == (1, 2)


def test_items_twice_in_one_ranking(write: Any) -> None:
    orders = write("o.csv", "ranking\na>b>c\na>b>a\n")
    assert problems(orders) == [(3, "'a' appears twice in one ranking.")]
    long = write("l.csv", "race,driver,place\n1,a,1\n1,b,2\n2,a,1\n2,a,2\n")
    assert problems(long) == [
        (4, "in the group that begins here, 'a' appears twice in one ranking.")
    ]
    assert places(write("v.soi", preflib("soi", "4: 2\n3: 3,1,3\n")), unranked="below") == [7]
    lists = write("o.jsonl", '["a", "b"]\n["b", "b"]\n')
    assert problems(lists) == [(2, "'b' appears twice in one ranking.")]


def test_plain_orders(write: Any) -> None:
    path = write("heats.txt", "\nann bo cy\n\n  bo cy \n")
    expected = luce.from_rankings([["ann", "bo", "cy"], ["bo", "cy"]], unranked="absent")
    assert luce.read(path, "rankings", unranked="absent") == expected
    path = write("races.txt", "ann > bo > cy\nbo > cy > ann\n")
    assert luce.read(path, "rankings") == luce.from_rankings(["ann>bo>cy", "bo>cy>ann"])


def test_a_column_is_an_item_or_a_count_and_never_both() -> None:
    papers = from_rankings({"Times": [1, 3], "Post": [2, 1], "Herald": [3, 2]})
    same(papers, from_rankings([["Times", "Post", "Herald"], ["Post", "Herald", "Times"]]))
    ignored = from_rankings({"a": [1, 2], "b": [2, 1], "n": [5, 3]}, ignore=["n"])
    same(ignored, from_rankings([["a", "b"], ["b", "a"]]))


def test_scores_of_any_sign() -> None:
    """With the largest as the best, numbers are scores: negative, fractional, 0 among them."""
    scores = {"a": [-1.5, 2.5], "b": [0, -3], "c": [-2, 0]}
    by_hand = ABC.observe_ranking("bac").observe_ranking("acb")
    same(from_rankings(scores, best="largest"), by_hand)
    with pytest.raises(BadRowsError, match=r"the rank of 'a' is '-1.5'.*best='largest'"):
        from_rankings(scores)
    with pytest.raises(BadRowsError, match="the rank of 'a' is 'inf'; a number is needed"):
        from_rankings({"a": [float("inf")], "b": [1]}, best="largest")
    races = {"driver": ["a", "b", "c"], "one": [-1.5, 0, -2], "two": [2.5, -3, 0]}
    same(from_rankings(races, best="largest"), by_hand)
    long = {"race": [1, 1, 1], "item": list("abc"), "rank": ["-1", "0.5", "DNF"]}
    below = ABC.observe({"b": 1}).observe({"a": 1}, without=["b"])
    same(from_rankings(long, best="largest"), below)


def test_zero_among_scores_is_asked_about_where_it_would_be_no_rank() -> None:
    rated = {"a": [3, None], "b": [0, 2], "c": [-1, 1]}
    with pytest.raises(DataError, match="negative scores, and 0 beside them"):
        from_rankings(rated, best="largest", unranked="absent")
    found = from_rankings(rated, best="largest", blank="absent")
    same(found, ABC.observe_ranking("abc").observe_ranking("bc"))
    points = {"a": [12, 10], "b": [10, 0], "c": [0, 12]}  # 0 points is a score, or no rank
    same(from_rankings(points, best="largest"), ABC.observe_ranking("abc").observe_ranking("cab"))
    absent = ABC.observe_ranking("ab").observe_ranking("ca")
    same(from_rankings(points, best="largest", unranked="absent"), absent)


LIKERT = {"tea": [1, 2, 5], "milk": [5, 3, 3], "rum": [2, 3, 5], "gin": [5, 2, 1]}
SCORES: dict[str, dict[str, list[float]]] = {
    "equal numbers with a gap": LIKERT,
    "fractions": {"tea": [4.2, 1.0], "milk": [3.9, 2.0], "rum": [1.1, 3.0]},
    "all too large": {"tea": [250, 90], "milk": [180, 120], "rum": [90, 60]},
}


@pytest.mark.parametrize("scores", SCORES.values(), ids=list(SCORES))
def test_numbers_that_are_hardly_ranks_are_asked_about(scores: Any) -> None:
    with pytest.raises(luce.errors.DataError, match="may be scores or ratings"):
        luce.from_rankings(scores, layout="items-in-columns", ties="drop")
    for best in ("smallest", "largest"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            luce.from_rankings(scores, layout="items-in-columns", ties="half", best=best)


@pytest.mark.parametrize(
    "ranks",
    [(1, 2, 2, 4), (1, 3, 3, 4), (1, 2, 2, 3), (1, 2.5, 2.5, 4), (2, 3, 7, 9), (4, 1, 2, 3)],
)
def test_usual_ranks_are_not_asked_about(ranks: tuple[float, ...]) -> None:
    """Four ways to rank ties, and places in a larger field."""
    table = {name: [rank] for name, rank in zip("abcd", ranks, strict=True)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        luce.from_rankings(table, layout="items-in-columns", ties="half")


def test_the_meaning_of_ties_and_of_numbers_is_asked_for_at_once() -> None:
    with pytest.raises(luce.errors.QuestionsError) as asked:
        luce.from_rankings(LIKERT, layout="items-in-columns")
    assert len(asked.value.questions) == 2
