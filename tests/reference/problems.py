"""The problems of the reference set: data as outcomes given sets, and a prior.

Nothing here imports luce.  A term is (outcome, count, within): `count` outcomes known to lie in
`outcome`, given that they lay in `within`; both are lists of categories 0..n-1.  Nothing is merged,
dropped or reordered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Term = tuple[list[int], float, list[int]]


@dataclass(frozen=True)
class Problem:
    """One posterior.

    Parameters
    ----------
    about
        A sentence about it.
    prior
        {"dirichlet": a list of concentrations}; {"gamma": [shape, rate]}, the prior of a
        concentration common to all categories; or {"process": concentration}, a Dirichlet process
        with a diffuse base whose remainder is the last category.
    terms
        The data.
    moments
        How mean, sd and evidence are computed: "simulation", "quadrature" (3 or 4 categories),
        "tree" (sets that nest), "path" (pairs of neighbours) or "star" (pairs with category 0).
    """

    about: str
    categories: int
    prior: dict[str, Any]
    terms: list[Term]
    moments: str = "simulation"


def but(n: int, *excluded: int) -> list[int]:
    """List all categories but some."""
    return [i for i in range(n) if i not in excluded]


def picks(*given: tuple[int, float, Iterable[int]]) -> list[Term]:
    """List outcomes of single categories: (category, count, within)."""
    return [([i], count, list(within)) for i, count, within in given]


def ranked(order: Sequence[int], count: float = 1.0) -> list[Term]:
    """Spell a ranking out, best first: each place is an outcome among those not yet placed."""
    return [([i], count, list(order[place:])) for place, i in enumerate(order[:-1])]


def pairs(*games: tuple[int, int, float, float]) -> list[Term]:
    """List wins of the first and of the second of each pair."""
    return [
        ([winner], count, [i, j])
        for i, j, wins, losses in games
        for winner, count in ((i, wins), (j, losses))
        if count
    ]


def dirichlet(*concentration: float) -> dict[str, Any]:
    """Describe a Dirichlet prior."""
    return {"dirichlet": list(concentration)}


def paper(n: int, concentration: float, counts: Sequence[float]) -> Problem:
    """Return Johnson and Willsky's design: half of the categories, each once truncated."""
    half = n // 2
    data = picks(*((j, counts[j], but(n, (j - 1) % half)) for j in range(half)))
    about = f"Johnson and Willsky's design, n = {n}, concentration {concentration:g}"
    return Problem(about, n, dirichlet(*[concentration] * n), data)


def league(teams: Sequence[int], strengths: np.ndarray, seed: int) -> list[Term]:
    """Draw three games of every pair of teams."""
    rng = np.random.default_rng(seed)
    games = []
    for place, i in enumerate(teams):
        for j in teams[place + 1 :]:
            wins = int(rng.binomial(3, strengths[i] / (strengths[i] + strengths[j])))
            games.append((i, j, wins, 3 - wins))
    return pairs(*games)


def two_leagues() -> Problem:
    strengths = np.random.default_rng(1).gamma(2.0, size=12)
    data = league(range(6), strengths, 2) + league(range(6, 12), strengths, 3)
    bridge = pairs((2, 9, 1, 0))
    about = "two leagues of six teams, joined by one game"
    return Problem(about, 12, dirichlet(*[1.0] * 12), data + bridge)


def drawn_ranking(rng: np.random.Generator, entrants: np.ndarray, strengths: np.ndarray) -> Any:
    """Draw a ranking: the smaller an exponential over its strength, the better."""
    return entrants[np.argsort(rng.exponential(size=len(entrants)) / strengths[entrants])].tolist()


def rankings(n: int, races: int, least: int, most: int, seed: int) -> list[Term]:
    """Draw rankings of random entrants."""
    rng = np.random.default_rng(seed)
    strengths = rng.gamma(1.0, size=n)
    data = []
    for _ in range(races):
        entrants = rng.choice(n, rng.integers(least, most + 1), replace=False)
        data += ranked(drawn_ranking(rng, entrants, strengths))
    return data


