"""Sweeps of tied blocks of unknown order of two chains, jointly drawn so that they meet.

The variables are those of `kernels.rankings.blocks`: τ = M + Exponential(1) / λ(R), the time of the
first of the rest, and T_i < τ, exponential variates given that they are less than τ.  M is part of
the states, which are equal only where the times M are.
"""

import math

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.coupled.couplings import (
    apart_by,
    are_close,
    couple_splits,
    couple_times,
    is_taken,
    times_apart,
)
from luce.kernels.coupled.sets import couple_strengths
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.jit import borrowed, compiled, embedded, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.problem import Wide
from luce.kernels.random import exponential, uniform
from luce.kernels.rankings.blocks import Blocks, time_at
from luce.kernels.set_sums import as_log, member_sums, normalise, plus, set_sums, zero
from luce.kernels.set_sums import times as product

# log x below which 1 - exp(-x) is x, to rounding.
_NOTHING = -37.0


@compiled
def advance_pair(
    bits: WordArray,
    problem: AnyProblem,
    fit: Blocks,
    x: FloatArray,
    y: FloatArray,
    stops: bool,
    out_x: FloatArray,
    out_y: FloatArray,
    space: SplitSpace | None,
) -> int:
    """Make coupled sweeps; arguments as in `luce.kernels.coupled.AdvancePair`.

    States, `fit` and the problem are those of `kernels.rankings.blocks`.
    """
    problem, fit, own = borrowed(problem), borrowed(fit), on_stack(bits)
    x, y = borrowed(x), borrowed(y)
    wide, n, n_sets = problem.wide, len(problem.shape), len(problem.waits)
    times_x, times_y = np.empty(n_sets), np.empty(n_sets)
    rates_x, rates_y = np.empty(n), np.empty(n)
    shape_x, shape_y = problem.shape.copy(), problem.shape.copy()
    spare = np.empty((2, 4), np.uint64)
    p, r, latest, other_latest = x[:n], y[:n], x[n:], y[n:]
    made, met = 0, False
    while made < len(out_x) and not (met and stops):
        set_sums(problem, p, times_x)
        set_sums(problem, r, times_y)
        apart = times_apart(problem.waits, times_x, times_y, wide)
        for k in range(len(fit.members)):
            i = fit.members[k]
            apart += apart_by(1.0, p[i], 1.0, r[i], wide)
        close = are_close(apart)
        couple_times(own, spare, problem.waits, times_x, times_y, close, wide)
        member_sums(problem, times_x, rates_x)
        member_sums(problem, times_y, rates_y)
        couple_blocks(own, fit, close, wide, p, r, latest, other_latest, rates_x, rates_y)
        if space is not None:
            couple_splits(own, spare, problem, space, p, r, shape_x, shape_y)
        couple_strengths(
            own, spare, problem.total_shape, shape_x, shape_y, rates_x, rates_y, wide, p, r
        )
        _rescale(p, latest, wide)
        _rescale(r, other_latest, wide)
        met = True
        for i in range(len(x)):
            met &= x[i] == y[i]
        for i in range(n):
            out_x[made, i], out_y[made, i] = x[i], y[i]
        made += 1
    for k in range(4):
        bits[k] = own[k]
    return made


@internal
def _rescale(p: FloatArray, latest: FloatArray, wide: Wide) -> None:
    """Divide λ by its sum, and multiply the times M by it."""
    whole = zero(wide)
    for i in range(len(p)):
        whole = plus(whole, p[i], wide)
    normalise(p, wide)
    for k in range(len(latest)):
        latest[k] = product(latest[k], whole, wide)


