"""Gibbs sweeps of contests: waiting times of meetings, then home, tie and strengths.

With λ_i independent gammas, A and B the sides' strengths, A' = h A at home, and a waiting time
u ~ Gamma(m) / D of each denominator D with m outcomes, every conditional is a gamma:

    no ties      D = A' + B
    Rao-Kupper   D = A' + θ B (wins of the first and ties),   D = θ A' + B (of the second and ties)
    Davidson     D = A' + B + ν √(A' B),   and with κ = ν u / 2 and w an inverse Gaussian variate

        exp(-ν u √(A' B)) = √(κ A' / π) ∫ w^(-3/2) exp(-κ (A' / w + B w)) dw

One sweep draws, in this order: u; ν (w integrated out) or s = θ - 1; w; h; λ.  (ν, w) is one block.
The first side has ½ more in its power for each w, and so does h where that side is at home.  As in
`kernels.waiting_times`, everything is written in p = λ / Λ and times Λ u, so that Λ ~ Gamma(A) is
drawn once, with the A of the data before any of these variables: they leave it as it was.

s has the density s^(a + T - 1) (s + 2)^T exp(-s (b + R)), T ties, drawn by slice sampling of log s:
T need not be whole.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
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
from luce.kernels.grouped_outcomes import SplitSpace, split_groups
from luce.kernels.half_sweep import draw_probabilities, draw_rates
from luce.kernels.jit import borrowed, compile_by_type, compiled, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.problem import Wide
from luce.kernels.random import (
    exponential,
    gamma_spread,
    log_gamma,
    normal,
    scaled_gamma,
    uniform,
)
from luce.kernels.set_sums import as_log, from_log, one, plus, times

# Largest |log| of a parameter, and the largest number of unit steps that widen a slice on a side.
LARGEST, _STEPS = 100.0, 60

# Smallest shape of an inverse Gaussian, whose inverse is still a double.
_LEAST_SHAPE = 1e-290


class ContestFit(NamedTuple):
    """Contests and their parameters; the `fit` of the kernel.

    Attributes
    ----------
    contests
        Sides and numbers of outcomes.
    multipliers
        The parameters home and tie.
    start
        First logarithms of the parameters that are drawn.
    excess
        1 where the state holds log(θ - 1) and draws are θ, else 0.
    """

    contests: AnyContests
    multipliers: Multipliers
    start: FloatArray
    excess: float


def first_extra(fit: ContestFit) -> FloatArray:
    """Start the parameters at their prior means."""
    return fit.start.copy()


@compiled
def advance(
    bits: WordArray,
    problem: AnyProblem,
    fit: ContestFit,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Make sweeps over contests and sets; arguments as in `luce.kernels.Advance`.

    The shapes of the problem, and its powers of teams' strengths, include ½ for each w of a first
    side.  `fit` is a `ContestFit`.  `state` holds p, or log p in a wide problem, then logarithms of
    the parameters that are drawn; rows of `out` hold the parameters themselves.  `stat` receives
    the logarithm of the total waiting time.  `tuning` and `adapt` are unused.
    """
    problem, fit, own = borrowed(problem), borrowed(fit), on_stack(bits)
    state, out = borrowed(state), borrowed(out)
    wide, n, total_shape = problem.wide, len(problem.shape), problem.total_shape
    total_spread, n_meetings = gamma_spread(total_shape), len(fit.contests.waits)
    p = state[:n]
    set_times, rates, grouped = np.empty(len(problem.waits)), np.empty(n), np.empty(n)
    one_time, other_time = np.empty(n_meetings), np.empty(n_meetings)
    shape, spread = problem.shape.copy(), problem.spread.copy()
    for d in range(len(out)):
        waited = draw_rates(problem, own, p, set_times, rates)
        more = draw_contests(
            fit.contests, fit.multipliers, own, wide, state, one_time, other_time, rates
        )
        if space is not None:
            for i in range(n):
                grouped[i] = 0.0
            split_groups(own, problem, p, space, grouped)
            for i in range(n):
                shape[i] = problem.shape[i] + grouped[i]
                spread[i] = gamma_spread(shape[i])
        total = scaled_gamma(own, total_shape, total_spread, one(wide), wide)
        draw_probabilities(own, shape, spread, total, rates, wide, p)
        for i in range(n):
            out[d, i] = state[i]
        for i in range(n, len(state)):
            out[d, i] = math.exp(state[i])
        if fit.multipliers.tie >= 0:
            out[d, fit.multipliers.tie] += fit.excess
        stat[d] = as_log(plus(waited, more, wide), wide)
    for k in range(4):
        bits[k] = own[k]


