"""Problems by kind of data, of any size: simulated, and read by luce as a user would.

Log strengths are normal with standard deviation `spread`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from problem import Problem, from_sides

if TYPE_CHECKING:
    from luce import ConditionalCounts


def reader(name: str, data: Any, **options: Any) -> Callable[[], ConditionalCounts]:
    """Return a function that reads the data by luce's reader of this name."""

    def read() -> ConditionalCounts:
        import luce

        return getattr(luce, name)(data, **options)

    return read


def strengths(rng: np.random.Generator, n: int, spread: float) -> np.ndarray:
    return rng.lognormal(0.0, spread, n)


def play(rng: np.random.Generator, weights: np.ndarray) -> np.ndarray:
    """Draw a winner of each row, by weight."""
    return (np.log(weights) + rng.gumbel(size=weights.shape)).argmax(axis=1)


def popular_sets(
    rng: np.random.Generator, popularity: np.ndarray, number: int, size: int
) -> np.ndarray:
    """Draw sets of distinct items one after another, by popularity; shape (number, size)."""
    rows = np.empty((number, size), int)
    for k in range(size):
        wanting = np.arange(number)
        while len(wanting):
            rows[wanting, k] = rng.choice(len(popularity), len(wanting), p=popularity)
            drawn_before = rows[wanting, :k] == rows[wanting, k : k + 1]
            wanting = wanting[drawn_before.any(axis=1)]
    return rows


def power_law(rng: np.random.Generator, n: int, exponent: float) -> np.ndarray:
    """Popularities that fall with the rank, in random order."""
    popularity = rng.permutation(np.arange(1.0, n + 1) ** -exponent)
    return popularity / popularity.sum()


