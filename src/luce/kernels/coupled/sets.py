"""Sweeps of waiting times of two chains, jointly drawn so that they meet.

Each chain alone makes the sweeps of `kernels.waiting_times`, without moves of groups or items:

    u_t ~ Gamma(m_t) / p(S_t),   k_i grouped outcomes,   Λ ~ Gamma(A),
    p_i ∝ λ_i ~ Gamma(c_i + k_i) / (Λ + Σ_{t ∋ i} u_t)

The law of Λ depends on no state, so both chains have the same Λ.  Waiting times, grouped outcomes
and λ are coupled (`kernels.coupled.couplings`).  Where all λ_i of the two are equal bit for bit,
the chains have met, and remain equal: equal parameters give equal draws.
"""

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.coupled.couplings import (
    apart_by,
    are_close,
    couple_gamma,
    couple_splits,
    couple_times,
    draw_gamma,
    times_apart,
)
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.jit import borrowed, compiled, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.problem import Wide
from luce.kernels.set_sums import member_sums, normalise, plus, set_sums


@compiled
def advance_pair(
    bits: WordArray,
    problem: AnyProblem,
    fit: None,
    x: FloatArray,
    y: FloatArray,
    stops: bool,
    out_x: FloatArray,
    out_y: FloatArray,
    space: SplitSpace | None,
) -> int:
    """Make coupled sweeps; arguments as in `luce.kernels.coupled.AdvancePair`."""
    problem, own = borrowed(problem), on_stack(bits)
    wide, n, n_sets = problem.wide, len(problem.shape), len(problem.waits)
    times_x, times_y = np.empty(n_sets), np.empty(n_sets)
    rates_x, rates_y = np.empty(n), np.empty(n)
    shape_x, shape_y = problem.shape.copy(), problem.shape.copy()
    spare = np.empty((2, 4), np.uint64)
    made, met = 0, False
    while made < len(out_x) and not (met and stops):
        set_sums(problem, x, times_x)
        set_sums(problem, y, times_y)
        close = are_close(times_apart(problem.waits, times_x, times_y, wide))
        couple_times(own, spare, problem.waits, times_x, times_y, close, wide)
        member_sums(problem, times_x, rates_x)
        member_sums(problem, times_y, rates_y)
        if space is not None:
            couple_splits(own, spare, problem, space, x, y, shape_x, shape_y)
        couple_strengths(
            own, spare, problem.total_shape, shape_x, shape_y, rates_x, rates_y, wide, x, y
        )
        normalise(x, wide)
        normalise(y, wide)
        met = True
        for i in range(n):
            met &= x[i] == y[i]
            out_x[made, i], out_y[made, i] = x[i], y[i]
        made += 1
    for k in range(4):
        bits[k] = own[k]
    return made


@internal
def couple_strengths(
    bits: WordArray,
    spare: WordArray,
    total_shape: float,
    shape: FloatArray,
    other_shape: FloatArray,
    rates: FloatArray,
    other_rates: FloatArray,
    wide: Wide,
    x: FloatArray,
    y: FloatArray,
) -> None:
    """Draw the total Λ of both chains, and λ_i ~ Gamma(c_i) / (Λ + R_i) of each.

    Parameters
    ----------
    bits, spare, wide
        As in `couple_gamma`.
    total_shape
        A.
    shape, other_shape
        c_i of each chain.
    rates, other_rates
        R_i of each chain; Λ is added.
    x, y
        Receive λ.
    """
    total = draw_gamma(bits, total_shape, wide)
    apart = 0.0
    for i in range(len(x)):
        rates[i] = plus(rates[i], total, wide)
        other_rates[i] = plus(other_rates[i], total, wide)
        apart += apart_by(shape[i], rates[i], other_shape[i], other_rates[i], wide)
    close = are_close(apart)
    for i in range(len(x)):
        x[i], y[i] = couple_gamma(
            bits, spare, shape[i], rates[i], other_shape[i], other_rates[i], close, wide
        )
