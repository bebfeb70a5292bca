"""Simulated data against laws that are enumerated here, and through the readers.

A law is a mapping from every possible outcome to its probability; observed frequencies are compared
with it by chi-square at the false-alarm rate of `lib.bounds`.  Beside each stands a wrong law,
which the same comparison must refuse.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from lib.bounds import FALSE_ALARM
from lib.bounds import SEED as SWEEP
from scipy.stats import chi2

from luce import ConditionalCounts, Posterior, simulate
from luce.errors import DataError
from luce.reading import (
    from_choices,
    from_groups,
    from_pairs,
    from_rankings,
    from_table,
    from_teams,
    from_transitions,
)

SEED = 1000 * SWEEP  # each test adds its own number

# Not normalised, not symmetric, not in alphabetical order.
P = {"c": 1.0, "a": 4.0, "d": 2.5, "b": 0.5}
WRONG = {**P, "a": P["d"], "d": P["a"]}
WITH_BOTH = {**P, "edge": 1.5, "drawn": 2.0}
ADDITIONAL: dict[str, Any] = {"home_label": "edge", "tie_label": "drawn"}

Law = dict[Any, float]


def distance(outcomes: Iterable[Any], law: Law) -> tuple[float, int]:
    """Chi-square of frequencies, and its degrees of freedom."""
    seen = Counter(outcomes)
    assert math.isclose(sum(law.values()), 1.0, rel_tol=1e-12)
    assert set(seen) <= {x for x, p in law.items() if p > 0}, "an impossible outcome"
    n = seen.total()
    expected = {x: n * p for x, p in law.items() if p > 0}
    assert min(expected.values()) > 15, "too few for a chi-square"
    return sum((seen[x] - e) ** 2 / e for x, e in expected.items()), len(expected) - 1


def assert_law(outcomes: Iterable[Any], law: Law, comparisons: int = 1) -> None:
    statistic, freedom = distance(outcomes, law)
    assert statistic < chi2(freedom).isf(FALSE_ALARM / comparisons), "another law"


def assert_other_law(outcomes: Iterable[Any], law: Law) -> None:
    with pytest.raises(AssertionError, match=r"another law|an impossible outcome"):
        assert_law(outcomes, law)


# -- laws -----------------------------------------------------------------------------------


def order_law(p: Mapping[Any, float], size: int, top: int) -> Law:
    """Plackett-Luce: each place by its share of those not yet placed; all fields alike."""
    law: Law = {}
    fields = list(itertools.combinations(p, size))
    for field in fields:
        for order in itertools.permutations(field, top):
            chance, rest = 1.0 / len(fields), sum(p[x] for x in field)
            for x in order:
                chance *= p[x] / rest
                rest -= p[x]
            law[order] = law.get(order, 0.0) + chance
    return law


def duel_law(p: Mapping[Any, float], sides: list[Any], home: float = 0, tie: float = 0) -> Law:
    """Each match as likely as any other; the first side has the advantage."""
    law: Law = {}
    for one, other in sides:
        a, b = sum(p[x] for x in one) + home, sum(p[x] for x in other)
        for k, weight in enumerate((a, b, tie)):
            law[one, other, k] = weight / (a + b + tie) / len(sides)
    return law


def choice_law(p: Mapping[Any, float], sets: list[tuple[Any, ...]]) -> Law:
    return {(s, x): p[x] / sum(p[y] for y in s) / len(sets) for s in sets for x in s}


def duels(data: dict[str, list[Any]], one: str, other: str) -> list[Any]:
    """Matches as (side, side, who won), however the winner is told."""
    found = []
    for a, b, w in zip(data[one], data[other], data["winner"], strict=True):
        k = 0 if w in (a, one) else 1 if w in (b, other) else 2
        found.append((a if isinstance(a, tuple) else (a,), b if isinstance(b, tuple) else (b,), k))
    return found


def sets_of(data: dict[str, list[Any]]) -> list[Any]:
    return [(tuple(o), c) for c, o in zip(data["chosen"], data["offered"], strict=True)]


# -- pairs and teams ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "additional", [{}, {"home_label": "edge"}, {"tie_label": "drawn"}, ADDITIONAL], ids=str
)
def test_pairs_follow_their_law(additional: dict[str, Any]) -> None:
    truth = {**P, **{label: WITH_BOTH[label] for label in additional.values()}}
    home = 1.5 * ("home_label" in additional)
    tie = 2.0 * ("tie_label" in additional)
    seen = duels(simulate.pairs(SEED + 1, truth, 30_000, **additional), "item1", "item2")
    every = [((a,), (b,)) for a, b in itertools.permutations(P, 2)]
    assert_law(seen, duel_law(P, every, home, tie))
    assert_other_law(seen, duel_law(WRONG, every, home, tie))
    if home:
        assert_other_law(seen, duel_law(P, every, 0, tie))
    if tie:  # as if half of the ties were told as wins
        assert_other_law(seen, duel_law(P, every, home, tie / 2))


def contest_law(
    p: Mapping[Any, float], sides: list[Any], ties: str | None, home: float, tie: float
) -> Law:
    """Each match as likely as any other; the first side is at home."""
    law: Law = {}
    for one, other in sides:
        a, b = home * sum(p[x] for x in one), sum(p[x] for x in other)
        if ties == "rao-kupper":
            won, lost = a / (a + tie * b), b / (b + tie * a)
        else:
            whole = a + b + (tie * math.sqrt(a * b) if ties == "davidson" else 0.0)
            won, lost = a / whole, b / whole
        for k, chance in enumerate((won, lost, 1 - won - lost if ties else 0.0)):
            law[one, other, k] = chance / len(sides)
    return law


@pytest.mark.parametrize("ties", [None, "davidson", "rao-kupper"])
@pytest.mark.parametrize("size", [1, 2])
def test_contests_follow_their_law(ties: str | None, size: int) -> None:
    model: dict[str, Any] = {"home": 1.7} | ({} if ties is None else {"ties": ties, "tie": 1.4})
    if size == 1:
        seen = duels(simulate.pairs(SEED + 5, P, 40_000, **model), "item1", "item2")
        every = [((a,), (b,)) for a, b in itertools.permutations(P, 2)]
    else:
        every = [(("a", "b"), ("c",)), (("c",), ("a", "b")), (("d", "c"), ("b",))]
        seen = duels(simulate.teams(SEED + 6, P, 30_000, sides=every, **model), "side1", "side2")
    assert_law(seen, contest_law(P, every, ties, 1.7, 1.4))
    assert_other_law(seen, contest_law(P, every, ties, 1 / 1.7, 1.4))
    assert_other_law(seen, contest_law(WRONG, every, ties, 1.7, 1.4))
    if ties is not None:
        assert_other_law(seen, contest_law(P, every, ties, 1.7, 1.6))
        other = "davidson" if ties == "rao-kupper" else "rao-kupper"
        assert_other_law(seen, contest_law(P, every, other, 1.7, 1.4))


def test_contests_are_read_back() -> None:
    data = simulate.pairs(SEED + 7, P, 400, home=1.3, ties="davidson", tie=0.9)
    counts = from_pairs(data, ties="davidson", home="first")
    assert (counts.n_outcomes, counts.parameters) == (400, ("home", "tie"))
    tied = counts.to_frame()["ties"].sum()
    assert tied == data["winner"].count("tie") > 0
    # Nobody of strength 0 ever wins or ties.
    assert set(simulate.pairs(1, {"a": 1, "z": 0}, 50, ties="rao-kupper", tie=3.0)["winner"]) == {
        "a"
    }


def test_a_schedule_is_taken_in_turn() -> None:
    schedule = [("a", "b"), ("c", "a"), ("a", "b"), ("d", "c")]
    data = simulate.pairs(SEED, P, 10, pairs=schedule)
    assert list(zip(data["item1"], data["item2"], strict=True)) == (schedule * 3)[:10]
    seen = duels(simulate.pairs(SEED, P, 20_000, pairs=schedule), "item1", "item2")
    for a, b in set(schedule):
        match = ((a,), (b,))
        assert_law([s for s in seen if s[:2] == match], duel_law(P, [match]), 3)
        assert_other_law([s for s in seen if s[:2] == match], duel_law({**P, b: 2 * P[b]}, [match]))


@pytest.mark.parametrize("more", [{}, {"e": 3.0, "f": 1.0, "g": 2.0}], ids=["few", "many"])
def test_teams_follow_their_law(more: dict[str, float]) -> None:
    # Few labels and many are drawn by different algorithms; size 1 keeps the cells few.
    truth = {**P, **more}
    size = 1 if more else 2
    data = simulate.teams(
        SEED + 2, {**truth, "edge": 1.5, "drawn": 2.0}, 50_000, size=size, **ADDITIONAL
    )
    every = [
        (one, other)
        for one in itertools.permutations(truth, size)
        for other in itertools.permutations(set(truth) - set(one), size)
    ]
    seen = duels(data, "side1", "side2")
    assert_law(seen, duel_law(truth, every, 1.5, 2.0))
    assert_other_law(seen, duel_law({**truth, **WRONG}, every, 1.5, 2.0))
    assert_other_law(seen, duel_law({x: w * w for x, w in truth.items()}, every, 1.5, 2.0))


def test_sides_may_differ_in_size() -> None:
    sides = [(("a",), ("b", "c", "d")), (("c", "d"), ("b",))]
    data = simulate.teams(SEED + 3, P, 20_000, sides=sides)
    assert data["side1"][:3] == [("a",), ("c", "d"), ("a",)]
    seen = duels(data, "side1", "side2")
    assert_law(seen, duel_law(P, sides))
    assert_other_law(seen, duel_law(WRONG, sides))


# -- rankings and choices -------------------------------------------------------------------


@pytest.mark.parametrize(("size", "top"), [(None, None), (3, None), (None, 2), (None, 1), (2, 2)])
def test_rankings_follow_their_law(size: int | None, top: int | None) -> None:
    truth = {**P, "e": 1.7} if size == 2 else P  # two of five and three of four: two algorithms
    seen = simulate.rankings(SEED + 4, truth, 40_000, size=size, top=top)
    field = size or len(truth)
    law = order_law(truth, field, top or field)
    assert_law(map(tuple, seen), law)
    assert_other_law(map(tuple, seen), order_law({**truth, **WRONG}, field, top or field))
    if top != 1:  # as if the worst were told first
        backwards = {order[::-1]: chance for order, chance in law.items()}
        assert_other_law(map(tuple, seen), backwards)


def test_long_rankings_tell_who_took_part() -> None:
    data = simulate.rankings(SEED + 5, P, 40_000, size=3, top=1, layout="long")
    assert isinstance(data, dict)
    assert data["rank"][:6] == [1, 0, 0, 1, 0, 0]
    assert data["ranking"][:6] == [0, 0, 0, 1, 1, 1]
    cases = zip(*(data["item"][k::3] for k in range(3)), strict=True)
    seen = [(tuple(sorted(field)), field[0]) for field in cases]
    fields = list(itertools.combinations(sorted(P), 3))
    assert_law(seen, choice_law(P, fields))
    assert_other_law(seen, choice_law(WRONG, fields))


@pytest.mark.parametrize(("labels", "size"), [(5, None), (5, 2), (5, 3), (7, 3)])
def test_choices_follow_their_law(labels: int, size: int | None) -> None:
    # Three of five and three of seven are drawn by different algorithms.
    truth = {**P, **dict(zip("efg"[: labels - 4], (1.7, 3.0, 2.0), strict=False))}
    sets = list(itertools.combinations(truth, size or labels))
    seen = sets_of(simulate.choices(SEED + 6, truth, 40_000, size=size))
    assert_law(seen, choice_law(truth, sets))
    assert_other_law(seen, choice_law({**truth, **WRONG}, sets))
    assert_other_law(seen, choice_law(dict.fromkeys(truth, 1.0), sets))


def test_assortments_are_taken_in_turn() -> None:
    sets = [("a", "b", "c"), ("d", "c"), ("b",)]
    data = simulate.choices(SEED + 7, P, 30_000, assortments=sets)
    assert data["offered"][:4] == [*sets, sets[0]]
    assert_law(sets_of(data), choice_law(P, sets))
    assert_other_law(sets_of(data), choice_law({**P, "c": 2.0}, sets))


# -- transitions, tables, groups ------------------------------------------------------------


def next_law(p: Mapping[Any, float], state: Any, closed: Iterable[Any]) -> Law:
    allowed = {x: w for x, w in p.items() if x not in closed}
    return {x: w / sum(allowed.values()) for x, w in allowed.items()}


@pytest.mark.slow
@pytest.mark.parametrize("start", [None, "b"])
@pytest.mark.parametrize("self_loops", ["removed", "kept"])
def test_short_sequences_follow_their_law(self_loops: str, start: str | None) -> None:
    rng = np.random.default_rng(SEED + 8)
    truth = {"a": 4.0, "b": 2.0, "c": 3.0}
    forbidden = {"a": ["b"]}

    def law(p: Mapping[Any, float], forbidden: Mapping[Any, list[Any]]) -> Law:
        def row(x: Any) -> Law:
            own = [x] if self_loops == "removed" else []
            return next_law(p, x, [*forbidden.get(x, []), *own])

        begin = {start: 1.0} if start else next_law(p, None, [])
        return {
            (x, y, z): begin[x] * row(x)[y] * row(y)[z]
            for x in begin
            for y in row(x)
            for z in row(y)
        }

    seen = [
        tuple(
            simulate.transitions(
                rng, truth, 2, self_loops=self_loops, forbidden=forbidden, start=start
            )
        )
        for _ in range(3_000)
    ]
    assert_law(seen, law(truth, forbidden))
    assert_other_law(seen, law({"a": 4.0, "b": 3.0, "c": 2.0}, forbidden))
    assert_other_law(seen, law(truth, {}))


def test_a_long_sequence_follows_its_law() -> None:
    # Moves from one state are as independent draws in the limit (Billingsley 1961).
    seen = simulate.transitions(SEED + 9, P, 60_000, forbidden={"d": ["a"]}, start="c")
    assert len(seen) == 60_001
    assert seen[0] == "c"
    for state in P:
        moves = [y for x, y in itertools.pairwise(seen) if x == state]
        closed = [state, "a"] if state == "d" else [state]
        assert_law(moves, next_law(P, state, closed), len(P))
        if state == "b":
            assert_other_law(moves, next_law(WRONG, state, closed))
    jumps = [y for x, y in zip(seen, seen[2:], strict=False) if x == "a"]
    assert_other_law(jumps, next_law(P, "a", []))  # two moves are not one


def test_tables_follow_their_law() -> None:
    rows, total = 15_000, 3
    open_cells = ["a", "c", "d"]
    data = simulate.table(SEED + 10, P, [total] * rows, possible=[open_cells] * rows)
    assert list(data) == list(P)
    assert all(math.isnan(x) for x in data["b"])

    def law(p: Mapping[Any, float]) -> Law:
        q = [p[x] / sum(p[y] for y in open_cells) for x in open_cells]
        return {
            k: math.factorial(total)
            * math.prod(x**i / math.factorial(i) for x, i in zip(q, k, strict=True))
            for k in itertools.product(range(total + 1), repeat=3)
            if sum(k) == total
        }

    seen = list(zip(*(data[x] for x in open_cells), strict=True))
    assert_law(seen, law(P))
    assert_other_law(seen, law(WRONG))


def test_groups_follow_their_law() -> None:
    def law(p: Mapping[Any, float], coarse: float) -> Law:
        q = {x: w / sum(p.values()) for x, w in p.items()}
        single = {(x,): w * (1 - coarse) for x, w in q.items() if x != "b"}
        return {**single, ("b",): q["b"], ("d", "a"): coarse * (q["a"] + q["d"]), ("c",): q["c"]}

    seen = simulate.groups(SEED + 11, P, 30_000, groups=[["d", "a"]], coarse=0.3)
    assert_law(seen, law(P, 0.3))
    assert_other_law(seen, law(WRONG, 0.3))
    assert_other_law(seen, law(P, 0.33))


@pytest.mark.parametrize(("coarse", "sizes"), [(0, {1}), (1, {2})])
def test_groups_that_are_never_or_always_told(coarse: float, sizes: set[int]) -> None:
    seen = simulate.groups(SEED, P, 500, groups=[["a", "b"], ["c", "d"]], coarse=coarse)
    assert {len(group) for group in seen} == sizes


# -- zeros ----------------------------------------------------------------------------------


def test_who_has_probability_zero_never_wins() -> None:
    truth = {**P, "z": 0}
    pairs = simulate.pairs(SEED, truth, 2_000)
    assert "z" in pairs["item1"]
    assert "z" not in pairs["winner"]
    assert all(order[-1] == "z" for order in simulate.rankings(SEED, truth, 500))
    twice = {**truth, "y": 0}
    assert all({"y", "z"}.isdisjoint(order) for order in simulate.rankings(SEED, twice, 500, top=4))
    assert {"y", "z"}.isdisjoint(simulate.choices(SEED, twice, 500, size=3)["chosen"])
    states = simulate.transitions(SEED, twice, 500, start="z")
    assert states[0] == "z"
    assert {"y", "z"}.isdisjoint(states[1:])
    assert simulate.table(SEED, {**P, "z": 0}, [10**15])["z"] == [0]


def test_tiny_and_huge_numbers() -> None:
    truth = {"a": 1e308, "b": 1.5e308, "c": 1e10}
    winners = simulate.pairs(SEED, truth, 4_000, pairs=[("a", "b")])["winner"]
    assert_law(winners, {"a": 0.4, "b": 0.6})
    assert_other_law(winners, {"a": 0.5, "b": 0.5})
    orders: Any = simulate.rankings(SEED, {**truth, "d": 0}, 50, top=3)
    assert {order[2] for order in orders} == {"c"}


# -- readers --------------------------------------------------------------------------------

N = 400


def counts_of(truth: Mapping[Any, float]) -> ConditionalCounts:
    return ConditionalCounts(list(truth))


def pairs_by_hand(data: Any) -> ConditionalCounts:
    counts = counts_of(WITH_BOTH)
    for a, b, w in zip(data["item1"], data["item2"], data["winner"], strict=True):
        within = [a, b, "edge", "drawn"]
        if w == a:
            counts = counts.observe_group([a, "edge"], 1, within=within)
        else:
            counts = counts.observe({"drawn" if w == "tie" else b: 1}, within=within)
    return counts


def teams_by_hand(data: Any) -> ConditionalCounts:
    counts = counts_of(P)
    for a, b, w in zip(data["side1"], data["side2"], data["winner"], strict=True):
        counts = counts.observe_group(a if w == "side1" else b, 1, within=[*a, *b])
    return counts


def rankings_by_hand(data: Any) -> ConditionalCounts:
    counts = counts_of(P)
    for order in data:
        counts = counts.observe_ranking(order)
    return counts


def tops_by_hand(data: Any) -> ConditionalCounts:
    counts = counts_of(P)
    for order in data:
        for k, x in enumerate(order):
            counts = counts.observe({x: 1}, without=order[:k])
    return counts


def choices_by_hand(data: Any) -> ConditionalCounts:
    counts = counts_of(P)
    for s, x in sets_of(data):
        counts = counts.observe({x: 1}, within=s)
    return counts


def transitions_by_hand(data: Any) -> ConditionalCounts:
    counts = counts_of(P)
    for x, y in itertools.pairwise(data):
        counts = counts.observe({y: 1}, without={x, *FORBIDDEN.get(x, [])})
    return counts


def table_by_hand(data: Any) -> ConditionalCounts:
    counts = counts_of(P)
    for i in range(len(POSSIBLE)):
        row = {x: column[i] for x, column in data.items() if not math.isnan(column[i])}
        assert set(row) == set(POSSIBLE[i])
        assert all(type(k) is int for k in row.values())
        counts = counts.observe(row, within=list(row))
    return counts


def groups_by_hand(data: Any) -> ConditionalCounts:
    counts = counts_of(P)
    for group in data:
        counts = counts.observe_group(group, 1)
    return counts


FORBIDDEN = {"a": ["b", "c"]}
POSSIBLE = [["a", "b"], list(P), ["d", "c", "b"]]
ROUND_TRIPS: dict[str, tuple[Any, Any, Any, float]] = {
    "pairs": (
        lambda rng: simulate.pairs(rng, WITH_BOTH, N, **ADDITIONAL),
        lambda x: from_pairs(
            x,
            home="first",
            home_effect="entity",
            ties="entity",
            categories=list(WITH_BOTH),
            **ADDITIONAL,
        ),
        pairs_by_hand,
        N,
    ),
    "teams": (lambda rng: simulate.teams(rng, P, N), from_teams, teams_by_hand, N),
    "rankings": (lambda rng: simulate.rankings(rng, P, N), from_rankings, rankings_by_hand, 4 * N),
    "rankings of some": (
        lambda rng: simulate.rankings(rng, P, N, size=3),
        lambda x: from_rankings(x, unranked="absent"),
        rankings_by_hand,
        3 * N,
    ),
    "tops": (
        lambda rng: simulate.rankings(rng, P, N, top=2),
        lambda x: from_rankings(x, unranked="below"),
        tops_by_hand,
        2 * N,
    ),
    "choices": (lambda rng: simulate.choices(rng, P, N, size=3), from_choices, choices_by_hand, N),
    "transitions": (
        lambda rng: simulate.transitions(rng, P, N, forbidden=FORBIDDEN),
        lambda x: from_transitions(x, forbidden=FORBIDDEN),
        transitions_by_hand,
        N,
    ),
    "table": (
        lambda rng: simulate.table(rng, P, [100, 50, 7], possible=POSSIBLE),
        from_table,
        table_by_hand,
        157,
    ),
    "groups": (
        lambda rng: simulate.groups(rng, P, N, groups=[["a", "b"], ["c", "d"]]),
        from_groups,
        groups_by_hand,
        N,
    ),
}
shapes = pytest.mark.parametrize("shape", ROUND_TRIPS)


@shapes
def test_readers_take_what_is_simulated(shape: str) -> None:
    make, read, by_hand, outcomes = ROUND_TRIPS[shape]
    data = make(SEED + 12)
    counts = read(data)
    assert counts.n_outcomes == outcomes
    expected = by_hand(data)
    assert set(counts.categories) == set(expected.categories)
    assert counts_of(dict.fromkeys(expected.categories, 0.0)) + counts == expected


@shapes
def test_a_seed_decides(shape: str) -> None:
    make = ROUND_TRIPS[shape][0]
    data = repr(make(SEED + 13))
    assert repr(make(SEED + 13)) == data
    assert repr(make(np.int64(SEED + 13))) == data
    assert repr(make(np.random.default_rng(SEED + 13))) == data
    assert repr(make(SEED + 14)) != data
    rng = np.random.default_rng(SEED + 13)
    assert repr(make(rng)) == data
    assert repr(make(rng)) != data  # a generator goes on


def test_layouts_tell_the_same() -> None:
    for design in ({"size": 3}, {"assortments": [["a", "b"], list("bcd")]}, {}):
        picks, long, wide = (
            from_choices(simulate.choices(SEED + 15, P, N, layout=x, **design), categories=list(P))
            for x in ("picks", "long", "wide")
        )
        assert picks == long == wide
        assert picks.n_outcomes == N
    orders, table = (simulate.rankings(SEED + 15, P, N, layout=x) for x in ("orders", "long"))
    assert from_rankings(orders) == from_rankings(table)


def test_long_rankings_with_size_and_top_are_read() -> None:
    data: Any = simulate.rankings(SEED + 16, P, N, size=3, top=2, layout="long")
    counts = from_rankings(data, unranked="below", blank="absent", categories=list(P))
    expected = counts_of(P)
    for k in range(0, 3 * N, 3):
        x, y, z = data["item"][k : k + 3]
        expected = expected.observe({x: 1}, within=[x, y, z]).observe({y: 1}, within=[y, z])
    assert counts == expected


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 2, 3], [("x", 1), ("x", 2), ("y", 1), ("y", 2)], ["x", "draw", "a b", "1|2"]],
    ids=str,
)
def test_labels_are_kept(labels: list[Any]) -> None:
    truth = dict(zip(labels, P.values(), strict=True))
    read = [
        from_pairs(simulate.pairs(SEED, truth, N)),
        from_teams(simulate.teams(SEED, truth, N)),
        from_rankings(simulate.rankings(SEED, truth, N)),
        *(from_choices(simulate.choices(SEED, truth, N, layout=x)) for x in ("picks", "long")),
        from_groups(simulate.groups(SEED, truth, N, groups=[labels[:2]])),
    ]
    if not isinstance(labels[0], tuple):
        read.append(from_transitions(simulate.transitions(SEED, truth, N)))
    assert all(set(counts.categories) == set(labels) for counts in read)


def test_a_series_of_probabilities() -> None:
    class Series:  # has labels and values, as one of pandas
        def keys(self) -> Any:
            return P.keys()

        def items(self) -> Any:
            return P.items()

    assert simulate.rankings(1, Series(), 5) == simulate.rankings(1, P, 5)  # type: ignore[arg-type]


# -- the truth comes back -------------------------------------------------------------------


def squared_error(counts: ConditionalCounts, p: Mapping[Any, float], information: Any) -> float:
    """Squared distance of the mode from the truth, in standard errors: chi-square."""
    mode = np.log(Posterior(counts, 1.0).mode())
    truth = np.log([p[x] for x in counts.categories])
    off = (mode - mode.mean()) - (truth - truth.mean())
    return float(off @ information @ off)


def spread(p: Mapping[Any, float], field: Iterable[Any], order: list[Any]) -> Any:
    """Covariance of the indicators of one choice: its information on log p."""
    q = np.array([p[x] if x in field else 0.0 for x in order])
    q /= q.sum()
    return np.diag(q) - np.outer(q, q)


def test_the_mode_of_pairs_is_near_the_truth() -> None:
    data = simulate.pairs(SEED + 17, P, 100_000)
    counts = from_pairs(data)
    order = list(counts.categories)
    met = Counter(frozenset(x) for x in zip(data["item1"], data["item2"], strict=True))
    information = sum(k * spread(P, pair, order) for pair, k in met.items())
    bound = chi2(len(P) - 1).isf(FALSE_ALARM)
    assert squared_error(counts, P, information) < bound
    assert squared_error(counts, {**P, "c": 1.1}, information) > bound


def test_the_mode_of_rankings_is_near_the_truth() -> None:
    n = 40_000
    counts = from_rankings(simulate.rankings(SEED + 18, P, n))
    order = list(counts.categories)
    information = sum(
        n * chance * sum(spread(P, places[k:], order) for k in range(3))
        for places, chance in order_law(P, 4, 4).items()
    )
    bound = chi2(len(P) - 1).isf(FALSE_ALARM)
    assert squared_error(counts, P, information) < bound
    assert squared_error(counts, {**P, "c": 1.1}, information) > bound


# -- wrong input ----------------------------------------------------------------------------

Call = Callable[[], Any]
WRONG_INPUT: dict[str, tuple[Call, str]] = {
    "rng None": (lambda: simulate.pairs(None, P, 5), "rng is None.*Generator or a seed"),  # type: ignore[arg-type]
    "rng float": (lambda: simulate.rankings(1.0, P, 5), "rng is 1.0"),  # type: ignore[arg-type]
    "rng True": (lambda: simulate.rankings(True, P, 5), "rng is True"),
    "rng negative": (lambda: simulate.groups(-1, P, 5, groups=["ab"]), "rng is -1"),
    "no mapping": (lambda: simulate.pairs(1, [0.5, 0.5], 5), "probabilities are"),  # type: ignore[arg-type]
    "empty": (lambda: simulate.table(1, {}, [5]), "two labels or more"),
    "one": (lambda: simulate.pairs(1, {"a": 1}, 5), "two labels or more"),
    "negative": (lambda: simulate.pairs(1, {"a": 1, "b": -1}, 5), "'b' is -1"),
    "nan": (lambda: simulate.pairs(1, {"a": 1, "b": math.nan}, 5), "'b' is nan"),
    "infinite": (lambda: simulate.choices(1, {"a": math.inf, "b": 1}, 5), "'a' is inf"),
    "text": (lambda: simulate.choices(1, {"a": "1", "b": 1}, 5), "'a' is '1'"),  # type: ignore[dict-item]
    "zeros": (lambda: simulate.transitions(1, {"a": 0, "b": 0}, 5), "all probabilities are 0"),
    "label None": (lambda: simulate.pairs(1, {None: 1, "b": 1}, 5), "None cannot be a label"),
    "label empty": (lambda: simulate.pairs(1, {"": 1, "b": 1}, 5), "'' cannot be a label"),
    "label spaced": (lambda: simulate.pairs(1, {" a": 1, "b": 1}, 5), "' a' cannot be a label"),
    "label set": (lambda: simulate.pairs(1, {frozenset("a"): 1, "b": 1}, 5), "cannot be a label"),
    "n 0": (lambda: simulate.pairs(1, P, 0), "n is 0; a whole number from 1 on"),
    "n float": (lambda: simulate.rankings(1, P, 2.0), "n is 2.0"),  # type: ignore[arg-type]
    "pair unknown": (lambda: simulate.pairs(1, P, 5, pairs=[("a", "x")]), "'x' in"),
    "pair with itself": (lambda: simulate.pairs(1, P, 5, pairs=[("a", "a")]), "'a' appears twice"),
    "pair of three": (lambda: simulate.pairs(1, P, 5, pairs=[tuple("abc")]), "two sides"),
    "pair no list": (lambda: simulate.pairs(1, P, 5, pairs=[3]), "pairs holds or is 3"),  # type: ignore[list-item]
    "no pairs": (lambda: simulate.pairs(1, P, 5, pairs=[]), "is empty"),
    "home 0": (lambda: simulate.pairs(1, P, 5, home=0.0), "home is 0.0; a positive finite"),
    "ties unknown": (lambda: simulate.pairs(1, P, 5, ties="entity", tie=1.0), "ties = 'entity'"),
    "ties alone": (lambda: simulate.pairs(1, P, 5, ties="davidson"), "go together"),
    "tie alone": (lambda: simulate.pairs(1, P, 5, tie=1.0), "go together"),
    "theta": (lambda: simulate.pairs(1, P, 5, ties="rao-kupper", tie=0.9), "number from 1 on"),
    "nu": (lambda: simulate.pairs(1, P, 5, ties="davidson", tie=-1.0), "number from 0 on"),
    "two homes": (lambda: simulate.pairs(1, P, 5, home=2.0, home_label="a"), "one of the two"),
    "two ties": (
        lambda: simulate.pairs(1, P, 5, ties="davidson", tie=1.0, tie_label="a"), "one of the two"
    ),
    "home of ties": (
        lambda: simulate.pairs(1, P, 5, ties="davidson", tie=1.0, home_label="a"), "home=..., a"
    ),
    "ties of home": (lambda: simulate.pairs(1, P, 5, home=2.0, tie_label="a"), "not with tie_lab"),
    "called tie": (
        lambda: simulate.pairs(1, {**P, "tie": 1}, 5, ties="davidson", tie=1.0), "called 'tie'"
    ),
    "contest of zeros": (
        lambda: simulate.pairs(1, {**P, "y": 0, "z": 0}, 1, pairs=["yz"], home=2.0), "nobody"
    ),
    "home unknown": (lambda: simulate.pairs(1, P, 5, home_label="x"), "'x' in home_label"),
    "home is tie": (lambda: simulate.pairs(1, P, 5, home_label="a", tie_label="a"), "twice"),
    "home plays": (lambda: simulate.pairs(1, P, 5, pairs=["ab"], home_label="a"), "'a' appears"),
    "a tie plays": (lambda: simulate.pairs(1, {**P, "tie": 1}, 5, tie_label="a"), "called 'tie'"),
    "two left": (lambda: simulate.pairs(1, {"a": 1, "b": 1}, 5, tie_label="a"), "1 are left"),
    "pair of zeros": (lambda: simulate.pairs(1, {**P, "y": 0, "z": 0}, 5), "nobody could win"),
    "match of zeros": (lambda: simulate.pairs(1, {**P, "y": 0, "z": 0}, 1, pairs=["yz"]), "nobody"),
    "team too large": (lambda: simulate.teams(1, P, 5, size=3), "two sides of 3 need 6"),
    "team of nobody": (lambda: simulate.teams(1, P, 5, size=0), "size is 0"),
    "team empty": (lambda: simulate.teams(1, P, 5, sides=[("a", "")]), "is empty"),
    "on both sides": (lambda: simulate.teams(1, P, 5, sides=[("ab", "bc")]), "'b' appears twice"),
    "no side": (lambda: simulate.teams(1, P, 5, sides=[(1, "bc")]), "sides holds or is 1"),  # type: ignore[list-item]
    "ranking too large": (lambda: simulate.rankings(1, P, 5, size=5), "size is 5.*from 2 to 4"),
    "top too large": (lambda: simulate.rankings(1, P, 5, size=3, top=4), "top is 4.*from 1 to 3"),
    "size and top": (lambda: simulate.rankings(1, P, 5, size=3, top=1), "layout='long'"),
    "ranking zeros": (lambda: simulate.rankings(1, {**P, "y": 0, "z": 0}, 5), "no order among"),
    "ranking layout": (lambda: simulate.rankings(1, P, 5, layout="wide"), "layout = 'wide'"),
    "choice too large": (lambda: simulate.choices(1, P, 5, size=5), "size is 5"),
    "choice both": (lambda: simulate.choices(1, P, 5, size=2, assortments=["ab"]), "not both"),
    "choice unknown": (lambda: simulate.choices(1, P, 5, assortments=[["x"]]), "'x' in"),
    "choice empty": (lambda: simulate.choices(1, P, 5, assortments=[[]]), "is empty"),
    "choice zeros": (lambda: simulate.choices(1, {**P, "y": 0, "z": 0}, 5, size=2), "nobody"),
    "choice layout": (lambda: simulate.choices(1, P, 5, layout="tall"), "'picks', 'long', 'wide'"),
    "choice wide": (lambda: simulate.choices(1, {1: 1, 2: 1}, 5, layout="wide"), "text"),
    "all forbidden": (
        lambda: simulate.transitions(1, P, 5, forbidden={"a": ["b", "c", "d"]}),
        "from 'a' nothing is allowed",
    ),
    "zero is left": (lambda: simulate.transitions(1, {"a": 1, "z": 0}, 5), "from 'a' nothing"),
    "forbidden unknown": (lambda: simulate.transitions(1, P, 5, forbidden={"x": "a"}), "'x' in"),
    "forbidden list": (lambda: simulate.transitions(1, P, 5, forbidden=["ab"]), "a mapping"),  # type: ignore[arg-type]
    "start unknown": (lambda: simulate.transitions(1, P, 5, start="x"), "'x' in start"),
    "self_loops": (lambda: simulate.transitions(1, P, 5, self_loops="no"), "self_loops = 'no'"),
    "tuples": (lambda: simulate.transitions(1, {(1,): 1, (2,): 1}, 5), "tuple"),
    "totals": (lambda: simulate.table(1, P, 5), "totals holds or is 5"),  # type: ignore[arg-type]
    "total negative": (lambda: simulate.table(1, P, [-1]), "a total is -1"),
    "no totals": (lambda: simulate.table(1, P, []), "0 totals"),
    "rows": (lambda: simulate.table(1, P, [1, 2], possible=["ab"]), "2 totals and 1 rows"),
    "cell unknown": (lambda: simulate.table(1, P, [1], possible=[["x"]]), "'x' in"),
    "row empty": (lambda: simulate.table(1, P, [1], possible=[[]]), "is empty"),
    "row of zeros": (lambda: simulate.table(1, {**P, "z": 0}, [1], possible=["z"]), "nobody"),
    "columns": (lambda: simulate.table(1, {1: 1, 2: 1}, [1]), "must be text"),
    "coarse": (lambda: simulate.groups(1, P, 5, groups=["ab"], coarse=1.2), "coarse = 1.2"),
    "overlap": (lambda: simulate.groups(1, P, 5, groups=["ab", "bc"]), "'b' appears twice"),
    "group unknown": (lambda: simulate.groups(1, P, 5, groups=[["x"]]), "'x' in groups"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_INPUT)
def test_wrong_input_is_refused_in_words(case: str) -> None:
    call, words = WRONG_INPUT[case]
    with pytest.raises(DataError, match=words):
        call()


def test_what_cannot_be_reached_may_lead_nowhere() -> None:
    forbidden = {"a": ["c", "d"], "b": ["c", "d"], "c": list(P)}
    states = simulate.transitions(SEED, P, 50, forbidden=forbidden, start="a")
    assert set(states) == {"a", "b"}
    with pytest.raises(DataError, match="from 'c' nothing is allowed"):
        simulate.transitions(SEED, P, 50, forbidden=forbidden)
    two_steps = {"a": ["c", "d"], "b": ["a", "d"], "c": list(P)}
    with pytest.raises(DataError, match="from 'c' nothing is allowed"):
        simulate.transitions(SEED, P, 1, forbidden=two_steps, start="a")
