"""Meanings of ties: asked for, refused by name, or counted."""

import re
from pathlib import Path

import pytest
from lib.reading_cases import same

from luce import ConditionalCounts, from_pairs, from_rankings, from_teams
from luce.errors import BadRowsError, DataError, DroppedTiesWarning, HalfWinsWarning
from luce.reading.files import understand

TIED = {
    "pairs": (from_pairs, {"item1": ["a", "b"], "item2": ["b", "c"], "outcome": ["tie", "item1"]}),
    "teams": (from_teams, {"side1": ["a", "b"], "side2": ["b", "c"], "outcome": ["tie", "side1"]}),
    "rankings": (from_rankings, {"order": ["a > b = c", "c > a > b"]}),
}


@pytest.mark.parametrize("kind", TIED)
def test_ties_are_asked_for_where_there_are_some(kind: str) -> None:
    read, columns = TIED[kind]
    with pytest.raises(DataError, match=r"1 (tie|ranking with a tie), which can mean"):
        read(columns)
    untied = {name: values[1:] for name, values in columns.items()}
    assert read(untied).n_outcomes > 0
    with pytest.warns(HalfWinsWarning):
        read(columns, ties="half")


@pytest.mark.parametrize("kind", TIED)
def test_ties_can_be_dropped_and_are_counted(kind: str) -> None:
    read, columns = TIED[kind]
    untied = {name: values[1:] for name, values in columns.items()}
    with pytest.warns(DroppedTiesWarning, match=r"^1 (tie|ranking with a tie) is left out"):
        found = read(columns, ties="drop", categories="abc")
    same(found, read(untied, categories="abc"))
    same(read(untied, ties="drop"), read(untied))  # nothing is said where nothing is dropped


def test_dropped_ties_are_no_observations(tmp_path: Path) -> None:
    scores = {"item1": ["a", "a"], "item2": ["b", "c"], "wins1": [2, 0], "wins2": [1, 0],
              "ties": [4, 3]}  # fmt: skip
    with pytest.warns(DroppedTiesWarning, match="7 ties are left out"):
        found = from_pairs(scores, ties="drop")
    same(found, ConditionalCounts("abc").observe({"a": 2, "b": 1}, within="ab"))
    path = tmp_path / "ballots.csv"
    path.write_text("order,count\na > b > c,2\na = b > c,5\n")
    with pytest.warns(DroppedTiesWarning, match="5 rankings with ties are left out"):
        kind, reading = understand(path, ties="drop")
    assert (kind, reading.n_records) == ("rankings", 2)
    with (
        pytest.raises(DataError, match="every ranking has a tie"),
        pytest.warns(DroppedTiesWarning),
    ):
        from_rankings(["a = b > c"], ties="drop")


def test_half_a_win_of_several_is_refused() -> None:
    doubles = {"side1": ["a+b"], "side2": ["c+d"], "outcome": ["tie"]}
    with pytest.raises(DataError, match="ties='davidson' can"), pytest.warns(HalfWinsWarning):
        from_teams(doubles, ties="half")
    with pytest.raises(DataError, match="Give whole numbers"):
        from_teams([(["a", "b"], ["c"], 1.5)])
    tied = {"item1": ["a"], "item2": ["b"], "outcome": ["tie"]}
    with pytest.raises(DataError, match="ties='davidson' can"), pytest.warns(HalfWinsWarning):
        from_pairs(tied, ties="half", home="first", home_effect="entity")
    same(
        from_teams(doubles, ties="entity"),
        ConditionalCounts(["a", "b", "c", "d", "tie"]).observe({"tie": 1}),
    )


@pytest.mark.parametrize(
    ("kind", "meaning", "reason"),
    [
        ("rankings", "davidson", "Davidson's model of ties is for two sides"),
        ("rankings", "rao_kupper", "Rao and Kupper is for two sides"),
        ("pairs", "unknown", "has probability 1"),
        ("teams", "unknown_order", "has probability 1"),
        ("pairs", "davidson-luce", "for two sides it is ties='davidson'"),
        ("pairs", "Davidson", "Did you mean 'davidson'?"),
        ("teams", "rao_kupper", "Did you mean 'rao-kupper'?"),
        *((kind, "coin", "is not known") for kind in TIED),
    ],
)
def test_other_meanings_of_ties_are_refused_by_name(kind: str, meaning: str, reason: str) -> None:
    read, columns = TIED[kind]
    with pytest.raises(DataError, match=re.escape(reason)) as error:
        read(columns, ties=meaning)
    assert f"ties = {meaning!r}" in str(error.value)
    assert "\n  ties='drop' leaves them out" in str(error.value)


def test_the_question_lists_what_is_offered_with_its_meaning() -> None:
    with pytest.raises(DataError) as error:
        from_pairs(TIED["pairs"][1])
    first, *offers = str(error.value).splitlines()
    assert first == (
        "there is 1 tie, which can mean different things; say which (on the command line: --ties):"
    )
    named = ["davidson", "rao-kupper", "entity", "half", "drop"]
    assert [line.split("'")[1] for line in offers] == named
    assert "the usual choice" in offers[0]


def test_entities_are_for_pairs_and_the_last_place_for_rankings() -> None:
    with pytest.raises(DataError, match="ties = 'entity'"):
        from_rankings(TIED["rankings"][1], ties="entity")
    with pytest.raises(DataError, match="ties = 'last'"):
        from_pairs(TIED["pairs"][1], ties="last")
    with pytest.raises(DataError, match="'tie' is a competitor already"):
        from_pairs([("a", "tie")], ties="entity")
    with pytest.raises(BadRowsError, match="not in last place"):
        from_rankings(["a = b > c"], ties="last")
