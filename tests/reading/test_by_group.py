"""Rows of several groups: each read alone, over the categories of all, with the places of rows."""

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import luce
from luce.errors import (
    BadRowsError,
    ConfoundedHomeWarning,
    DataError,
    IgnoredColumnsWarning,
    SkippedRowsWarning,
)
from luce.reading.by_group import read_groups

GAMES = {
    "league": ["S", "S", "N", "S", "N", "N"],
    "year": [1, 2, 1, 1, 2, 1],
    "winner": list("xyuvux"),
    "loser": list("yzvuww"),
}


def table(columns: dict[str, list[Any]]) -> str:
    rows = zip(*columns.values(), strict=True)
    return "\n".join(",".join(map(str, row)) for row in [columns, *rows]) + "\n"


def counts_of(found: tuple[str, dict[Any, Any]]) -> dict[Any, luce.ConditionalCounts]:
    return {name: reading.counts for name, reading in found[1].items()}


def test_groups_add_up_to_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text(table(GAMES))
    whole = luce.from_pairs({k: v for k, v in GAMES.items() if k in ("winner", "loser")})
    own = {"N": [2, 4, 5], "S": [0, 1, 3]}
    for data in (GAMES, pd.DataFrame(GAMES), pl.DataFrame(GAMES), path, str(path)):
        found = counts_of(read_groups(data, "league", "pairs", ignore=["year"]))
        assert list(found) == ["S", "N"]
        assert sum(found.values()) == whole
        for name, rows in own.items():
            part = {k: [GAMES[k][i] for i in rows] for k in ("winner", "loser")}
            assert found[name] == luce.from_pairs(part, categories=whole.categories)


def test_groups_of_several_columns() -> None:
    found = counts_of(read_groups(GAMES, ["league", "year"]))
    assert list(found) == [("S", 1), ("S", 2), ("N", 1), ("N", 2)]
    assert found["S", 2].n_outcomes == 1


def test_the_same_ranking_number_in_two_groups_is_two_rankings() -> None:
    races = {
        "season": [1, 1, 1, 2, 2, 2],
        "race": [7] * 6,
        "driver": list("abcbca"),
        "place": [1, 2, 3] * 2,
    }
    found = counts_of(read_groups(races, "season", "rankings"))
    assert found[2] == luce.ConditionalCounts("abc").observe_ranking("bca")


def test_bad_rows_have_the_numbers_of_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text("league,winner,loser\nS,a,b\n\nN,a,c\nS,c,c\n ,b,c\nN,b,b\n")
    with pytest.raises(BadRowsError) as caught:
        read_groups(path, "league")
    assert [problem.place for problem in caught.value.problems] == [6]
    assert "league is missing" in str(caught.value)
    with pytest.warns(SkippedRowsWarning) as said:
        found = counts_of(read_groups(path, "league", skip_bad=True))
    places = [[p.place for p in w.message.problems] for w in said]  # type: ignore[union-attr]
    assert sorted(places) == [[5, 7], [6]]
    assert sum(found.values()).n_outcomes == 2  # type: ignore[union-attr]
    frame = pd.DataFrame({"g": list("ABAB"), "winner": list("abcc"), "loser": list("bcca")})
    with pytest.raises(BadRowsError, match="row 3: 'c' is compared with itself"):
        read_groups(frame, "g")


def test_warnings_are_given_once_and_name_the_group() -> None:
    extra = {**GAMES, "crowd": [100.0, 90.5, 80.0, 70.0, 60.0, 50.0]}
    with pytest.warns(IgnoredColumnsWarning) as said:
        read_groups(extra, "league", "pairs", ignore=["year"])
    assert [list(w.message.columns) for w in said] == [["crowd"]]  # type: ignore[union-attr]
    season = {
        "league": list("AAABB"),
        "home": list("abcaa"),
        "away": list("bcabb"),
        "result": list("HAHAH"),
    }
    with pytest.warns(ConfoundedHomeWarning, match="group 'B': ") as said:
        read_groups(season, "league", "pairs", home="first")
    assert len(said) == 1


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(DataError, match=r"by = 'leage': there is no such column.*'league'"):
        read_groups(GAMES, "leage")
    with pytest.raises(DataError, match="winer is no option"):
        read_groups(GAMES, "league", winer="winner")
    moves = {"g": list("AAB"), "from": list("abc"), "to": list("bca")}
    with pytest.raises(DataError, match="group 'A': rows='separate' makes several"):
        read_groups(moves, "g", "transitions", rows="separate")
    with pytest.raises(DataError, match="kind = 'pear'"):
        read_groups(GAMES, "league", "pear")
    with pytest.raises(DataError, match="no rows of data"):
        read_groups({"league": [], "winner": [], "loser": []}, "league", "pairs")
