"""The hidden-count Gibbs sampler: how many outcomes were truncated, then a Dirichlet.

Before an outcome lay in S_t, others fell outside and were not recorded.  Over the m_t
outcomes of a term they number NegBin(m_t, p(S_t)) and spread over the complement of S_t in
proportion to p; written as a gamma mixture of Poissons the terms add up per category,

    Z_t ~ Gamma(m_t) / p(S_t),   h_i ~ Poisson(p_i Σ_{t ∌ i} Z_t),   p ~ Dir(c + h + k)

with k_i the grouped outcomes that fell on i.
"""

import math

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace, split_groups
from luce.kernels.jit import borrowed, compiled, embedded, on_stack
from luce.kernels.problem import Problem, Wide
from luce.kernels.random import gamma_or_log, poisson, scaled_gamma
from luce.kernels.set_sums import member_sums, normalise, set_sums, zero

# exp of this is the largest mean ever asked for; all means together still add up to a double.
_LARGEST_LOG = 680.0


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
    """Z_t ~ Gamma(m_t) / p(S_t), h_i ~ Poisson(p_i Σ_{t ∌ i} Z_t), p ~ Dir(c + h + k).

    Parameters
    ----------
    bits
        Generator of this chain alone.
    problem
        c, m, n and the sets S_t.
    state
        p, or log p in a wide problem; replaced by the last sweep's.
    tuning, adapt
        Unused.
    out
        Shape (draws, n): the state after each sweep.
    stat
        Shape (draws,): Σ_i h_i.
    space
        Scratch for splitting grouped outcomes, None where there are none: what only they need
        is then not even compiled.
    """
    problem, own = borrowed(problem), on_stack(bits)
    wide, waits, shape, n = problem.wide, problem.waits, problem.shape, len(state)
    mixing = np.empty(len(waits))
    means, counts = np.empty(n), np.empty(n)
    for d in range(len(out)):
        set_sums(problem, state, mixing)
        for t in range(len(mixing)):
            if waits[t] > 0.0:
                mixing[t] = scaled_gamma(own, waits[t], problem.wait_spread[t], mixing[t], wide)
            else:
                mixing[t] = zero(wide)
        member_sums(problem, mixing, True, means)
        hidden = 0.0
        for i in range(n):
            counts[i] = poisson(own, _product(state[i], means[i], wide))
            hidden += counts[i]
        if space is not None:
            split_groups(own, problem, state, space, counts)
        for i in range(n):
            state[i] = gamma_or_log(own, shape[i] + counts[i], wide)
        normalise(state, wide)
        for i in range(n):
            out[d, i] = state[i]
        stat[d] = hidden
    for k in range(4):
        bits[k] = own[k]


@embedded
def _product(a: float, b: float, wide: Wide) -> float:
    """A b, always as a number."""
    if wide is None:
        return a * b
    return math.exp(min(a + b, _LARGEST_LOG))
