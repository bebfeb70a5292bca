"""Counts of every reader, restricted to some labels, against the same rows restricted by hand."""

import itertools
from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED

import luce
from luce import ConditionalCounts, simulate
from luce.errors import DataError, HalfWinsWarning

P = {"c": 1.0, "a": 4.0, "d": 2.5, "b": 0.5, "e": 1.5}
KEPT = ["a", "b", "d"]
N = 60


def kept_of(labels: Any) -> list[Any]:
    return [x for x in labels if x in KEPT]


def by_hand(rows: list[tuple[list[Any], list[Any], float]]) -> ConditionalCounts:
    """Outcomes (one label, or all of a group), each given a set, with what is not kept left out."""
    counts = ConditionalCounts(KEPT)
    for outcome, within, times in rows:
        if set(outcome) <= set(KEPT):
            counts = counts.observe_group(outcome, times, within=kept_of(within))
    return counts


def assert_restricted(counts: ConditionalCounts, expected: ConditionalCounts) -> None:
    found = counts.restrict(KEPT)
    assert ConditionalCounts(KEPT) + found == expected
    assert found.n_outcomes == expected.n_outcomes
    assert found.n_outcomes > 0


@pytest.mark.parametrize("labels", [4, 5])
def test_pairs(labels: int) -> None:
    truth = dict(itertools.islice(P.items(), labels))  # pairs among four are merged as they come
    games = simulate.pairs(SEED + 1, truth, N)
    rows = [([w], [x, y], 1.0) for x, y, w in zip(*games.values(), strict=True)]
    assert_restricted(luce.from_pairs(games), by_hand(rows))


def test_pairs_with_ties() -> None:
    games = simulate.pairs(SEED + 2, {**P, "tie": 2.0}, N, tie_label="tie")
    rows = [([w], [x, y, "tie"], 1.0) for x, y, w in zip(*games.values(), strict=True)]
    counts = luce.from_pairs(games, ties="entity")
    found = counts.restrict([*KEPT, "tie"])
    expected = ConditionalCounts([*KEPT, "tie"])
    for (winner,), field, _ in rows:
        if winner in found.categories:
            within = [x for x in field if x in found.categories]
            expected = expected.observe({winner: 1}, within=within)
    assert expected == ConditionalCounts([*KEPT, "tie"]) + found


def test_pairs_with_half_wins() -> None:
    games = {"item1": list("abac"), "item2": list("bcda"), "winner": ["a", "tie", "tie", "c"]}
    with pytest.warns(HalfWinsWarning):
        counts = luce.from_pairs(games, ties="half")
    expected = (
        ConditionalCounts(KEPT)
        .observe({"a": 1}, within="ab")
        .observe({"b": 0.5}, within="b")
        .observe({"a": 0.5, "d": 0.5}, within="ad")
    )
    assert_restricted(counts, expected)


def test_teams() -> None:
    sides = [(["a"], ["b", "d"]), (["a", "b"], ["d"]), (["c"], ["e"]), (["a", "d"], ["c", "e"])]
    games = simulate.teams(SEED + 3, P, N, sides=sides)
    rows = [
        (list(x if w == "side1" else y), [*x, *y], 1.0)
        for x, y, w in zip(*games.values(), strict=True)
    ]
    assert_restricted(luce.from_teams(games), by_hand(rows))
    with pytest.raises(DataError, match="only partly among them"):
        luce.from_teams([(["a", "c"], ["b", "d"])]).restrict(["a", "b", "d"])


@pytest.mark.parametrize("top", [None, 2])
def test_rankings(top: int | None) -> None:
    orders: Any = simulate.rankings(SEED + 4, P, N, top=top)
    expected = ConditionalCounts(KEPT)
    for order in orders:
        for k, x in enumerate(order):
            if x in KEPT:
                expected = expected.observe({x: 1}, without=kept_of(order[:k]))
    counts = luce.from_rankings(orders, unranked="below", categories=list(P))
    assert_restricted(counts, expected)


def test_rankings_of_some() -> None:
    orders: Any = simulate.rankings(SEED + 5, P, N, size=3)
    expected = ConditionalCounts(KEPT)
    for order in orders:
        expected = expected.observe_ranking(kept_of(order))
    assert_restricted(luce.from_rankings(orders, unranked="absent"), expected)
    data: Any = simulate.rankings(SEED + 5, P, N, size=4, top=2, layout="long")
    expected = ConditionalCounts(KEPT)
    for k in range(0, 4 * N, 4):
        field = data["item"][k : k + 4]
        for place in range(2):
            if field[place] in KEPT:
                expected = expected.observe({field[place]: 1}, within=kept_of(field[place:]))
    counts = luce.from_rankings(data, unranked="below", blank="absent", categories=list(P))
    assert_restricted(counts, expected)


def test_choices() -> None:
    data = simulate.choices(SEED + 6, P, N, size=3)
    rows = [([c], list(o), 1.0) for c, o in zip(data["chosen"], data["offered"], strict=True)]
    assert_restricted(luce.from_choices(data), by_hand(rows))


def test_transitions() -> None:
    states = simulate.transitions(SEED + 7, P, N)
    rows = [([y], [z for z in P if z != x], 1.0) for x, y in itertools.pairwise(states)]
    assert_restricted(luce.from_transitions(states, categories=list(P)), by_hand(rows))


def test_tables() -> None:
    possible = [["a", "b", "c"], list(P), ["d", "c"], ["e", "c"]]
    data = simulate.table(SEED + 8, P, [30, 20, 10, 0], possible=possible)
    rows = [
        ([x], possible[i], float(column[i]))
        for x, column in data.items()
        for i in range(3)
        if x in possible[i]
    ]
    assert_restricted(luce.from_table(data), by_hand(rows))
    cells = luce.from_table(data, given="table", rows=None)
    some = list(cells.categories)[1:4]
    values = dict(zip(cells.categories, cells.category_counts.tolist(), strict=True))
    expected = ConditionalCounts(some).observe({x: values[x] for x in some})
    assert cells.restrict(some) == expected


def test_groups() -> None:
    answers = simulate.groups(SEED + 9, P, N, groups=[["a", "b"], ["c", "e"]])
    rows = [(list(group), list(P), 1.0) for group in answers]
    assert_restricted(luce.from_groups(answers, categories=list(P)), by_hand(rows))
    told = {"group": [("a",), ("a", "b"), ("c",), ("d",)], "count": [2, 3, 1, 4]}
    within = [("a", "c", "b"), None, ("c", "d"), ("d", "a", "e")]
    limited = luce.from_groups({**told, "within": within}, categories=list(P))
    sets = [list(x) if x else list(P) for x in within]
    rows = [
        (list(group), field, float(k))
        for group, field, k in zip(told["group"], sets, told["count"], strict=True)
    ]
    assert_restricted(limited, by_hand(rows))


def test_sums_of_readings_are_restricted() -> None:
    games = simulate.pairs(SEED + 10, P, N)
    first, second = ({k: v[part] for k, v in games.items()} for part in (slice(30), slice(30, N)))
    total = sum(luce.from_pairs(part, categories=list(P)) for part in (first, second))
    whole = luce.from_pairs(games, categories=list(P))
    assert total.restrict(KEPT) == whole.restrict(KEPT)
    assert np.array_equal(total.category_counts, whole.category_counts)
