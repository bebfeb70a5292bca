"""Exact draws by rejection for any sets, from a Dirichlet whose bound has a closed form.

    π(p) ∝ Π_i p_i^(c_i - 1) · Π_t p(S_t)^(-m_t),      p ~ Dirichlet(a),  a = c - d

The ratio of the two densities, Π_i p_i^(d_i) Π_t p(S_t)^(-m_t) up to a constant, does not depend on
the scale of p where Σ d_i = Σ m_t, and its logarithm is concave in log p.  With

    d_i = Σ_{t ∋ i} m_t q_i / q(S_t)

its slope is 0 at p = q, so the ratio at q bounds it (`luce.sampling.concave_envelope` chooses q).

    accept if  log U < Σ_i d_i log p_i - Σ_t m_t log p(S_t) - M,      M its value at q

Draws are independent and exact.
"""

from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.jit import borrowed, compiled, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.log_powers import Powers, log_power_product
from luce.kernels.random import exponential, gamma_of
from luce.kernels.set_sums import set_sums


class ConcaveEnvelope(NamedTuple):
    """A Dirichlet above the posterior; the `fit` of the kernel.

    Attributes
    ----------
    shape, spread
        a_i, and its `gamma_spread`.
    powers, set_powers
        d_i and -m_t, as products of powers are computed.
    log_bound
        M.
    """

    shape: FloatArray
    spread: FloatArray
    powers: Powers
    set_powers: Powers
    log_bound: float


@compiled
def advance(
    bits: WordArray,
    problem: AnyProblem,
    fit: ConcaveEnvelope,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Draw proposals until one is accepted, for each row of `out`.

    Arguments as in `luce.kernels.Advance`.  The problem has no grouped outcomes; `fit` is a
    `ConcaveEnvelope`; `stat` receives the number of proposals of each draw.  `tuning`, `adapt` and
    `space` are unused.
    """
    problem, fit, own = borrowed(problem), borrowed(fit), on_stack(bits)
    n, shape, spread, sums = len(state), fit.shape, fit.spread, np.empty(len(problem.waits))
    for d in range(len(out)):
        proposals = 0.0
        while True:
            proposals += 1.0
            total = 0.0
            for i in range(n):
                state[i] = gamma_of(own, shape[i], spread[i])
                total += state[i]
            set_sums(problem, state, sums)
            log_ratio = log_power_product(fit.powers, state)
            log_ratio += log_power_product(fit.set_powers, sums)
            if log_ratio - fit.log_bound > -exponential(own):
                break
        stat[d] = proposals
        for i in range(n):
            state[i] /= total
            out[d, i] = state[i]
    for k in range(4):
        bits[k] = own[k]
