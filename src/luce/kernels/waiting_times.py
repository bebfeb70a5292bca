"""The waiting-time Gibbs sampler (Caron and Doucet 2012), with its total redrawn.

With λ_i independent gammas and p = λ / Λ, Λ = Σ λ_i, one sweep is

    u'_t ~ Gamma(m_t) / λ(S_t),   λ_i ~ Gamma(c_i + k_i) / (1 + Σ_{t ∋ i} u'_t),   Λ ~ Gamma(A)

k_i being the grouped outcomes that fell on i.  Given the data Λ is independent of p, and is
redrawn at no cost if it enters only here: in u_t = Λ u'_t and λ_i / Λ the sweep reads

    Λ ~ Gamma(A),   u_t ~ Gamma(m_t) / p(S_t),   p_i ∝ Gamma(c_i + k_i) / (Λ + Σ_{t ∋ i} u_t)
"""

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace, split_groups
from luce.kernels.jit import borrowed, compiled, on_stack
from luce.kernels.problem import Problem
from luce.kernels.random import gamma_spread, scaled_gamma
from luce.kernels.set_sums import as_log, member_sums, normalise, one, plus, set_sums, zero


@compiled
def advance(
    bits: WordArray,
    problem: Problem,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Λ ~ Gamma(A), u_t ~ Gamma(m_t) / p(S_t), p_i ∝ Gamma(c_i + k_i) / (Λ + Σ_{t ∋ i} u_t).

    Parameters
    ----------
    bits
        Generator of this chain alone.
    problem
        c, A, m, n and the sets S_t.
    state
        p, or log p in a wide problem; replaced by the last sweep's.
    tuning, adapt
        Unused.
    out
        Shape (draws, n): the state after each sweep.
    stat
        Shape (draws,): log Σ_t u_t.
    space
        Scratch for splitting grouped outcomes, None where there are none: what only they need
        is then not even compiled.
    """
    problem, own = borrowed(problem), on_stack(bits)
    wide, waits, shape, n = problem.wide, problem.waits, problem.shape, len(state)
    total_shape = problem.total_shape
    total_spread = gamma_spread(total_shape)
    wait_spread, times = problem.wait_spread, np.empty(len(waits))
    rates, extra = np.empty(n), np.zeros(n)
    spread = problem.spread.copy() if space is not None else problem.spread
    for d in range(len(out)):
        set_sums(problem, state, times)
        waited = zero(wide)
        for t in range(len(times)):
            if waits[t] > 0.0:
                times[t] = scaled_gamma(own, waits[t], wait_spread[t], times[t], wide)
                waited = plus(waited, times[t], wide)
            else:
                times[t] = zero(wide)
        if space is not None:
            for i in range(n):
                extra[i] = 0.0
            split_groups(own, problem, state, space, extra)
            for i in range(n):
                spread[i] = gamma_spread(shape[i] + extra[i])
        member_sums(problem, times, False, rates)
        total = scaled_gamma(own, total_shape, total_spread, one(wide), wide)
        for i in range(n):
            rate = plus(total, rates[i], wide)
            state[i] = scaled_gamma(own, shape[i] + extra[i], spread[i], rate, wide)
        normalise(state, wide)
        for i in range(n):
            out[d, i] = state[i]
        stat[d] = as_log(waited, wide)
    for k in range(4):
        bits[k] = own[k]
