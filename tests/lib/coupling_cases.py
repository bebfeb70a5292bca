"""Players in rows and in leagues, with games drawn from known strengths, for coupled chains."""

from itertools import combinations
from typing import Any

import numpy as np

from luce import ConditionalCounts


def league(n: int, games: int, seed: int) -> ConditionalCounts:
    """Games between pairs at random, or one of each pair where there are as many."""
    rng = np.random.default_rng(seed)
    strength, every = rng.lognormal(size=n), list(combinations(range(n), 2))
    places = range(len(every)) if games == len(every) else rng.integers(len(every), size=games)
    return _played(n, [(*every[k], 1) for k in places], strength, rng)


def row(n: int, games: int, seed: int) -> ConditionalCounts:
    """Each player meets the next one some times."""
    rng = np.random.default_rng(seed)
    return _played(n, [(i, i + 1, games) for i in range(n - 1)], np.ones(n), rng)


def _played(n: int, meetings: Any, strength: Any, rng: np.random.Generator) -> ConditionalCounts:
    counts = ConditionalCounts(n)
    for i, j, games in meetings:
        won = int(rng.binomial(games, strength[i] / (strength[i] + strength[j])))
        counts = counts.observe({i: won, j: games - won}, within=[i, j])
    return counts
