"""Hamiltonian moves in θ = log λ, in units of the posterior's own curvature.

    f(θ) = Σ_i c_i θ_i - Σ_i λ_i - Σ_t e_t log λ(S_t),   λ = exp θ,   p = λ / Λ,   Λ = Σ λ_i

with e_t = m_t - n_t, negative for grouped outcomes.  Near a mode f is nearly quadratic,
-½ (θ - μ)' H (θ - μ).  With B'B near the inverse of H, a step B'v of a velocity v ~ N(0, I) is as
long in each direction as the posterior is wide there.  B is the inverse of the Cholesky factor of H
(dense), or diagonal where there are many atoms.  A move of length ℓ has L steps of h = ℓ / L:

    v ← v + b h B f'(θ),                                    b = 0.2118
    L times:   θ ← θ + ½ h B'v,   v ← v + (1 - 2b) h B f'(θ),
               θ ← θ + ½ h B'v,   v ← v + 2b h B f'(θ)      (the last time b h)

and is accepted with probability min(1, exp(change of f - ½|v|²)).  This two-stage scheme (Blanes,
Casas, Sanz-Serna 2014) has a smaller error in energy than leapfrog at equal cost.
Λ is independent of p and redrawn before each move.  Some draws (every other one while tuning) are a
sweep of waiting times instead: it leads back from where f is too steep to follow.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.jit import borrowed, compiled, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.log_powers import Powers, log_power_product
from luce.kernels.problem import Problem
from luce.kernels.random import gamma, normal, uniform
from luce.kernels.set_sums import member_sums, set_sums, signed_member_sums
from luce.kernels.waiting_times import advance as sweep

FIRST_KICK = 0.21178  # b, the weight of the first and last changes of velocity

# Target acceptance; adaptation step s changes log h by up to gain / (1 + s)^decay.
_ACCEPTANCE, _GAIN, _DECAY = 0.75, 1.0, 0.6

# Most steps of a move, and the longest step as a multiple of the length.
_MOST_STEPS, LONGEST = 64, 1.5

SWEEP_EVERY = 25  # draws from one waiting-time sweep to the next, without adaptation


class Metric(NamedTuple):
    """The width of a posterior in each direction of θ = log λ; the `fit` of the kernel.

    Attributes
    ----------
    root, root_transposed
        B, lower triangular, and B'; None where B is diagonal.
    scale
        The diagonal of B; None where B is dense.  A branch on None is decided at compile time.
    exponent, powers
        e_t of the sets, and the same grouped by equal numbers.
    length, jitter
        ℓ, and its random relative change.
    step
        h to begin with.
    """

    root: FloatArray | None
    root_transposed: FloatArray | None
    scale: FloatArray | None
    exponent: FloatArray
    powers: Powers
    length: float
    jitter: float
    step: float


def first_tuning(problem: Problem, fit: Metric) -> float:
    """Start at the logarithm of the fitted step."""
    return math.log(fit.step)


@compiled
def advance(
    bits: WordArray,
    problem: AnyProblem,
    fit: Metric,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Make Hamiltonian moves, and a waiting-time sweep now and then.

    Arguments as in `luce.kernels.Advance`; the problem may not be wide.

    Parameters
    ----------
    fit
        The `Metric`.
    tuning
        log h of the next adaptation step, number of adaptation steps so far, log h for use without
        adaptation, and number of draws so far.
    adapt
        Whether to adapt log h towards an acceptance of 0.75.
    stat
        Receives 1 if the move was accepted (sweeps always are), else 0.
    """
    problem, fit, own = borrowed(problem), borrowed(fit), on_stack(bits)
    n, shape, total_shape, length = len(state), problem.shape, problem.total_shape, fit.length
    n_sets = len(problem.waits)
    row = np.empty((1, n))
    row_stat = np.empty(1)
    log_p, pull, log_p_new, pull_new = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    x, sums, times = np.empty(n), np.empty(n_sets), np.empty(n_sets)
    v, gradient, path = np.empty(n), np.empty(n), np.empty(n)
    known = False
    value = 0.0
    for d in range(len(out)):
        turn = tuning[3] % (2 if adapt else SWEEP_EVERY)
        tuning[3] += 1.0
        if turn == 0.0:
            for k in range(4):
                bits[k] = own[k]
            sweep(bits, problem, None, state, tuning, False, row, row_stat, space)
            for k in range(4):
                own[k] = bits[k]
            known = False
            stat[d] = 1.0
        else:
            if not known:
                for i in range(n):
                    log_p[i] = math.log(state[i])
                    x[i] = state[i]
                set_pull(problem, fit.exponent, space, x, sums, times, pull)
                value = value_at(shape, fit.powers, log_p, sums)
                known = True
            log_h = tuning[0] if adapt else tuning[2]
            whole = length * (1.0 + fit.jitter * (2.0 * uniform(own) - 1.0))
            steps = math.ceil(whole / math.exp(log_h))
            h = whole / steps
            total = gamma(own, total_shape)
            log_total = math.log(total)
            energy = value + total_shape * log_total - total
            for i in range(n):
                v[i] = normal(own)
                energy -= 0.5 * v[i] * v[i]
                gradient[i] = shape[i] - total * math.exp(log_p[i]) - pull[i]
                log_p_new[i] = log_p[i] + log_total
            kick(fit.root_transposed, fit.scale, gradient, FIRST_KICK * h, v)
            for step in range(2 * steps):
                drift(fit.root, fit.scale, v, 0.5 * h, path, log_p_new)
                for i in range(n):
                    x[i] = math.exp(min(log_p_new[i], 700.0))
                set_pull(problem, fit.exponent, space, x, sums, times, pull_new)
                for i in range(n):
                    gradient[i] = shape[i] - x[i] - pull_new[i]
                last = FIRST_KICK if step == 2 * steps - 1 else 2.0 * FIRST_KICK
                weight = h * (last if step % 2 else 1 - 2 * FIRST_KICK)
                kick(fit.root_transposed, fit.scale, gradient, weight, v)
            total = 0.0
            for i in range(n):
                total += x[i]
            value_new = value_at(shape, fit.powers, log_p_new, sums)
            energy_new = value_new - total
            for i in range(n):
                energy_new -= 0.5 * v[i] * v[i]
            change = energy_new - energy
            probability = min(1.0, math.exp(change)) if math.isfinite(change) else 0.0
            accepted = uniform(own) < probability
            if accepted:
                log_total = math.log(total)
                value = value_new - total_shape * log_total
                for i in range(n):
                    log_p[i] = log_p_new[i] - log_total
                    pull[i] = pull_new[i]
                    state[i] = math.exp(log_p[i])
            stat[d] = 1.0 if accepted else 0.0
            if adapt:
                adapt_step(tuning, probability, length)
        for i in range(n):
            out[d, i] = state[i]
    for k in range(4):
        bits[k] = own[k]


