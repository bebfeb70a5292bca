"""The problems of the benchmark: what was chosen, out of which set, and how often.

The log density on the simplex, up to a constant, is

    sum_i (alpha_i + c_i - 1) log p_i  -  sum_t m_t log p(S_t)

    alpha_i  the prior's concentration     c_i  outcomes i     m_t  outcomes given the set S_t

P1 and P2 are the paper's, P3 pairs, P4 rankings, P5 is P1 with a sparse prior and few counts, P6
has 100,000 categories, P7 2 million members.  "path", "bridge" and "wide" hang together weakly,
which is hard for samplers that change one probability at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from luce import Posterior


@dataclass
class Problem:
    """Data and prior.

    Parameters
    ----------
    name, alpha
        What it is called, and the prior's concentration.
    c, m
        Outcomes of each category, and outcomes given each set.
    ptr, idx
        Row t, ``idx[ptr[t]:ptr[t + 1]]``, is S_t or, where `excluded`, all that is not in S_t.
    excluded
        Do rows list what is outside?
    tallies, rankings
        The outcomes set by set, or ranking by ranking, as somebody would enter them; neither where
        there are too many.
    """

    name: str
    alpha: np.ndarray
    c: np.ndarray
    m: np.ndarray
    ptr: np.ndarray
    idx: np.ndarray
    excluded: bool = False
    tallies: list[dict[int, int]] | None = None
    rankings: list[np.ndarray] | None = None

    @property
    def n(self) -> int:
        """Number of categories."""
        return len(self.alpha)

    @property
    def shape(self) -> np.ndarray:
        """The posterior's Dirichlet parameter, had nothing been truncated."""
        return self.alpha + self.c

    @property
    def rows(self) -> list[np.ndarray]:
        """The rows, one array each."""
        return np.split(self.idx, self.ptr[1:-1])

    @property
    def row_of_member(self) -> np.ndarray:
        """The row that each element of `idx` stands in."""
        return np.repeat(np.arange(len(self.m)), np.diff(self.ptr))

    @cached_property
    def monitored(self) -> np.ndarray:
        """The categories that are judged: all, or the 300 most frequent and 700 others."""
        if self.n <= 2000:
            return np.arange(self.n)
        most = np.argsort(-self.c, kind="stable")
        others = np.random.default_rng(0).permutation(np.sort(most[300:]))
        return np.sort(np.r_[most[:300], others[:700]])

    def dense(self) -> np.ndarray | None:
        """The rows as a matrix of zeros and ones, or None where that would be large."""
        if self.excluded or self.n * len(self.m) > 200_000:
            return None
        matrix = np.zeros((len(self.m), self.n))
        matrix[self.row_of_member, self.idx] = 1.0
        return matrix

    def rectangle(self) -> np.ndarray:
        """The rows as an array, shape (sets, members): all must be equally long."""
        return self.idx.reshape(len(self.m), -1)

    def set_sums(self, p: np.ndarray) -> np.ndarray:
        """p(S_t) of every set, for one vector p."""
        sums = np.add.reduceat(p[self.idx], self.ptr[:-1])
        return p.sum() - sums if self.excluded else sums

    def log_density(self, p: np.ndarray) -> float:
        """The formula above, at one point."""
        return float((self.shape - 1) @ np.log(p) - self.m @ np.log(self.set_sums(p)))

    def posterior(self) -> Posterior:
        """The same for luce, entered as a user would."""
        from luce import ConditionalCounts, Posterior
        from luce.counts.family import SetFamily

        counts = ConditionalCounts(self.n)
        if self.rankings is not None:
            for order in self.rankings:
                counts = counts.observe_ranking(order)
        elif self.tallies is not None:
            side = "without" if self.excluded else "within"
            for tally, row in zip(self.tallies, self.rows, strict=True):
                counts = counts.observe(tally, **{side: row})
        else:  # a loop over so many sets would take longer than sampling
            number = np.arange(len(self.m) + 1)
            complement = np.full(len(self.m), self.excluded)
            family = SetFamily(
                self.n, self.idx, self.ptr, complement, number, self.ptr[1:], -self.m
            )
            counts = ConditionalCounts.from_nests(self.n, self.c, family)
        return Posterior(counts, self.alpha)


