"""Independent truths about contests: quadrature over probabilities and parameters, a plain sampler.

Nothing here imports luce.  A `ContestCase` is data as a person would write it down.  Everything is
judged by the same functionals: p, log home, log tie, and tie times Σ p².
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from lib.sampling_oracles import Floats, Moments, chain_moments

# Faults of the plain sampler that the comparison with quadrature must see.
FAULTS = ("tie after w", "home in the total", "halves in the total", "home without w")


@dataclass(frozen=True)
class Meeting:
    """Two sides, each of categories with weights, and their results.

    `home` is 0 for neutral ground, 1 where the first side is at home, 2 where the second is.
    """

    first: dict[int, float]
    second: dict[int, float]
    home: int
    won: float
    lost: float
    tied: float = 0.0


@dataclass(frozen=True)
class ContestCase:
    """One posterior of contests among three categories.

    `priors` maps home and tie to (shape, rate), or to a number where it is known.  `picks` are
    (category, count, within).
    """

    ties: str | None
    concentration: tuple[float, float, float]
    meetings: tuple[Meeting, ...]
    priors: dict[str, tuple[float, float] | float] = field(default_factory=dict)
    picks: tuple[tuple[int, float, tuple[int, ...]], ...] = ()

    @property
    def drawn(self) -> list[str]:
        return [name for name, prior in self.priors.items() if isinstance(prior, tuple)]


def duels(rows: str, home: int = 0) -> tuple[Meeting, ...]:
    """Read meetings of single categories, as "01 4 2 3": 0 beat 1 4 times, lost 2, tied 3."""
    found = []
    for row in rows.split(","):
        pair, *results = row.split()
        sides = {int(pair[0]): 1.0}, {int(pair[1]): 1.0}
        found.append(Meeting(*sides, home, *map(float, results)))
    return tuple(found)


def functionals(p: Floats, home: Floats, tie: Floats) -> Floats:
    """Stack p, log home, log tie and tie Σ p², over a new last axis."""
    rest = [np.log(home), np.log(tie), tie * (p**2).sum(axis=-1)]
    return np.concatenate([p, np.stack(rest, axis=-1)], axis=-1)


def _meeting_probabilities(
    case: ContestCase, one: Meeting, p: Floats, home: Floats, tie: Floats
) -> tuple[Floats, Floats, Floats]:
    a = sum(w * p[..., i] for i, w in one.first.items())
    b = sum(w * p[..., i] for i, w in one.second.items())
    a = home * a if one.home == 1 else a
    b = home * b if one.home == 2 else b
    if case.ties == "rao-kupper":
        won, lost = a / (a + tie * b), b / (tie * a + b)
        return won, lost, (tie**2 - 1) * a * b / ((a + tie * b) * (tie * a + b))
    middle = tie * np.sqrt(a * b) if case.ties == "davidson" else 0.0 * a
    whole = a + b + middle
    return a / whole, b / whole, middle / whole


def log_likelihood(case: ContestCase, p: Floats, home: Floats, tie: Floats) -> Floats:
    """Multiply the probabilities of all results, and of picks, as the formulas have them."""
    value = np.zeros(p.shape[:-1])
    for one in case.meetings:
        found = _meeting_probabilities(case, one, p, home, tie)
        for number, probability in zip((one.won, one.lost, one.tied), found, strict=True):
            if number:
                value = value + number * np.log(probability)
    for i, number, within in case.picks:
        value = value + number * np.log(p[..., i] / sum(p[..., j] for j in within))
    return value


def _grid(case: ContestCase, axes: list[Floats]) -> tuple[Floats, Floats]:
    """Evaluate log density, on log-odds and log parameters, and the functionals."""
    s, t, *logs = np.meshgrid(*axes, indexing="ij")
    log_x, log_not_x = -np.logaddexp(0, -s), -np.logaddexp(0, s)
    log_y, log_not_y = -np.logaddexp(0, -t), -np.logaddexp(0, t)
    log_p = np.stack([log_x, log_not_x + log_y, log_not_x + log_not_y], axis=-1)
    value = log_p @ np.array(case.concentration)
    parameters = {"home": np.ones(s.shape), "tie": np.ones(s.shape)}
    for name, prior in case.priors.items():
        least = 1.0 if name == "tie" and case.ties == "rao-kupper" else 0.0
        if isinstance(prior, tuple):
            x = np.exp(logs[case.drawn.index(name)])
            value = value + prior[0] * np.log(x) - prior[1] * x
            parameters[name] = least + x
        else:
            parameters[name] = np.full(s.shape, prior)
    p = np.exp(log_p)
    value = value + log_likelihood(case, p, parameters["home"], parameters["tie"])
    return value, functionals(p, parameters["home"], parameters["tie"])


def contest_quadrature(case: ContestCase, points: int = 39) -> Moments:
    """Mean and variance of the functionals by the trapezoidal rule over log-odds and logarithms.

    A coarse grid finds where the density is above 1e-15 of its top, and a fine one covers that.
    """
    dims = 2 + len(case.drawn)
    axes = [np.linspace(-24.0, 24.0, 33 if dims == 4 else 65)] * dims
    for _ in range(2):
        value, _ = _grid(case, axes)
        ranges = []
        for k, axis in enumerate(axes):
            others = tuple(j for j in range(dims) if j != k)
            near = np.flatnonzero(value.max(axis=others) > value.max() - 34.5)
            ranges.append((axis[max(near[0] - 1, 0)], axis[min(near[-1] + 1, len(axis) - 1)]))
        axes = [np.linspace(low, high, points) for low, high in ranges]
    value, found = _grid(case, axes)
    weight = np.exp(value - value.max())
    weight /= weight.sum()
    mean = np.tensordot(weight, found, dims)
    variance = np.tensordot(weight, (found - mean) ** 2, dims)
    moments = np.stack([mean, variance])
    return Moments(moments, np.zeros_like(moments), np.inf)


def contest_gibbs(
    case: ContestCase, seed: int, fault: str | None = None, chains: int = 2000, draws: int = 60
) -> Moments:
    """Sweep contests of single categories as MODELS' formulas have it, all chains at once.

    Scales are kept: λ and Λ appear as in the derivation, and nothing is merged.  `fault` is one of
    `FAULTS`.
    """
    rng = np.random.default_rng(seed)
    n, alpha, meetings = 3, np.array(case.concentration), case.meetings
    i = np.array([next(iter(m.second if m.home == 2 else m.first)) for m in meetings])
    j = np.array([next(iter(m.first if m.home == 2 else m.second)) for m in meetings])
    at_home = np.array([m.home > 0 for m in meetings])
    won = np.array([m.lost if m.home == 2 else m.won for m in meetings])
    lost = np.array([m.won if m.home == 2 else m.lost for m in meetings])
    tied = np.array([m.tied for m in meetings])
    part = {None: 0.0, "davidson": 0.5, "rao-kupper": 1.0}[case.ties]
    count = np.bincount(i, won + part * tied, n) + np.bincount(j, lost + part * tied, n)
    powers = float((won + part * tied)[at_home].sum())
    total = alpha.sum() + (powers if fault == "home in the total" else 0.0)
    total += 0.5 * len(i) if fault == "halves in the total" else 0.0
    to_i, to_j = np.eye(n)[i], np.eye(n)[j]
    priors = {name: x for name, x in case.priors.items() if isinstance(x, tuple)}
    values = {"home": np.ones(chains), "tie": np.ones(chains)}
    values |= {k: np.full(chains, x) for k, x in case.priors.items() if not isinstance(x, tuple)}
    if case.ties == "rao-kupper" and "tie" in priors:
        values["tie"] = np.full(chains, 2.0)
    p = rng.dirichlet(np.maximum(alpha, 0.5), chains)
    kept = np.empty((draws, chains, n + 3))
    for d in range(-100, draws):
        rate = p * rng.standard_gamma(total, (chains, 1))
        h = np.where(at_home, values["home"][:, None], 1.0)
        a, b, tie = h * rate[:, i], rate[:, j], values["tie"][:, None]
        extra = np.zeros(n)
        halves = 0.0
        if case.ties == "rao-kupper":
            u = rng.standard_gamma(won + tied, a.shape) / (a + tie * b)
            v = rng.standard_gamma(lost + tied, a.shape) / (tie * a + b)
            if "tie" in priors:
                shape, slope = priors["tie"]
                s = values["tie"] - 1
                k = rng.binomial(int(tied.sum()), s / (s + 2))
                down = slope + (u * b + v * a).sum(axis=1)
                values["tie"] = 1 + rng.standard_gamma(shape + tied.sum() + k) / down
                tie = values["tie"][:, None]
            one, other = u + tie * v, tie * u + v
        else:
            middle = np.sqrt(a * b)
            nu = tie if case.ties == "davidson" else 0.0
            u = rng.standard_gamma(won + lost + tied, a.shape) / (a + b + nu * middle)
            one, other = u, u
            if case.ties == "davidson":
                late = fault == "tie after w"
                if "tie" in priors and not late:
                    nu = _davidson_tie(rng, priors["tie"], tied, (u * middle).sum(axis=1))
                kappa = nu * u / 2
                w = rng.wald(np.sqrt(a / b), 2 * kappa * a)
                one, other = u + kappa / w, u + kappa * w
                extra = np.bincount(i, minlength=n) / 2
                halves = 0.5 * at_home.sum()
                if "tie" in priors and late:
                    nu = _davidson_tie(rng, priors["tie"], tied, (u * middle).sum(axis=1))
                if "tie" in priors:
                    values["tie"] = nu[:, 0]
        if "home" in priors:
            shape, slope = priors["home"]
            times, more = (u, 0.0) if fault == "home without w" else (one, halves)
            down = slope + (times * rate[:, i])[:, at_home].sum(axis=1)
            values["home"] = rng.standard_gamma(shape + powers + more, chains) / down
        h = np.where(at_home, values["home"][:, None], 1.0)
        rates = 1 + (h * one) @ to_i + other @ to_j
        for pick, number, within in case.picks:
            inside = rate[:, list(within)].sum(axis=1)
            rates[:, list(within)] += (rng.standard_gamma(number, chains) / inside)[:, None]
            extra = extra + number * np.eye(n)[pick]
        rate = rng.standard_gamma(alpha + count + extra, (chains, n)) / rates
        p = rate / rate.sum(axis=1, keepdims=True)
        if d >= 0:
            kept[d] = functionals(p, values["home"], values["tie"])
    return chain_moments(kept.transpose(1, 0, 2))


def _davidson_tie(
    rng: np.random.Generator, prior: tuple[float, float], tied: Floats, rate: Floats
) -> Floats:
    drawn = rng.standard_gamma(prior[0] + tied.sum(), len(rate))
    return np.asarray((drawn / (prior[1] + rate))[:, None])