def choices(n: int, shelves: int, buyers: int, seed: int) -> list[Term]:
    """Draw choices from random assortments."""
    rng = np.random.default_rng(seed)
    strengths = rng.gamma(1.0, size=n)
    data = []
    for _ in range(shelves):
        shelf = np.sort(rng.choice(n, rng.integers(3, n - 1), replace=False))
        bought = rng.multinomial(buyers, strengths[shelf] / strengths[shelf].sum())
        data += picks(
            *((int(i), float(k), shelf.tolist()) for i, k in zip(shelf, bought, strict=True) if k)
        )
    return data


def transitions(n: int, steps: int, seed: int) -> list[Term]:
    """Draw a sequence without self-loops whose next state has the same odds everywhere."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n))
    table = np.zeros((n, n))
    state = 0
    for _ in range(steps):
        odds = np.where(np.arange(n) == state, 0.0, p)
        new = int(rng.choice(n, p=odds / odds.sum()))
        table[state, new] += 1
        state = new
    rows, columns = np.nonzero(table)
    return picks(
        *((int(j), table[i, j], but(n, int(i))) for i, j in zip(rows, columns, strict=True))
    )


def season() -> Problem:
    """Return games with ties and a home advantage, each one more category."""
    rng = np.random.default_rng(5)
    teams, tie, home = 5, 5, 6
    strengths = np.array([2.0, 1.4, 1.0, 0.8, 0.5, 0.7, 0.4])
    data = []
    for i in range(teams):
        for j in but(teams, i):
            sides: list[list[int]] = [[i, home], [j], [tie]]
            odds = np.array([strengths[side].sum() for side in sides])
            seen = rng.multinomial(4, odds / odds.sum())
            within = [i, home, j, tie]
            data += [(side, float(k), within) for side, k in zip(sides, seen, strict=True) if k]
    about = "a season of five teams: a tie and the home advantage are categories of their own"
    return Problem(about, 7, dirichlet(*[1.0] * 7), data)


def path(n: int, seed: int) -> list[Term]:
    """Draw games of neighbours on a path, of very unequal outcomes."""
    rng = np.random.default_rng(seed)
    wins = rng.integers(1, 12, size=(n - 1, 2))
    return pairs(*((i, i + 1, float(a), float(b)) for i, (a, b) in enumerate(wins)))


OVERLAPPING = picks(
    (0, 3, [0, 1]), (1, 1, [0, 1]), (1, 2, [1, 2]), (2, 4, [1, 2]), (2, 1, [0, 1, 2])
)

PROBLEMS: dict[str, Problem] = {
    "beta": Problem(
        "two categories: a Beta distribution",
        2,
        dirichlet(0.5, 1.5),
        [([0], 7.0, [0, 1]), ([1], 2.5, [0, 1]), ([0, 1], 3.0, [0, 1])],
        "tree",
    ),
    "three": Problem(
        "two overlapping pairs and an outcome among all three",
        3, dirichlet(0.7, 1.3, 2.1), OVERLAPPING, "quadrature",
    ),
    "three-sparse": Problem(
        "two overlapping pairs, concentrations near 0.05",
        3,
        dirichlet(0.05, 0.08, 0.06),
        picks((0, 2, [0, 1]), (1, 1, [0, 1]), (1, 1, [1, 2]), (2, 3, [1, 2])),
        "quadrature",
    ),
    "four-groups": Problem(
        "grouped outcomes that overlap each other and two truncated sets",
        4,
        dirichlet(1.5, 0.8, 1.1, 0.6),
        [
            *picks((0, 2, [0, 2]), (1, 1, [0, 1, 3]), (3, 2, [2, 3])),
            ([0, 1], 4.0, [0, 1, 2, 3]),
            ([1, 2], 2.0, [0, 1, 2]),
            ([0, 3], 3.0, [0, 1, 2, 3]),
        ],
        "quadrature",
    ),
    "paper-10": paper(10, 2.0, [10.0] * 5),
    "paper-20": paper(20, 2.0, [10.0] * 10),
    "paper-sparse": paper(10, 0.05, [10.0, 4.0, 7.0, 2.0, 12.0]),
    "large-concentrations": Problem(
        "unequal concentrations from 3 to 900",
        6,
        dirichlet(20, 150, 3, 900, 60, 8),
        picks((0, 30, but(6, 3)), (2, 9, [1, 2, 5]), (4, 80, but(6, 1)), (3, 200, [0, 3, 4])),
    ),
    "unequal-concentrations": Problem(
        "concentrations from 0.1 to 50, choices from three overlapping sets",
        5,
        dirichlet(0.1, 50, 1, 0.3, 6),
        picks((0, 5, [0, 1, 2]), (1, 9, [0, 1, 2]), (2, 6, [1, 2, 3]), (3, 1, [1, 2, 3]),
              (4, 12, [0, 3, 4]), (0, 2, [0, 3, 4])),
    ),
    "path-6": Problem(
        "six players who met their neighbours alone",
        6, dirichlet(1.0, 0.5, 1.5, 1.0, 2.0, 0.8), path(6, 6), "path",
    ),
    "path-25": Problem(
        "twenty-five players who met their neighbours alone",
        25, dirichlet(*[1.0] * 25), path(25, 7), "path",
    ),
    "ring": Problem(
        "eight players round a table who met their neighbours alone",
        8,
        dirichlet(*[1.0] * 8),
        [*path(8, 8), *pairs((7, 0, 5, 2))],
    ),
    "two-leagues": two_leagues(),
    "rankings": Problem(
        "six full rankings of eight items",
        8, dirichlet(*[1.0] * 8), rankings(8, 6, 8, 8, 9),
    ),
    "races": Problem(
        "twenty races of 3 to 6 of 15 runners",
        15, dirichlet(*[0.5] * 15), rankings(15, 20, 3, 6, 10),
    ),
    "assortments": Problem(
        "choices of 25 buyers from each of eight assortments of nine goods",
        9, dirichlet(*[1.0] * 9), choices(9, 8, 25, 11),
    ),
    "transitions": Problem(
        "a sequence of 150 steps through eight states, without self-loops",
        8, dirichlet(*[0.5] * 8), transitions(8, 150, 12),
    ),
    "teams": Problem(
        "teams against each other, nested, and all but one",
        7,
        dirichlet(1.0, 0.7, 1.4, 2.0, 0.9, 1.1, 1.6),
        [
            *picks((0, 3, [0, 1]), (5, 2, [4, 5, 6]), (2, 1, but(7, 0)), (3, 2, [1, 3])),
            ([0, 1], 5.0, [0, 1, 2, 3]),
            ([2, 3], 3.0, [0, 1, 2, 3]),
            ([1, 4], 2.0, [1, 4, 5]),
            ([1, 2, 4], 4.0, but(7)),
            (but(7, 6), 6.0, but(7)),
            (but(7, 3), 7.0, but(7)),
        ],
    ),
    "season": season(),
    "million": Problem(
        "counts up to a million in overlapping sets",
        6,
        dirichlet(1.0, 0.5, 2.0, 1.0, 1.0, 3.0),
        picks((0, 1e6, [0, 1, 2]), (1, 250_000, [0, 1, 2]), (2, 60_000, [0, 1, 2]),
              (2, 8_000, [2, 3, 4]), (3, 500, [2, 3, 4]), (4, 90_000, [2, 3, 4]),
              (4, 20_000, [0, 4, 5]), (0, 900_000, [0, 4, 5]), (5, 3, [0, 4, 5])),
    ),
    "weights": Problem(
        "weighted outcomes, from a hundredth of one to two",
        6,
        dirichlet(1.2, 0.6, 0.9, 1.5, 0.8, 1.0),
        [
            *picks((0, 0.9, [0, 1]), (1, 0.5, [0, 1]), (1, 0.3, [1, 2, 3]), (3, 2.25, [1, 2, 3]),
                   (4, 1.7, but(6, 0)), (5, 0.01, [3, 5])),
            *ranked([5, 4, 2], 0.5),
        ],
    ),
    "tree": Problem(
        "sets that nest: rankings of one order, a group inside, a set apart, outcomes among all",
        9,
        dirichlet(0.8, 1.6, 1.1, 0.6, 2.2, 1.3, 0.9, 0.4, 3.0),
        [
            *ranked([3, 2, 0, 1], 2.0),
            *picks((5, 4, [5, 6]), (6, 1, [5, 6]), (4, 2, but(9)), (8, 6, but(9)),
                   (7, 3, [4, 7, 8])),
            ([0, 1], 3.0, [0, 1, 2]),
            ([5, 6], 2.0, but(9)),
        ],
        "tree",
    ),
    "one-ranking": Problem(
        "one ranking of forty items, concentration 0.3",
        40, dirichlet(*[0.3] * 40), ranked([(7 * i) % 40 for i in range(40)]), "tree",
    ),
    "cores-inside": Problem(
        "a path of pairs inside one category of a ring of sets, which is inside one of a ranking",
        12,
        dirichlet(1.0, 0.6, 1.4, 0.9, 1.2, 0.8, 1.1, 2.0, 0.7, 1.3, 1.0, 0.5),
        [
            *pairs((0, 1, 4, 2), (1, 2, 1, 3), (2, 3, 5, 5)),
            *picks((0, 3, [0, 1, 2, 3, 4, 5]), (4, 6, [0, 1, 2, 3, 4, 5]), (5, 2, [4, 5, 6]),
                   (6, 7, [4, 5, 6]), (2, 4, [0, 1, 2, 3, 6, 7]), (7, 3, [0, 1, 2, 3, 6, 7])),
            *picks((8, 5, but(12, 11)), (3, 6, but(12, 11, 10)), (11, 2, but(12)),
                   (9, 1, [8, 9, 10]), (10, 3, [9, 10, 11]), (11, 4, [8, 11])),
        ],
    ),
    "sixty": Problem(
        "sixty items: races of 5 to 10 of them, and outcomes when one of them was missing",
        60,
        dirichlet(*[1.0] * 60),
        [*rankings(60, 25, 5, 10, 13), *picks(*((i, 3, but(60, i + 1)) for i in range(0, 20, 2)))],
    ),
    "gamma": Problem(
        "a concentration with the prior Gamma(2, 1.5), choices from overlapping sets",
        6,
        {"gamma": [2.0, 1.5]},
        picks((0, 6, [0, 1, 2]), (1, 1, [0, 1, 2]), (2, 2, [1, 2, 3]), (3, 7, [1, 2, 3]),
              (4, 5, [0, 3, 4]), (0, 3, [0, 3, 4]), (4, 1, but(6, 0))),
    ),
    "process": Problem(
        "a Dirichlet process, five categories seen; two sets truncate the remainder, one does not",
        6,
        {"process": 1.5},
        picks((0, 12, but(6)), (1, 3, but(6)), (1, 4, but(6, 0)), (2, 2, but(6, 0)),
              (3, 3, but(6)), (4, 1, but(6)), (3, 5, [1, 2, 3]), (2, 1, [1, 2, 3]),
              (4, 2, [0, 3, 4])),
    ),
    "star-thousandth": Problem(
        "two players who met a third alone, concentrations near 0.001",
        3, dirichlet(0.001, 0.002, 0.0015), pairs((1, 0, 3, 1), (2, 0, 2, 2)), "star",
    ),
    "star-millionth": Problem(
        "two players who met a third alone, concentration 0.000001",
        3, dirichlet(1e-6, 1e-6, 1e-6), pairs((1, 0, 3, 1), (2, 0, 2, 2)), "star",
    ),
}  # fmt: skip
