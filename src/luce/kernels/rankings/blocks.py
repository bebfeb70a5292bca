"""Gibbs sweeps of tied blocks of unknown order: finishing times of a race.

With T_i ~ Exponential(λ_i) the times of a block B, M = max T_i, and R the rest,

    P(B before R) = ∫ Π_{i ∈ B} λ_i exp(-λ_i T_i) · exp(-λ(R) M) dT,

so that given T every λ_i is a gamma variate: its shape is 1 larger for each block with i in B, its
rate T_i larger where i is in B, and M larger where i is in R.  Given λ, the times are drawn by the
time τ of the first of R, of which only M needs to be known:

    τ = M + Exponential(1) / λ(R),     T_i ~ Exponential(λ_i) given T_i < τ,     M ← max T_i

A block that was seen m times has m times M.  As in `kernels.waiting_times`, everything is written
in p = λ / Λ and times Λ T, which are independent of Λ ~ Gamma(A), the A of the data without the
times. M is part of the state: when λ is divided by its new total, M is multiplied by it.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace, split_groups
from luce.kernels.half_sweep import draw_rates
from luce.kernels.jit import borrowed, compiled, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.problem import Wide
from luce.kernels.random import gamma_spread, scaled_gamma, uniform
from luce.kernels.set_sums import as_log, normalise, one, plus, times, zero

# log(λ τ) below which a time given that it is less than τ is uniform, to rounding.
_UNIFORM = -40.0

# Minus the largest probability whose quantile is finite.
_NEARLY_ALL = -1.0 + 2.0**-53


class Blocks(NamedTuple):
    """Tied blocks; the `fit` of the kernel.

    Attributes
    ----------
    members, start
        Block t is ``members[start[2 t]:start[2 t + 1]]``, its rest
        ``members[start[2 t + 1]:start[2 t + 2]]``.
    copies
        The times M of block t stand in the state from n + ``copies[t]`` to n + ``copies[t + 1]``.
    """

    members: npt.NDArray[np.uint32]
    start: npt.NDArray[np.int64]
    copies: npt.NDArray[np.int64]


def first_extra(fit: Blocks) -> FloatArray:
    """Start at times 0, which the first sweep replaces; logarithms of 1 in a wide problem."""
    return np.zeros(fit.copies[-1])


@compiled
def advance(
    bits: WordArray,
    problem: AnyProblem,
    fit: Blocks,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Make sweeps over sets and tied blocks; arguments as in `luce.kernels.Advance`.

    The shapes of the problem include 1 for each block that a category is in.  `fit` are `Blocks`.
    `state` holds p, or log p in a wide problem, then the times M or their logarithms; rows of `out`
    hold p alone.  `stat` receives the logarithm of the total waiting time.  `tuning` and `adapt`
    are unused.
    """
    problem, fit, own = borrowed(problem), borrowed(fit), on_stack(bits)
    state, out = borrowed(state), borrowed(out)
    wide, n, total_shape = problem.wide, len(problem.shape), problem.total_shape
    total_spread = gamma_spread(total_shape)
    p, latest = state[:n], state[n:]
    set_times, rates, grouped = np.empty(len(problem.waits)), np.empty(n), np.empty(n)
    shape, spread = problem.shape.copy(), problem.spread.copy()
    for d in range(len(out)):
        waited = draw_rates(problem, own, p, set_times, rates)
        more = draw_blocks(own, fit, wide, p, latest, rates)
        if space is not None:
            for i in range(n):
                grouped[i] = 0.0
            split_groups(own, problem, p, space, grouped)
            for i in range(n):
                shape[i] = problem.shape[i] + grouped[i]
                spread[i] = gamma_spread(shape[i])
        total = scaled_gamma(own, total_shape, total_spread, one(wide), wide)
        whole = zero(wide)
        for i in range(n):
            p[i] = scaled_gamma(own, shape[i], spread[i], plus(total, rates[i], wide), wide)
            whole = plus(whole, p[i], wide)
        normalise(p, wide)
        for k in range(len(latest)):
            latest[k] = times(latest[k], whole, wide)
        for i in range(n):
            out[d, i] = p[i]
        stat[d] = as_log(plus(waited, more, wide), wide)
    for k in range(4):
        bits[k] = own[k]


@internal
def draw_blocks(
    bits: WordArray, fit: Blocks, wide: Wide, p: FloatArray, latest: FloatArray, rates: FloatArray
) -> float:
    """Draw the times of all blocks, add them to the members' rates, and return the sum of all M.

    Parameters
    ----------
    bits
        Generator.
    fit
        The blocks.
    wide
        As in a `Problem`.
    p
        The probabilities.
    latest
        M of each copy of each block, replaced.
    rates
        R_i, added to.
    """
    waited = zero(wide)
    for t in range(len(fit.copies) - 1):
        first, middle, stop = fit.start[2 * t], fit.start[2 * t + 1], fit.start[2 * t + 2]
        rest = zero(wide)
        for k in range(middle, stop):
            rest = plus(rest, p[fit.members[k]], wide)
        sum_of_latest = zero(wide)
        for c in range(fit.copies[t], fit.copies[t + 1]):
            end = plus(latest[c], scaled_gamma(bits, 1.0, 1.0, rest, wide), wide)
            last = zero(wide)
            for k in range(first, middle):
                i = fit.members[k]
                time = time_before(bits, p[i], end, wide)
                rates[i] = plus(rates[i], time, wide)
                last = max(last, time)
            latest[c] = last
            sum_of_latest = plus(sum_of_latest, last, wide)
        for k in range(middle, stop):
            i = fit.members[k]
            rates[i] = plus(rates[i], sum_of_latest, wide)
        waited = plus(waited, sum_of_latest, wide)
    return waited


@internal
def time_before(bits: WordArray, rate: float, end: float, wide: Wide) -> float:
    """Draw T ~ Exponential(rate) given T <= end; all numbers are logarithms if `wide`."""
    return time_at(uniform(bits), rate, end, wide)


@internal
def time_at(u: float, rate: float, end: float, wide: Wide) -> float:
    """Return the quantile u of T ~ Exponential(rate) given T <= end; logarithms if `wide`."""
    if wide is None:
        return min(_unit_time(u, rate * end) / rate, end)
    log_x = rate + end
    if log_x < _UNIFORM:
        return math.log(u) + end
    return min(math.log(_unit_time(u, math.exp(min(log_x, 700.0)))) - rate, end)


@internal
def _unit_time(u: float, end: float) -> float:
    """Return the quantile u of an exponential variate given that it is at most `end`."""
    return -math.log1p(max(u * math.expm1(-end), _NEARLY_ALL))