@internal
def couple_blocks(
    bits: WordArray,
    fit: Blocks,
    close: bool,
    wide: Wide,
    p: FloatArray,
    r: FloatArray,
    latest: FloatArray,
    other_latest: FloatArray,
    rates: FloatArray,
    other_rates: FloatArray,
) -> None:
    """Draw the times of all blocks of two chains, and add them to the members' rates.

    Parameters
    ----------
    bits
        Generator.
    fit
        The blocks.
    close
        Whether to couple maximally; else by common random numbers.
    wide
        As in a `Problem`.
    p, r
        The probabilities of each chain.
    latest, other_latest
        M of each copy of each block, replaced.
    rates, other_rates
        R_i, added to.
    """
    for t in range(len(fit.copies) - 1):
        first, middle, stop = fit.start[2 * t], fit.start[2 * t + 1], fit.start[2 * t + 2]
        rest, other_rest = zero(wide), zero(wide)
        for k in range(middle, stop):
            rest = plus(rest, p[fit.members[k]], wide)
            other_rest = plus(other_rest, r[fit.members[k]], wide)
        total, other_total = zero(wide), zero(wide)
        for c in range(fit.copies[t], fit.copies[t + 1]):
            end, other_end = _couple_ends(
                bits, latest[c], rest, other_latest[c], other_rest, close, wide
            )
            last, other_last = zero(wide), zero(wide)
            for k in range(first, middle):
                i = fit.members[k]
                time, other_time = _couple_before(bits, p[i], end, r[i], other_end, close, wide)
                rates[i] = plus(rates[i], time, wide)
                other_rates[i] = plus(other_rates[i], other_time, wide)
                last, other_last = max(last, time), max(other_last, other_time)
            latest[c], other_latest[c] = last, other_last
            total = plus(total, last, wide)
            other_total = plus(other_total, other_last, wide)
        for k in range(middle, stop):
            i = fit.members[k]
            rates[i] = plus(rates[i], total, wide)
            other_rates[i] = plus(other_rates[i], other_total, wide)


@internal
def _couple_ends(
    bits: WordArray,
    start: float,
    rate: float,
    other_start: float,
    other_rate: float,
    close: bool,
    wide: Wide,
) -> tuple[float, float]:
    """Draw τ = M + Exponential(1) / rate of two chains."""
    e = exponential(bits)
    end = _end(start, rate, e, wide)
    if start == other_start and rate == other_rate:
        return end, end
    if not close:
        return end, _end(other_start, other_rate, e, wide)
    if end > other_start:
        beyond = _span(other_rate, other_start, end, wide)
        if is_taken(bits, _log_ratio(rate, other_rate, wide) - beyond + e):
            return end, end
    while True:
        f = exponential(bits)
        other_end = _end(other_start, other_rate, f, wide)
        if not other_end > start:
            return end, other_end
        beyond = _span(rate, start, other_end, wide)
        if not is_taken(bits, _log_ratio(other_rate, rate, wide) - beyond + f):
            return end, other_end


@embedded
def _end(start: float, rate: float, e: float, wide: Wide) -> float:
    if wide is None:
        return start + e / rate
    return plus(start, math.log(e) - rate, wide)


@embedded
def _span(rate: float, start: float, end: float, wide: Wide) -> float:
    """Compute rate times (end - start), as a plain number."""
    if wide is None:
        return rate * (end - start)
    return math.exp(rate + end) - math.exp(rate + start)


@embedded
def _log_ratio(a: float, b: float, wide: Wide) -> float:
    if wide is None:
        return math.log(b / a)
    return b - a


@internal
def _couple_before(
    bits: WordArray,
    rate: float,
    end: float,
    other_rate: float,
    other_end: float,
    close: bool,
    wide: Wide,
) -> tuple[float, float]:
    """Draw exponential variates, given that each is at most its end, of two chains."""
    u = uniform(bits)
    time = time_at(u, rate, end, wide)
    if rate == other_rate and end == other_end:
        return time, time
    if not close:
        return time, time_at(u, other_rate, other_end, wide)
    constant = _log_ratio(rate, other_rate, wide)
    constant += _log_chance(rate, end, wide) - _log_chance(other_rate, other_end, wide)
    if time <= other_end and is_taken(bits, constant + _fall(rate, other_rate, time, wide)):
        return time, time
    while True:
        other_time = time_at(uniform(bits), other_rate, other_end, wide)
        if other_time > end:
            return time, other_time
        if not is_taken(bits, _fall(other_rate, rate, other_time, wide) - constant):
            return time, other_time


@embedded
def _fall(rate: float, other: float, time: float, wide: Wide) -> float:
    """Compute (rate - other) times time."""
    if wide is None:
        return (rate - other) * time
    return math.exp(rate + time) - math.exp(other + time)


@embedded
def _log_chance(rate: float, end: float, wide: Wide) -> float:
    """Compute log(1 - exp(-rate end)), the chance to come before the end."""
    log_span = as_log(rate, wide) + as_log(end, wide)
    if log_span < _NOTHING:
        return log_span
    return math.log(-math.expm1(-math.exp(min(log_span, 700.0))))
