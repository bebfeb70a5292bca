"""Hamiltonian moves of strengths, home advantage and ties together.

With θ = log λ, z = (log h, log ν or log s), s = θ_RK - 1, and numerators of contests among the c_i,

    f(θ, z) = Σ_i c_i θ_i - Σ_i λ_i - Σ_t e_t log λ(S_t) - Σ_D m_D log D(λ, h, tie)
              + (a_h + H) log h - b_h h + (a + T) log ν - b ν

with the denominators D of `kernels.contests.sweep`; for Rao and Kupper the last terms are
(a + T) log s + T log(s + 2) - b s.  Slopes of log D by log A, log B and z are shares of D.

Moves are those of `kernels.hamiltonian`, with a metric of all directions of (θ, z); Λ is redrawn
before each.  Some draws (every other one while tuning) are a sweep of `kernels.contests.sweep`.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.contests import sweep as sweeps
from luce.kernels.contests.sides import (
    AnyContests,
    Davidson,
    Multipliers,
    RaoKupper,
    add_to_side,
    log_home,
    log_tie,
    strength,
)
from luce.kernels.contests.sweep import LARGEST, ContestFit
from luce.kernels.contests.sweep import advance as sweep
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.hamiltonian import (
    FIRST_KICK,
    SWEEP_EVERY,
    Metric,
    adapt_step,
    drift,
    kick,
    set_pull,
    value_at,
)
from luce.kernels.jit import borrowed, compile_by_type, compiled, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.problem import Problem
from luce.kernels.random import gamma, normal, uniform
from luce.kernels.rankings.block_slopes import OpenBlocks, slope_of_blocks
from luce.kernels.rankings.choices import TieChoices, TieWeights, slope_of_choices
from luce.kernels.set_sums import LEAST


class MoveFit(NamedTuple):
    """What moves and sweeps must know of a posterior; the `fit` of the kernel.

    Attributes
    ----------
    sweep
        Contests and their parameters.
    problem
        The posterior without the ½ that sweeps add.
    metric
        The width of the posterior in each direction of (θ, z), dense.
    """

    sweep: ContestFit
    problem: AnyProblem
    metric: Metric


class MoveSpace(NamedTuple):
    """Scratch of a move: coordinates, velocity, slope and sums over sets."""

    theta: FloatArray
    v: FloatArray
    gradient: FloatArray
    path: FloatArray
    x: FloatArray
    pull: FloatArray
    sums: FloatArray
    times: FloatArray


@internal
def move_space(size: int, n: int, n_sets: int) -> MoveSpace:
    """Make scratch for moves of `size` coordinates, the first n of which are strengths."""
    return MoveSpace(
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(n),
        np.empty(n),
        np.empty(n_sets),
        np.empty(n_sets),
    )


def first_tuning(problem: Problem, fit: MoveFit) -> float:
    """Start at the logarithm of the fitted step."""
    return math.log(fit.metric.step)


def first_extra(fit: MoveFit) -> FloatArray:
    """Start the parameters at their prior means."""
    return sweeps.first_extra(fit.sweep)


@compiled
def advance(
    bits: WordArray,
    problem: AnyProblem,
    fit: MoveFit,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Make Hamiltonian moves of p and parameters, and a sweep now and then.

    Arguments as in `luce.kernels.Advance`; the problem may not be wide.  `state` and `out` are
    those of `kernels.contests.sweep`; `tuning`, `adapt` and `stat` those of `kernels.hamiltonian`.
    """
    problem, fit, own, state = borrowed(problem), borrowed(fit), on_stack(bits), borrowed(state)
    contests, multipliers, metric = fit.sweep.contests, fit.sweep.multipliers, fit.metric
    plain = fit.problem
    n, size = len(plain.shape), len(state)
    row, row_stat = np.empty((1, size)), np.empty(1)
    scratch = move_space(size, n, len(plain.waits))
    for d in range(len(out)):
        turn = tuning[3] % (2 if adapt else SWEEP_EVERY)
        tuning[3] += 1.0
        if turn == 0.0:
            for k in range(4):
                bits[k] = own[k]
            sweep(bits, problem, fit.sweep, state, tuning, False, row, row_stat, space)
            for k in range(4):
                own[k] = bits[k]
            stat[d] = 1.0
        else:
            accepted = move(
                own, plain, metric, contests, multipliers, space, state, tuning, adapt, scratch
            )
            stat[d] = 1.0 if accepted else 0.0
        for i in range(n):
            out[d, i] = state[i]
        for i in range(n, size):
            out[d, i] = math.exp(state[i])
        if multipliers.tie >= 0:
            out[d, multipliers.tie] += fit.sweep.excess
    for k in range(4):
        bits[k] = own[k]


