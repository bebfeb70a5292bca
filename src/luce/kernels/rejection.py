"""Exact draws by rejection, where every set leaves out one atom.

    π(p) ∝ Π_i p_i^(c_i - 1) · Π_i (1 - p_i)^(-m_i)

`luce.sampling.envelope` divides the simplex into a middle, where p_k <= τ_k for all k with m_k > 0,
and corners; p with several p_k > τ_k is in the corner of the largest of these.  Each part j has a
density q_j and a certified bound M_j of log(π / q_j) there.

    part j with probability in proportion to exp(M_j) ∫ q_j,   p ~ q_j,
    accept if p is in part j and  log U < log(π(p) / q_j(p)) - M_j

Draws are independent and exact.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.jit import borrowed, compiled, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.log_powers import Powers, log_power_product
from luce.kernels.random import exponential, gamma_of, uniform


class Envelope(NamedTuple):
    """Densities above the posterior in the middle (part 0) and in corners; the `fit` of the kernel.

    Attributes
    ----------
    shape, spread
        a_i of each part, shape (parts, n), and their `gamma_spread`.
    stick, tail, tail_spread
        Per part: the atom k whose complement has a gamma variate of its own, of the shape `tail`,
        and its `gamma_spread`; -1 where there is none, so that the density is a Dirichlet.
    below
        Probability to draw from this part or an earlier one.
    log_bound
        M_j.
    limit, left_out
        τ_i, 1 where m_i = 0, and m_i.
    powers, complement_powers, total_power
        Powers of p_i and of 1 - p_i in the ratio of posterior and density in the middle, and their
        sum.
    tilt
        Per corner k: the power of 1 / p_k in the ratio.
    """

    shape: FloatArray
    spread: FloatArray
    stick: IntArray
    tail: FloatArray
    tail_spread: FloatArray
    below: FloatArray
    log_bound: FloatArray
    limit: FloatArray
    left_out: FloatArray
    powers: Powers
    complement_powers: Powers
    total_power: float
    tilt: FloatArray


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
    """Draw proposals until one is accepted, for each row of `out`.

    Arguments as in `luce.kernels.Advance`.  `fit` is an `Envelope`; `stat` receives the number of
    proposals of each draw.  `problem`, `tuning`, `adapt` and `space` are unused.
    """
    fit, own = borrowed(fit), on_stack(bits)
    n, parts = len(state), len(fit.below)
    shape, spread, limit, rest = fit.shape, fit.spread, fit.limit, np.empty(n)
    for d in range(len(out)):
        proposals = 0.0
        while True:
            proposals += 1.0
            part = 0
            if parts > 1:
                u = uniform(own)
                while part < parts - 1 and u >= fit.below[part]:
                    part += 1
            total, k = 0.0, fit.stick[part]
            for i in range(n):
                state[i] = gamma_of(own, shape[part, i], spread[part, i])
                total += state[i] if i != k else 0.0
            if k >= 0:
                tail = gamma_of(own, fit.tail[part], fit.tail_spread[part])
                for i in range(n):
                    state[i] *= tail / total if i != k else 1.0
                total = tail + state[k]
            if part > 0:
                log_ratio = _log_ratio_in_corner(fit, part, state, total)
            else:
                inside = True
                for i in range(n):
                    inside &= state[i] <= limit[i] * total
                    rest[i] = total - state[i]
                if not inside:
                    continue
                # Powers of gammas, not of probabilities: divide by the same power of their total.
                log_ratio = log_power_product(fit.powers, state)
                log_ratio += log_power_product(fit.complement_powers, rest)
                log_ratio -= fit.total_power * math.log(total) + fit.log_bound[0]
            if log_ratio > -exponential(own):
                break
        stat[d] = proposals
        for i in range(n):
            state[i] /= total
            out[d, i] = state[i]
    for k in range(4):
        bits[k] = own[k]


@internal
def _log_ratio_in_corner(fit: Envelope, part: int, x: FloatArray, total: float) -> float:
    """Compute log(π / q) - M in a corner, -inf outside of it."""
    k = fit.stick[part]
    log_ratio = -fit.tilt[part] * math.log(x[k] / total) - fit.log_bound[part]
    if not x[k] > fit.limit[k] * total:
        return -np.inf
    for i in range(len(x)):
        if i != k and fit.left_out[i] > 0.0:
            if x[i] > fit.limit[i] * total and x[i] > x[k]:
                return -np.inf
            log_ratio -= fit.left_out[i] * math.log1p(-x[i] / total)
    return float(log_ratio)