def draw_contests(
    contests: AnyContests,
    multipliers: Multipliers,
    bits: WordArray,
    wide: Wide,
    state: FloatArray,
    one_time: FloatArray,
    other_time: FloatArray,
    rates: FloatArray,
) -> float:
    """Draw waiting times and parameters, add the times to the members' rates, return their sum.

    Parameters
    ----------
    contests, multipliers
        Sides, numbers of outcomes and parameters.
    bits
        Generator.
    wide
        As in a `Problem`.
    state
        The probabilities, then logarithms of parameters, which are replaced.
    one_time, other_time
        Scratch: the times of the first and the second side of each meeting.
    rates
        R_i, added to.
    """
    chosen: Callable[..., float] = _SWEEPS.get(type(contests), _without_ties)
    return chosen(contests, multipliers, bits, wide, state, one_time, other_time, rates)


def _without_ties(
    contests: Any,
    multipliers: Any,
    bits: Any,
    wide: Any,
    state: Any,
    one_time: Any,
    other_time: Any,
    rates: Any,
) -> float:
    home, waited, pull = from_log(log_home(multipliers, state), wide), from_log(-np.inf, wide), 0.0
    for t in range(len(one_time)):
        a = strength(contests.sides, t, 0, state, wide)
        b = strength(contests.sides, t, 1, state, wide)
        whole = plus(times(a, home, wide) if contests.at_home[t] else a, b, wide)
        u = scaled_gamma(bits, contests.waits[t], contests.spread[t], whole, wide)
        one_time[t] = other_time[t] = u
        waited = plus(waited, u, wide)
        if contests.at_home[t]:
            pull += plain(times(a, u, wide), wide)
    _draw_home(bits, multipliers, contests.home_power, pull, state)
    add_times(contests, multipliers, wide, state, one_time, other_time, rates)
    return waited


def _with_rao_kupper(
    contests: Any,
    multipliers: Any,
    bits: Any,
    wide: Any,
    state: Any,
    one_time: Any,
    other_time: Any,
    rates: Any,
) -> float:
    home, waited, pull = from_log(log_home(multipliers, state), wide), from_log(-np.inf, wide), 0.0
    theta = 1.0 + math.exp(log_tie(multipliers, state))
    factor, rate = from_log(math.log(theta), wide), 0.0
    for t in range(len(one_time)):
        a = strength(contests.sides, t, 0, state, wide)
        b = strength(contests.sides, t, 1, state, wide)
        if contests.at_home[t]:
            a = times(a, home, wide)
        u = v = from_log(-np.inf, wide)
        if contests.waits[t] > 0.0:
            whole = plus(a, times(factor, b, wide), wide)
            u = scaled_gamma(bits, contests.waits[t], contests.spread[t], whole, wide)
            rate += plain(times(b, u, wide), wide)
        if contests.more_waits[t] > 0.0:
            whole = plus(times(factor, a, wide), b, wide)
            v = scaled_gamma(bits, contests.more_waits[t], contests.more_spread[t], whole, wide)
            rate += plain(times(a, v, wide), wide)
        one_time[t], other_time[t] = u, v
        waited = plus(waited, plus(u, v, wide), wide)
    if multipliers.tie >= 0:
        ties, rate = contests.tie_power, rate + multipliers.tie_rate
        at = multipliers.tie
        state[at] = _slice(bits, state[at], multipliers.tie_shape + ties, ties, rate)
    factor = from_log(math.log1p(math.exp(log_tie(multipliers, state))), wide)
    for t in range(len(one_time)):
        u, v = one_time[t], other_time[t]
        one_time[t] = plus(u, times(factor, v, wide), wide)
        other_time[t] = plus(times(factor, u, wide), v, wide)
        if contests.at_home[t]:
            pull += plain(
                times(strength(contests.sides, t, 0, state, wide), one_time[t], wide), wide
            )
    _draw_home(bits, multipliers, contests.home_power, pull, state)
    add_times(contests, multipliers, wide, state, one_time, other_time, rates)
    return waited


