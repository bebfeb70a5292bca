"""Sweeps of contests of two chains, jointly drawn so that they meet.

The variables are those of `kernels.contests.sweep`, each coupled as in `kernels.coupled.couplings`:
waiting times u and λ; ν or s, and h; w, whose equality matters rather than that of w in units of
its mean.  One step differs: s has the density s^(a + T - 1) (s + 2)^T exp(-s (b + R)), and a slice
has no density to couple by.  With ⌈T⌉ = T + f,

    k ~ Binomial(⌈T⌉, s / (s + 2)),   v ~ Gamma(f) / (s + 2),   s ~ Gamma(a + T + k) / (b + R + v)

leaves it invariant: (s + 2)^⌈T⌉ is a sum over k, and (s + 2)^-f an integral over v.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.contests.sides import (
    AnyContests,
    Davidson,
    Multipliers,
    RaoKupper,
    log_home,
    log_tie,
    strength,
)
from luce.kernels.contests.sweep import LARGEST, ContestFit, add_times, plain, root
from luce.kernels.coupled.couplings import (
    are_close,
    couple_gamma,
    couple_inverse_gaussian,
    couple_splits,
    couple_successes,
    couple_times,
    is_close,
    times_apart,
)
from luce.kernels.coupled.sets import couple_strengths
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.jit import borrowed, compile_by_type, compiled, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.problem import Wide
from luce.kernels.set_sums import as_log, from_log, member_sums, normalise, plus, set_sums, times

# Smallest shape of an inverse Gaussian.
_LEAST_SHAPE = 1e-290


@compiled
def advance_pair(
    bits: WordArray,
    problem: AnyProblem,
    fit: ContestFit,
    x: FloatArray,
    y: FloatArray,
    stops: bool,
    out_x: FloatArray,
    out_y: FloatArray,
    space: SplitSpace | None,
) -> int:
    """Make coupled sweeps; arguments as in `luce.kernels.coupled.AdvancePair`.

    States, `fit` and the problem are those of `kernels.contests.sweep`.
    """
    problem, fit, own = borrowed(problem), borrowed(fit), on_stack(bits)
    x, y = borrowed(x), borrowed(y)
    wide, n, size = problem.wide, len(problem.shape), len(x)
    n_sets, n_meetings, tie = len(problem.waits), len(fit.contests.waits), fit.multipliers.tie
    times_x, times_y = np.empty(n_sets), np.empty(n_sets)
    rates_x, rates_y = np.empty(n), np.empty(n)
    shape_x, shape_y = problem.shape.copy(), problem.shape.copy()
    sides_x, sides_y = np.empty((2, n_meetings)), np.empty((2, n_meetings))
    spare = np.empty((2, 4), np.uint64)
    p, r = x[:n], y[:n]
    made, met = 0, False
    while made < len(out_x) and not (met and stops):
        set_sums(problem, p, times_x)
        set_sums(problem, r, times_y)
        close = are_close(times_apart(problem.waits, times_x, times_y, wide))
        couple_times(own, spare, problem.waits, times_x, times_y, close, wide)
        member_sums(problem, times_x, rates_x)
        member_sums(problem, times_y, rates_y)
        couple_contests(fit.contests, fit.multipliers, own, spare, wide, x, y, sides_x, sides_y)
        add_times(fit.contests, fit.multipliers, wide, x, sides_x[0], sides_x[1], rates_x)
        add_times(fit.contests, fit.multipliers, wide, y, sides_y[0], sides_y[1], rates_y)
        if space is not None:
            couple_splits(own, spare, problem, space, p, r, shape_x, shape_y)
        couple_strengths(
            own, spare, problem.total_shape, shape_x, shape_y, rates_x, rates_y, wide, p, r
        )
        normalise(p, wide)
        normalise(r, wide)
        met = True
        for i in range(size):
            met &= x[i] == y[i]
            out_x[made, i] = x[i] if i < n else math.exp(x[i])
            out_y[made, i] = y[i] if i < n else math.exp(y[i])
        if tie >= 0:
            out_x[made, tie] += fit.excess
            out_y[made, tie] += fit.excess
        made += 1
    for k in range(4):
        bits[k] = own[k]
    return made


def couple_contests(
    contests: AnyContests,
    multipliers: Multipliers,
    bits: WordArray,
    spare: WordArray,
    wide: Wide,
    x: FloatArray,
    y: FloatArray,
    sides_x: FloatArray,
    sides_y: FloatArray,
) -> None:
    """Draw waiting times and parameters of two chains.

    Parameters
    ----------
    contests, multipliers
        Sides, numbers of outcomes and parameters.
    bits, spare, wide
        As in `couple_gamma`.
    x, y
        The probabilities, then logarithms of parameters, which are replaced.
    sides_x, sides_y
        Receive the times of the first and of the second sides, in two rows.
    """
    chosen: Callable[..., None] = _SWEEPS.get(type(contests), _without_ties)
    chosen(contests, multipliers, bits, spare, wide, x, y, sides_x, sides_y)


def _without_ties(
    contests: Any,
    multipliers: Any,
    bits: Any,
    spare: Any,
    wide: Any,
    x: Any,
    y: Any,
    sides_x: Any,
    sides_y: Any,
) -> None:
    _plain_rates(contests, multipliers, wide, x, sides_x)
    _plain_rates(contests, multipliers, wide, y, sides_y)
    _couple_first(contests, bits, spare, wide, sides_x, sides_y)
    for t in range(len(contests.waits)):
        sides_x[1, t], sides_y[1, t] = sides_x[0, t], sides_y[0, t]
    _couple_home(contests, multipliers, bits, spare, wide, 0.0, x, y, sides_x, sides_y)


@internal
def _plain_rates(
    contests: Any, multipliers: Multipliers, wide: Wide, state: FloatArray, sides: FloatArray
) -> None:
    for t in range(len(contests.waits)):
        a = _first_side(contests, multipliers, t, wide, state)
        sides[0, t] = plus(a, strength(contests.sides, t, 1, state, wide), wide)


@internal
def _first_side(
    contests: Any, multipliers: Multipliers, t: int, wide: Wide, state: FloatArray
) -> float:
    """Return the strength of the first side, times h at home."""
    a = strength(contests.sides, t, 0, state, wide)
    if not contests.at_home[t]:
        return a
    return times(a, from_log(log_home(multipliers, state), wide), wide)


@internal
def _couple_first(
    contests: Any, bits: WordArray, spare: WordArray, wide: Wide, sides_x: Any, sides_y: Any
) -> None:
    """Draw the times of the first denominators in place of their rates."""
    waits = contests.waits
    close = are_close(times_apart(waits, sides_x[0], sides_y[0], wide))
    couple_times(bits, spare, waits, sides_x[0], sides_y[0], close, wide)


@internal
def _couple_home(
    contests: Any,
    multipliers: Multipliers,
    bits: WordArray,
    spare: WordArray,
    wide: Wide,
    halves: float,
    x: FloatArray,
    y: FloatArray,
    sides_x: FloatArray,
    sides_y: FloatArray,
) -> None:
    """Draw log h of both chains, unless h is known."""
    if multipliers.home >= 0:
        rate = multipliers.home_rate + _home_pull(contests, wide, x, sides_x)
        other = multipliers.home_rate + _home_pull(contests, wide, y, sides_y)
        shape = multipliers.home_shape + contests.home_power + halves
        _couple_parameter(multipliers.home, bits, spare, shape, rate, shape, other, x, y)


@internal
def _home_pull(contests: Any, wide: Wide, state: FloatArray, sides: FloatArray) -> float:
    pull = 0.0
    for t in range(len(contests.waits)):
        if contests.at_home[t]:
            a = strength(contests.sides, t, 0, state, wide)
            pull += plain(times(a, sides[0, t], wide), wide)
    return pull


@internal
def _couple_parameter(
    at: int,
    bits: WordArray,
    spare: WordArray,
    shape: float,
    rate: float,
    other_shape: float,
    other: float,
    x: FloatArray,
    y: FloatArray,
) -> None:
    """Draw the logarithm of a gamma variate of each chain, within the bounds of single sweeps."""
    a, b = math.log(rate), math.log(other)
    close = is_close(shape, a, other_shape, b, True)
    one, two = couple_gamma(bits, spare, shape, a, other_shape, b, close, True)
    x[at], y[at] = min(max(one, -LARGEST), LARGEST), min(max(two, -LARGEST), LARGEST)


def _with_rao_kupper(
    contests: Any,
    multipliers: Any,
    bits: Any,
    spare: Any,
    wide: Any,
    x: Any,
    y: Any,
    sides_x: Any,
    sides_y: Any,
) -> None:
    _threshold_rates(contests, multipliers, wide, x, sides_x)
    _threshold_rates(contests, multipliers, wide, y, sides_y)
    more = contests.more_waits
    apart = times_apart(contests.waits, sides_x[0], sides_y[0], wide)
    close = are_close(apart + times_apart(more, sides_x[1], sides_y[1], wide))
    couple_times(bits, spare, contests.waits, sides_x[0], sides_y[0], close, wide)
    couple_times(bits, spare, more, sides_x[1], sides_y[1], close, wide)
    if multipliers.tie >= 0:
        rate = multipliers.tie_rate + _tie_pull(contests, multipliers, wide, x, sides_x)
        other = multipliers.tie_rate + _tie_pull(contests, multipliers, wide, y, sides_y)
        _couple_excess(contests.tie_power, multipliers, bits, spare, rate, other, x, y)
    _mix_times(contests, multipliers, wide, x, sides_x)
    _mix_times(contests, multipliers, wide, y, sides_y)
    _couple_home(contests, multipliers, bits, spare, wide, 0.0, x, y, sides_x, sides_y)


@internal
def _threshold_rates(
    contests: Any, multipliers: Multipliers, wide: Wide, state: FloatArray, sides: FloatArray
) -> None:
    """Compute A' + θ B and θ A' + B."""
    factor = _threshold(multipliers, wide, state)
    for t in range(len(contests.waits)):
        a = _first_side(contests, multipliers, t, wide, state)
        b = strength(contests.sides, t, 1, state, wide)
        sides[0, t] = plus(a, times(factor, b, wide), wide)
        sides[1, t] = plus(times(factor, a, wide), b, wide)


@internal
def _threshold(multipliers: Multipliers, wide: Wide, state: FloatArray) -> float:
    return from_log(math.log1p(math.exp(log_tie(multipliers, state))), wide)


@internal
def _tie_pull(
    contests: Any, multipliers: Multipliers, wide: Wide, state: FloatArray, sides: FloatArray
) -> float:
    """Compute Σ u B + v A', the slope of the sum of all denominators by θ."""
    pull = 0.0
    for t in range(len(contests.waits)):
        a = _first_side(contests, multipliers, t, wide, state)
        b = strength(contests.sides, t, 1, state, wide)
        pull += plain(times(b, sides[0, t], wide), wide)
        pull += plain(times(a, sides[1, t], wide), wide)
    return pull


