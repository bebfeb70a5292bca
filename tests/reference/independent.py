"""Reference values of posteriors, by code that shares nothing with luce.

Draws come from annealed sequential Monte Carlo in θ_i = log λ_i.  With independent
λ_i ~ Gamma(α_i) the prior of p = λ / Σ λ is Dirichlet(α), and the likelihood

    L = Π_t (λ(outcome_t) / λ(within_t))^(count_t)

depends on p alone.  Particles drawn from the prior are carried through the densities prior · L^t,
t from 0 to 1, by resampling and by Hamiltonian moves whose mass is the particles' covariance; at
t = 1 they go on as independent chains.  The evidence is the product of the ratios of normalising
constants of neighbouring t, each by Bennett's (1976) bridge.  All errors are those between
independent replicates of the whole: no theory of autocorrelation enters.

Where an integral can be had without chance, it is taken: quadrature for three and four categories,
products of Beta functions for sets that nest, a chain of one-dimensional integrals for pairs on a
path, confluent hypergeometric functions for pairs that share one category.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np
from lib.evidence_oracles import star_log_evidence
from lib.oracles import tree_moments
from reference.problems import Problem
from scipy.interpolate import CubicSpline
from scipy.special import digamma, expit, gammaln
from scipy.stats import beta as beta_distribution

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass
class Values:
    """Values with standard errors, 0 where they are exact; one for each category, or one."""

    value: np.ndarray
    error: np.ndarray


@dataclass
class Answer:
    """What is known of one posterior.

    `quantiles` has the shape (levels, quantities), and its errors are those of the *levels*: of
    the posterior probability to lie below the stored number.
    """

    mean: Values
    sd: Values
    quantiles: Values | None = None
    log_evidence: Values | None = None
    freedom: float = math.inf
    notes: dict[str, float] = field(default_factory=dict)


# -- the density -----------------------------------------------------------------------------------


class Target:
    """Log density of θ, and of the logarithm of a concentration with a gamma prior, at any t."""

    def __init__(self, problem: Problem) -> None:
        n = self.n = problem.categories
        self.singles = np.zeros(n)
        powers: dict[frozenset[int], float] = {}
        for outcome, count, within in problem.terms:
            if len(outcome) == 1:
                self.singles[outcome[0]] += count
            else:
                powers[frozenset(outcome)] = powers.get(frozenset(outcome), 0.0) + count
            powers[frozenset(within)] = powers.get(frozenset(within), 0.0) - count
        self.member = np.array([[float(i in s) for i in range(n)] for s in powers])
        self.power = np.array(list(powers.values()))
        self.hyper = problem.prior.get("gamma")
        self.first = self.last = np.ones(n)  # shapes of the gammas at t = 0 and t = 1
        if "dirichlet" in problem.prior:
            self.first = self.last = np.array(problem.prior["dirichlet"], float)
        elif "process" in problem.prior:
            self.first = np.r_[np.ones(n - 1), problem.prior["process"]]
            self.last = np.r_[np.zeros(n - 1), problem.prior["process"]]

    @property
    def is_exact_at_0(self) -> bool:
        """Is the first density the prior, so that the last constant is the evidence?"""
        return self.first is self.last

    def start(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw from the density at t = 0."""
        if self.hyper is None:
            return log_gamma(rng, np.broadcast_to(self.first, (size, self.n)))
        a = rng.gamma(self.hyper[0], 1 / self.hyper[1], (size, 1))
        return np.hstack([log_gamma(rng, np.broadcast_to(a, (size, self.n))), np.log(a)])

    def parts(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return two log densities, whose mixture (1 - t, t) has the density at t, and slopes."""
        theta = x[:, : self.n]
        weight = np.exp(theta)
        sums = weight @ self.member.T
        likelihood = theta @ self.singles + np.log(sums) @ self.power
        slope = self.singles + weight * ((self.power / sums) @ self.member)
        if self.hyper is None:
            common, total = -weight.sum(1), theta
            start, end = total @ self.first + common, total @ self.last + common + likelihood
            return start, end, self.first - weight, self.last - weight + slope
        shape, rate = self.hyper
        eta = x[:, self.n :]
        a = np.exp(eta)
        prior = (a * theta - gammaln(a)).sum(1) - weight.sum(1) + (shape * eta - rate * a)[:, 0]
        up = shape - rate * a + a * (theta.sum(1, keepdims=True) - self.n * digamma(a))
        grown = np.hstack([a - weight, up])
        pad = np.zeros_like(a)
        return prior, prior + likelihood, grown, grown + np.hstack([slope, pad])

    def quantities(self, x: np.ndarray) -> np.ndarray:
        """Return probabilities, and the concentration where it is drawn."""
        theta = x[:, : self.n]
        weight = np.exp(theta - theta.max(1, keepdims=True))
        p = weight / weight.sum(1, keepdims=True)
        return p if self.hyper is None else np.hstack([p, np.exp(x[:, self.n :])])


def log_gamma(rng: np.random.Generator, shape: np.ndarray) -> np.ndarray:
    """Draw log G, G ~ Gamma(a), as log G(a + 1) + log(U) / a."""
    drawn: np.ndarray = (
        np.log(rng.standard_gamma(shape + 1)) + np.log(rng.random(shape.shape)) / shape
    )
    return drawn


# -- simulation ------------------------------------------------------------------------------------


@dataclass
class Mover:
    """Hamiltonian moves of all particles at one t, with an adapted step."""

    target: Target
    rng: np.random.Generator
    step: float = 0.5
    length: float = 1.6  # in standard deviations

    def fit(self, x: np.ndarray) -> None:
        """Take the covariance of the particles as the inverse mass."""
        covariance = np.cov(x, rowvar=False).reshape(x.shape[1], -1)
        floor = 1e-9 * np.diag(np.diag(covariance))
        self.root = np.linalg.cholesky(covariance + floor)

    def move(self, x: np.ndarray, t: float, adapt: bool) -> np.ndarray:
        """Move every particle once."""
        step = self.step * self.rng.uniform(0.8, 1.2)
        steps = max(1, round(self.length * self.rng.uniform(0.6, 1.4) / step))
        v = self.rng.standard_normal(x.shape)
        before, slope = self._at(x, t)
        energy = before - 0.5 * (v * v).sum(1)
        y = x
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for _ in range(steps):
                v = v + 0.5 * step * (slope @ self.root)
                y = y + step * (v @ self.root.T)
                after, slope = self._at(y, t)
                v = v + 0.5 * step * (slope @ self.root)
            gain = after - 0.5 * (v * v).sum(1) - energy
            chance = np.where(np.isfinite(gain), np.exp(np.minimum(gain, 0.0)), 0.0)
        if adapt:
            self.step = min(1.2, self.step * math.exp(0.5 * (chance.mean() - 0.85)))
        return np.where((self.rng.random(len(x)) < chance)[:, None], y, x)

    def _at(self, x: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        start, end, start_slope, end_slope = self.target.parts(x)
        return (1 - t) * start + t * end, (1 - t) * start_slope + t * end_slope


def next_place(difference: np.ndarray, t: float, share: float = 0.8) -> float:
    """Find the t at which importance weights leave this share of the particles effective."""

    def effective(new: float) -> float:
        w = np.exp((new - t) * (difference - difference.max()))
        return float(w.sum() ** 2 / (w * w).sum() / len(w))

    if effective(1.0) >= share:
        return 1.0
    low, high = t, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if effective(middle) >= share else (low, middle)
    return low


def bridge(forward: np.ndarray, backward: np.ndarray) -> float:
    """Log ratio of two constants from log ratios at draws of both densities (Bennett 1976)."""
    ratio = float(np.logaddexp.reduce(forward) - math.log(len(forward)))
    for _ in range(200):
        over = np.logaddexp.reduce(-np.logaddexp(0.0, ratio - forward)) - math.log(len(forward))
        under = np.logaddexp.reduce(-np.logaddexp(0.0, backward - ratio)) - math.log(len(backward))
        change = float(over - under)
        ratio += change
        if abs(change) < 1e-10:
            break
    return ratio


def replicate(
    target: Target, seed: int, particles: int, draws: int, moves: int = 10
) -> tuple[np.ndarray, float]:
    """Anneal particles from the prior to the posterior, then keep `draws` of each."""
    rng = np.random.default_rng(seed)
    x, t, log_constant = target.start(rng, particles), 0.0, 0.0
    mover = Mover(target, rng)
    while t < 1.0:
        start, end = target.parts(x)[:2]
        difference = end - start
        new = next_place(difference, t)
        forward = (new - t) * difference
        w = np.exp(forward - forward.max())
        at = (rng.random() + np.arange(particles)) / particles  # systematic resampling
        x = x[np.searchsorted(np.cumsum(w) / w.sum(), at).clip(max=particles - 1)]
        mover.fit(x)
        for _ in range(moves):
            x = mover.move(x, new, adapt=True)
        start, end = target.parts(x)[:2]
        log_constant += bridge(forward, (new - t) * (end - start))
        t = new
    for _ in range(30):
        x = mover.move(x, 1.0, adapt=True)
    mover.fit(x)
    kept = np.empty((draws, particles, target.quantities(x).shape[1]))
    for d in range(-20, draws):
        x = mover.move(x, 1.0, adapt=False)
        if d >= 0:
            kept[d] = target.quantities(x)
    return kept.reshape(-1, kept.shape[2]), log_constant


def simulate(
    problem: Problem, seed: int, replicates: int = 20, particles: int = 500, draws: int = 100
) -> Answer:
    """Summarise independent replicates; errors are those between them."""
    target = Target(problem)
    runs = [replicate(target, seed + 1000 * r, particles, draws) for r in range(replicates)]
    kept, constants = np.stack([run[0] for run in runs]), np.array([run[1] for run in runs])
    mean = kept.mean((0, 1))
    second = ((kept - mean) ** 2).mean(1)
    sd = np.sqrt(second.mean(0))
    quantiles = np.quantile(kept.reshape(-1, kept.shape[2]), LEVELS, axis=0)
    below = np.stack([(kept <= q).mean(1) for q in quantiles], axis=1)
    shift = constants.max()
    mass = np.exp(constants - shift)
    log_evidence = Values(
        np.array(shift + math.log(mass.mean())), np.array(spread(mass) / mass.mean())
    )
    return Answer(
        Values(mean, spread(kept.mean(1))),
        Values(sd, spread(second) / (2 * sd)),
        Values(quantiles, spread(below)),
        log_evidence if target.is_exact_at_0 else None,
        replicates - 1.0,
    )


def spread(each: np.ndarray) -> np.ndarray:
    """Standard error of the mean over replicates."""
    error: np.ndarray = each.std(0, ddof=1) / math.sqrt(len(each))
    return error


# -- integrals without chance ----------------------------------------------------------------------


def certain(values: Any) -> Values:
    """Wrap values that have no error."""
    array = np.asarray(values, float)
    return Values(array, np.zeros_like(array))


def family_of(problem: Problem) -> tuple[dict[frozenset[int], float], np.ndarray]:
    """Return powers of sets of two or more categories, but not all, and counts of single ones."""
    total: dict[frozenset[int], float] = {}
    for outcome, count, within in problem.terms:
        for members, power in ((outcome, count), (within, -count)):
            total[frozenset(members)] = total.get(frozenset(members), 0.0) + power
    n = problem.categories
    singles = np.array([total.pop(frozenset([i]), 0.0) for i in range(n)])
    total.pop(frozenset(range(n)), None)
    return {s: e for s, e in total.items() if e}, singles


def quadrature(problem: Problem) -> Answer:
    """Integrate over three or four categories by the trapezoidal rule in log-odds.

    One category after the other is the first stick, p_i = 1 / (1 + exp(-u)): its density in u is a
    sum over the other sticks, and mean, sd and quantiles are integrals of that density.
    """
    found = [marginal(problem, i) for i in range(problem.categories)]
    mean, sd, quantiles, evidence = (np.array(part) for part in zip(*found, strict=True))
    assert np.ptp(evidence) < 1e-8
    return Answer(certain(mean), certain(sd), certain(quantiles.T), certain(evidence.mean()))


def marginal(problem: Problem, first: int) -> tuple[float, float, np.ndarray, float]:
    """Mean, sd and quantiles of one category, and the log evidence."""
    powers, singles = family_of(problem)
    a = np.array(problem.prior["dirichlet"], float)
    n = len(a)
    order = [first, *(i for i in range(n) if i != first)]
    weight = a.sum() + singles.sum() + sum(abs(e) for e in powers.values())
    h = min(0.25, 1.5 / math.sqrt(weight))
    u = np.arange(-31.0 / a.min(), 31.0 / a.min() + h, h)
    log_yes, log_no = -np.logaddexp(0, -u), -np.logaddexp(0, u)
    others = np.meshgrid(*[np.arange(len(u))] * (n - 2), indexing="ij", sparse=True)
    log_density = np.empty(len(u))
    for k in range(len(u)):
        left, logs = log_no[k], [log_yes[k]]
        value = log_yes[k] + log_no[k]
        for stick in others:
            value = value + left + log_yes[stick] + log_no[stick]
            logs.append(left + log_yes[stick])
            left = left + log_no[stick]
        logs.append(left)
        log_p = dict(zip(order, logs, strict=True))
        for i in range(n):
            value = value + (a[i] + singles[i] - 1) * log_p[i]
        for members, power in powers.items():
            inside = log_p[min(members)]
            for i in sorted(members)[1:]:
                inside = np.logaddexp(inside, log_p[i])
            value = value + power * inside
        top = value.max()
        log_density[k] = top + math.log(np.exp(value - top).sum())
    top = log_density.max()
    density = np.exp(log_density - top)
    mass = density.sum()
    p = expit(u)
    mean = float(density @ p / mass)
    sd = math.sqrt(float(density @ (p - mean) ** 2 / mass))
    evidence = top + math.log(mass) + (n - 1) * math.log(h)
    evidence += float(gammaln(a.sum()) - gammaln(a).sum())
    return mean, sd, quantiles_of(u, density), evidence


def quantiles_of(u: np.ndarray, density: np.ndarray) -> np.ndarray:
    """Invert the integral of a spline through a density of log-odds."""
    integral = CubicSpline(u, density).antiderivative()
    whole = float(integral(u[-1]))
    found = []
    for level in LEVELS:
        low, high = u[0], u[-1]
        for _ in range(100):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if integral(middle) < level * whole else (low, middle)
        found.append(float(expit(low)))
    return np.array(found)


def tree(problem: Problem) -> Answer:
    """Multiply Dirichlet splits, in closed form; quantiles of two categories are a Beta's."""
    powers, singles = family_of(problem)
    a = problem.prior["dirichlet"]
    known = tree_moments(powers, singles.tolist(), a)
    answer = Answer(
        certain(known.mean), certain(np.sqrt(known.variance)), None, certain(known.log_evidence)
    )
    if problem.categories == 2:
        c = np.array(a) + singles
        each = [beta_distribution(c[i], c[1 - i]).ppf(LEVELS) for i in range(2)]
        answer.quantiles = certain(np.array(each).T)
    return answer


def from_evidences(problem: Problem, evidence: Callable[[np.ndarray], float]) -> Answer:
    """Compute moments from evidences under other priors, where outcomes among all are none.

    With gammas λ_i, E[λ_i f(λ)] under Gamma(a_i) is a_i E[f(λ)] under Gamma(a_i + 1); and Λ = Σ λ
    is independent of p with the shape A = Σ a.  So E[p_i] = a_i / A · Z(a + e_i) / Z(a), and
    E[p_i²] = a_i (a_i + 1) / (A (A + 1)) · Z(a + 2 e_i) / Z(a).
    """
    a = np.array(problem.prior["dirichlet"], float)
    whole, total = evidence(a), a.sum()
    mean, sd = np.empty(len(a)), np.empty(len(a))
    for i, unit in enumerate(np.eye(len(a))):
        once, twice = (math.exp(evidence(a + k * unit) - whole) for k in (1, 2))
        mean[i] = a[i] / total * once
        square = a[i] * (a[i] + 1) / (total * (total + 1)) * twice
        sd[i] = math.sqrt(square - mean[i] ** 2)
    return Answer(certain(mean), certain(sd), None, certain(whole))


def path(problem: Problem) -> Answer:
    """Pairs of neighbours: one integral after the other along the path, by the trapezoidal rule."""
    powers, singles = family_of(problem)
    n = problem.categories
    assert set(powers) == {frozenset([i, i + 1]) for i in range(n - 1)}
    u = np.arange(-90.0, 6.0, 0.1)

    def evidence(a: np.ndarray) -> float:
        message, scale = np.zeros(len(u)), 0.0
        for i in range(n):
            here = (a[i] + singles[i]) * u - np.exp(u) - gammaln(a[i]) + message
            if i == n - 1:
                break
            pair = powers[frozenset([i, i + 1])] * np.logaddexp(u[:, None], u[None, :])
            top = here.max()
            joint = here[:, None] - top + pair
            high = joint.max(0)
            message = high + np.log(np.exp(joint - high).sum(0))
            scale += top + math.log(u[1] - u[0])
        return scale + float(np.logaddexp.reduce(here)) + math.log(u[1] - u[0])

    return from_evidences(problem, evidence)


def star(problem: Problem) -> Answer:
    """Pairs with category 0: confluent hypergeometric functions of its λ, then one integral."""
    wins = np.zeros((problem.categories, 2))
    for (winner,), count, pair in problem.terms:
        leaf = max(pair)
        assert min(pair) == 0
        wins[leaf, 0 if winner == leaf else 1] += count
    games = [(int(won), int(lost)) for won, lost in wins[1:]]

    def evidence(a: np.ndarray) -> float:
        with mpmath.workdps(25):
            return star_log_evidence(float(a[0]), [float(x) for x in a[1:]], games)

    return from_evidences(problem, evidence)


EXACT: dict[str, Callable[[Problem], Answer]] = {
    "quadrature": quadrature,
    "tree": tree,
    "path": path,
    "star": star,
}


def distances(simulated: Answer, exact: Answer) -> float:
    """Return the largest distance of simulated from exact values, in standard errors."""
    compared = [(simulated.mean, exact.mean), (simulated.sd, exact.sd)]
    if simulated.log_evidence and exact.log_evidence:
        compared.append((simulated.log_evidence, exact.log_evidence))
    return max(
        float(np.abs((one.value - other.value) / one.error).max()) for one, other in compared
    )


def answer(problem: Problem, seed: int, **size: int) -> Answer:
    """Compute what can be had exactly, and simulate the rest."""
    if problem.moments == "simulation":
        return simulate(problem, seed, **size)
    known = EXACT[problem.moments](problem)
    if problem.moments == "star" or known.quantiles is not None:
        return known
    simulated = simulate(problem, seed, **size)
    known.notes["simulated_distance"] = distances(simulated, known)
    known.quantiles, known.freedom = simulated.quantiles, simulated.freedom
    return known
