"""Exact draws by rejection from a Dirichlet, where every set leaves out one atom.

    π(p) ∝ Π_i p_i^(c_i - 1) · Π_i (1 - p_i)^(-m_i)

    p ~ Dir(a),   accept if  log U < Σ_i (c_i - a_i) log p_i - Σ_i m_i log(1 - p_i) - M

M is a certified bound of the two sums before it.  Draws are independent and exact.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.jit import borrowed, compiled, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.log_powers import Powers, log_power_product
from luce.kernels.random import exponential, gamma_of


class Envelope(NamedTuple):
    """A Dirichlet density above the posterior; the `fit` of the kernel.

    Attributes
    ----------
    shape, spread
        a_i, the shapes of the Dirichlet, and their `gamma_spread`.
    log_bound
        M: the logarithm of the posterior over Π_i p_i^(a_i - 1) is nowhere larger.
    powers, complement_powers, total_power
        Powers of p_i and of 1 - p_i in the ratio of posterior and Dirichlet, and their sum.
    """

    shape: FloatArray
    spread: FloatArray
    log_bound: float
    powers: Powers
    complement_powers: Powers
    total_power: float


@compiled
def advance(
    bits: WordArray,
    problem: AnyProblem,
    fit: Envelope,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Draw p ~ Dir(a) until one is accepted, for each row of `out`.

    Arguments as in `luce.kernels.Advance`.  `fit` is an `Envelope`; `stat` receives the number of
    proposals of each draw.  `problem`, `tuning`, `adapt` and `space` are unused.
    """
    fit, own = borrowed(fit), on_stack(bits)
    n = len(state)
    shape, spread = fit.shape, fit.spread
    rest = np.empty(n)
    for d in range(len(out)):
        proposals = 0.0
        while True:
            proposals += 1.0
            total = 0.0
            for i in range(n):
                state[i] = gamma_of(own, shape[i], spread[i])
                total += state[i]
            for i in range(n):
                # Where one atom takes nearly all, add the others: the difference cancels.
                rest[i] = total - state[i]
                if rest[i] < 1e-3 * total:
                    rest[i] = 0.0
                    for j in range(n):
                        if j != i:
                            rest[i] += state[j]
            # Powers of gammas instead of probabilities: divide by the same power of their total.
            log_ratio = log_power_product(fit.powers, state)
            log_ratio += log_power_product(fit.complement_powers, rest)
            log_ratio -= fit.total_power * math.log(total) + fit.log_bound
            if log_ratio > -exponential(own):
                break
        stat[d] = proposals
        for i in range(n):
            state[i] /= total
            out[d, i] = state[i]
    for k in range(4):
        bits[k] = own[k]