@internal
def _couple_excess(
    ties: float,
    multipliers: Multipliers,
    bits: WordArray,
    spare: WordArray,
    rate: float,
    other: float,
    x: FloatArray,
    y: FloatArray,
) -> None:
    """Draw log s of both chains by way of k and v."""
    at, whole = multipliers.tie, float(np.ceil(ties))
    half = math.log(2.0)
    k, h = couple_successes(bits, spare, whole, x[at] - half, y[at] - half)
    if whole > ties:
        one, two = math.exp(x[at]) + 2.0, math.exp(y[at]) + 2.0
        close = is_close(whole - ties, one, whole - ties, two, None)
        v, w = couple_gamma(bits, spare, whole - ties, one, whole - ties, two, close, None)
        rate, other = rate + v, other + w
    shape = multipliers.tie_shape + ties
    _couple_parameter(at, bits, spare, shape + k, rate, shape + h, other, x, y)


@internal
def _mix_times(
    contests: Any, multipliers: Multipliers, wide: Wide, state: FloatArray, sides: FloatArray
) -> None:
    """Turn times u and v of the denominators into those of the sides: u + θ v and θ u + v."""
    factor = _threshold(multipliers, wide, state)
    for t in range(len(contests.waits)):
        u, v = sides[0, t], sides[1, t]
        sides[0, t] = plus(u, times(factor, v, wide), wide)
        sides[1, t] = plus(times(factor, u, wide), v, wide)


