"""Likelihoods as a person would write them down, and where they are largest, found the slow way.

Nothing here imports luce.  A `Seen` says that one of `outcome` came, given that one of `within`
did.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Floats = npt.NDArray[np.float64]


class Seen(NamedTuple):
    """`count` outcomes, each known to be one of `outcome`, given that it was one of `within`."""

    outcome: tuple[int, ...]
    within: tuple[int, ...]
    count: float


Data = Sequence[Seen]


def log_height(p: Floats, data: Data, powers: Floats | float = 0.0) -> float:
    """Σ powers_i log p_i + Σ count (log p(outcome) - log p(within)); 0 log 0 = 0."""
    powers = np.broadcast_to(powers, p.shape)
    value = sum(k * np.log(x) for k, x in zip(powers, p, strict=True) if k)
    for outcome, within, count in data:
        value += count * (np.log(p[list(outcome)].sum()) - np.log(p[list(within)].sum()))
    return float(value)


class Table(NamedTuple):
    """The same as matrices: which categories are in which outcome, and in which set."""

    outcome: Floats
    within: Floats
    count: Floats


def table_of(data: Data, n: int) -> Table:
    tables = np.zeros((2, len(data), n))
    for row, (outcome, within, _) in enumerate(data):
        tables[0, row, list(outcome)] = tables[1, row, list(within)] = 1.0
    return Table(*tables, np.array([s.count for s in data], float))


def loss_and_slope(theta: Floats, table: Table, powers: Floats) -> tuple[float, Floats]:
    """Minus the log height at p proportional to exp(theta), and its slope."""
    log_p = theta - np.logaddexp.reduce(theta)
    p = np.exp(log_p)
    won, could = table.outcome @ p, table.within @ p
    height = powers @ log_p + table.count @ (np.log(won) - np.log(could))
    slope = powers - powers.sum() * p
    slope += p * (table.count / won @ table.outcome - table.count / could @ table.within)
    return -float(height), -slope


class Peak(NamedTuple):
    """A place where climbs ended, and how high it is."""

    height: float
    p: Floats


def peaks(
    data: Data, powers: Floats, rng: np.random.Generator, starts: int = 8, apart: float = 1e-3
) -> list[Peak]:
    """Distinct ends of climbs from many starts, the highest first."""
    found: list[Peak] = []
    table = table_of(data, len(powers))
    for start in rng.normal(0.0, 2.0, (starts, len(powers))):
        end = minimize(
            loss_and_slope, start, (table, powers), "L-BFGS-B", jac=True,
            bounds=[(-60.0, 60.0)] * len(start),
            options={"maxiter": 3000, "ftol": 1e-15, "gtol": 1e-10},
        )  # fmt: skip
        p = np.exp(end.x - end.x.max())
        found.append(Peak(-float(end.fun), p / p.sum()))
    found.sort(key=lambda peak: -peak.height)
    distinct: list[Peak] = []
    for peak in found:
        if all(np.abs(peak.p - other.p).max() > apart for other in distinct):
            distinct.append(peak)
    return distinct


def largest_if(
    data: Data, n: int, equal: Sequence[int] = (), share: tuple[int, float] | None = None
) -> float:
    """The largest log likelihood if some are equal, or if one has a given share."""
    table, none = table_of(data, n), np.zeros(n)
    owner = np.arange(n)
    if equal:
        owner[list(equal)] = min(equal)

    def loss(free: Floats) -> float:
        theta = free[owner]
        if share is not None:  # the others share what is left
            i, p = share
            theta = theta - np.logaddexp.reduce(np.delete(theta, i)) + np.log1p(-p)
            theta[i] = np.log(p)
        return loss_and_slope(theta, table, none)[0]

    ends = [
        minimize(loss, start, method="BFGS", options={"gtol": 1e-9})
        for start in np.random.default_rng(0).normal(0.0, 1.0, (4, n))
    ]
    return -min(float(end.fun) for end in ends)


# -- who never lost -------------------------------------------------------------------------


def subsets(items: Sequence[int]) -> Iterator[frozenset[int]]:
    """All but the empty and the full one."""
    for size in range(1, len(items)):
        yield from map(frozenset, itertools.combinations(items, size))


def never_lost(members: frozenset[int], data: Data, among: frozenset[int]) -> bool:
    """Whenever one of `members` took part, did one of them win, or may have?"""
    return all(
        members & set(outcome) for outcome, within, _ in data if members & among & set(within)
    )


def has_a_maximum(n: int, data: Data) -> bool:
    """Has the likelihood of single outcomes one largest value, at one place?

    Who never won is at 0, and what was won against them is certain then.  All must have taken part,
    and no group of the others must have won whenever it took part: all subsets are tried.
    """
    won = frozenset(i for outcome, _, _ in data for i in outcome)
    took_part = frozenset(i for _, within, _ in data for i in within)
    return len(took_part) == n and not any(never_lost(f, data, won) for f in subsets(sorted(won)))


# -- what to observe ------------------------------------------------------------------------


def random_data(rng: np.random.Generator, n: int, terms: int, grouped: float = 0.0) -> list[Seen]:
    """Outcomes within random sets; the share `grouped` of them are groups."""
    data = []
    for _ in range(terms):
        within = rng.choice(n, int(rng.integers(2, n + 1)), replace=False).tolist()
        size = int(rng.integers(1, len(within))) if rng.random() < grouped else 1
        data.append(Seen(tuple(within[:size]), tuple(within), int(rng.integers(1, 5))))
    return data


def races(rng: np.random.Generator, drivers: int, number: int, field: int) -> list[list[int]]:
    """Orders of finish, best first: regulars start often, others now and then."""
    strength = rng.normal(0.0, 0.7, drivers)
    eager = rng.normal(0.0, 1.5, drivers)
    orders = []
    for _ in range(number):
        starters = np.argsort(-(eager + rng.gumbel(size=drivers)))[:field]
        orders.append(starters[np.argsort(-(strength[starters] + rng.gumbel(size=field)))].tolist())
    return orders
