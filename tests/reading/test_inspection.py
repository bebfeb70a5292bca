"""Bad rows: all are named, with their places, or left out with a warning."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from lib.data_files import problems, skipping
from lib.reading_cases import FRAMES, Columns, given_as, rearranged, same

import luce
from luce import (
    ConditionalCounts,
    from_choices,
    from_groups,
    from_pairs,
    from_rankings,
    from_table,
    from_teams,
    from_transitions,
)
from luce.errors import BadRowsError, DataError, SkippedRowsWarning

BAD_ROWS = [
    (from_pairs, {"winner": ["a", None, "b", "c", None], "loser": ["b", "c", "b", None, "c"]},
     {2: "the first of the two is missing", 3: "'b' is compared with itself",
      4: "the second of the two is missing", 5: "the first of the two is missing"}, {}),
    (from_pairs, {"winner": ["a", "b", "a"], "loser": ["b", "a", "b"], "count": [2, -1, 1]},
     {2: "it cannot be negative"}, {}),
    (from_pairs, {"winner": ["a", "b", "a"], "loser": ["b", "a", "b"], "count": ["2", "x", ""]},
     {2: "count is 'x'; a number is needed", 3: "count is missing"}, {}),
    (from_pairs, {"item1": ["a", "b", "a"], "item2": ["b", "c", "c"],
                  "outcome": ["item1", "nobody", None]},
     {2: "the outcome is 'nobody'", 3: "the outcome is missing"}, {}),
    (from_rankings, {"order": ["a > b", "b > a > b", "", "b > a"]},
     {2: "'b' appears twice in one ranking", 3: "the ranking is empty"}, {}),
    (from_rankings, {"a": ["1", "2", "x"], "b": ["2", "-1", "1"]},
     {2: "the rank of 'b' is '-1'", 3: "the rank of 'a' is 'x'"}, {"layout": "items-in-columns"}),
    (from_rankings, {"id": [1, 1, 2, 2], "item": ["a", "b", "b", "b"], "rank": [1, 2, 1, 2]},
     {3: "'b' appears twice"}, {}),
    (from_choices, {"chosen": ["a", "b", None], "offered": ["a|c", "a|c", "a|c"]},
     {2: "'b' was chosen but not on offer", 3: "the chosen one is missing"}, {}),
    (from_choices, {"case": [1, 1, 2, 2, 3, 3], "alt": ["a", "b", "a", "b", "b", "a"],
                    "choice": [1, 0, 1, 1, 0, 0]},
     {3: "2 ('a', 'b') is chosen; one is needed", 5: "none is chosen"}, {}),
    (from_choices, {"choice": ["a", "b", "b"], "avail_a": [1, 1, 2], "avail_b": [1, 0, 1]},
     {2: "'b' was chosen but not on offer", 3: "avail_a is 2"}, {}),
    (from_transitions, {"from": ["a", None, "b"], "to": ["b", "a", None]},
     {2: "the state from is missing", 3: "the state to is missing"}, {}),
    (from_table, {"row": ["x", "y", "z"], "a": [1, 2, -3], "b": [1, 2, 1]},
     {3: "a is -3"}, {}),
    (from_teams, {"winners": ["a+b", "a", None, "b"], "losers": ["c", "a+c", "b", "c"]},
     {2: "'a' plays on both sides", 3: "the first side is empty"}, {}),
    (from_teams, {"a": [1, 1, 0], "b": [0, 1, 0], "c": [None, None, 2]},
     {2: "nobody loses", 3: "c is 2"}, {}),
    (from_groups, {"group": ["a+b", "a+a", "b"], "count": [1.0, 2.0, 1.5]},
     {2: "names 'a' twice", 3: "count is 1.5"}, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("read", "columns", "wrong", "options", "engine"),
    [*((*bad, engine) for bad in BAD_ROWS for engine in FRAMES), (*BAD_ROWS[0], "dask")],
)
def test_bad_rows_are_named_by_number(
    read: Callable[..., ConditionalCounts],
    columns: Columns,
    wrong: dict[int, str],
    options: dict[str, Any],
    engine: str,
) -> None:
    with pytest.raises(BadRowsError) as error:
        read(given_as(engine, columns), **options)
    found = dict(error.value.problems)
    assert list(found) == list(wrong)
    for place, what in wrong.items():
        assert what in found[place]
        assert f"row {place}: {found[place]}" in str(error.value)
    with pytest.warns(SkippedRowsWarning, match=f"left out {len(wrong)}") as warned:
        kept = read(given_as(engine, columns), skip_bad=True, **options)
    (warning,) = (w.message for w in warned if isinstance(w.message, SkippedRowsWarning))
    assert [problem.place for problem in warning.problems] == list(wrong)
    if read in (from_choices, from_rankings) and len(columns) == 3 and "count" not in columns:
        groups = next(iter(columns.values()))  # of which the first row is named
        left = [i for i in range(len(groups)) if groups.index(groups[i]) + 1 not in wrong]
    else:
        left = [i for i in range(len(next(iter(columns.values())))) if i + 1 not in wrong]
    same(kept, read(rearranged(columns, left), **options))


@pytest.mark.parametrize("engine", FRAMES)
def test_where_no_row_is_left_there_is_nothing_to_count(engine: str) -> None:
    games = {"winner": ["a", "b"], "loser": ["a", "b"]}
    with (
        pytest.warns(SkippedRowsWarning, match="left out 2"),
        pytest.raises(DataError, match="no usable row is left"),
    ):
        from_pairs(given_as(engine, games), skip_bad=True)
    with pytest.raises(DataError, match="no rows"):
        from_pairs(given_as(engine, {"winner": [], "loser": []}))


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


@pytest.mark.parametrize(
    ("count", "what"),
    [
        ("-2", "negative"),
        ("two", "a number is needed"),
        ("", "missing"),
        ("nan", "missing"),
        ("inf", "finite"),
        ("1e400", "finite"),
        ("-inf", "negative"),
        ("1_000", "a number is needed"),
        ("0x10", "a number is needed"),
    ],
)
def test_counts_that_are_none(write: Any, count: str, what: str) -> None:
    path = write("d.csv", f"winner,loser,count\na,b,1\nb,a,{count}\nb,a,2\n")
    ((line, sentence),) = problems(path)
    assert line == 3
    assert what in sentence
    assert skipping(path) == (luce.from_pairs([("a", "b", 1), ("b", "a", 2)]), [3])
