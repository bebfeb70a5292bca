"""Records: games and wins of the canonical form are those of the raw rows, counted by hand."""

from __future__ import annotations

import csv
import pickle
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED
from lib.places import SHARED_DATA as DATA

import luce
from luce.counts.records import Record, record_of

Tally = dict[Any, float]


def told(counts: luce.ConditionalCounts) -> tuple[Record, Tally, Tally]:
    """The record, and what was played and won by label, effects left out."""
    record = record_of(counts)
    assert isinstance(record, Record)
    pairs = enumerate(counts.categories)
    kept = [(i, c) for i, c in pairs if c not in counts.effects and record.played[i] > 0]
    played = {c: float(record.played[i]) for i, c in kept}
    return record, played, {c: float(record.wins[i]) for i, c in kept if record.wins[i]}


def games(n: int, seed: int, ties: bool) -> dict[str, list[str]]:
    """Games of eight, some of whom meet often; the later letters win more."""
    rng = np.random.default_rng([SEED, seed])
    first = rng.integers(8, size=n)
    second = (first + 1 + rng.integers(7, size=n) * rng.integers(2, size=n)) % 8
    second = np.where(first == second, (first + 1) % 8, second)
    u = rng.random(n)
    results = np.where(u < 0.2 * ties, "D", np.where(u * 10 < 3 + second - first, "A", "H"))
    names = np.array(list("abcdefgh"))
    return {
        "home": names[first].tolist(), "away": names[second].tolist(), "result": results.tolist()
    }  # fmt: skip


def by_hand(rows: dict[str, list[str]]) -> tuple[Tally, Tally, Tally]:
    """Go through the rows one by one."""
    played, won, tied = Counter[str](), Counter[str](), Counter[str]()
    for home, away, result in zip(*rows.values(), strict=True):
        played.update([home, away])
        if result == "D":
            tied.update([home, away])
        else:
            won[home if result == "H" else away] += 1
    return dict(played), dict(won), dict(tied)


HOME = {"home": "first"}


ENTITY = {**HOME, "home_effect": "entity"}


@pytest.mark.filterwarnings("ignore::luce.errors.HalfWinsWarning")
@pytest.mark.parametrize(
    ("ties", "how"),
    [
        *[(ties, how) for ties in ("davidson", "rao-kupper") for how in ({}, HOME, ENTITY)],
        ("half", {}),
        ("half", HOME),
        ("entity", {}),
        ("entity", ENTITY),
    ],
)
def test_games_are_those_of_the_rows(ties: str, how: dict[str, str]) -> None:
    rows = games(60, 1, ties=True)
    played, won, tied = by_hand(rows)
    record, got_played, got_won = told(luce.from_pairs(rows, ties=ties, **how))
    assert record.are_games
    assert got_played == played
    if ties == "half":
        won = {c: won.get(c, 0) + tied.get(c, 0) / 2 for c in played}
        won = {c: w for c, w in won.items() if w}
    assert got_won == won
    assert (record.tied is None) == (ties in ("entity", "half"))
    if record.tied is not None:
        assert {c: t for c, t in zip("abcdefgh", record.tied, strict=False) if t} == tied


def test_wins_of_others_are_not_the_record() -> None:
    """Negative control: the same comparison rejects rows whose winners are exchanged."""
    rows = games(60, 2, ties=False)
    wrong = {**rows, "result": ["A" if x == "H" else "H" for x in rows["result"]]}
    _, played, won = told(luce.from_pairs(rows))
    assert (played, won) == by_hand(rows)[:2]
    assert won != by_hand(wrong)[1]


def test_two_players_play_in_the_full_set() -> None:
    """With two categories their set is full, and stored nowhere."""
    record, played, won = told(luce.from_pairs([("a", "b", 5), ("b", "a", 2)]))
    assert (played, won) == ({"a": 7, "b": 7}, {"a": 5, "b": 2})
    assert record.are_games


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_choices_are_those_of_the_rows(seed: int) -> None:
    rng = np.random.default_rng([SEED, seed])
    rows = []
    for _ in range(40):
        size = int(rng.choice([2, 3, 5, 6]))  # 6 is all of them
        offered = rng.permutation(list("uvwxyz"))[:size].tolist()
        rows.append((offered[0], offered, int(rng.integers(1, 4))))
    played, won = defaultdict[str, float](float), defaultdict[str, float](float)
    for chosen, offered, number in rows:
        won[chosen] += number
        for label in offered:
            played[label] += number
    record, got_played, got_won = told(luce.from_choices(rows))
    assert not record.are_games
    assert (got_played, got_won) == (played, won)