def from_tallies(
    name: str,
    alpha: np.ndarray,
    rows: list[np.ndarray],
    tallies: list[dict[int, int]],
    excluded: bool = False,
) -> Problem:
    c = np.zeros(len(alpha))
    for tally in tallies:
        c[list(tally)] += list(tally.values())
    m = np.asarray([sum(tally.values()) for tally in tallies], float)
    ptr = np.cumsum([0] + [len(row) for row in rows])
    return Problem(name, alpha, c, m, ptr, np.concatenate(rows), excluded, tallies)


def from_choices(name: str, n: int, choices: Iterable[tuple[int, np.ndarray]]) -> Problem:
    """Merge choices (winner, sorted set) from equal sets; uniform prior."""
    merged: dict[bytes, tuple[np.ndarray, dict[int, int]]] = {}
    for winner, row in choices:
        tally = merged.setdefault(row.tobytes(), (row, {}))[1]
        tally[int(winner)] = tally.get(int(winner), 0) + 1
    rows, tallies = zip(*merged.values(), strict=True)
    return from_tallies(name, np.ones(n), list(rows), list(tallies))


def cyclic(name: str, n: int, concentration: float, counts: list[int]) -> Problem:
    """The paper's: `counts[j]` outcomes j while the category before j was truncated."""
    h = len(counts)
    rows = [np.delete(np.arange(n), (j - 1) % h) for j in range(h)]
    tallies = [{j: count} for j, count in enumerate(counts)]
    return from_tallies(name, np.full(n, concentration), rows, tallies)


def matches(name: str, seed: int, n: int, number: int, spread: float) -> Problem:
    """Random pairs play; log strengths are normal with this standard deviation."""
    rng = np.random.default_rng(seed)
    strength = rng.lognormal(0.0, spread, n)
    choices = []
    for _ in range(number):
        i, j = rng.choice(n, 2, replace=False)
        i_wins = rng.random() < strength[i] / (strength[i] + strength[j])
        choices.append((i if i_wins else j, np.sort([i, j])))
    return from_choices(name, n, choices)


def games(name: str, seed: int, n: int, pairs: list[tuple[int, int]], each: int) -> Problem:
    """Every pair of the list plays `each` times; log strengths have standard deviation 0.5."""
    rng = np.random.default_rng(seed)
    strength = rng.lognormal(0.0, 0.5, n)
    tallies = []
    for i, j in pairs:
        won = int(rng.binomial(each, strength[i] / (strength[i] + strength[j])))
        tallies.append({i: won, j: each - won})
    return from_tallies(name, np.ones(n), [np.asarray(pair) for pair in pairs], tallies)


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
    problem = from_choices("P4", n, choices)
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
    return from_tallies("P6", np.full(n, 0.1), rows, tallies, excluded=True)


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
    rows, chosen = ten_of_many()
    number, size = rows.shape
    c = np.bincount(chosen, minlength=2000).astype(float)
    ptr = np.arange(number + 1) * size
    return Problem("P7", np.ones(2000), c, np.ones(number), ptr, rows.ravel())


def bridge() -> Problem:
    """Two leagues of 20, every pair ten times; two games between them, one win each way."""
    leagues = [(k + i, k + j) for k in (0, 20) for i in range(20) for j in range(i + 1, 20)]
    problem = games("bridge", 9, 40, leagues, 10)
    rows, tallies = [*problem.rows, np.asarray([0, 20])], [*(problem.tallies or []), {0: 1, 20: 1}]
    return from_tallies("bridge", problem.alpha, rows, tallies)


MAKERS = {
    "P1": lambda: cyclic("P1", 10, 2.0, [10] * 5),
    "P2": lambda: cyclic("P2", 20, 2.0, [10] * 10),
    "P3": lambda: matches("P3", 3, 30, 600, 1.0),
    "P4": rankings,
    "P5": lambda: cyclic("P5", 10, 0.05, [1, 2, 3, 4, 5]),
    "P6": many_categories,
    "P7": many_choices,
    "path": lambda: games("path", 8, 50, [(i, i + 1) for i in range(49)], 20),
    "bridge": bridge,
    "wide": lambda: matches("wide", 10, 30, 600, 3.0),
}


@cache
def load(name: str) -> Problem:
    return MAKERS[name]()
