"""Brackets: their probabilities are those of all possible winners of all matches, enumerated."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.answer_cases import dirichlet, draws_of
from lib.contest_runs import MODELS, chances, each_draw, made_up
from lib.season_ends import bracket_by_enumeration, series

import luce
from luce.answers import DrawsView
from luce.decide import seeded
from luce.errors import DataError, LuceError

A = (2.0, 3.0, 1.5, 2.5, 1.0, 4.0, 0.8)
PLAIN = ("a", "b"), ("c", "d")
UNEVEN = ((("a", "g"), "b"), (("c", "d"), ("e", "f")))
LADDER = ("a", ("b", ("c", ("d", "e"))))


def drawn(ties: str | None, home: bool) -> xr.DataTree:
    return made_up(ties, home, 4, A)


def single_game(p: Any, values: Any, ties: str | None, lot: bool, place: int) -> Any:
    """The probability that the first wins a game, once ties have been settled."""

    def wins(first: str, second: str) -> float:
        won, tied, lost = chances(p[first], p[second], ties, values, place)
        return won + tied / 2 if lot else won / (won + lost)

    return wins


def by_enumeration(
    run: xr.DataTree, bracket: Any, ties: str | None, places: list[int], lot: bool
) -> list[Any]:
    found = []
    for p, values in each_draw(run):
        games = [single_game(p, values, ties, lot, place) for place in places]
        found.append(
            bracket_by_enumeration(bracket, lambda a, b, g=games: series([w(a, b) for w in g]))
        )
    return found


def agrees(cup: luce.decide.Cup, bracket: Any, truth: list[Any]) -> bool:
    """Are the draws of P(champion), and of the two who win the semi-finals, those enumerated?"""
    near = []
    labels = cup.reach["competitor"].values.tolist()
    every = cup.draws.stack(each=("chain", "draw"), create_index=False)
    for label in labels:
        own = every.sel(competitor=label)
        wanted = [each[bracket, label] for each in truth]
        near.append(np.allclose(own.sel(stage="champion"), wanted, rtol=1e-9, atol=1e-13))
        for part in bracket:
            if isinstance(part, tuple):
                through = [each.get((part, label)) for each in truth]
                if through[0] is not None:
                    near.append(np.allclose(own.sel(stage="final"), through, rtol=1e-9, atol=1e-13))
    return all(near)


@pytest.mark.parametrize(("ties", "home"), MODELS)
@pytest.mark.parametrize("bracket", [PLAIN, UNEVEN, LADDER], ids=["plain", "uneven", "ladder"])
def test_a_bracket_is_the_sum_over_all_winners(ties: str | None, home: bool, bracket: Any) -> None:
    run = drawn(ties, home)
    ground = "first" if home else None
    truth = by_enumeration(run, bracket, ties, [int(home)], lot=False)
    cup = luce.play_bracket(run, bracket, home=ground)
    assert agrees(cup, bracket, truth)
    for name in ("champion", "final"):
        total = float(cup.reach.sel(stage=name).sum())
        assert total == pytest.approx({"champion": 1, "final": 2}[name])
    # Negative controls: the same assertion rejects these.
    if home:
        assert not agrees(luce.play_bracket(run, bracket, home="neutral"), bracket, truth)
        assert not agrees(luce.play_bracket(run, bracket, home="second"), bracket, truth)
    if ties is not None:
        by_lot = luce.play_bracket(run, bracket, home=ground, ties="lot")
        assert not agrees(by_lot, bracket, truth)
        truth = by_enumeration(run, bracket, ties, [int(home)], lot=True)
        assert agrees(by_lot, bracket, truth)


@pytest.mark.parametrize("lot", [False, True])
@pytest.mark.parametrize(
    "homes", [["first"] * 3, ["first", "second", "neutral"], ["first", "second"] * 2 + ["second"]]
)
def test_matches_of_several_games_end_when_they_are_settled(homes: list[str], lot: bool) -> None:
    run = drawn("rao-kupper", True)
    places = [["neutral", "first", "second"].index(each) for each in homes]
    truth = by_enumeration(run, UNEVEN, "rao-kupper", places, lot)
    ties = "lot" if lot else "replay"
    cup = luce.play_bracket(run, UNEVEN, home=homes, best_of=len(homes), ties=ties)
    assert agrees(cup, UNEVEN, truth)
    turned = luce.play_bracket(run, UNEVEN, home=homes[:1], ties=ties)
    assert not agrees(turned, UNEVEN, truth)


def test_lists_nest_as_pairs_do_and_byes_play_nothing() -> None:
    run = drawn(None, False)
    forms = [
        ["a", "b", "c", "d"],
        [("a", "b"), ("c", "d")],
        np.array(["a", "b", "c", "d"]),
        ["a", None, "b", None, "c", None, "d", None],
    ]
    expected = luce.play_bracket(run, PLAIN)
    for form in forms:
        assert luce.play_bracket(run, form).draws.equals(expected.draws)
    byes = luce.play_bracket(run, ["a", None, "b", "c"])
    assert byes.draws.equals(luce.play_bracket(run, ("a", ("b", "c"))).draws)
    assert (byes.reach.sel(competitor="a", stage="final") == 1).all()


def test_means_intervals_and_order_are_those_of_the_draws() -> None:
    cup = luce.play_bracket(drawn("davidson", False), UNEVEN, ci_prob=0.8)
    assert cup.reach["stage"].values.tolist() == ["semi-final", "final", "champion"]
    every = cup.draws.values.reshape(-1, *cup.reach.shape)
    np.testing.assert_allclose(cup.reach, every.mean(axis=0))
    for name, q in (("lower", 0.1), ("upper", 0.9)):
        np.testing.assert_allclose(cup.reach[name], np.quantile(every, q, axis=0))
    assert (np.diff(cup.champion) <= 0).all()
    frame = cup.to_pandas()
    assert frame.columns.tolist() == [
        *("competitor", "semi-final", "final", "champion", "eti80_lb", "eti80_ub")
    ]
    np.testing.assert_allclose(frame["champion"], cup.champion)
    assert "<table>" in cup._repr_html_()


def test_many_rounds_have_names_and_blocks_change_nothing() -> None:
    draws = draws_of(dirichlet([1.0] * 32), list(range(32)))
    cup = luce.play_bracket(draws, list(range(32)))
    stages = cup.reach["stage"].values.tolist()
    assert stages == ["last 16", "quarter-final", "semi-final", "final", "champion"]
    np.testing.assert_allclose(cup.reach.sum("competitor"), [16, 8, 4, 2, 1])
    again = luce.play_bracket(DrawsView.of(draws, block=2**12), list(range(32)))
    np.testing.assert_allclose(again.draws, cup.draws, rtol=1e-13)


def test_a_pair_is_what_predict_says() -> None:
    run = drawn(None, False)
    predicted = luce.predict(run, "a", "b")
    cup = luce.play_bracket(run, ["a", "b"])
    first = float(cup.champion.sel(competitor="a"))
    assert first == pytest.approx(float(predicted.sel(result="first")))


@pytest.mark.parametrize("n", range(2, 18))
def test_the_best_seeds_meet_last(n: int) -> None:
    bracket = seeded(range(n))
    size = len(bracket)
    assert size & (size - 1) == 0
    assert size < 2 * n
    assert sorted(x for x in bracket if x is not None) == list(range(n))
    while size > 1:  # if the better seed always wins, the best half is left after each round
        pairs = list(zip(bracket[::2], bracket[1::2], strict=True))
        assert all(a + b == size - 1 for a, b in pairs if b is not None and a is not None)
        assert all(a is not None or b is not None for a, b in pairs)
        bracket = [min(x for x in pair if x is not None) for pair in pairs]
        size //= 2
        assert sorted(bracket) == list(range(size))


def test_sentences_are_true_and_are_there_only_where_they_are() -> None:
    run = drawn("davidson", True)
    told = str(luce.play_bracket(run, PLAIN, home="first"))
    assert "Exact for each of 8 draws" in told
    assert "at home: the first side." in told
    assert "A tie is replayed until somebody wins." in told
    assert "Not in this bracket: e, f, g." in told
    assert "best of" not in told
    assert "do not trust" in told.lower()
    every = ["a", "b", "c", "d", "e", "f", "g", None]
    homes = ["first", "second", "neutral"]
    told = str(luce.play_bracket(run, every, home=homes, best_of=3, ties="lot"))
    assert "game by game the first side, the second side, nobody." in told
    assert "A match is the best of 3 games." in told
    assert "A tie is decided by lot" in told
    assert "Not in this bracket" not in told
    plain = str(luce.play_bracket(drawn(None, False), PLAIN))
    assert "A tie" not in plain
    assert "at home" not in plain


RUN, NO_HOME = drawn("davidson", True), drawn("davidson", False)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: luce.play_bracket(RUN, PLAIN), "say who is at home"),
        (lambda: luce.play_bracket(NO_HOME, PLAIN, home="first"), "has no home advantage"),
        (lambda: luce.play_bracket(RUN, PLAIN, home="third"), "home = 'third'"),
        (lambda: luce.play_bracket(RUN, PLAIN, home=["first"], best_of=3), "home has 1 entries"),
        (lambda: luce.play_bracket(NO_HOME, PLAIN, best_of=2), "an odd number"),
        (lambda: luce.play_bracket(NO_HOME, PLAIN, best_of=0), "best_of = 0"),
        (lambda: luce.play_bracket(NO_HOME, PLAIN, ties="coin"), "'replay', 'lot'"),
        (lambda: luce.play_bracket(NO_HOME, list("abc")), "3 entries in a row; a power of two"),
        (lambda: luce.play_bracket(NO_HOME, ["a", "a"]), "'a' stands in the bracket twice"),
        (lambda: luce.play_bracket(NO_HOME, ["a", "x"]), "'x' in the bracket is not a category"),
        (lambda: luce.play_bracket(NO_HOME, ["a", {"b"}]), "not a category"),
        (lambda: luce.play_bracket(NO_HOME, ["a", None]), "needs two competitors"),
        (lambda: luce.play_bracket(NO_HOME, []), "0 entries in a row"),
        (lambda: luce.play_bracket(NO_HOME, "ab"), "a list of competitors"),
    ],
)
def test_what_cannot_be_played_is_refused(ask: Callable[[], Any], words: str) -> None:
    with pytest.raises(LuceError, match=re.compile(words, re.DOTALL)):
        ask()


def test_effects_are_no_competitors() -> None:
    draws = draws_of(dirichlet([2.0, 3.0, 1.0])).assign_attrs(tie_categories=["c"])
    assert "Not in this bracket" not in str(luce.play_bracket(draws, ["a", "b"]))
    with pytest.raises(DataError, match="is no competitor: it stands for ties"):
        luce.play_bracket(draws, ["a", "c"])