def of_pairs(n: int, winners: np.ndarray, losers: np.ndarray) -> Problem:
    """Pairs won and lost, which luce reads as two columns; uniform prior."""
    low, high = np.minimum(winners, losers), np.maximum(winners, losers)
    pairs, pair_of, number = np.unique(low * n + high, return_inverse=True, return_counts=True)
    won = np.bincount(pair_of, winners == low).astype(int)
    sides = zip((pairs // n).tolist(), (pairs % n).tolist(), strict=True)
    wins = zip(won.tolist(), (number - won).tolist(), strict=True)
    c = np.bincount(winners, minlength=n).astype(float)
    ptr, idx = np.arange(0, 2 * len(pairs) + 1, 2), np.stack([pairs // n, pairs % n], axis=1)
    data = {"winner": winners.tolist(), "loser": losers.tolist()}
    return Problem(
        np.ones(n), c, number.astype(float), ptr, idx.ravel(),
        tallies=[dict(zip(*two, strict=True)) for two in zip(sides, wins, strict=True)],
        read=reader("from_pairs", data, categories=range(n)),
    )  # fmt: skip


def league(
    seed: int = 11, teams: int = 20, seasons: int = 10, spread: float = 0.5,
    home: float = 0.35, tie: float = 0.8,
) -> Problem:  # fmt: skip
    """Double round robins; a tie and the advantage at home are entities with these strengths."""
    rng = np.random.default_rng(seed)
    strength = strengths(rng, teams, spread)
    at_home, away = np.nonzero(~np.eye(teams, dtype=bool))
    at_home, away = np.tile(at_home, seasons), np.tile(away, seasons)
    weights = np.stack([strength[at_home] + home, strength[away], np.full(len(away), tie)], axis=1)
    result = play(rng, weights).tolist()
    labels = [*range(teams), "home", "tie"]
    games = list(zip(at_home.tolist(), away.tolist(), result, strict=True))
    sides = [(((a, teams), (b,), (teams + 1,))[r], (a, b, teams, teams + 1)) for a, b, r in games]
    data = {
        "item1": [a for a, _, _ in games],
        "item2": [b for _, b, _ in games],
        "outcome": [(a, b, "tie")[r] for a, b, r in games],
    }
    problem = from_sides(teams + 2, sides)
    entities = {"ties": "entity", "home": "first", "home_effect": "entity"}
    problem.read = reader("from_pairs", data, categories=labels, **entities)
    return problem


def teams(
    seed: int = 12, players: int = 300, size: int = 3, number: int = 20_000, spread: float = 1.0
) -> Problem:
    """Games between two random sides of so many players, whose strengths add up."""
    rng = np.random.default_rng(seed)
    strength = strengths(rng, players, spread)
    drawn = popular_sets(rng, np.full(players, 1 / players), number, 2 * size)
    sides = drawn.reshape(number, 2, size)
    winner = play(rng, strength[sides].sum(axis=2))
    rows = np.arange(number)
    won, lost = sides[rows, winner].tolist(), sides[rows, 1 - winner].tolist()
    problem = from_sides(players, ((w, w + x) for w, x in zip(won, lost, strict=True)))
    problem.read = reader("from_teams", {"winners": won, "losers": lost}, categories=range(players))
    return problem


def gamma(
    seed: int = 13, n: int = 20, number: int = 400, spread: float = 2.0,
    shape: float = 2.0, rate: float = 1.0,
) -> Problem:  # fmt: skip
    """Pairs, and a gamma prior of the concentration."""
    problem = sparse(seed, n, number, spread)
    problem.hyperprior, problem.alpha = (shape, rate), np.full(n, shape / rate)
    return problem


def many_rankings(seed: int = 14, n: int = 40, number: int = 5_000, spread: float = 1.0) -> Problem:
    """Full rankings of all items."""
    rng = np.random.default_rng(seed)
    utility = np.log(strengths(rng, n, spread)) + rng.gumbel(size=(number, n))
    orders = np.argsort(-utility, axis=1)
    place = np.argsort(orders, axis=1)
    left = (place[:, None, :] >= np.arange(n - 1)[:, None]).reshape(-1, n)
    packed, times = np.unique(np.packbits(left, axis=1), axis=0, return_counts=True)
    member = np.unpackbits(packed, axis=1, count=n).astype(bool)
    c = np.full(n, float(number)) - np.bincount(orders[:, -1], minlength=n)
    ptr = np.r_[0, np.cumsum(member.sum(axis=1))]
    lists = orders.tolist()
    return Problem(
        np.ones(n), c, times.astype(float), ptr, np.nonzero(member)[1], rankings=list(orders),
        read=reader("from_rankings", lists, categories=range(n)),
    )  # fmt: skip


def sparse(seed: int = 15, n: int = 10_000, number: int = 50_000, spread: float = 1.0) -> Problem:
    """Games between random pairs."""
    return arena(seed, n, number, spread, exponent=0.0)


def arena(
    seed: int = 16, n: int = 150, number: int = 500_000, spread: float = 1.0, exponent: float = 1.0
) -> Problem:
    """Votes between pairs whose popularity falls as a power of its rank."""
    rng = np.random.default_rng(seed)
    strength = strengths(rng, n, spread)
    pairs = popular_sets(rng, power_law(rng, n, exponent), number, 2)
    winner, rows = play(rng, strength[pairs]), np.arange(number)
    return of_pairs(n, pairs[rows, winner], pairs[rows, 1 - winner])


def of_choices(rows: np.ndarray, chosen: np.ndarray, n: int) -> Problem:
    """Choices out of sets of equal size, all distinct; uniform prior."""
    number, size = rows.shape
    c = np.bincount(chosen, minlength=n).astype(float)
    data = {"chosen": chosen.tolist(), "offered": rows.tolist()}
    return Problem(
        np.ones(n), c, np.ones(number), np.arange(number + 1) * size, rows.ravel(),
        read=reader("from_choices", data, categories=range(n)),
    )  # fmt: skip


def unequal(
    seed: int = 17, n: int = 2_000, number: int = 200_000, size: int = 10, spread: float = 2.0,
    exponent: float = 0.0,
) -> Problem:  # fmt: skip
    """Choices out of sets of items of very unequal strength, on offer by a power of their rank."""
    rng = np.random.default_rng(seed)
    strength = strengths(rng, n, spread)
    rows = np.sort(popular_sets(rng, power_law(rng, n, exponent), number, size), axis=1)
    return of_choices(rows, rows[np.arange(number), play(rng, strength[rows])], n)


def transitions(
    seed: int = 18, states: int = 60, number: int = 10_000, spread: float = 1.0, closed: float = 0.0
) -> Problem:
    """Moves between states that share their strengths; staying, and this share, cannot occur."""
    rng = np.random.default_rng(seed)
    p = strengths(rng, states, spread)
    forbidden = rng.random((states, states)) < closed
    np.fill_diagonal(forbidden, True)
    moves = np.zeros((states, states))
    state = 0
    for _ in range(number):
        open_to = np.where(forbidden[state], 0.0, p)
        target = int(rng.choice(states, p=open_to / open_to.sum()))
        moves[state, target] += 1
        state = target
    left = np.flatnonzero(moves.sum(axis=1))
    row, idx = np.nonzero(forbidden[left])
    return Problem(
        np.ones(states), moves.sum(axis=0), moves.sum(axis=1)[left],
        np.r_[0, np.cumsum(np.bincount(row))], idx, excluded=True,
        read=reader(
            "from_transitions", moves, forbidden=forbidden, categories=range(states)
        ),
    )  # fmt: skip
