"""Home advantages that data cannot tell from strengths, against ranks of dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lib.bounds import SEED

import luce
from luce import ConditionalCounts
from luce.counts import home_is_confounded, untold_parameters
from luce.counts.contests import contests_of
from luce.errors import ConfoundedHomeWarning


def design(
    n: int, games: list[tuple[list[int], list[int], int]], weights: list[float] | None = None
) -> ConditionalCounts:
    sides = [side for first, second, _ in games for side in (first, second)]
    members = np.array([i for side in sides for i in side])
    start = np.cumsum([0, *map(len, sides)])
    where, results = np.array([w for _, _, w in games]), np.tile([1.0, 1.0, 0.0], (len(games), 1))
    own = None if weights is None else np.array(weights)[members]
    contests = contests_of(n, members, start, own, where, results, None, True)
    return ConditionalCounts(n).with_events(contests)


def confounded_by_rank(
    n: int,
    games: list[tuple[list[int], list[int], int]],
    sets: list[list[int]],
    weights: list[float] | None = None,
) -> bool:
    """The advantage lies in the span of all changes of log strengths, at some strengths."""
    p = np.random.default_rng(7).uniform(0.2, 1.0, n) * (1.0 if weights is None else weights)
    rows, rise = [], []
    for first, second, where in games:
        row = np.zeros(n)
        row[first] += p[first] / p[first].sum()
        row[second] -= p[second] / p[second].sum()
        rows.append(row)
        rise.append([0, 1, -1][where])
    for members in sets:  # all members of a set are compared, on no ground
        for other in members[1:]:
            row = np.zeros(n)
            row[[members[0], other]] = 1, -1
            rows.append(row)
            rise.append(0)
    slopes = np.array(rows)
    wider = np.column_stack([slopes, rise])
    return bool(np.linalg.matrix_rank(wider) == np.linalg.matrix_rank(slopes))


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("seed", range(60))
def test_random_designs(seed: int, size: int) -> None:
    rng = np.random.default_rng([SEED, 41, seed, size])
    n = int(rng.integers(4, 8))
    level = rng.integers(3, size=n)  # half of the designs keep to a potential
    games, kept = [], bool(rng.integers(2))
    for _ in range(int(rng.integers(1, 12))):
        order = rng.permutation(n)
        a, b = order[: rng.integers(1, size + 1)], order[size : size + rng.integers(1, size + 1)]
        where = int(rng.integers(3))
        if kept:
            rise = level[a[0]] - level[b[0]]
            if abs(rise) > 1 or len({*level[a]}) > 1 or len({*level[b]}) > 1:
                continue
            where = int(rise % 3)
        games.append((a.tolist(), b.tolist(), where))
    if not games:
        return
    weights = rng.uniform(0.5, 2, n).tolist() if seed % 3 == 0 else None
    sets = [[0, 1, 2]] if seed % 4 == 0 else []
    counts = design(n, games, weights)
    for members in sets:
        counts = counts.observe({members[0]: 1}, within=members)
    assert home_is_confounded(counts) == confounded_by_rank(n, games, sets, weights)


def test_random_designs_are_of_both_kinds() -> None:
    bipartite = [([i], [j], 1) for i in range(3) for j in range(3, 6)]
    assert home_is_confounded(design(6, bipartite))
    assert not home_is_confounded(design(6, [*bipartite, ([3], [0], 1)]))  # the other ground
    assert not home_is_confounded(design(6, [*bipartite, ([0], [3], 0)]))  # neutral ground
    assert home_is_confounded(design(6, [*bipartite, ([0], [1], 0)]))  # but not between hosts
    assert not home_is_confounded(design(6, [*bipartite, ([0], [1], 1)]))
    assert home_is_confounded(design(8, [*bipartite, ([6], [7], 1)]))  # two groups apart
    assert not home_is_confounded(design(8, [*bipartite, ([6], [7], 1), ([7], [6], 1)]))
    doubles = [([0, 1], [2, 3], 1), ([0, 2], [1, 3], 1)]
    assert home_is_confounded(design(4, doubles))
    assert not home_is_confounded(design(4, [*doubles, ([2, 3], [0, 1], 1)]))
    # Whoever won among all of them, on no ground, tells the strengths.
    assert not home_is_confounded(design(6, bipartite).observe({0: 2, 4: 1}))


def test_many_teams_take_little_time() -> None:
    n = 2000
    ring = [([i], [(i + 1) % n], 1) for i in range(n)]
    assert home_is_confounded(design(n, ring[:-1]))
    assert not home_is_confounded(design(n, ring))
    doubles = [([i, n + i], [(i + 1) % n, n + (i + 1) % n], 1) for i in range(300)]
    assert home_is_confounded(design(2 * n, doubles))


GAMES: dict[str, list[Any]] = {"home": ["a", "a"], "away": ["b", "c"], "result": ["H", "A"]}


def test_readers_warn_and_say_what_is_left_to_priors() -> None:
    with pytest.warns(ConfoundedHomeWarning, match=r"^home: data cannot tell the advantage from"):
        counts = luce.from_pairs(GAMES, home="first", ties="davidson")
    said = untold_parameters(counts)
    assert list(said) == ["home", "tie"]
    assert said["tie"].startswith(
        "none of 2 meetings was tied: only its prior says how far above 0"
    )
    with pytest.warns(ConfoundedHomeWarning, match="no meeting has a side at home"):
        luce.from_pairs({**GAMES, "at": [None, None]}, home="at")
    both = {name: values * 2 for name, values in GAMES.items()}
    both["home"][2:], both["away"][2:] = both["away"][:2], both["home"][:2]
    told = luce.from_pairs(both, home="first", ties="rao-kupper")
    assert list(untold_parameters(told)) == ["tie"]
    assert "how far above 1" in untold_parameters(told)["tie"]
    tied = luce.from_pairs({**both, "result": ["D"] * 4}, home="first", ties="davidson")
    assert untold_parameters(tied)["tie"].startswith("all of 4 meetings were tied")
    assert untold_parameters(luce.from_pairs([("a", "b")])) == {}
    assert not home_is_confounded(luce.from_pairs([("a", "b")]))


def test_one_meeting_is_told_in_the_singular_and_not_warned_of(
    recwarn: pytest.WarningsRecorder,
) -> None:
    for result, words in (
        ("H", "the only meeting was not tied"),
        ("D", "the only meeting was tied"),
    ):
        one = {"home": ["a"], "away": ["b"], "result": [result]}
        said = untold_parameters(luce.from_pairs(one, ties="davidson", home="first"))
        assert said["tie"].startswith(f"{words}: only its prior says how ")
        assert said["home"].startswith("data cannot tell")
    assert not recwarn  # pieces for cross-validation are read like this, one by one
