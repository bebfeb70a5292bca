"""The problems of the benchmark.

P1 and P2 are the paper's, P3 pairs, P4 rankings, P5 is P1 with a sparse prior and few counts, P6
has 100,000 categories, P7 2 million members.  "path", "bridge" and "wide" hang together weakly,
which is hard for samplers that change one probability at a time.  The others are kinds of data, and
can be made in other sizes and from other seeds.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache, partial

import kinds
import numpy as np
from problem import Problem, from_choices, from_tallies


def cyclic(n: int, concentration: float, counts: list[int]) -> Problem:
    """The paper's: `counts[j]` outcomes j while the category before j was truncated."""
    h = len(counts)
    rows = [np.delete(np.arange(n), (j - 1) % h) for j in range(h)]
    tallies = [{j: count} for j, count in enumerate(counts)]
    return from_tallies(np.full(n, concentration), rows, tallies)


def matches(seed: int, n: int, number: int, spread: float) -> Problem:
    """Random pairs play; log strengths are normal with this standard deviation."""
    rng = np.random.default_rng(seed)
    strength = rng.lognormal(0.0, spread, n)
    choices = []
    for _ in range(number):
        i, j = rng.choice(n, 2, replace=False)
        i_wins = rng.random() < strength[i] / (strength[i] + strength[j])
        choices.append((i if i_wins else j, np.sort([i, j])))
    return from_choices(n, choices)


def games(seed: int, n: int, pairs: list[tuple[int, int]], each: int) -> Problem:
    """Every pair of the list plays `each` times; log strengths have standard deviation 0.5."""
    rng = np.random.default_rng(seed)
    strength = rng.lognormal(0.0, 0.5, n)
    tallies = []
    for i, j in pairs:
        won = int(rng.binomial(each, strength[i] / (strength[i] + strength[j])))
        tallies.append({i: won, j: each - won})
    return from_tallies(np.ones(n), [np.asarray(pair) for pair in pairs], tallies)


def rankings() -> Problem:
    """36 races of 42 or 43 out of 83, some of whom start more often than others."""
    n = 83
    rng = np.random.default_rng(7)  # the first seed from 4 on with which all are connected
    strength = rng.lognormal(0.0, 1.0, n)
    keenness = np.exp(1.5 * rng.standard_normal(n))
    orders = []
    for _ in range(36):
        size = 43 if rng.random() < 0.8 else 42
        starters = np.argsort(-(np.log(keenness) + rng.gumbel(size=n)))[:size]
        finish = -(np.log(strength[starters]) + rng.gumbel(size=size))
        orders.append(starters[np.argsort(finish)])
    choices = [(o[k], np.sort(o[k:])) for o in orders for k in range(len(o) - 1)]
    problem = from_choices(n, choices)
    problem.rankings = orders
    return problem


def many_categories() -> Problem:
    """100,000 categories; 50 times 20,000 outcomes while a random hundredth was truncated."""
    rng = np.random.default_rng(6)
    n = 100_000
    p = rng.dirichlet(np.full(n, 0.1))
    rows, tallies = [], []
    for _ in range(50):
        row = np.sort(rng.choice(n, n // 100, replace=False))
        left = np.delete(np.arange(n), row)
        seen = rng.multinomial(20_000, p[left] / p[left].sum())
        some = seen > 0
        rows.append(row)
        tallies.append(dict(zip(left[some].tolist(), seen[some].tolist(), strict=True)))
    return from_tallies(np.full(n, 0.1), rows, tallies, excluded=True)


def random_sets(rng: np.random.Generator, n: int, number: int, size: int) -> np.ndarray:
    """Draw sets of distinct categories, shape (number, size), each sorted."""
    rows = np.sort(rng.integers(0, n, (number, size)), axis=1)
    while (twice := (np.diff(rows, axis=1) == 0).any(axis=1)).any():
        rows[twice] = np.sort(rng.integers(0, n, (int(twice.sum()), size)), axis=1)
    return rows


def ten_of_many() -> tuple[np.ndarray, np.ndarray]:
    """200,000 choices out of ten of 2,000 items: what was on offer, and what was chosen."""
    rng = np.random.default_rng(7)
    n, number, size = 2000, 200_000, 10
    strength = rng.lognormal(0.0, 1.0, n)
    rows = random_sets(rng, n, number, size)
    utility = np.log(strength)[rows] + rng.gumbel(size=rows.shape)
    return rows, rows[np.arange(number), utility.argmax(axis=1)]


def many_choices() -> Problem:
    return kinds.of_choices(*ten_of_many(), 2000)


def bridge() -> Problem:
    """Two leagues of 20, every pair ten times; two games between them, one win each way."""
    leagues = [(k + i, k + j) for k in (0, 20) for i in range(20) for j in range(i + 1, 20)]
    problem = games(9, 40, leagues, 10)
    rows, tallies = [*problem.rows, np.asarray([0, 20])], [*(problem.tallies or []), {0: 1, 20: 1}]
    return from_tallies(problem.alpha, rows, tallies)


MAKERS: dict[str, Callable[..., Problem]] = {
    "P1": partial(cyclic, n=10, concentration=2.0, counts=[10] * 5),
    "P2": partial(cyclic, n=20, concentration=2.0, counts=[10] * 10),
    "P3": partial(matches, seed=3, n=30, number=600, spread=1.0),
    "P4": rankings,
    "P5": partial(cyclic, n=10, concentration=0.05, counts=[1, 2, 3, 4, 5]),
    "P6": many_categories,
    "P7": many_choices,
    "path": partial(games, seed=8, n=50, pairs=[(i, i + 1) for i in range(49)], each=20),
    "bridge": bridge,
    "wide": partial(matches, seed=10, n=30, number=600, spread=3.0),
    "league": kinds.league,
    "teams": kinds.teams,
    "gamma": kinds.gamma,
    "rankings5000": kinds.many_rankings,
    "sparse": kinds.sparse,
    "arena": kinds.arena,
    "unequal": kinds.unequal,
    "transitions": kinds.transitions,
}


@cache
def load(name: str) -> Problem:
    """Make a problem: by its name, or with changes, as "league:teams=30,seed=2"."""
    kind, _, changes = name.partition(":")
    given = dict(change.split("=") for change in changes.split(",") if change)
    problem = MAKERS[kind](**{key: ast.literal_eval(value) for key, value in given.items()})
    problem.name = name
    return problem