def _with_davidson(
    contests: Any,
    multipliers: Any,
    bits: Any,
    spare: Any,
    wide: Any,
    x: Any,
    y: Any,
    sides_x: Any,
    sides_y: Any,
) -> None:
    _root_rates(contests, multipliers, wide, x, sides_x)
    _root_rates(contests, multipliers, wide, y, sides_y)
    _couple_first(contests, bits, spare, wide, sides_x, sides_y)
    if multipliers.tie >= 0:
        rate = multipliers.tie_rate + _root_pull(wide, sides_x)
        other = multipliers.tie_rate + _root_pull(wide, sides_y)
        shape = multipliers.tie_shape + contests.tie_power
        _couple_parameter(multipliers.tie, bits, spare, shape, rate, shape, other, x, y)
    halves = 0.0
    for t in range(len(contests.waits)):
        halves += 0.5 if contests.at_home[t] else 0.0
        a, b, half = _logs_of_sides(contests, multipliers, t, wide, x, sides_x)
        c, d, other = _logs_of_sides(contests, multipliers, t, wide, y, sides_y)
        # κ √(A' B), twice which is the shape of w over its mean.
        own = max(2.0 * math.exp(half + 0.5 * (a + b)), _LEAST_SHAPE)
        own_y = max(2.0 * math.exp(other + 0.5 * (c + d)), _LEAST_SHAPE)
        w, v = couple_inverse_gaussian(bits, 0.5 * (a - b), own, 0.5 * (c - d), own_y)
        _add_halves(t, half, w, wide, sides_x)
        _add_halves(t, other, v, wide, sides_y)
    _couple_home(contests, multipliers, bits, spare, wide, halves, x, y, sides_x, sides_y)


