"""Teams."""

import numpy as np
import pandas as pd
import pytest

from luce import ConditionalCounts, from_rankings, from_teams
from luce.errors import BadRowsError, DataError


def test_options_that_the_data_cannot_follow_are_refused() -> None:
    with pytest.raises(DataError, match="does not say who was at home"):
        from_teams({"a": [1, 0], "b": [0, 1]}, home="first")
    with pytest.raises(DataError, match="counts go with a list of rankings"):
        from_rankings(pd.DataFrame({"a": [1, 2], "b": [2, 1]}), counts=[3, 4])


# -- weights of part-time players ---------------------------------------------------------------

PART_TIME = [
    ({"ann": 1, "bo": 0.5}, ["cy", "di"]),
    (["cy"], {"bo": 2}, 3),
    ({"ann": 0.5}, {"bo": 0.5, "cy": 0}),
]
COLUMNS = {
    "winners": ["ann|bo", "cy", "ann"],
    "losers": ["cy|di", "bo", "bo|cy"],
    "count": [1, 3, 1],
    "weights1": ["1|0.5", None, "0.5"],
    "weights2": [None, "2", "0.5|0"],
}


def part_time(p: np.ndarray) -> float:
    """The log likelihood of both, written out."""
    a, b, c, d = p
    first, third = (a + b / 2) / (a + b / 2 + c + d), a / (a + b)
    return float(np.log(first) + 3 * np.log(c / (c + 2 * b)) + np.log(third))


def test_weights_of_part_time_players() -> None:
    p = np.array([0.1, 0.2, 0.3, 0.4])
    counts = from_teams(PART_TIME)
    assert counts.log_likelihood(p) == pytest.approx(part_time(p))
    assert from_teams(pd.DataFrame(COLUMNS)) == counts
    renamed = pd.DataFrame(COLUMNS).rename(columns={"weights1": "minutes", "weights2": "others"})
    assert from_teams(renamed, weights1="minutes", weights2="others") == counts
    lists = {**COLUMNS, "weights1": [[1, 0.5], [1], [0.5]], "weights2": [[1, 1], [2], [0.5, 0]]}
    assert from_teams(pd.DataFrame(lists)) == counts
    assert counts.restrict(["ann", "bo"]) == ConditionalCounts(["ann", "bo"]).observe_group(
        {"ann": 0.5}, 1, within={"ann": 0.5, "bo": 0.5}
    )


def test_weights_beside_ties_and_a_home_entity() -> None:
    frame = pd.DataFrame(
        {
            "side1": ["a|b", "c"],
            "side2": ["c", "a|b"],
            "outcome": ["side1", "tie"],
            "weights1": ["1|0.5", "1"],
            "weights2": ["1", "0.25|1"],
        }
    )
    counts = from_teams(frame, ties="entity", home="first", home_effect="entity")
    p = dict(zip(counts.categories, [0.1, 0.15, 0.2, 0.25, 0.3], strict=True))
    a, b, c, tie, home = (p[label] for label in ("a", "b", "c", "tie", "home"))
    first = (a + b / 2 + home) / (a + b / 2 + home + c + tie)
    second = tie / (c + home + a / 4 + b + tie)
    assert counts.log_likelihood(list(p.values())) == pytest.approx(np.log(first * second))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("1|-0.5", "2 numbers must be there"),
        ("1", "2 numbers must be there"),
        ("1|much", "2 numbers must be there"),
        ("0|0", "somebody must have taken part"),
        ("1|1e99", "2 numbers must be there"),
    ],
)
def test_bad_weights_are_refused(weights: str, words: str) -> None:
    frame = pd.DataFrame({"winners": ["a|b"], "losers": ["c|d"], "weights1": [weights]})
    with pytest.raises(BadRowsError, match=words):
        from_teams(frame)


@pytest.mark.filterwarnings("ignore:home. data cannot tell")
def test_weights_beside_ties_and_a_home_factor() -> None:
    """Sides may be mappings in columns of plain lists; strengths then have the weights."""
    games = {
        "side1": [{"a": 1, "b": 0.5}, ["c"]],
        "side2": [["c"], {"a": 0.25, "b": 1}],
        "outcome": ["side1", "tie"],
    }
    counts = from_teams(games, ties="davidson", home="first")
    a, b, c, home, tie = 0.2, 0.3, 0.5, 1.4, 0.7
    one, other = home * (a + b / 2), c
    two, against = home * c, a / 4 + b
    first = one / (one + other + tie * np.sqrt(one * other))
    second = tie * np.sqrt(two * against) / (two + against + tie * np.sqrt(two * against))
    found = counts.log_likelihood([a, b, c], home=home, tie=tie)
    assert found == pytest.approx(np.log(first * second))
    assert "a, 0.5 b at home against c: 1 win" in counts.summary()
    columns = {
        "side1": ["a|b", "c"],
        "side2": ["c", "a|b"],
        "outcome": ["side1", "tie"],
        "weights1": ["1|0.5", "1"],
        "weights2": ["1", "0.25|1"],
    }
    assert from_teams(pd.DataFrame(columns), ties="davidson", home="first") == counts
    assert from_teams(columns, ties="davidson", home="first") == counts


def test_weights_given_twice_are_refused() -> None:
    games = {"winners": [{"a": 1, "b": 0.5}], "losers": [["c"]], "weights1": ["1|1"]}
    with pytest.raises(DataError, match="in one of the two"):
        from_teams(games)
