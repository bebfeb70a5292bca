"""Meanings of ties: asked for, refused by name, or counted."""

import pytest
from lib.reading_cases import same

from luce import ConditionalCounts, from_pairs, from_rankings, from_teams
from luce.errors import BadRowsError, DataError, HalfWinsWarning

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


def test_half_a_win_of_several_is_refused() -> None:
    doubles = {"side1": ["a+b"], "side2": ["c+d"], "outcome": ["tie"]}
    with pytest.raises(DataError, match="ties='entity' can"), pytest.warns(HalfWinsWarning):
        from_teams(doubles, ties="half")
    with pytest.raises(DataError, match="Give whole numbers"):
        from_teams([(["a", "b"], ["c"], 1.5)])
    tied = {"item1": ["a"], "item2": ["b"], "outcome": ["tie"]}
    with pytest.raises(DataError, match="ties='entity' can"), pytest.warns(HalfWinsWarning):
        from_pairs(tied, ties="half", home="first")
    same(
        from_teams(doubles, ties="entity"),
        ConditionalCounts(["a", "b", "c", "d", "tie"]).observe({"tie": 1}),
    )


@pytest.mark.parametrize("kind", TIED)
@pytest.mark.parametrize(
    ("meaning", "reason"),
    [
        ("davidson", "geometric mean"),
        ("Davidson", "geometric mean"),
        ("rao-kupper", "multiples of strengths"),
        ("rao_kupper", "multiples of strengths"),
        ("unknown", "sum over the orders"),
        ("unknown order", "sum over the orders"),
        ("coin", "is not known"),
    ],
)
def test_other_meanings_of_ties_are_refused_by_name(kind: str, meaning: str, reason: str) -> None:
    read, columns = TIED[kind]
    with pytest.raises(DataError, match=reason) as error:
        read(columns, ties=meaning)
    assert f"ties = {meaning!r}" in str(error.value)


def test_entities_are_for_pairs_and_the_last_place_for_rankings() -> None:
    with pytest.raises(DataError, match="ties = 'entity'"):
        from_rankings(TIED["rankings"][1], ties="entity")
    with pytest.raises(DataError, match="ties = 'last'"):
        from_pairs(TIED["pairs"][1], ties="last")
    with pytest.raises(DataError, match="'tie' is a competitor already"):
        from_pairs([("a", "tie")], ties="entity")
    with pytest.raises(BadRowsError, match="not in last place"):
        from_rankings(["a = b > c"], ties="last")