@internal
def _root_rates(
    contests: Any, multipliers: Multipliers, wide: Wide, state: FloatArray, sides: FloatArray
) -> None:
    """Compute A' + B + ν √(A' B), and √(A' B) in the second row."""
    nu = from_log(log_tie(multipliers, state), wide)
    for t in range(len(contests.waits)):
        a = _first_side(contests, multipliers, t, wide, state)
        b = strength(contests.sides, t, 1, state, wide)
        middle = times(root(a, wide), root(b, wide), wide)
        sides[0, t] = plus(plus(a, b, wide), times(nu, middle, wide), wide)
        sides[1, t] = middle


@internal
def _root_pull(wide: Wide, sides: FloatArray) -> float:
    """Compute Σ u √(A' B)."""
    pull = 0.0
    for t in range(sides.shape[1]):
        pull += plain(times(sides[0, t], sides[1, t], wide), wide)
    return pull


@internal
def _logs_of_sides(
    contests: Any, multipliers: Multipliers, t: int, wide: Wide, state: FloatArray, sides: Any
) -> tuple[float, float, float]:
    """Return log A', log B and log κ = log(ν u / 2)."""
    a = as_log(_first_side(contests, multipliers, t, wide, state), wide)
    b = as_log(strength(contests.sides, t, 1, state, wide), wide)
    return a, b, log_tie(multipliers, state) + as_log(sides[0, t], wide) - math.log(2.0)


@internal
def _add_halves(t: int, log_half: float, log_w: float, wide: Wide, sides: FloatArray) -> None:
    """Turn u into the times of the sides: u + κ / w and u + κ w."""
    u = sides[0, t]
    sides[0, t] = plus(u, from_log(log_half - log_w, wide), wide)
    sides[1, t] = plus(u, from_log(log_half + log_w, wide), wide)


_SWEEPS: dict[type, Callable[..., None]] = {Davidson: _with_davidson, RaoKupper: _with_rao_kupper}
compile_by_type(couple_contests, _SWEEPS, _without_ties)
