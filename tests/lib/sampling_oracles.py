"""Independent truths about posteriors: quadrature, importance sampling and a plain Gibbs sampler.

Nothing here imports luce.  A `Case` is data as a person would write it down; `Case.terms` spells it
out as outcomes given sets, without merging, dropping or reordering anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from lib.bounds import z_limit
from scipy.stats import norm
from scipy.stats import t as student

Floats = npt.NDArray[np.float64]


class Term(NamedTuple):
    """`count` outcomes, known to lie in `outcome`, given that they lay in `within`."""

    outcome: tuple[int, ...]
    count: float
    within: tuple[int, ...]


class Moments(NamedTuple):
    """Mean and variance of each category, with standard errors and degrees of freedom of these."""

    value: Floats
    error: Floats
    freedom: float


@dataclass(frozen=True)
class Case:
    """One posterior, and a sentence about it.

    `picks` are (category, count, within), `groups` (members, count, within), `rankings`
    (order, count), best first.
    """

    desc: str
    concentration: tuple[float, ...]
    picks: tuple[tuple[int, float, tuple[int, ...]], ...] = ()
    groups: tuple[tuple[tuple[int, ...], int, tuple[int, ...]], ...] = ()
    rankings: tuple[tuple[tuple[int, ...], float], ...] = ()

    @property
    def n(self) -> int:
        return len(self.concentration)

    @property
    def terms(self) -> list[Term]:
        out = [Term((i,), k, s) for i, k, s in self.picks]
        out += [Term(g, float(k), s) for g, k, s in self.groups]
        for order, k in self.rankings:
            out += [Term((i,), k, order[place:]) for place, i in enumerate(order)]
        return out


def _membership(sets: list[tuple[int, ...]], n: int) -> Floats:
    matrix = np.zeros((len(sets), n))
    for row, members in zip(matrix, sets, strict=True):
        row[list(members)] = 1.0
    return matrix


def _shapes_and_powers(case: Case) -> tuple[Floats, list[tuple[tuple[int, ...], float]]]:
    """Exponents c_i of single categories, and one power for each set of each term."""
    shape, powers = np.array(case.concentration), []
    for outcome, count, within in case.terms:
        if len(outcome) == 1:
            shape[outcome[0]] += count
        else:
            powers.append((outcome, count))
        powers.append((within, -count))
    return shape, powers


def quadrature(case: Case, step: float | None = None) -> Moments:
    """Mean and variance at n = 3 by the trapezoidal rule over two log-odds.

    p = (x, (1 - x) y, (1 - x) (1 - y)) with x and y the inverse logits of s and t.  In (s, t) the
    integrand is analytic in a strip and decays exponentially, endpoint singularities and all, so
    the rule converges geometrically in 1 / step.
    """
    shape, powers = _shapes_and_powers(case)
    assert len(shape) == 3
    reach = 22.0 / min(1.0, min(case.concentration))
    if step is None:
        weight = shape.sum() + sum(abs(e) for _, e in powers)
        step = min(0.6, 2.0 / np.sqrt(weight))
    s = np.arange(-reach, reach + step, step)
    log_y, log_not_y = -np.logaddexp(0.0, -s), -np.logaddexp(0.0, s)
    top, mass, first, second = -np.inf, 0.0, np.zeros(3), np.zeros(3)
    for rows in np.array_split(s, max(1, len(s) ** 2 // 2_000_000)):
        log_x, log_not_x = -np.logaddexp(0.0, -rows)[:, None], -np.logaddexp(0.0, rows)[:, None]
        log_p = [log_x + 0 * log_y, log_not_x + log_y, log_not_x + log_not_y]
        # ds dt brings x (1 - x) y (1 - y), which with the simplex's (1 - x) is p_1 p_2 p_3.
        log_f = sum(c * part for c, part in zip(shape, log_p, strict=True))
        for members, power in powers:
            if len(members) == 2:
                log_f = log_f + power * np.logaddexp(log_p[members[0]], log_p[members[1]])
        higher = max(top, float(log_f.max()))
        shrink = np.exp(top - higher)
        f, p, top = np.exp(log_f - higher), np.exp(log_p), higher
        mass = mass * shrink + f.sum()
        first = first * shrink + (f * p).sum(axis=(1, 2))
        second = second * shrink + (f * p * p).sum(axis=(1, 2))
    mean = first / mass
    value = np.stack([mean, second / mass - mean**2])
    return Moments(value, np.zeros_like(value), np.inf)


def gibbs(case: Case, seed: int, chains: int = 400, draws: int = 400, warmup: int = 100) -> Moments:
    """Long-run waiting-time Gibbs sampling on expanded, unmerged sets, all chains at once.

    Every term keeps its outcome and its condition, full sets too, so the total is Gamma(sum alpha).
    """
    rng = np.random.default_rng(seed)
    alpha, terms = np.array(case.concentration), case.terms
    within = _membership([t.within for t in terms], case.n)
    waits = np.array([t.count for t in terms])
    grouped = [
        (int(t.count), _membership([t.outcome], case.n)) for t in terms if len(t.outcome) > 1
    ]
    shape = alpha + sum(
        (t.count * _membership([t.outcome], case.n)[0] for t in terms if len(t.outcome) == 1),
        np.zeros(case.n),
    )
    p = rng.dirichlet(np.maximum(alpha, 0.3), chains)
    kept = np.empty((draws, chains, case.n))
    for d in range(-warmup, draws):
        rate = p * rng.standard_gamma(alpha.sum(), (chains, 1))
        times = rng.standard_gamma(waits, (chains, len(waits))) / (rate @ within.T)
        extra = np.zeros((chains, case.n))
        for count, members in grouped:
            inside = p * members
            extra += rng.multinomial(count, inside / inside.sum(axis=1, keepdims=True))
        rate = rng.standard_gamma(shape + extra) / (1 + times @ within)
        p = rate / rate.sum(axis=1, keepdims=True)
        if d >= 0:
            kept[d] = p
    return chain_moments(kept.transpose(1, 0, 2))


def importance(case: Case, seed: int, draws: int = 400_000) -> Moments:
    """Self-normalised importance sampling from a Dirichlet with the expected hidden counts."""
    rng = np.random.default_rng(seed)
    shape, powers = _shapes_and_powers(case)
    assert all(power < 0 for _, power in powers)
    inside = _membership([s for s, _ in powers], case.n)
    power = np.array([e for _, e in powers])
    fit = shape
    for _ in range(200):
        mean = fit / fit.sum()
        fit = shape + mean * (-(power / (inside @ mean)) @ (1 - inside))
    p = rng.dirichlet(fit, draws)
    log_w = np.log(p) @ (shape - fit) + np.log(p @ inside.T) @ power
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    assert 1 / (w**2).sum() > 0.3 * draws
    mean = w @ p
    square = (p - mean) ** 2
    variance = w @ square
    error = np.stack([w**2 @ (p - mean) ** 2, w**2 @ (square - variance) ** 2])
    return Moments(np.stack([mean, variance]), np.sqrt(error), np.inf)


def chain_moments(draws: Floats) -> Moments:
    """Mean and variance from independent chains, (chain, draw, category), errors between chains."""
    chains = len(draws)
    mean = draws.mean(axis=(0, 1))
    each = np.stack([draws.mean(axis=1), ((draws - mean) ** 2).mean(axis=1)])
    return Moments(each.mean(axis=1), each.std(axis=1, ddof=1) / np.sqrt(chains), chains - 1.0)


def z_scores(one: Moments, other: Moments) -> Floats:
    """Differences in standard errors, Welch's t turned into the normal score of the same tail."""
    squares = np.stack([one.error**2, other.error**2])
    total = squares.sum(axis=0)
    freedom = total**2 / (squares[0] ** 2 / one.freedom + squares[1] ** 2 / other.freedom)
    tail = student.logsf(np.abs(one.value - other.value) / np.sqrt(total), freedom)
    return np.asarray(norm.isf(np.exp(tail)))


def assert_agree(one: Moments, other: Moments) -> None:
    """The largest |z| over all means and variances is one that chance explains."""
    z = z_scores(one, other)
    worst = np.unravel_index(np.argmax(z), z.shape)
    assert z[worst] < z_limit(z.size), (
        f"|z| = {z[worst]:.1f} at {('mean', 'variance')[worst[0]]} of category {worst[1]}: "
        f"{one.value[worst]:.6g} against {other.value[worst]:.6g}; {z_limit(z.size):.1f} allowed"
    )