@internal
def move(
    own: WordArray,
    plain: AnyProblem,
    metric: Metric,
    events: Any,
    multipliers: Any,
    space: SplitSpace | None,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    scratch: MoveSpace,
) -> bool:
    """Make one Hamiltonian move of p and the logarithms of parameters; return if it was accepted.

    Parameters
    ----------
    own
        Generator.
    plain, metric
        Powers of strengths and of sums over sets, and the width of the posterior.
    events, multipliers
        Events of a kind that `contest_slope` knows, and their parameters.
    space
        Not None where outcomes are grouped.
    state
        p, then logarithms of the parameters that are drawn; replaced.
    tuning, adapt
        As in `kernels.hamiltonian`.
    scratch
        Of `move_space`.
    """
    shape, length = plain.shape, metric.length
    n, size = len(shape), len(state)
    theta, v, gradient, path = scratch.theta, scratch.v, scratch.gradient, scratch.path
    x, pull, sums, times = scratch.x, scratch.pull, scratch.sums, scratch.times
    log_h = tuning[0] if adapt else tuning[2]
    whole = length * (1.0 + metric.jitter * (2.0 * uniform(own) - 1.0))
    steps = math.ceil(whole / math.exp(log_h))
    h = whole / steps
    log_total = math.log(gamma(own, plain.total_shape))
    for i in range(n):
        theta[i] = math.log(state[i]) + log_total
        x[i] = math.exp(theta[i])
    for i in range(n, size):
        theta[i] = state[i]
    set_pull(plain, metric.exponent, space, x, sums, times, pull)
    value = value_at(shape, metric.powers, theta[:n], sums)
    value += contest_slope(events, multipliers, theta, x, gradient)
    for i in range(n):
        value -= x[i]
        gradient[i] += shape[i] - x[i] - pull[i]
    for i in range(size):
        v[i] = normal(own)
        value -= 0.5 * v[i] * v[i]
    kick(metric.root_transposed, metric.scale, gradient, FIRST_KICK * h, v)
    value_new = 0.0
    for step in range(2 * steps):
        drift(metric.root, metric.scale, v, 0.5 * h, path, theta)
        for i in range(n):
            x[i] = math.exp(min(theta[i], 700.0))
        set_pull(plain, metric.exponent, space, x, sums, times, pull)
        value_new = contest_slope(events, multipliers, theta, x, gradient)
        for i in range(n):
            gradient[i] += shape[i] - x[i] - pull[i]
        last = FIRST_KICK if step == 2 * steps - 1 else 2.0 * FIRST_KICK
        weight = h * (last if step % 2 else 1 - 2 * FIRST_KICK)
        kick(metric.root_transposed, metric.scale, gradient, weight, v)
    value_new += value_at(shape, metric.powers, theta[:n], sums)
    total, far = 0.0, 0.0
    for i in range(n):
        total += x[i]
    for i in range(n, size):
        far = max(far, abs(theta[i]))
    change = value_new - total - value
    for i in range(size):
        change -= 0.5 * v[i] * v[i]
    reached = math.isfinite(change) and far < LARGEST
    probability = math.exp(min(change, 0.0)) if reached else 0.0
    accepted = uniform(own) < probability
    if accepted:
        for i in range(n):
            state[i] = max(x[i] / total, LEAST)
        for i in range(n, size):
            state[i] = theta[i]
    if adapt:
        adapt_step(tuning, probability, length)
    return accepted


def contest_slope(
    contests: AnyContests | TieChoices | OpenBlocks,
    multipliers: Multipliers | TieWeights,
    theta: FloatArray,
    x: FloatArray,
    out: FloatArray,
) -> float:
    """Compute the part of f of contests, or of rankings with ties, and write its slope.

    Parameters
    ----------
    contests, multipliers
        Sides or sets, numbers of outcomes, and parameters with their priors.
    theta
        log λ, then the logarithms of the parameters.
    x
        λ.
    out
        Receives the slope by each of `theta`.
    """
    chosen: Callable[..., float] = _SLOPES.get(type(contests), _without_ties)
    return chosen(contests, multipliers, theta, x, out)


