"""A problem of the benchmark: what was seen, out of which set, how often, and the prior.

The log density on the simplex, up to a constant, is

    sum_i (alpha_i + c_i - 1) log p_i  -  sum_t m_t log p(S_t)

    alpha_i  the prior's concentration     c_i  outcomes i     m_t  outcomes given the set S_t

Where the winner is a team, or home and its advantage, the outcome is a set too: then m_t is
negative, and -m_t the number of outcomes in S_t.  Where the concentration is drawn, alpha is its
mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from luce import ConditionalCounts, Posterior


@dataclass
class Problem:
    """Data and prior.

    Parameters
    ----------
    alpha
        The prior's concentration.
    c, m
        Outcomes of each category; outcomes given each set, or minus the outcomes in it.
    ptr, idx
        Row t, ``idx[ptr[t]:ptr[t + 1]]``, is S_t or, where `excluded`, all that is not in S_t.
    excluded
        Do rows list what is outside?
    tallies, rankings
        The outcomes set by set, or ranking by ranking, as somebody would enter them.
    read
        Reads the data into luce's counts as a user would; from tallies or rankings unless given.
    hyperprior
        Shape and rate of the gamma prior of the common concentration, where that is drawn.
    name
        What it is called.
    """

    alpha: np.ndarray
    c: np.ndarray
    m: np.ndarray
    ptr: np.ndarray
    idx: np.ndarray
    excluded: bool = False
    tallies: list[dict[int, int]] | None = None
    rankings: list[np.ndarray] | None = None
    read: Callable[[], ConditionalCounts] | None = None
    hyperprior: tuple[float, float] | None = None
    name: str = ""

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

    def rectangles(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows by length: for each, `m` of the rows, and an array of shape (rows, members)."""
        sizes = np.diff(self.ptr)
        found = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
        return [(self.m[t], self.idx[self.ptr[t][:, None] + np.arange(sizes[t[0]])]) for t in found]

    def orders(self) -> np.ndarray | None:
        """Rankings as an array, best first, n where there is nobody; None without rankings."""
        if self.rankings is None:
            return None
        orders = np.full((len(self.rankings), max(map(len, self.rankings))), self.n)
        for row, ranking in zip(orders, self.rankings, strict=True):
            row[: len(ranking)] = ranking
        return orders

    @property
    def work(self) -> int:
        """Numbers that one look at the density visits."""
        rankings = self.rankings
        return self.n + (len(self.idx) if rankings is None else sum(map(len, rankings)))

    def set_sums(self, p: np.ndarray) -> np.ndarray:
        """p(S_t) of every set, for one vector p."""
        sums = np.add.reduceat(p[self.idx], self.ptr[:-1])
        return p.sum() - sums if self.excluded else sums

    def log_density(self, p: np.ndarray) -> float:
        """The formula above, at one point."""
        return float((self.shape - 1) @ np.log(p) - self.m @ np.log(self.set_sums(p)))

    def posterior(self) -> Posterior:
        """The same for luce, entered as a user would."""
        from luce import Gamma, Posterior

        counts = self.read() if self.read else self.enter()
        return Posterior(counts, Gamma(*self.hyperprior) if self.hyperprior else self.alpha)

    def enter(self) -> ConditionalCounts:
        """Enter rankings, or tallies, one by one."""
        from luce import ConditionalCounts

        counts = ConditionalCounts(self.n)
        for order in self.rankings or ():
            counts = counts.observe_ranking(order)
        if self.rankings is None:
            side = "without" if self.excluded else "within"
            for tally, row in zip(self.tallies or (), self.rows, strict=True):
                counts = counts.observe(tally, **{side: row})
        return counts


def from_tallies(
    alpha: np.ndarray,
    rows: list[np.ndarray],
    tallies: list[dict[int, int]],
    excluded: bool = False,
) -> Problem:
    """Outcomes set by set."""
    c = np.zeros(len(alpha))
    for tally in tallies:
        c[list(tally)] += list(tally.values())
    m = np.asarray([sum(tally.values()) for tally in tallies], float)
    ptr = np.cumsum([0] + [len(row) for row in rows])
    return Problem(alpha, c, m, ptr, np.concatenate(rows), excluded, tallies)


def from_choices(n: int, choices: Iterable[tuple[int, np.ndarray]]) -> Problem:
    """Merge choices (winner, sorted set) from equal sets; uniform prior."""
    merged: dict[bytes, tuple[np.ndarray, dict[int, int]]] = {}
    for winner, row in choices:
        tally = merged.setdefault(row.tobytes(), (row, {}))[1]
        tally[int(winner)] = tally.get(int(winner), 0) + 1
    rows, tallies = zip(*merged.values(), strict=True)
    return from_tallies(np.ones(n), list(rows), list(tallies))


def from_sides(n: int, games: Iterable[tuple[Iterable[int], Iterable[int]]]) -> Problem:
    """Merge games (who won, all who took part), where each may be a set; uniform prior."""
    c = np.zeros(n)
    exponents: dict[tuple[int, ...], int] = {}
    for won, present in games:
        for members, sign in ((tuple(sorted(won)), -1), (tuple(sorted(present)), 1)):
            exponents[members] = exponents.get(members, 0) + sign
    for i in [members for members in exponents if len(members) == 1]:
        c[i[0]] = -exponents.pop(i)
    ptr = np.cumsum([0] + [len(members) for members in exponents])
    idx = np.asarray([i for members in exponents for i in members])
    return Problem(np.ones(n), c, np.asarray(list(exponents.values()), float), ptr, idx)
