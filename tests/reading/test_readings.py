"""Readings that are easy to get wrong: what is asked, what is refused, and what is taken."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import luce
from luce import ConditionalCounts
from luce.errors import DataError
from luce.reading import (
    from_choices,
    from_groups,
    from_pairs,
    from_rankings,
    from_table,
    from_teams,
    from_transitions,
)

ABC = ConditionalCounts("abc")


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def of_text(text: str, **options: Any) -> Any:
        path = tmp_path / "data.csv"
        path.write_text(text.replace(" / ", "\n") + "\n")
        return luce.read(path, **options)

    return of_text


def test_times_in_a_file_are_numbers(read: Any) -> None:
    by_hand = ABC.observe({"b": 1}, without="a").observe({"c": 1}, without="b")
    assert read("seq,time,state / s,9,a / s,10,b / s,11,c") == by_hand
    times = {"seq": [1] * 3 + [2] * 2, "time": [1, 10, 2, 1, None], "state": list("acbxy")}
    with pytest.warns(luce.errors.SkippedRowsWarning, match="time is missing"):
        assert from_transitions(times, skip_bad=True) == by_hand
    with pytest.raises(luce.errors.BadRowsError, match="the same time"):
        read("seq,time,state / s,1,a / s,1,b / s,2,c")


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


def test_codes_of_choices_are_numbers() -> None:
    shelf = {f"avail_{k}": [1, 1] for k in (1, 2, 10, 20)}
    counts = from_choices({"choice": [1.0, 2.0], **shelf})
    assert dict(zip(counts.categories, counts.category_counts, strict=True)) == {
        "1": 1, "2": 1, "10": 0, "20": 0,
    }  # fmt: skip
    with pytest.raises(luce.errors.BadRowsError, match="-1 was chosen but not on offer"):
        from_choices({"choice": [-1, 2], "avail_1": [1, 1], "avail_2": [1, 1]})
    text = from_choices({"chosen": [1, 2], "offered": ["1|2", "2|3"]})
    assert text == ConditionalCounts("123").observe({"1": 1}, within="12").observe(
        {"2": 1}, within="23"
    )


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


def test_rows_that_belong_to_nothing_are_refused(read: Any) -> None:
    frame = pd.DataFrame({"seq": [None, 1, 1, None], "state": list("abac")})
    with pytest.raises(luce.errors.BadRowsError) as caught:
        from_transitions(frame)
    assert [p.place for p in caught.value.problems] == [1, 4]
    with pytest.raises(luce.errors.BadRowsError) as caught:
        read("race,item,rank / ,a,1 / ,b,2 / x,a,2 / x,b,1")
    assert [p.place for p in caught.value.problems] == [2, 3]
    spaced = read("race,item,rank / r1,a,1 / r1 ,b,2 / r2,a,2 / r2,b,1")
    assert spaced == ConditionalCounts("ab").observe({"a": 1, "b": 1})


def test_long_layouts_have_counts_and_availability() -> None:
    ab = ConditionalCounts("ab").observe({"a": 10, "b": 1})
    base = {"id": [1, 1, 2, 2], "item": list("abab")}
    assert from_rankings({**base, "rank": [1, 2, 2, 1], "freq": [10, 10, 1, 1]}) == ab
    chosen = {"id": [1, 1, 2, 2], "alt": list("abab"), "choice": [1, 0, 0, 1]}
    assert from_choices({**chosen, "count": [10, 10, 1, 1]}) == ab
    with pytest.raises(luce.errors.BadRowsError, match="differs between the rows"):
        from_choices({**chosen, "count": [10, 9, 1, 1]})
    three = {"id": [1, 1, 1], "alt": list("abc"), "choice": [1, 0, 0]}
    assert from_choices({**three, "avail": [1, 1, 0]}).categories == ("a", "b")
    with pytest.raises(luce.errors.BadRowsError, match="not available"):
        from_choices({**three, "available": [0, 1, 1]})


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


def test_padding_and_items_called_zero() -> None:
    assert from_rankings({"1": [1, 0], "2": [0, 1], "3": [2, 2]}).categories == (0, 1, 2)
    with pytest.raises(DataError, match="ends with 0"):
        from_rankings({"1": [1, 2], "2": [2, 1], "3": [0, 0]})
    padded = from_rankings({"1": [1, 2], "2": [2, 0]}, unranked="below")
    assert padded.categories == (1, 2)


def test_home_is_named_not_flagged() -> None:
    with pytest.raises(luce.errors.BadRowsError, match="must name"):
        from_pairs({"winner": ["a", "b"], "loser": ["b", "c"], "h": [1, 0]}, home="h")


def test_answers_that_look_missing_are_answers() -> None:
    answers = {"kids": ["none", "some", "NA"], "sex": ["f", "m", "f"], "n": [10, 4, 3]}
    counts = from_groups(answers, cells=["kids", "sex"])
    both = [("none", "f"), ("none", "m"), ("some", "f"), ("some", "m")]
    by_hand = ConditionalCounts(both).observe({both[0]: 10, both[3]: 4})
    assert counts == by_hand.observe_group([both[0], both[2]], 3)


def test_a_text_is_no_list_of_columns() -> None:
    with pytest.raises(DataError, match=r"\['ab'\]"):
        from_table({"a": [1], "b": [2], "ab": [7]}, ignore="ab")
    with pytest.raises(DataError, match="did_not_finish"):
        from_rankings({"a": [1], "b": ["DNF"]}, did_not_finish="DNF")


def test_separators_are_asked_for_where_there_are_two() -> None:
    teams = from_teams({"winners": ["Disney+,Netflix"], "losers": ["Hulu,Max"]})
    assert teams.categories == ("Disney+", "Hulu", "Max", "Netflix")
    with pytest.raises(DataError, match="separator"):
        from_groups({"group": ["a|b", "a,c"]})
    assert from_groups({"group": ["a|b", "a,c"]}, separator="|").categories == ("a", "a,c", "b")


def test_spaces_around_labels_do_not_count() -> None:
    assert from_rankings([["a ", "b"], ["a", "b"]]).categories == ("a", "b")
    assert from_teams([(["a "], ["b"]), (["a"], ["b"])]).categories == ("a", "b")
    assert from_transitions([["a ", "b", "a"]]).categories == ("a", "b")


def test_rows_drawn_with_one_seed_make_no_matrix() -> None:
    rows = from_transitions("abcabcacb", rows="separate")
    runs = {s: luce.Posterior(row).sample(10, seed=1, progress=False) for s, row in rows.items()}
    with pytest.raises(DataError, match="a seed of its own"):
        luce.answers.transition_matrix(runs)


def test_the_summary_marks_some_of_the_categories() -> None:
    counts = ConditionalCounts("abc").observe({"a": 1}, within="ab")
    run = luce.Posterior(counts).sample(20, seed=1, progress=False)
    table = luce.summary(run, counts=counts, among="ac")
    assert table["prior_only"].tolist() == [False, True]
