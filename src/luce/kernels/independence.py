"""Independence Metropolis: proposals from a Student t around the mode, wherever the chain is.

In the log ratios φ_i = log p_i - log p_n, i < n, the posterior's density is, up to a constant,

    g(φ) = Π_i p_i^(c_i) Π_t p(S_t)^(-e_t),     p ∝ (exp φ_1, .., exp φ_(n-1), 1)

with e_t = m_t - n_t, negative for grouped outcomes.  With much data on few categories it is close
to a normal density.  The proposal is a Student t at the mode,

    φ' = μ + s L z,   z ~ N(0, I),   s² = ν / χ²_ν,        LL' near the covariance of φ

whose tails are heavier than those of g, so that the ratio of the two is bounded and the chain is
uniformly ergodic.  φ' is accepted with probability min(1, w(φ') / w(φ)), w being g over the density
of the proposal: one evaluation of g a draw, no gradient, and draws nearly independent.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.jit import borrowed, compiled, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.log_powers import Powers, log_power_product
from luce.kernels.random import exponential, gamma, normal
from luce.kernels.set_sums import LEAST, set_sums


class Proposal(NamedTuple):
    """A Student t for the log ratios φ; the `fit` of the kernel.

    Attributes
    ----------
    centre
        μ, and last 0 for the category that the others are compared with.
    root
        L, lower triangular, shape (n - 1, n - 1).
    degrees
        ν.
    powers
        e_t of the sets, grouped by equal numbers.
    """

    centre: FloatArray
    root: FloatArray
    degrees: float
    powers: Powers


@compiled
def advance(
    bits: WordArray,
    problem: AnyProblem,
    fit: Proposal,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Propose from a Student t, and accept by the ratio of densities.

    Arguments as in `luce.kernels.Advance`; the problem may not be wide, and `fit` is a `Proposal`.
    `stat` receives 1 if the proposal was accepted, else 0.  `tuning`, `adapt` and `space` are
    unused.
    """
    problem, fit, own = borrowed(problem), borrowed(fit), on_stack(bits)
    n, degrees = len(state), fit.degrees
    z, x, phi, sums = np.empty(n - 1), np.empty(n), np.empty(n), np.empty(len(problem.waits))
    for i in range(n):
        x[i] = state[i] / state[n - 1]
        phi[i] = math.log(x[i])
    _solve(fit, phi, z)
    weight = _log_weight(problem, fit, phi, x, sums, z, 1.0)
    for d in range(len(out)):
        for i in range(n - 1):
            z[i] = normal(own)
        s = math.sqrt(0.5 * degrees / gamma(own, 0.5 * degrees))
        total = 0.0
        for i in range(n):
            moved = 0.0
            if i < n - 1:
                for j in range(i + 1):
                    moved += fit.root[i, j] * z[j]
            phi[i] = fit.centre[i] + s * moved
            x[i] = math.exp(min(phi[i], 600.0))
            total += x[i]
        new = _log_weight(problem, fit, phi, x, sums, z, s)
        accepted = new - weight > -exponential(own)
        if accepted:
            weight = new
            for i in range(n):
                state[i] = max(x[i] / total, LEAST)
        stat[d] = 1.0 if accepted else 0.0
        for i in range(n):
            out[d, i] = state[i]
    for k in range(4):
        bits[k] = own[k]


@internal
def _solve(fit: Proposal, phi: FloatArray, z: FloatArray) -> None:
    """Find z with φ = μ + L z."""
    for i in range(len(z)):
        rest = phi[i] - fit.centre[i]
        for j in range(i):
            rest -= fit.root[i, j] * z[j]
        z[i] = rest / fit.root[i, i]


@internal
def _log_weight(
    problem: AnyProblem,
    fit: Proposal,
    phi: FloatArray,
    x: FloatArray,
    sums: FloatArray,
    z: FloatArray,
    s: float,
) -> float:
    """Compute log w from φ, x = exp φ, and z with φ = μ + s L z."""
    n, total, square = len(x), 0.0, 0.0
    set_sums(problem, x, sums)
    value = -log_power_product(fit.powers, sums)
    for i in range(n):
        total += x[i]
        value += problem.shape[i] * phi[i]
    value -= problem.total_shape * math.log(total)
    for i in range(n - 1):
        square += z[i] * z[i]
    return value + 0.5 * (fit.degrees + n - 1) * math.log1p(s * s * square / fit.degrees)