def _with_davidson(
    contests: Any,
    multipliers: Any,
    bits: Any,
    wide: Any,
    state: Any,
    one_time: Any,
    other_time: Any,
    rates: Any,
) -> float:
    home, waited, pull = from_log(log_home(multipliers, state), wide), from_log(-np.inf, wide), 0.0
    nu, rate = math.exp(log_tie(multipliers, state)), 0.0
    factor = from_log(math.log(nu), wide)
    for t in range(len(one_time)):
        a = strength(contests.sides, t, 0, state, wide)
        b = strength(contests.sides, t, 1, state, wide)
        if contests.at_home[t]:
            a = times(a, home, wide)
        middle = times(root(a, wide), root(b, wide), wide)
        whole = plus(plus(a, b, wide), times(factor, middle, wide), wide)
        u = scaled_gamma(bits, contests.waits[t], contests.spread[t], whole, wide)
        one_time[t], other_time[t] = u, plain(times(u, middle, wide), wide)
        rate += other_time[t]
        waited = plus(waited, u, wide)
    if multipliers.tie >= 0:
        drawn = log_gamma(bits, multipliers.tie_shape + contests.tie_power)
        drawn -= math.log(multipliers.tie_rate + rate)
        state[multipliers.tie] = min(max(drawn, -LARGEST), LARGEST)
        nu = math.exp(state[multipliers.tie])
    halves = 0.0
    for t in range(len(one_time)):
        a = strength(contests.sides, t, 0, state, wide)
        b = strength(contests.sides, t, 1, state, wide)
        if contests.at_home[t]:
            a = times(a, home, wide)
        u = one_time[t]
        one_half, other_half = _inverse_gaussian_halves(bits, nu * other_time[t])
        one_time[t] = plus(u, _over(one_half, a, wide), wide)
        other_time[t] = plus(u, _over(other_half, b, wide), wide)
        if contests.at_home[t]:
            pull += plain(
                times(strength(contests.sides, t, 0, state, wide), one_time[t], wide), wide
            )
            halves += 0.5
    _draw_home(bits, multipliers, contests.home_power + halves, pull, state)
    add_times(contests, multipliers, wide, state, one_time, other_time, rates)
    return waited


_SWEEPS: dict[type, Callable[..., float]] = {Davidson: _with_davidson, RaoKupper: _with_rao_kupper}
compile_by_type(draw_contests, _SWEEPS, _without_ties)


@internal
def _inverse_gaussian_halves(bits: WordArray, shape: float) -> tuple[float, float]:
    """Draw y ~ InverseGaussian(1, shape); return shape / (2 y) and shape y / 2.

    The larger root of the quadratic is computed, since the smaller one, its inverse, would cancel
    (Michael, Schucany and Haas 1976).
    """
    shape = max(shape, _LEAST_SHAPE)
    z = normal(bits)
    half = 0.5 * z * z / shape
    large = 1.0 + half + math.sqrt(half * (2.0 + half))
    small = 1.0 / large
    y, inverse = small, large
    if uniform(bits) * (1.0 + small) > 1.0:  # the smaller with probability 1 / (1 + small)
        y, inverse = large, small
    return 0.5 * shape * inverse, 0.5 * shape * y


@internal
def _draw_home(
    bits: WordArray, multipliers: Multipliers, power: float, pull: float, state: FloatArray
) -> None:
    """Draw log h from a gamma distribution, unless h is known."""
    if multipliers.home >= 0:
        drawn = log_gamma(bits, multipliers.home_shape + power)
        drawn -= math.log(multipliers.home_rate + pull)
        state[multipliers.home] = min(max(drawn, -LARGEST), LARGEST)


@internal
def add_times(
    contests: Any,
    multipliers: Multipliers,
    wide: Wide,
    state: FloatArray,
    one_time: FloatArray,
    other_time: FloatArray,
    rates: FloatArray,
) -> None:
    """Add the times of each side to the rates of its members, times h at home."""
    home = from_log(log_home(multipliers, state), wide)
    for t in range(len(one_time)):
        u = times(one_time[t], home, wide) if contests.at_home[t] else one_time[t]
        add_to_side(contests.sides, t, 0, u, wide, rates)
        add_to_side(contests.sides, t, 1, other_time[t], wide, rates)


@internal
def _slice(bits: WordArray, x: float, power: float, ties: float, rate: float) -> float:
    """Draw x = log s with log density power x + ties log(s + 2) - rate s: step out, then shrink."""
    level = _log_excess(x, power, ties, rate) - exponential(bits)
    low = x - uniform(bits)
    high = low + 1.0
    steps = 0
    while steps < _STEPS and low > -LARGEST and _log_excess(low, power, ties, rate) > level:
        low -= 1.0
        steps += 1
    steps = 0
    while steps < _STEPS and high < LARGEST and _log_excess(high, power, ties, rate) > level:
        high += 1.0
        steps += 1
    while True:
        new = low + uniform(bits) * (high - low)
        if _log_excess(new, power, ties, rate) >= level:
            return new
        if new < x:
            low = new
        else:
            high = new


@internal
def _log_excess(x: float, power: float, ties: float, rate: float) -> float:
    s = math.exp(x)
    return power * x + ties * math.log(s + 2.0) - rate * s


@internal
def plain(x: float, wide: Wide) -> float:
    """Return a number that fits a double, from itself or from its logarithm."""
    if wide is None:
        return x
    return math.exp(x)


@internal
def root(x: float, wide: Wide) -> float:
    """Take the square root of a number, or of that with this logarithm."""
    if wide is None:
        return math.sqrt(x)
    return 0.5 * x


@internal
def _over(number: float, x: float, wide: Wide) -> float:
    """Divide a plain number by x; x and the result are logarithms if `wide`."""
    if wide is None:
        return number / x
    return float(np.log(number)) - x
