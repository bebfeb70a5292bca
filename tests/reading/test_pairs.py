"""Pairs: outcomes in words, home advantage, and long files."""

from typing import Any

import pytest
from lib.data_files import read_within
from lib.reading_cases import ENGINES, WITH_TIE, given_as, same

import luce
from luce import ConditionalCounts, from_pairs
from luce.errors import BadRowsError, DataError


def test_without_a_tie_an_entity_is_in_every_set_all_the_same() -> None:
    found = from_pairs([("a", "b"), ("c", "b")], ties="entity")
    by_hand = WITH_TIE.observe({"a": 1}, within=["a", "b", "tie"])
    same(found, by_hand.observe({"c": 1}, within=["b", "c", "tie"]))


def test_the_advantage_goes_to_whom_it_is_said() -> None:
    games = {"item1": ["a", "a"], "item2": ["b", "c"], "outcome": ["b", "a"],
             "at": ["b", None]}  # fmt: skip
    four = ConditionalCounts(["a", "b", "c", "home"])
    first = four.observe({"b": 1}, within=["a", "b", "home"])
    first = first.observe_group(["a", "home"], 1, within=["a", "c", "home"])
    same(from_pairs(games, home="first", home_effect="entity"), first)
    second = four.observe_group(["b", "home"], 1, within=["a", "b", "home"])
    second = second.observe({"a": 1}, within=["a", "c", "home"])
    same(from_pairs(games, home="second", home_effect="entity"), second)
    column = four.observe_group(["b", "home"], 1, within=["a", "b", "home"])
    column = column.observe({"a": 1}, within=["a", "c"])
    for engine in ENGINES:
        same(from_pairs(given_as(engine, games), home="at", home_effect="entity"), column)
    won = {"winner": ["b", "a"], "loser": ["a", "c"], "at": ["b", None]}
    same(from_pairs(won, home="at", home_effect="entity"), column)
    with pytest.raises(DataError, match="do not say who was the first"):
        from_pairs(won, home="first")
    with pytest.raises(DataError, match="home = 'nowhere': there is no such column"):
        from_pairs(won, home="nowhere")
    with pytest.raises(BadRowsError, match="row 2: at is 'b'; it must name 'a' or 'c'"):
        from_pairs({**won, "at": [None, "b"]}, home="at")
    with pytest.raises(DataError, match="'b' is a competitor already"):
        from_pairs(won, home="at", home_effect="entity", home_label="b")


def test_a_winner_who_did_not_compete_is_found_though_it_reads_like_a_word() -> None:
    games = {"item1": ["a", "b", "c"], "item2": ["b", "c", "a"], "outcome": ["b", "a", "tie"]}
    with pytest.raises(BadRowsError, match="row 2: the outcome is 'a'"):
        from_pairs(games, ties="entity")
    words = {"item1": ["b", "c"], "item2": ["c", "White"], "outcome": ["black", "white"]}
    same(
        from_pairs(words),
        ConditionalCounts(["White", "b", "c"])
        .observe({"c": 1}, within=["b", "c"])
        .observe({"c": 1}, within=["c", "White"]),
    )
    numbers = {"item1": [1, 2], "item2": [0, 1], "outcome": [1, 0]}
    same(
        from_pairs(numbers),
        ConditionalCounts(3).observe({1: 1}, within=[0, 1]).observe({1: 1}, within=[1, 2]),
    )


def test_outcomes_are_read_alike_in_frames_and_files(read: Any) -> None:
    with pytest.raises(luce.errors.BadRowsError, match="outcome is 2"):
        from_pairs({"item1": [1, 3, 1], "item2": [2, 4, 3], "winner": [1, 4, 2]})
    frame = from_pairs({"item1": [0, 2, 1], "item2": [1, 3, 2], "outcome": [1, 0, 1]})
    assert frame.category_counts.tolist() == [1, 1, 0, 1]
    file = read("item1,item2,outcome / 0,1,1 / 2,3,0 / 1,2,1")
    assert file.category_counts.tolist() == [1, 1, 0, 1]
    yes = read("item1,item2,outcome / x,y,True / y,z,False")
    assert yes.category_counts.tolist() == [1, 0, 1]
    left = {"left": ["a", "b"], "right": ["b", "c"], "outcome": ["L", "R"]}
    assert from_pairs(left) == from_pairs([("a", "b"), ("c", "b")])
    guests = {"HomeTeam": ["a", "b"], "AwayTeam": ["b", "c"], "FTR": ["A", "A"]}
    assert from_pairs(guests) == from_pairs([("b", "a"), ("c", "b")])
    with pytest.raises(luce.errors.BadRowsError, match="outcome is 'A'"):
        from_pairs({"item1": ["x"], "item2": ["y"], "outcome": ["A"]})


def test_home_is_named_not_flagged() -> None:
    with pytest.raises(luce.errors.BadRowsError, match="must name"):
        from_pairs({"winner": ["a", "b"], "loser": ["b", "c"], "h": [1, 0]}, home="h")


@pytest.mark.slow
def test_many_rows_of_few_pairs_need_little_memory(write: Any) -> None:
    pairs = [(f"player {i}", f"player {j}") for i in range(6) for j in range(11) if i != j][:50]
    body = "".join(f"{a},{b}\n" for a, b in pairs)
    path = write("d.csv", "winner,loser\n" + body * 6000)
    expected = luce.from_pairs([(a, b, 6000) for a, b in pairs])
    assert read_within(20, path) == expected
    odd = write("odd.csv", "winner,loser\n" + body * 400 + "a,a\n")
    with pytest.warns(luce.errors.SkippedRowsWarning, match="line 20002"):
        assert read_within(5, odd, skip_bad=True).n_outcomes == 20_000
