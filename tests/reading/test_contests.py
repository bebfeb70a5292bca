"""Ties by a model, and a home advantage that multiplies, as readers count them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.places import SHARED_DATA
from lib.reading_cases import ENGINES, given_as, same

import luce
from luce import ConditionalCounts, from_pairs, from_teams
from luce.errors import BadRowsError, DataError, DroppedTiesWarning, HalfWinsWarning
from luce.reading.tally import Lists, Tally

P = {"a": 0.4, "b": 0.1, "c": 0.3, "d": 0.2}
H, T = 1.6, 1.3  # home and tie
Row = tuple[str, str, str, str]  # first side, second side, who is at home, result
Formula = Callable[[float, float], tuple[float, float, float]]


def davidson(a: float, b: float) -> tuple[float, float, float]:
    whole = a + b + T * math.sqrt(a * b)
    return a / whole, b / whole, T * math.sqrt(a * b) / whole


def rao_kupper(a: float, b: float) -> tuple[float, float, float]:
    won, lost = a / (a + T * b), b / (T * a + b)
    return won, lost, 1 - won - lost


def no_ties(a: float, b: float) -> tuple[float, float, float]:
    return a / (a + b), b / (a + b), math.nan


FORMULAS: dict[str, Formula] = {"davidson": davidson, "rao-kupper": rao_kupper}
ROWS: list[Row] = [
    ("a", "b", "a", "w"),
    ("b", "a", "b", "t"),
    ("c", "a", "", "l"),
    ("d", "c", "c", "t"),
    ("a", "b", "b", "l"),
    ("c", "d", "c", "t"),
    ("b", "c", "c", "w"),
]


def likelihood(rows: list[Row], formula: Formula, home: bool) -> float:
    """Log likelihood of single rows; sides are texts of one letter a player."""
    total = 0.0
    for first, second, at, result in rows:
        a, b = (sum(P[x] for x in side) for side in (first, second))
        a, b = (H if home and at == first else 1) * a, (H if home and at == second else 1) * b
        total += math.log(formula(a, b)["wlt".index(result)])
    return total


def at_p(counts: ConditionalCounts) -> float:
    values = {name: {"home": H, "tie": T}[name] for name in counts.parameters}
    p = np.array([P[str(x)] for x in counts.categories])
    return float(counts.log_likelihood(p / p.sum(), **values))


def columns(rows: list[Row], joined: str = "") -> dict[str, list[Any]]:
    """Write rows down as columns; with a text to join players, as teams."""
    one, two = ("side1", "side2") if joined else ("item1", "item2")

    def side(x: str) -> str | None:
        return joined.join(x) or None

    return {
        one: [side(a) for a, _, _, _ in rows],
        two: [side(b) for _, b, _, _ in rows],
        "at": [side(at) for _, _, at, _ in rows],
        "outcome": [{"w": one, "l": two, "t": "tie"}[r] for *_, r in rows],
    }


@pytest.mark.parametrize("ties", FORMULAS)
@pytest.mark.parametrize("engine", ENGINES)
def test_pairs_have_the_likelihood_of_their_model(ties: str, engine: str) -> None:
    frame = given_as(engine, columns(ROWS))
    found = from_pairs(frame, ties=ties, home="at")
    assert at_p(found) == pytest.approx(likelihood(ROWS, FORMULAS[ties], True), rel=1e-12)
    assert (found.n_outcomes, len(found.sets.exponent), found.effects) == (len(ROWS), 0, {})
    assert found.parameters == ("home", "tie")
    without = from_pairs(frame, ties=ties, ignore=["at"])
    assert at_p(without) == pytest.approx(likelihood(ROWS, FORMULAS[ties], False), rel=1e-12)
    assert without.parameters == ("tie",)


@pytest.mark.parametrize("who", ["first", "second"])
def test_the_advantage_is_that_of_the_first_or_the_second(who: str) -> None:
    rows = [(a, b, a if who == "first" else b, r) for a, b, _, r in ROWS]
    found = from_pairs(columns(ROWS), ties="davidson", home=who, ignore=["at"])
    assert at_p(found) == pytest.approx(likelihood(rows, davidson, True), rel=1e-12)
    other = from_pairs(columns(rows), ties="davidson", home="at")
    same(found, other)
    # The same assertion rejects the other side.
    turned = [(a, b, b if at == a else a, r) for a, b, at, r in rows]
    assert at_p(found) != pytest.approx(likelihood(turned, davidson, True), rel=1e-6)


def test_winners_and_losers_and_numbers_of_wins() -> None:
    untied = [row for row in ROWS if row[3] != "t"]
    names = [(a, b, at) if r == "w" else (b, a, at) for a, b, at, r in untied]
    won = {"winner": [w for w, _, _ in names], "loser": [x for _, x, _ in names],
           "at": [at or None for *_, at in names]}  # fmt: skip
    found = from_pairs(won, home="at")
    assert found.parameters == ("home",)
    assert at_p(found) == pytest.approx(likelihood(untied, no_ties, True), rel=1e-12)
    numbers = {"item1": ["a", "b"], "item2": ["b", "a"], "wins1": [3, 1.5], "wins2": [1, 0],
               "ties": [2, 0.25]}  # fmt: skip
    found = from_pairs(numbers, ties="davidson", home="first")
    one, two = (
        {r: likelihood([(*side, r)], davidson, True) for r in "wlt"}
        for side in (("a", "b", "a"), ("b", "a", "b"))
    )
    expected = 3 * one["w"] + one["l"] + 2 * one["t"] + 1.5 * two["w"] + 0.25 * two["t"]
    assert at_p(found) == pytest.approx(expected, rel=1e-12)
    assert found.n_outcomes == 7.75


def test_half_wins_and_dropped_ties_go_with_an_advantage() -> None:
    untied = [row for row in ROWS if row[3] != "t"]
    with pytest.warns(DroppedTiesWarning, match="^3 ties are left out"):
        dropped = from_pairs(columns(ROWS), ties="drop", home="at")
    assert at_p(dropped) == pytest.approx(likelihood(untied, no_ties, True), rel=1e-12)
    with pytest.warns(HalfWinsWarning):
        half = from_pairs(columns(ROWS), ties="half", home="at")
    parts = [[(a, b, at, r)] for a, b, at, t in ROWS if t == "t" for r in "wl"]
    halves = sum(likelihood(part, no_ties, True) for part in parts) / 2
    assert at_p(half) == pytest.approx(likelihood(untied, no_ties, True) + halves, rel=1e-12)
    assert half.n_outcomes == len(ROWS)
    with pytest.raises(DataError, match="there are 3 ties, which can mean different things"):
        from_pairs(columns(ROWS), home="at")


TEAM_ROWS: list[Row] = [
    ("ab", "cd", "ab", "w"),
    ("cd", "ba", "cd", "t"),
    ("a", "bc", "", "l"),
    ("bd", "a", "a", "w"),
    ("c", "bda", "c", "t"),
]


@pytest.mark.parametrize("ties", FORMULAS)
def test_teams_have_the_likelihood_of_their_model(ties: str) -> None:
    found = from_teams(columns(TEAM_ROWS, "+"), ties=ties, home="at")
    assert at_p(found) == pytest.approx(likelihood(TEAM_ROWS, FORMULAS[ties], True), rel=1e-12)
    fractions = {**columns(TEAM_ROWS, "+"), "count": [1.5, 0.5, 1, 2, 1]}
    weighed = [likelihood([row], FORMULAS[ties], True) for row in TEAM_ROWS]
    expected = float(np.dot(weighed, fractions["count"]))
    assert at_p(from_teams(fractions, ties=ties, home="at")) == pytest.approx(expected, rel=1e-12)
    untied = [([*"ab"], [*"cd"]), ([*"cd"], [*"a"])]
    plain = from_teams(untied, ties=ties)
    assert plain.parameters == ("tie",)
    players = {"a": [1, 0], "b": [1, None], "c": [0, 1], "d": [0, 1]}
    same(from_teams(players, ties=ties), plain)


def test_weights_of_members_reach_the_contests() -> None:
    tally = Tally.over("abcd", None)
    first = Lists(np.array([0, 1, 2]), np.array([0, 2, 3]), np.array([1.0, 0.5, 2.0]))
    second = Lists.of([[2], [3, 0]])
    tally.add_contests(first, second, np.array([1, 2]), np.eye(3)[[0, 2]], "davidson", True)
    one = davidson(H * (0.4 + 0.5 * 0.1), 0.3)[0]
    two = davidson(2 * 0.3, H * (0.2 + 0.4))[2]
    assert at_p(tally.counts()) == pytest.approx(math.log(one * two), rel=1e-12)


def test_what_asks_for_no_parameter_is_counted_as_before() -> None:
    untied = [row for row in ROWS if row[3] != "t"]
    plain = from_pairs(columns(untied), ignore=["at"])
    assert plain.events is None
    assert plain.parameters == ()
    for ties in ("half", "drop"):  # nothing is tied
        same(from_pairs(columns(untied), ties=ties, ignore=["at"]), plain)


def test_files_and_games_of_chess(tmp_path: Path) -> None:
    table = tmp_path / "season.csv"
    table.write_text("home,away,result\na,b,1\nb,a,0\nc,a,-1\na,c,0\n")
    rows = [("a", "b", "a", "w"), ("b", "a", "b", "t"), ("c", "a", "c", "l"), ("a", "c", "a", "t")]
    found = luce.read(table, ties="davidson", home="first")
    assert at_p(found) == pytest.approx(likelihood(rows, davidson, True), rel=1e-12)
    games = tmp_path / "games.pgn"
    words = {"w": "1-0", "l": "0-1", "t": "1/2-1/2"}
    games.write_text(
        "\n\n".join(
            f'[White "{a}"]\n[Black "{b}"]\n[Result "{words[r]}"]\n\n{words[r]}'
            for a, b, _, r in rows
        )
    )
    same(luce.read(games, ties="davidson", home="first"), found)


def test_restrictions_keep_the_meetings_of_those_left() -> None:
    found = from_pairs(columns(ROWS), ties="davidson", home="at")
    left = [row for row in ROWS if "d" not in row[:2]]
    same(found.restrict("abc"), from_pairs(columns(left), ties="davidson", home="at"))


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"ties": "entity", "home": "at"}, "Give ties='davidson'.*or home_effect='entity'"),
        ({"ties": "davidson", "tie_label": "x"}, "tie_label = 'x'.*only ties='entity' makes"),
        ({"ties": "davidson", "home": "at", "home_label": "x"}, "home_label = 'x'.*'multiplicat"),
        ({"ties": "drop", "home_label": "x"}, "home_label = 'x'.*no home="),
        ({"ties": "drop", "home_effect": "entity"}, "but not who has it"),
        ({"ties": "drop", "home": "at", "home_effect": "team"}, "a parameter for each team"),
        ({"ties": "drop", "home": "at", "home_effect": "own"}, "give it two labels"),
        ({"ties": "drop", "home": "at", "home_effect": "additive"}, "is not known"),
        ({"ties": "drop", "home": "at", "home_effect": "entiti"}, "Did you mean 'entity'?"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, str], refusal: str) -> None:
    with pytest.raises(DataError, match=refusal):
        from_pairs(columns(ROWS), **options)


def test_wrong_homes_are_found_in_their_rows() -> None:
    wrong = {**columns(ROWS), "at": ["c", *columns(ROWS)["at"][1:]]}
    with pytest.raises(
        BadRowsError, match="row 1: at is 'c'; it must name 'a' or 'b', or be empty"
    ):
        from_pairs(wrong, ties="davidson", home="at")


def test_five_seasons_of_football() -> None:
    path = SHARED_DATA / "football" / "football.csv"
    if not path.is_file():
        pytest.skip("no published data here")
    found = luce.read(path, ties="davidson", home="first", ignore=["season"])
    assert (found.n_categories, found.n_outcomes, found.parameters) == (29, 1900, ("home", "tie"))
    frame = found.to_frame()
    assert frame[["wins", "losses", "ties"]].sum().tolist() == [882, 513, 505]


@pytest.mark.parametrize("home", ["winner", "loser"])
def test_results_do_not_tell_who_was_at_home(home: str) -> None:
    with pytest.raises(DataError, match=f"home = '{home}' is the column of results"):
        luce.from_pairs({"winner": ["a", "b"], "loser": ["b", "a"]}, home=home)
