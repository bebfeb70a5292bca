"""Contests in plain NumPy, for tests: likelihoods, quadrature and maxima by generic optimisers.

Nothing here is shared with the package but the constructors of data.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import minimize
from scipy.stats import dirichlet, gamma

from luce import ConditionalCounts, Gamma
from luce.counts.contests import contests_of

MODELS = (None, "davidson", "rao-kupper")


@dataclass(frozen=True)
class Meeting:
    """Two sides with their results; `at_home` says whether the first one is."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    at_home: bool
    results: tuple[float, float, float]


@dataclass(frozen=True)
class Season:
    """Meetings of n categories under a model of ties, with or without a home advantage."""

    n: int
    meetings: tuple[Meeting, ...]
    ties: str | None
    home: bool

    @property
    def names(self) -> tuple[str, ...]:
        return ("home",) * self.home + ("tie",) * (self.ties is not None)

    def counts(self, categories: object = None) -> ConditionalCounts:
        """Build the counts of the package."""
        members = [i for m in self.meetings for side in (m.first, m.second) for i in side]
        lengths = [len(side) for m in self.meetings for side in (m.first, m.second)]
        contests = contests_of(
            self.n,
            np.array(members, np.int64),
            np.r_[0, np.cumsum(lengths)].astype(np.int64),
            None,
            np.array([int(m.at_home) for m in self.meetings]),
            np.array([m.results for m in self.meetings], float).reshape(-1, 3),
            self.ties,
            self.home,
        )
        given = self.n if categories is None else categories
        return ConditionalCounts(given).with_events(contests)  # type: ignore[arg-type]

    def probabilities(
        self, meeting: Meeting, p: np.ndarray, home: np.ndarray, tie: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return P(first), P(second) and P(tie), for p of shape (..., n)."""
        a = p[..., list(meeting.first)].sum(axis=-1)
        b = p[..., list(meeting.second)].sum(axis=-1)
        if meeting.at_home and self.home:
            a = a * home
        if self.ties is None:
            return a / (a + b), b / (a + b), 0 * a
        if self.ties == "davidson":
            middle = tie * np.sqrt(a * b)
            return a / (a + b + middle), b / (a + b + middle), middle / (a + b + middle)
        won, lost = a / (a + tie * b), b / (tie * a + b)
        return won, lost, (tie**2 - 1) * won * lost

    def log_likelihood(
        self, p: np.ndarray, home: np.ndarray | float = 1.0, tie: np.ndarray | float = 1.0
    ) -> np.ndarray:
        """Compute the log likelihood, for p of shape (..., n) and parameters of shape (...)."""
        value = np.zeros(np.asarray(p).shape[:-1])
        for meeting in self.meetings:
            shares = self.probabilities(meeting, np.asarray(p), np.asarray(home), np.asarray(tie))
            for number, share in zip(meeting.results, shares, strict=True):
                if number:
                    with np.errstate(divide="ignore"):
                        value = value + number * np.log(share)
        return value

    @property
    def least_tie(self) -> float:
        return 1.0 if self.ties == "rao-kupper" else 0.0

    def log_posterior(
        self, p: np.ndarray, excess: dict[str, np.ndarray], prior: np.ndarray, own: dict[str, Gamma]
    ) -> np.ndarray:
        """Compute log prior plus log likelihood, normalised; `excess` holds h, and ν or θ - 1."""
        values = dict(excess)
        if "tie" in values:
            values["tie"] = values["tie"] + self.least_tie
        value = self.log_likelihood(p, **values)
        with np.errstate(divide="ignore"):
            value = value + (np.log(p) * (prior - 1)).sum(axis=-1)
        value = value + dirichlet.logpdf(np.full(self.n, 1 / self.n), prior)
        value = value - (prior - 1).sum() * np.log(1 / self.n)
        for name, each in own.items():
            value = value + gamma.logpdf(excess[name], each.shape, scale=1 / each.rate)
        return value


def league(n: int, ties: str | None, home: bool, seed: int, games: int = 4) -> Season:
    """Simulate a league in which all meet at both grounds, from unequal strengths."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n, 4.0))
    truth = {"home": np.array(1.5), "tie": np.array(1.6 if ties == "rao-kupper" else 0.7)}
    meetings = []
    for i, j in product(range(n), repeat=2):
        if i == j:
            continue
        bare = Season(n, (), ties, home)
        empty = Meeting((i,), (j,), home, (0.0, 0.0, 0.0))
        shares = np.array([float(x) for x in bare.probabilities(empty, p, **truth)])
        results = rng.multinomial(games, shares / shares.sum())
        meetings.append(Meeting((i,), (j,), home, tuple(map(float, results))))  # type: ignore[arg-type]
    return Season(n, tuple(meetings), ties, home)


def by_grid(season: Season, prior: np.ndarray, own: dict[str, Gamma], points: int = 22) -> float:
    """Compute the log evidence of three items by sums over a grid in log-odds and logarithms."""
    return grid_integral(lambda p, x: season.log_posterior(p, x, prior, own), list(own), points)


def grid_integral(
    log_density: Callable[[np.ndarray, dict[str, np.ndarray]], np.ndarray],
    names: list[str],
    points: int = 22,
) -> float:
    """Integrate a density of three probabilities and some positive numbers."""

    def heights(axes: list[np.ndarray]) -> np.ndarray:
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        odds = np.concatenate([grid[..., :2], np.zeros((*grid.shape[:-1], 1))], axis=-1)
        p = np.exp(odds - np.logaddexp.reduce(odds, axis=-1)[..., None])
        excess = {name: np.exp(grid[..., 2 + k]) for k, name in enumerate(names)}
        jacobian = np.log(p).sum(axis=-1) + grid[..., 2:].sum(axis=-1)
        return np.asarray(log_density(p, excess) + jacobian)

    axes = [np.linspace(-14, 14, 22)] * 2 + [np.linspace(-16, 5, 22)] * len(names)
    for _ in range(3):
        seen = heights(axes)
        inside = np.argwhere(seen > seen.max() - 30)
        axes = [
            np.linspace(
                axis[max(inside[:, k].min() - 1, 0)],
                axis[min(inside[:, k].max() + 1, len(axis) - 1)],
                points,
            )
            for k, axis in enumerate(axes)
        ]
    values = heights(axes)
    step = sum(np.log(axis[1] - axis[0]) for axis in axes)
    top = values.max()
    return float(top + np.log(np.exp(values - top).sum()) + step)


def by_optimiser(
    objective: Callable[[np.ndarray, dict[str, float]], float],
    season: Season,
    fixed: dict[str, float] | None = None,
    seed: int = 0,
) -> tuple[np.ndarray, dict[str, float], float]:
    """Maximise a function of p and the parameters, from several starts, without derivatives given.

    The parameters are moved in the logarithms of h, ν or θ - 1.
    """
    fixed = fixed or {}
    names = [name for name in season.names if name not in fixed]
    rng = np.random.default_rng(seed)

    def read(z: np.ndarray) -> tuple[np.ndarray, dict[str, float]]:
        odds = np.r_[z[: season.n - 1], 0.0]
        p = np.exp(odds - np.logaddexp.reduce(odds))
        own = dict(zip(names, np.exp(z[season.n - 1 :]).tolist(), strict=True))
        if "tie" in own:
            own["tie"] += season.least_tie
        return p, {**own, **fixed}

    best, height = None, -np.inf
    for _ in range(4):
        z = rng.normal(0, 0.5, season.n - 1 + len(names))
        for method in ("Nelder-Mead", "BFGS", "BFGS"):
            options = {"gtol": 1e-10} if method == "BFGS" else {"maxiter": 4000}
            found = minimize(
                lambda z: -objective(*read(z)),
                z,
                method=method,
                options=options,
                **(
                    {"jac": lambda z: -slope(lambda y: objective(*read(y)), z)}
                    if method == "BFGS"
                    else {}
                ),
            )
            z = found.x
        if -found.fun > height:
            best, height = z, -found.fun
    assert best is not None
    return *read(best), float(height)


def slope(f: Callable[[np.ndarray], float], z: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """Differentiate numerically, to sixth order."""
    out = np.empty(len(z))
    for k in range(len(z)):
        e = np.zeros(len(z))
        e[k] = step
        out[k] = (
            45 * (f(z + e) - f(z - e))
            - 9 * (f(z + 2 * e) - f(z - 2 * e))
            + (f(z + 3 * e) - f(z - 3 * e))
        ) / (60 * step)
    return out