@internal
def adapt_step(tuning: FloatArray, probability: float, length: float) -> None:
    """Adapt log h towards the wanted acceptance, and the average that is used afterwards."""
    tuning[0] += _GAIN / (1.0 + tuning[1]) ** _DECAY * (probability - _ACCEPTANCE)
    low, high = math.log(length / _MOST_STEPS), math.log(LONGEST * length)
    tuning[0] = min(max(tuning[0], low), high)
    tuning[1] += 1.0
    tuning[2] += (tuning[0] - tuning[2]) * 2.0 / (tuning[1] + 1.0)


@internal
def set_pull(
    problem: AnyProblem,
    exponent: FloatArray,
    space: SplitSpace | None,
    x: FloatArray,
    sums: FloatArray,
    times: FloatArray,
    out: FloatArray,
) -> None:
    """Compute λ_i Σ_{t ∋ i} e_t / λ(S_t), which is free of the scale of λ; `sums` gets λ(S_t)."""
    set_sums(problem, x, sums)
    for t in range(len(sums)):
        times[t] = exponent[t] / sums[t]
    if space is None:
        member_sums(problem, times, out)
    else:
        signed_member_sums(problem, times, out)
    for i in range(len(x)):
        out[i] *= x[i]


@internal
def value_at(shape: FloatArray, powers: Powers, theta: FloatArray, sums: FloatArray) -> float:
    """Compute Σ_i c_i θ_i - Σ_t e_t log λ(S_t)."""
    value = -log_power_product(powers, sums)
    for i in range(len(theta)):
        value += shape[i] * theta[i]
    return value


@internal
def kick(
    root_transposed: FloatArray | None,
    scale: FloatArray | None,
    gradient: FloatArray,
    h: float,
    v: FloatArray,
) -> None:
    """Set v ← v + h B f', column by column, which the compiler can vectorise."""
    n = len(v)
    if scale is not None:
        for i in range(n):
            v[i] += h * scale[i] * gradient[i]
    if root_transposed is not None:
        for j in range(n):
            scaled = h * gradient[j]
            for i in range(j, n):
                v[i] += scaled * root_transposed[j, i]


@internal
def drift(
    root: FloatArray | None,
    scale: FloatArray | None,
    v: FloatArray,
    h: float,
    path: FloatArray,
    theta: FloatArray,
) -> None:
    """Set θ ← θ + h B'v."""
    n = len(v)
    if scale is not None:
        for i in range(n):
            theta[i] += h * scale[i] * v[i]
    if root is not None:
        for i in range(n):
            path[i] = 0.0
        for j in range(n):
            for i in range(j + 1):
                path[i] += v[j] * root[j, i]
        for i in range(n):
            theta[i] += h * path[i]