def _without_ties(contests: Any, multipliers: Any, theta: Any, x: Any, out: Any) -> float:
    home, value, share = math.exp(log_home(multipliers, theta)), 0.0, 0.0
    for i in range(len(out)):
        out[i] = 0.0
    for t in range(len(contests.waits)):
        factor = home if contests.at_home[t] else 1.0
        a = factor * strength(contests.sides, t, 0, x, None)
        b = strength(contests.sides, t, 1, x, None)
        u = contests.waits[t] / (a + b)
        value -= contests.waits[t] * math.log(a + b)
        add_to_side(contests.sides, t, 0, u * factor, None, out)
        add_to_side(contests.sides, t, 1, u, None, out)
        if contests.at_home[t]:
            share += u * a
    for i in range(len(x)):
        out[i] *= -x[i]
    return value + _home_slope(contests, multipliers, theta, share, out)


def _with_davidson(contests: Any, multipliers: Any, theta: Any, x: Any, out: Any) -> float:
    home, nu = math.exp(log_home(multipliers, theta)), math.exp(log_tie(multipliers, theta))
    value, share, tied = 0.0, 0.0, 0.0
    for i in range(len(out)):
        out[i] = 0.0
    for t in range(len(contests.waits)):
        factor = home if contests.at_home[t] else 1.0
        a = factor * strength(contests.sides, t, 0, x, None)
        b = strength(contests.sides, t, 1, x, None)
        middle = nu * math.sqrt(a) * math.sqrt(b)
        u = contests.waits[t] / (a + b + middle)
        value -= contests.waits[t] * math.log(a + b + middle)
        add_to_side(contests.sides, t, 0, u * factor * (1.0 + 0.5 * middle / a), None, out)
        add_to_side(contests.sides, t, 1, u * (1.0 + 0.5 * middle / b), None, out)
        tied += u * middle
        if contests.at_home[t]:
            share += u * (a + 0.5 * middle)
    for i in range(len(x)):
        out[i] *= -x[i]
    if multipliers.tie >= 0:
        power = multipliers.tie_shape + contests.tie_power
        out[multipliers.tie] = power - tied - multipliers.tie_rate * nu
        value += power * theta[multipliers.tie] - multipliers.tie_rate * nu
    return value + _home_slope(contests, multipliers, theta, share, out)


def _with_rao_kupper(contests: Any, multipliers: Any, theta: Any, x: Any, out: Any) -> float:
    home, s = math.exp(log_home(multipliers, theta)), math.exp(log_tie(multipliers, theta))
    value, share, tied, threshold = 0.0, 0.0, 0.0, 1.0 + s
    for i in range(len(out)):
        out[i] = 0.0
    for t in range(len(contests.waits)):
        factor = home if contests.at_home[t] else 1.0
        a = factor * strength(contests.sides, t, 0, x, None)
        b = strength(contests.sides, t, 1, x, None)
        one, other = a + threshold * b, threshold * a + b
        u, v = contests.waits[t] / one, contests.more_waits[t] / other
        value -= contests.waits[t] * math.log(one) + contests.more_waits[t] * math.log(other)
        add_to_side(contests.sides, t, 0, factor * (u + threshold * v), None, out)
        add_to_side(contests.sides, t, 1, threshold * u + v, None, out)
        tied += u * b + v * a
        if contests.at_home[t]:
            share += a * (u + threshold * v)
    for i in range(len(x)):
        out[i] *= -x[i]
    if multipliers.tie >= 0:
        power, ties = multipliers.tie_shape + contests.tie_power, contests.tie_power
        out[multipliers.tie] = power + ties * s / (s + 2.0) - s * (tied + multipliers.tie_rate)
        value += power * theta[multipliers.tie] + ties * math.log(s + 2.0)
        value -= multipliers.tie_rate * s
    return value + _home_slope(contests, multipliers, theta, share, out)


_SLOPES: dict[type, Callable[..., float]] = {
    Davidson: _with_davidson,
    RaoKupper: _with_rao_kupper,
    TieChoices: slope_of_choices,
    OpenBlocks: slope_of_blocks,
}
compile_by_type(contest_slope, _SLOPES, _without_ties)


@internal
def _home_slope(
    contests: Any, multipliers: Multipliers, theta: FloatArray, share: float, out: FloatArray
) -> float:
    """Write the slope by log h, and return the terms of f with h alone."""
    if multipliers.home < 0:
        return 0.0
    log_h = float(theta[multipliers.home])
    power, rate = multipliers.home_shape + contests.home_power, multipliers.home_rate
    out[multipliers.home] = power - share - rate * math.exp(log_h)
    return float(power * log_h - rate * math.exp(log_h))
