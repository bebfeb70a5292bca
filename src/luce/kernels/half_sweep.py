"""The two halves of a waiting-time sweep, shared by every kernel that draws waiting times.

    over the sets        u_t ~ Gamma(m_t) / p(S_t),   R_i = Σ_{t ∋ i} u_t,   k_i grouped outcomes
    over the categories  Λ ~ Gamma(A),                p_i ∝ Gamma(c_i + k_i) / (Λ + R_i)

The first half is `draw_rates`, with `split_groups` where outcomes are grouped; the second is
`draw_probabilities`.  `kernels.waiting_times` derives the sweep.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.jit import compile_by_type, embedded
from luce.kernels.layouts import AnyProblem, Nests, Pairs
from luce.kernels.problem import Wide
from luce.kernels.random import scaled_gamma
from luce.kernels.set_sums import ONE, add_along, member_sums, normalise, plus, set_sums, zero


def draw_rates(
    problem: AnyProblem, bits: WordArray, p: FloatArray, times: FloatArray, rates: FloatArray
) -> float:
    """Draw u_t ~ Gamma(m_t) / p(S_t), write R_i = Σ_{t ∋ i} u_t, and return Σ_t u_t.

    Parameters
    ----------
    problem
        The posterior; all numbers are logarithms where it is wide.
    bits
        Generator.
    p
        The probabilities.
    times
        Scratch, a number for each set.
    rates
        Receives R.
    """
    return _RATES.get(type(problem), _rates)(problem, bits, p, times, rates)


def _rates(
    problem: AnyProblem, bits: WordArray, p: FloatArray, times: FloatArray, rates: FloatArray
) -> float:
    set_sums(problem, p, times)
    waited = draw_times(bits, problem.waits, problem.wait_spread, times, True, problem.wide)
    member_sums(problem, times, rates)
    return waited


def _rates_of_paired(
    problem: Pairs, bits: WordArray, p: FloatArray, times: FloatArray, rates: FloatArray
) -> float:
    """Visit each pair once: sum, draw, add."""
    first, second, wide = problem.first, problem.second, problem.wide
    waits, spread, waited = problem.waits, problem.wait_spread, zero(problem.wide)
    for i in range(len(rates)):
        rates[i] = zero(wide)
    for t in range(len(waits)):
        if waits[t] > 0.0:
            i, j = first[t], second[t]
            u = scaled_gamma(bits, waits[t], spread[t], plus(p[i], p[j], wide), wide)
            rates[i] = plus(rates[i], u, wide)
            rates[j] = plus(rates[j], u, wide)
            waited = plus(waited, u, wide)
    return waited


def _rates_of_nested(
    problem: Nests, bits: WordArray, p: FloatArray, times: FloatArray, rates: FloatArray
) -> float:
    """Visit each nest once, forwards to sum and draw, backwards to add."""
    wide, members, set_end = problem.wide, problem.members, problem.set_end
    nest_start, set_start = problem.nest_start, problem.set_start
    waits, spread, waited = problem.waits, problem.wait_spread, zero(problem.wide)
    for i in range(len(rates)):
        rates[i] = zero(wide)
    first = np.uint64(0)
    for k in range(len(nest_start) - 1):
        position, stop, running = np.uint64(nest_start[k]), np.uint64(set_start[k + 1]), zero(wide)
        for t in range(first, stop):
            running = plus(running, p[members[position]], wide)
            position += ONE
            while position < set_end[t]:
                running = plus(running, p[members[position]], wide)
                position += ONE
            times[t] = zero(wide)
            if waits[t] > 0.0:
                times[t] = scaled_gamma(bits, waits[t], spread[t], running, wide)
                waited = plus(waited, times[t], wide)
        add_along(problem, k, first, stop, times, rates)
        first = stop
    return waited


_RATES: dict[type, Callable[..., float]] = {Pairs: _rates_of_paired, Nests: _rates_of_nested}
compile_by_type(draw_rates, _RATES, _rates)


@embedded
def draw_times(
    bits: WordArray,
    waits: FloatArray,
    spread: FloatArray,
    times: FloatArray,
    summed: Literal[True] | None,
    wide: Wide,
) -> float:
    """Draw waiting times: replace p(S_t) in `times` by u_t ~ Gamma(m_t) / p(S_t).

    Sets with m_t = 0 have u_t = 0.

    Parameters
    ----------
    bits
        Generator.
    waits, spread
        m_t and its `gamma_spread`.
    times
        p(S_t), replaced by u_t; logarithms if `wide`.
    summed
        True to return Σ_t u_t; None to return 0 and compile no sum.
    wide
        As in a `Problem`.
    """
    waited = zero(wide)
    for t in range(len(times)):
        if waits[t] > 0.0:
            times[t] = scaled_gamma(bits, waits[t], spread[t], times[t], wide)
            if summed is not None:
                waited = plus(waited, times[t], wide)
        else:
            times[t] = zero(wide)
    return waited


@embedded
def draw_probabilities(
    bits: WordArray,
    shape: FloatArray,
    spread: FloatArray,
    total: float,
    rates: FloatArray,
    wide: Wide,
    p: FloatArray,
) -> None:
    """Draw p_i ∝ Gamma(c_i) / (Λ + R_i), the half of a sweep over the categories.

    Parameters
    ----------
    bits
        Generator.
    shape, spread
        c_i, grouped outcomes included, and its `gamma_spread`.
    total, rates
        Λ and R_i.
    wide
        As in a `Problem`.
    p
        Receives p, or log p if `wide`.
    """
    for i in range(len(p)):
        p[i] = scaled_gamma(bits, shape[i], spread[i], plus(total, rates[i], wide), wide)
    normalise(p, wide)
