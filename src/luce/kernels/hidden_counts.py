"""The hidden-count Gibbs sampler: draw the truncated outcomes, then a Dirichlet.

Before each outcome in S_t, a number of outcomes fell outside and was not recorded.  Over the m_t
outcomes of a term they number NegBin(m_t, p(S_t)) and spread over the complement of S_t in
proportion to p.  As gamma mixtures of Poissons, the terms add up by category:

    Z_t ~ Gamma(m_t) / p(S_t),   h_i ~ Poisson(p_i Σ_{t ∌ i} Z_t),   p ~ Dir(c + h + k)

where k_i is the number of grouped outcomes that fell on i.
"""

import math

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace, split_groups
from luce.kernels.half_sweep import draw_times
from luce.kernels.jit import borrowed, compiled, embedded, on_stack
from luce.kernels.problem import Problem, Wide
from luce.kernels.random import gamma_or_log, poisson
from luce.kernels.set_sums import normalise, set_sums, sums_outside
from luce.kernels.shifts import Shifts, shift_groups

# Largest logarithm of a Poisson mean whose draws, and their sum, are still doubles.  Beyond, the
# logarithm of a gamma whose shape is that count is the logarithm of the mean, to all digits.
_LARGEST_LOG = 680.0


@compiled
def advance(
    bits: WordArray,
    problem: Problem,
    fit: Shifts | None,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Draw Z_t ~ Gamma(m_t) / p(S_t), h_i ~ Poisson(p_i Σ_{t ∌ i} Z_t), p ~ Dir(c + h + k).

    Arguments as in `luce.kernels.Advance`; `fit` as for waiting times.  `stat` receives Σ_i h_i;
    `tuning` and `adapt` are unused.
    """
    problem, own = borrowed(problem), on_stack(bits)
    wide, shape, n = problem.wide, problem.shape, len(state)
    mixing = np.empty(len(problem.waits))
    means, counts = np.empty(n), np.empty(n)
    for d in range(len(out)):
        shift_groups(own, problem, fit, space, wide, state)
        set_sums(problem, state, mixing)
        draw_times(own, problem.waits, problem.wait_spread, mixing, None, wide)
        sums_outside(problem, mixing, means)
        hidden = 0.0
        for i in range(n):
            means[i] = state[i] * means[i] if wide is None else state[i] + means[i]
            counts[i] = poisson(own, _as_number(means[i], wide))
            hidden += counts[i]
        if space is not None:
            split_groups(own, problem, state, space, counts)
        for i in range(n):
            if wide is not None and means[i] > _LARGEST_LOG:
                state[i] = means[i]
            else:
                state[i] = gamma_or_log(own, shape[i] + counts[i], wide)
        normalise(state, wide)
        for i in range(n):
            out[d, i] = state[i]
        stat[d] = hidden
    for k in range(4):
        bits[k] = own[k]


@embedded
def _as_number(mean: float, wide: Wide) -> float:
    """Return a mean that may be a logarithm as a plain number."""
    return mean if wide is None else math.exp(min(mean, _LARGEST_LOG))
