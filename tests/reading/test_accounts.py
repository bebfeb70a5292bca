"""Every column is accounted for: read as something, left out as asked, or ignored and told of."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lib.reading_cases import CASES, ENGINES, Case, given_as, same

import luce
from luce.errors import DataError, IgnoredColumnsWarning
from luce.reading.files import understand

GAMES = {"winner": ["a", "b", "a"], "loser": ["b", "c", "c"]}
KINDS: dict[str, tuple[Any, dict[str, list[Any]]]] = {
    "pairs": (luce.from_pairs, GAMES),
    "rankings": (luce.from_rankings, {"order": ["a > b", "b > a", "a > b"]}),
    "long rankings": (
        luce.from_rankings,
        {"race": [1, 1, 1], "driver": ["a", "b", "c"], "place": [1, 2, 3]},
    ),
    "choices": (luce.from_choices, {"chosen": ["a", "b", "a"], "offered": ["a|b", "a|b", "a|c"]}),
    "long choices": (
        luce.from_choices,
        {"case": [1, 1, 1], "alt": ["a", "b", "c"], "choice": [0, 1, 0]},
    ),
    "wide choices": (
        luce.from_choices,
        {"choice": ["a", "b", "a"], "avail_a": [1, 1, 1], "avail_b": [1, 1, 0]},
    ),
    "transitions": (luce.from_transitions, {"from": ["a", "b", "a"], "to": ["b", "a", "c"]}),
    "teams": (luce.from_teams, {"winners": ["a+b", "a", "c"], "losers": ["c", "b", "a"]}),
    "groups": (luce.from_groups, {"group": ["a|b", "a", "c"]}),
    "cells": (
        lambda data, **options: luce.from_groups(data, cells=["sex", "vote"], **options),
        {"sex": ["f", "m", "f"], "vote": ["y", "n", None]},
    ),
}
# Columns that play no part anywhere, and words of the advice.
TOLD = {
    "price": ([3.5, 2.0, 7.25], "depend on no covariates"),
    "rating": ([1400, 1500, 1450], "depend on no covariates"),
    "weight": ([2, 1, 5], "say count='weight', --column count=weight"),
    "neutral_venue": (["no", "yes", "no"], "home= takes a column that names who was at home"),
    "weight1": (["1|0.5", "1", "1"], "name it with weights1= or weights2="),
    "kickoff": (["2020-01-01", "2020-01-02", "2020-02-03"], "do not change over time"),
    "season": (["spring", "summer", "spring"], "do not change over time"),
    "annotator": (["x", "y", "x"], "whoever judged or chose"),
    "user_id": ([7, 7, 8], "whoever judged or chose"),
    "is_draw": ([0, 0, 0], "if it tells of ties"),
    "home_score": ([3, 1, 2], "not by how much"),
}
LISTED = {
    "stadium": ["x", "y", "z"],
    "game_id": [17, 18, 19],
    "gameid": [17, 18, 19],
    "rated": [True, False, True],
    "": [1, 2, 3],
    "meta": [{"x": 1}, {}, None],
}


def warned(read: Any, data: Any, **options: Any) -> tuple[Any, dict[str, str]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        counts = read(data, **options)
    messages = [w.message for w in said]
    told = {}
    for message in messages:
        assert isinstance(message, IgnoredColumnsWarning)
        told |= message.columns
    assert len(messages) <= 1
    return counts, told


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TOLD)
def test_every_reader_warns_of_a_column_that_may_matter(kind: str, name: str) -> None:
    read, columns = KINDS[kind]
    values, words = TOLD[name]
    counts, told = warned(read, {**columns, name: values})
    assert list(told) == [name]
    assert words in told[name]
    assert counts == read(columns)  # without a warning
    assert counts == read({**columns, name: values}, ignore=[name])


@pytest.mark.parametrize("name", LISTED)
def test_texts_and_numbers_of_rows_are_no_reason_to_warn(name: str) -> None:
    assert luce.from_pairs({**GAMES, name: LISTED[name]}) == luce.from_pairs(GAMES)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_frame_warns(engine: str) -> None:
    data = given_as(engine, {**GAMES, "price": [1.5, 2.5, 3.5], "stadium": ["x", "y", "z"]})
    counts, told = warned(luce.from_pairs, data)
    assert list(told) == ["price"]
    assert counts == luce.from_pairs(given_as(engine, GAMES))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_column_that_is_left_out_is_as_if_it_were_not_there(case: Case) -> None:
    n = len(next(iter(case.columns.values())))
    wider = {**case.columns, "price": [k + 0.5 for k in range(n)]}
    without = replace(case, options={**case.options, "ignore": ["price"]})
    same(without.counts(wider), case.by_hand)


def test_a_column_that_is_named_is_read(write: Any) -> None:
    path = write("d.csv", "winner,loser,weight\na,b,2\nb,c,3\n")
    with pytest.warns(
        IgnoredColumnsWarning, match=r"d.csv: ignored: 'weight' \(if it is how often"
    ):
        assert luce.read(path).n_outcomes == 2
    assert luce.read(path, count="weight").n_outcomes == 5
    assert luce.read(path, ignore=["weight"]).n_outcomes == 2


def test_what_became_of_each_column_is_told(write: Any) -> None:
    games = "date,home,away,result,stadium,round\n2020-01-01,a,b,H,x,1\n2020-01-02,b,a,H,y,2\n"
    with pytest.warns(IgnoredColumnsWarning):
        _, reading = understand(write("g.csv", games), ignore=["round"])
    assert reading.uses == {
        "date": "ignored: probabilities do not change over time: all times are pooled",
        "home": "item1",
        "away": "item2",
        "result": "outcome",
        "stadium": "ignored: text that plays no part here",
        "round": "left out, as asked",
    }
    assert uses(write, ",winner,loser\n1,a,b\n2,b,a\n")[""] == "ignored: it names or numbers rows"
    assert uses(write, "judge,a,b,n\n7,1,2,3\n8,2,1,1\n", "rankings") == {
        "judge": "names of rankings", "a": "ranks", "b": "ranks", "n": "count"
    }  # fmt: skip
    assert uses(write, ",one,two\na,1,2\nb,2,1\n", "rankings") == {
        "": "items", "one": "ranks", "two": "ranks"
    }  # fmt: skip
    assert uses(write, "1st,2nd\na,b\nb,a\n") == {"1st": "place", "2nd": "place"}
    assert uses(write, "choice,avail_a,avail_b\na,1,1\n") == {
        "choice": "chosen", "avail_a": "availability of a", "avail_b": "availability of b"
    }  # fmt: skip
    assert uses(write, "shop,tea,milk\nnorth,2,1\n", "table") == {
        "shop": "names of rows", "tea": "counts", "milk": "counts"
    }  # fmt: skip
    square = ",a,b\na,0,1\nb,2,0\n"
    for kind in ("pairs", "transitions"):
        assert uses(write, square, kind) == {"": "names of rows", "a": "counts", "b": "counts"}
    assert uses(write, "ann,bo,cy\n1,0,\n0,,1\n", "teams") == dict.fromkeys(
        ("ann", "bo", "cy"), "player"
    )


def uses(write: Any, text: str, kind: str | None = None) -> dict[str, str]:
    return dict(understand(write("d.csv", text), kind)[1].uses)


def test_an_index_is_accounted_for() -> None:
    """It names the rows of a wide table; elsewhere it is a column like any other."""
    dated = pd.DataFrame(GAMES, index=pd.Index(["2020", "2021", "2022"], name="date"))
    with pytest.warns(IgnoredColumnsWarning, match="'date' .*all times are pooled"):
        luce.from_pairs(dated)
    assert luce.from_pairs(dated, ignore=["date"]) == luce.from_pairs(GAMES)
    wide = pd.DataFrame({"a": [1, 2], "b": [2, 1]}, index=pd.Index([2020, 2021], name="year"))
    for read in (luce.from_table, luce.from_rankings):
        assert read(wide) == read(wide, ignore=["year"]) == read(wide.reset_index(drop=True))


def test_missing_values_say_nothing_of_a_column(write: Any) -> None:
    """A column of numbers is one also where its missing values have another text."""
    path = write("d.csv", "winner,loser,price\na,b,3\nb,a,gone\n")
    with pytest.warns(IgnoredColumnsWarning, match="'price' .*numbers"):
        luce.read(path, missing=["gone"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        luce.read(path)  # a column of texts


@pytest.mark.parametrize("read", [read for read, _ in KINDS.values()] + [luce.from_table])
def test_a_column_to_leave_out_must_be_there(read: Any) -> None:
    data = {"x": ["r", "s"], "stadium": ["a", "b"], "sex": ["f", "m"], "vote": ["y", "n"]}
    with pytest.raises(DataError, match=r"ignore = 'stadion': there is no such.*mean 'stadium'\?"):
        read(data, ignore=["stadion"])
    with pytest.raises(DataError, match=r"a list of columns is needed: \['stadium'\]"):
        read(data, ignore="stadium")


# -- wide tables, in which every column is a category ----------------------------------------------


def test_columns_that_are_hardly_categories_are_asked_about() -> None:
    table = {"a": [1, 2, 4], "b": [3, 4, 1]}
    for name, values in (("year", [2019, 2020, 2021]), ("Total", [4, 6, 5]), ("price", [1, 2, 3])):
        for data in ({name: values, **table}, {**table, name: values}):
            with pytest.raises(DataError, match=f"'{name}' would be counted as a category"):
                luce.from_table(data)
            assert luce.from_table(data, ignore=[name]) == luce.from_table(table)
            listed = luce.from_table(data, categories=["a", "b", name])
            assert listed.n_outcomes == np.sum([*table.values(), values])
    with pytest.raises(DataError, match="the last row, 'all', is the sum of the others"):
        luce.from_table({"shop": ["x", "y", "all"], "a": [1, 2, 3], "b": [3, 4, 7]})


def test_numbers_that_are_no_ranks_are_asked_about() -> None:
    ballots = {"a": [1, 2, 3], "b": [2, 1, 1], "c": [3, 3, 2]}
    for name in ("age", "shoes"):  # by its name, and by its values
        wider = {name: [33, 45, 21], **ballots}
        with pytest.raises(DataError, match=f"'{name}' may hold something else than ranks"):
            luce.from_rankings(wider)
        assert luce.from_rankings(wider, ignore=[name]) == luce.from_rankings(ballots)
        assert luce.from_rankings(wider, layout="items-in-columns").n_categories == 4
    races = {"who": ["x", "y", "z"], "Spa": [1, 2, 3], "Monza": [2, 1, 3], "laps": [70, 71, 64]}
    with pytest.raises(DataError, match="'laps' may hold something else than ranks"):
        luce.from_rankings(races)
    assert luce.from_rankings(races, ignore=["laps"]).n_outcomes == 6
    voted = pd.DataFrame({**ballots, "age": [33, 45, 21]}).rename_axis("respondent")
    with pytest.raises(DataError, match="'age' may hold something else than ranks"):
        luce.from_rankings(voted)
    driven = pd.DataFrame(races).set_index("who").rename_axis("driver")
    with pytest.raises(DataError, match="'laps' may hold something else than ranks"):
        luce.from_rankings(driven)
    assert luce.from_rankings(driven, ignore=["laps"]).n_outcomes == 6


@pytest.mark.parametrize("names", [("home_goals", "away_goals"), ("goals1", "goals2"), ("score",)])
def test_goals_are_no_results(tmp_path: Path, names: tuple[str, ...]) -> None:
    data = {"home": ["a", "b"], "away": ["b", "a"], **{name: [2, 1] for name in names}}
    wanted = "beside .* a column is wanted that names the winner or a tie, as H, D and A do"
    with pytest.raises(DataError, match=wanted):
        luce.from_pairs(data, home="first")
    rows = zip(*data.values(), strict=True)
    file = tmp_path / "season.csv"
    file.write_text("\n".join(",".join(map(str, row)) for row in [tuple(data), *rows]))
    with pytest.raises(DataError, match=wanted):
        luce.read(file, home="first")
