"""Densities at given points: of the posterior, and of a sweep that starts at a draw.

Given waiting times and grouped outcomes, the λ_i are independent gammas (`kernels.waiting_times`).
The density of the next draw then follows in closed form from their shapes and rates.
"""

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace, split_groups
from luce.kernels.half_sweep import draw_times
from luce.kernels.jit import borrowed, compiled, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.random import gamma_spread, scaled_gamma
from luce.kernels.set_sums import as_log, member_sums, one, plus, set_sums


@compiled
def log_densities(problem: AnyProblem, states: FloatArray, out: FloatArray) -> None:
    """Compute the unnormalised log density of log p for each row of `states`.

        out_d = Σ_i c_i log p_di + Σ_t (n_t - m_t) log p_d(S_t)

    A row of `states` is p, or log p in a wide problem.
    """
    problem = borrowed(problem)
    sums = np.empty(len(problem.waits))
    for d in range(len(states)):
        state, height = states[d], 0.0
        set_sums(problem, state, sums)
        for t in range(len(sums)):
            height -= (problem.waits[t] - problem.groups[t]) * as_log(sums[t], problem.wide)
        for i in range(len(state)):
            height += problem.shape[i] * as_log(state[i], problem.wide)
        out[d] = height


@compiled
def next_gammas(
    bits: WordArray,
    problem: AnyProblem,
    states: FloatArray,
    space: SplitSpace | None,
    shapes: FloatArray,
    log_rates: FloatArray,
) -> None:
    """Draw the shapes c_i + k_i and log rates log(Λ + R_i) of a sweep from each row of `states`.

    The p_i that the sweep would draw are proportional to gammas of these shapes and rates.
    """
    problem, own = borrowed(problem), on_stack(bits)
    wide, n = problem.wide, len(problem.shape)
    total_spread = gamma_spread(problem.total_shape)
    times, rates, grouped = np.empty(len(problem.waits)), np.empty(n), np.zeros(n)
    for d in range(len(states)):
        set_sums(problem, states[d], times)
        draw_times(own, problem.waits, problem.wait_spread, times, None, wide)
        if space is not None:
            for i in range(n):
                grouped[i] = 0.0
            split_groups(own, problem, states[d], space, grouped)
        member_sums(problem, times, rates)
        total = scaled_gamma(own, problem.total_shape, total_spread, one(wide), wide)
        for i in range(n):
            shapes[d, i] = problem.shape[i] + grouped[i]
            log_rates[d, i] = as_log(plus(total, rates[i], wide), wide)
    for k in range(4):
        bits[k] = own[k]
