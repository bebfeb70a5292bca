"""Contests: their likelihood by hand, and the algebra of counts that hold them."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED

import luce
from luce import ConditionalCounts
from luce.counts.contests import Contests, contests_of, contests_of_pairs
from luce.errors import DataError

Game = tuple[tuple[str, ...], tuple[str, ...], int, str]  # sides, who is at home, result
LABELS = ["d", "a", "c", "b"]  # not in alphabetical order
P = {"d": 0.1, "a": 0.4, "c": 0.2, "b": 0.3}
MODELS = list(itertools.product([None, "davidson", "rao-kupper"], [False, True]))
VALUES = {"home": 1.4, "tie": 1.7}


def chances(a: float, b: float, ties: str | None, tie: float) -> dict[str, float]:
    """Probabilities of a win, a loss and a tie, as they are printed in books."""
    if ties == "davidson":
        middle = tie * math.sqrt(a * b)
        return {
            "w": a / (a + b + middle),
            "l": b / (a + b + middle),
            "t": middle / (a + b + middle),
        }
    if ties == "rao-kupper":
        won, lost = a / (a + tie * b), b / (b + tie * a)
        return {"w": won, "l": lost, "t": 1 - won - lost}
    return {"w": a / (a + b), "l": b / (a + b), "t": 0.0}


def by_hand(
    games: list[Game], ties: str | None, home: bool, weights: Mapping[str, float] | None = None
) -> float:
    """Log likelihood, game by game."""
    total = 0.0
    for first, second, where, result in games:
        a, b = (sum((weights or {}).get(x, 1.0) * P[x] for x in side) for side in (first, second))
        a *= VALUES["home"] if home and where == 1 else 1.0
        b *= VALUES["home"] if home and where == 2 else 1.0
        total += math.log(chances(a, b, ties, VALUES["tie"])[result])
    return total


def at(counts: ConditionalCounts) -> float:
    values = {name: VALUES[name] for name in counts.parameters}
    return float(counts.log_likelihood([P[x] for x in counts.categories], **values))


def random_games(ties: str | None, size: int, number: int = 60) -> list[Game]:
    rng = np.random.default_rng([SEED, 31, size, number])
    games: list[Game] = []
    for _ in range(number):
        order = [LABELS[i] for i in rng.permutation(4)]
        cut = int(rng.integers(1, size + 1))
        end = cut + int(rng.integers(1, size + 1))
        result = str(rng.choice(list("wlt" if ties else "wl")))
        games.append((tuple(order[:cut]), tuple(order[cut:end]), int(rng.integers(3)), result))
    return games


def contests(
    games: list[Game],
    ties: str | None,
    home: bool,
    weights: Mapping[str, float] | None = None,
    labels: list[str] = LABELS,
) -> ConditionalCounts:
    sides = [side for first, second, _, _ in games for side in (first, second)]
    members = np.array([labels.index(x) for side in sides for x in side])
    start = np.cumsum([0, *map(len, sides)])
    own = None if weights is None else np.array([weights.get(x, 1.0) for s in sides for x in s])
    results = np.array([[r == x for x in "wlt"] for _, _, _, r in games], np.float64)
    where = np.array([w for _, _, w, _ in games])
    found = contests_of(len(labels), members, start, own, where, results, ties, home)
    return ConditionalCounts(labels).with_events(found)


@pytest.mark.parametrize(("ties", "home"), MODELS)
@pytest.mark.parametrize("size", [1, 2])
def test_the_likelihood_is_that_of_single_games(ties: str | None, home: bool, size: int) -> None:
    games = random_games(ties, size)
    found = contests(games, ties, home)
    assert at(found) == pytest.approx(by_hand(games, ties, home), rel=1e-12)
    assert found.n_outcomes == len(games)
    assert found.parameters == ("home",) * home + ("tie",) * (ties is not None)
    weights = {"a": 0.25, "d": 3.0}
    weighted = contests(games, ties, home, weights)
    assert at(weighted) == pytest.approx(by_hand(games, ties, home, weights), rel=1e-12)
    # The same assertion sees who is at home, and weights.
    if home:
        turned = [(a, b, (3 - w) % 3, r) for a, b, w, r in games]
        assert at(contests(turned, ties, home)) != pytest.approx(at(found), rel=1e-6)
    assert at(weighted) != pytest.approx(at(found), rel=1e-6)


@pytest.mark.parametrize(("ties", "home"), MODELS)
@pytest.mark.parametrize("size", [1, 2])
def test_neither_order_nor_sides_nor_history_matter(
    ties: str | None, home: bool, size: int
) -> None:
    games = random_games(ties, size)
    whole = contests(games, ties, home)
    swapped = [
        (b[::-1], a[::-1], (3 - w) % 3, {"w": "l", "l": "w"}.get(r, r)) for a, b, w, r in games
    ]
    for other in (
        contests(games[::-1], ties, home),
        contests(swapped, ties, home),
        contests(games[:20], ties, home) + contests(games[20:], ties, home),
        sum([contests([g], ties, home) for g in games], ConditionalCounts(LABELS)),
        ConditionalCounts(LABELS) + whole,
        pickle.loads(pickle.dumps(whole)),
    ):
        assert other == whole
        assert other.digest == whole.digest
        assert other.n_outcomes == whole.n_outcomes
    events = whole.events
    assert isinstance(events, Contests)
    meetings = {
        (frozenset([a, b]), w and a if w == 1 else w and b)
        for a, b, w, _ in [(frozenset(a), frozenset(b), w * home, r) for a, b, w, r in games]
    }
    assert len(events) == len(meetings)  # each stored once
    different = contests(games[:-1], ties, home)
    assert different != whole
    assert different.digest != whole.digest


def test_fractions_add_up_alike_in_any_order() -> None:
    rng = np.random.default_rng([SEED, 32])
    results = rng.random((50, 3))
    first, second = np.zeros(50, np.int64), np.ones(50, np.int64)
    digests = set()
    for order in (np.arange(50), rng.permutation(50), rng.permutation(50)):
        own = contests_of_pairs(2, first, second, first, results[order], "davidson", False)
        digests.add(ConditionalCounts(2).with_events(own).digest)
        assert own.results.tolist() == [pytest.approx(results.sum(axis=0).tolist())]
        assert not own.is_whole
    assert len(digests) == 1


def test_labels_move_with_their_games() -> None:
    games = random_games("davidson", 2)
    whole = contests(games, "davidson", True)
    order = sorted(LABELS)
    turned = contests(games, "davidson", True, labels=order)
    assert at(turned) == pytest.approx(at(whole), rel=1e-12)
    assert ConditionalCounts(LABELS) + turned == whole
    renamed = whole.relabel(str.upper)
    assert renamed.categories == tuple("DACB")
    assert renamed.events is whole.events
    assert renamed != whole


def test_restrictions_keep_the_games_among_those_left() -> None:
    games = random_games("rao-kupper", 1)
    whole = contests(games, "rao-kupper", True)
    left = [g for g in games if {*g[0], *g[1]} <= set("abc")]
    assert 0 < len(left) < len(games)
    part = whole.restrict("abc")
    assert part == contests(left, "rao-kupper", True, labels=["a", "c", "b"])
    assert part.n_outcomes == len(left)
    assert whole.restrict("d").n_outcomes == 0
    doubles = contests([(("a", "b"), ("c",), 0, "w")], None, True)
    with pytest.raises(DataError, match="the side 'a', 'b' is only partly among the labels"):
        doubles.restrict("ac")
    assert doubles.restrict("abc").n_outcomes == 1
    assert doubles.restrict("cd").n_outcomes == 0


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(MODELS, 2)))
def test_counts_of_different_models_are_not_added(one: Any, other: Any) -> None:
    game: list[Game] = [(("a",), ("b",), 1, "w")]
    with pytest.raises(DataError, match="counts of different models cannot be added: one has"):
        contests(game, *one) + contests(game, *other)


def test_contests_and_sets_stand_beside_each_other() -> None:
    games = random_games("davidson", 1, 10)
    both = contests(games, "davidson", False).observe({"a": 2, "c": 1}, within="acd")
    more = 2 * math.log(0.4 / 0.7) + math.log(0.2 / 0.7)
    assert at(both) == pytest.approx(by_hand(games, "davidson", False) + more, rel=1e-12)
    assert both.n_outcomes == 13
    assert both.restrict("acd").n_outcomes == 3 + sum(
        {*a, *b} <= set("acd") for a, b, _, _ in games
    )


def test_nothing_can_be_written_to() -> None:
    events = contests(random_games("davidson", 2), "davidson", True, {"a": 2.0}).events
    assert isinstance(events, Contests)
    for array in (events.members, events.start, events.weights, events.at_home, events.results):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frames_hold_a_row_for_each_meeting(backend: str) -> None:
    pytest.importorskip(backend)
    games: list[Game] = [
        (("a", "b"), ("c",), 2, "w"),
        (("c",), ("b", "a"), 1, "t"),
        (("a",), ("d",), 0, "l"),
    ]
    frame = contests(games, "davidson", True).observe({"a": 2}).to_frame(backend)
    columns = {name: list(frame[name])[1:] for name in frame.columns}
    assert columns["kind"] == ["contest"] * 2
    # The neutral game is stored from d's side, whose number is the smaller one.
    assert [tuple(x) for x in columns["members"]] == [("d",), ("c",)]
    assert [tuple(x) for x in columns["against"]] == [("a",), ("a", "b")]
    assert columns["at_home"] == [False, True]
    assert [columns[x] for x in ("wins", "losses", "ties")] == [[1, 0], [0, 1], [0, 1]]
    assert columns["exponent"] == [1, 2]
    assert columns["size"] == [2, 3]
    weighted = contests(games, "davidson", True, {"a": 0.5}).to_frame(backend)
    assert [tuple(x) for x in weighted["against_weights"]] == [(0.5,), (0.5, 1.0)]
    with pytest.raises(DataError, match="not laid out"):
        luce.counts.terms.frame_of([], backend, LABELS, _Others())  # type: ignore[arg-type]


class _Others:
    kind = "others"


def test_a_summary_describes_the_heaviest_meetings_first() -> None:
    games: list[Game] = [
        (("a",), ("b",), 1, "w"),
        (("b",), ("a",), 1, "t"),
        (("a",), ("b",), 1, "l"),
    ]
    head, *told = contests(games, "davidson", True).summary(1).splitlines()
    assert head.endswith("2 pairings: Davidson's ties and a home advantage")
    assert told == ["  a at home against b: 1 win, 1 loss, 0 ties", "  ... and 1 more"]