def test_weights_of_rows_are_added_up() -> None:
    rows = [("a", ["a", "b"], 0.1), ("b", ["a", "b", "c"], 0.7), ("a", ["a", "b"], 0.2)]
    record, played, won = told(luce.from_choices(rows))
    assert played == pytest.approx({"a": 1.0, "b": 1.0, "c": 0.7})
    assert won == pytest.approx({"a": 0.3, "b": 0.7})
    assert record.lost_all.tolist() == [False, False, True]


def test_rankings_are_choices_of_each_place_but_the_last() -> None:
    rankings = [list("abcd"), list("bda"), list("cb"), list("dcba"), list("abcd")]
    played, won = Counter[str](), Counter[str]()
    for ranking in rankings:
        for k in range(len(ranking) - 1):
            played.update(ranking[k:])
            won[ranking[k]] += 1
    record, got_played, got_won = told(luce.from_rankings(rankings, unranked="absent"))
    assert (got_played, got_won) == (played, won)
    assert record.uncounted == len(rankings)  # last places
    assert not record.are_games


def test_all_of_a_side_play_and_win() -> None:
    rows = [(["a", "b"], ["c", "d"]), (["a", "c"], ["e"]), (["e"], ["b", "d"]), (["a", "b"], ["e"])]
    played, won = Counter[str](), Counter[str]()
    for winners, losers in rows:
        played.update(winners + losers)
        won.update(winners)
    table = [{"winners": a, "losers": b} for a, b in rows]
    for how in ({}, {"ties": "davidson"}):
        record, got_played, got_won = told(luce.from_teams(table, **how))
        assert record.are_games
        assert (got_played, got_won) == (played, won)


def test_groups_that_cancel_are_said() -> None:
    counts = luce.ConditionalCounts("abcd").observe_group("ab", 1, within="abcd")
    both = counts.observe({"a": 1}, within="ab").observe_group("cd", 1)
    assert "outcomes of groups have cancelled with others, so that 1 of 3" in str(record_of(both))
    assert isinstance(record_of(counts), Record)


def test_blocks_of_unknown_order_have_no_record() -> None:
    counts = luce.from_rankings(["a = b > c", "c > a > b"], ties="unknown")
    assert "tied blocks of unknown order do not tell" in str(record_of(counts))


def test_ties_of_choices_are_shared() -> None:
    counts = luce.from_rankings(["a = b > c", "c > a > b"], ties="davidson-luce")
    record, played, won = told(counts)
    assert played == {"a": 3, "b": 3, "c": 2}
    assert won == {"a": 1.5, "b": 0.5, "c": 1}
    assert not record.are_games


def test_the_record_is_that_of_a_saved_run() -> None:
    """Without the log, and through a run, nothing changes."""
    counts = luce.from_choices([("a", ["a", "b", "c"]), ("b", ["b", "c"]), ("c", ["a", "c"])])
    run = luce.Posterior(counts).sample(20, seed=1, progress=False)
    for other in (pickle.loads(pickle.dumps(counts)), luce.posterior_of(run).counts):
        assert told(other)[1:] == told(counts)[1:]


@pytest.mark.skipif(not DATA.exists(), reason="the published data are not here")
def test_published_games() -> None:
    """Chess: all rows of the file, added up by a loop.  Tennis: doubles and singles cancel."""
    played, won = Counter[str](), Counter[str]()
    with (DATA / "chess" / "chess.csv").open() as file:  # a row a pairing, a column a player
        rows = [{c: float(x) for c, x in row.items() if x} for row in csv.DictReader(file)]
    for row in rows:
        for c, wins in row.items():
            played[c] += sum(row.values())
            won[c] += wins
    data = [dict(zip(("item1", "item2"), row, strict=True)) for row in rows]
    for games_of_two, row in zip(data, rows, strict=True):
        games_of_two |= dict(zip(("wins1", "wins2"), row.values(), strict=True))
    _, got_played, got_won = told(luce.from_pairs(data))
    assert (got_played, got_won) == (dict(played), dict(won))
    assert len(played) == 3
    tennis = luce.read(DATA / "tennis" / "tennis.csv")
    assert "outcomes of groups have cancelled with others" in str(record_of(tennis))
