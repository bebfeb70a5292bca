"""Hamiltonian moves in θ = log λ, in units of the posterior's own curvature.

    f(θ) = Σ_i c_i θ_i - Σ_i λ_i - Σ_t m_t log λ(S_t),   λ = exp θ,   p = λ / Λ,   Λ = Σ λ_i

Near its mode f is nearly quadratic, -½ (θ - μ)' H (θ - μ).  With B the inverse of the Cholesky
factor of H, a step B'v of a velocity v ~ N(0, I) is as long in each direction as the posterior is
wide there, however weakly its parts are connected.  A move of length ℓ has L steps of h = ℓ / L:

    v ← v + b h B f'(θ),                                    b = 0.2118
    L times:   θ ← θ + ½ h B'v,   v ← v + (1 - 2b) h B f'(θ),
               θ ← θ + ½ h B'v,   v ← v + 2b h B f'(θ)      (the last time b h)

and is accepted with probability min(1, exp(change of f - ½|v|²)).  This two-stage scheme (Blanes,
Casas, Sanz-Serna 2014) has a smaller error in energy than leapfrog at equal cost.
Λ is independent of p and redrawn before each move.  Every tenth draw (every other one while tuning)
is a sweep of waiting times instead: it leads back from where f is too steep to follow.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.jit import borrowed, compiled, internal, on_stack
from luce.kernels.log_powers import Powers, log_power_product
from luce.kernels.problem import Problem
from luce.kernels.random import gamma, normal, uniform
from luce.kernels.set_sums import member_sums, set_sums
from luce.kernels.waiting_times import advance as sweep

# Length ℓ of a move and its random relative change.  A quarter turn of a quadratic f is π/2; a
# longer move makes the error of the mean smaller.
_LENGTH, _JITTER = 1.8, 0.1
_B = 0.21178  # b, the weight of the first and last changes of velocity

# Target acceptance; adaptation step s changes log h by up to gain / (1 + s)^decay.
_ACCEPTANCE, _GAIN, _DECAY = 0.75, 1.0, 0.6
_LOG_H_MIN, _LOG_H_MAX = math.log(_LENGTH / 64), math.log(1.5 * _LENGTH)
_SWEEP_EVERY = 10  # draws from one waiting-time sweep to the next, without adaptation


class Curvature(NamedTuple):
    """The width of a posterior in each direction of θ = log λ; the `fit` of a problem.

    Attributes
    ----------
    root, root_transposed
        B, lower triangular, and B': B'B is the inverse of the precision at the mode.
    powers
        m_t of the sets.
    """

    root: FloatArray
    root_transposed: FloatArray
    powers: Powers


def first_tuning(problem: Problem) -> float:
    """Start log h where one step makes the whole move."""
    return _LOG_H_MAX


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
    """Make Hamiltonian moves, and a waiting-time sweep every tenth time.

    Arguments as in `luce.kernels.Advance`; no outcome may be grouped, and the problem not be wide.

    Parameters
    ----------
    problem
        Has as `fit` a `Curvature`.
    tuning
        log h of the next adaptation step, number of adaptation steps so far, log h for use without
        adaptation, and number of draws so far.
    adapt
        Whether to adapt log h towards an acceptance of 0.75.
    stat
        Receives 1 if the move was accepted (sweeps always are), else 0.
    """
    problem, own = borrowed(problem), on_stack(bits)
    n, shape, total_shape, fit = len(state), problem.shape, problem.total_shape, problem.fit
    n_sets = len(problem.waits)
    row = np.empty((1, n))
    row_stat = np.empty(1)
    log_p, pull, log_p_new, pull_new = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    x, sums, times = np.empty(n), np.empty(n_sets), np.empty(n_sets)
    v, gradient, path = np.empty(n), np.empty(n), np.empty(n)
    known = False
    value = 0.0
    for d in range(len(out)):
        turn = tuning[3] % (2 if adapt else _SWEEP_EVERY)
        tuning[3] += 1.0
        if turn == 0.0:
            for k in range(4):
                bits[k] = own[k]
            sweep(bits, problem, state, tuning, False, row, row_stat, space)
            for k in range(4):
                own[k] = bits[k]
            known = False
            stat[d] = 1.0
        else:
            if not known:
                for i in range(n):
                    log_p[i] = math.log(state[i])
                    x[i] = state[i]
                _pull(problem, x, sums, times, pull)
                value = _value(problem, fit.powers, log_p, sums)
                known = True
            log_h = tuning[0] if adapt else tuning[2]
            steps = math.ceil(_LENGTH / math.exp(log_h))
            h = _LENGTH / steps * (1.0 + _JITTER * (2.0 * uniform(own) - 1.0))
            total = gamma(own, total_shape)
            log_total = math.log(total)
            energy = value + total_shape * log_total - total
            for i in range(n):
                v[i] = normal(own)
                energy -= 0.5 * v[i] * v[i]
                gradient[i] = shape[i] - total * math.exp(log_p[i]) - pull[i]
                log_p_new[i] = log_p[i] + log_total
            _kick(fit.root_transposed, gradient, _B * h, v)
            for step in range(2 * steps):
                _drift(fit.root, v, 0.5 * h, path, log_p_new)
                for i in range(n):
                    x[i] = math.exp(min(log_p_new[i], 700.0))
                _pull(problem, x, sums, times, pull_new)
                for i in range(n):
                    gradient[i] = shape[i] - x[i] - pull_new[i]
                last = _B if step == 2 * steps - 1 else 2.0 * _B
                _kick(fit.root_transposed, gradient, h * (last if step % 2 else 1 - 2 * _B), v)
            total = 0.0
            for i in range(n):
                total += x[i]
            value_new = _value(problem, fit.powers, log_p_new, sums)
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
                tuning[0] += _GAIN / (1.0 + tuning[1]) ** _DECAY * (probability - _ACCEPTANCE)
                tuning[0] = min(max(tuning[0], _LOG_H_MIN), _LOG_H_MAX)
                tuning[1] += 1.0
                tuning[2] += (tuning[0] - tuning[2]) * 2.0 / (tuning[1] + 1.0)
        for i in range(n):
            out[d, i] = state[i]
    for k in range(4):
        bits[k] = own[k]


@internal
def _pull(
    problem: Problem, x: FloatArray, sums: FloatArray, times: FloatArray, out: FloatArray
) -> None:
    """Compute λ_i Σ_{t ∋ i} m_t / λ(S_t), which is free of the scale of λ; `sums` gets λ(S_t)."""
    set_sums(problem, x, sums)
    for t in range(len(sums)):
        times[t] = problem.waits[t] / sums[t]
    member_sums(problem, times, False, out)
    for i in range(len(x)):
        out[i] *= x[i]


@internal
def _value(problem: Problem, powers: Powers, theta: FloatArray, sums: FloatArray) -> float:
    """Compute Σ_i c_i θ_i - Σ_t m_t log λ(S_t)."""
    value = -log_power_product(powers, sums)
    for i in range(len(theta)):
        value += problem.shape[i] * theta[i]
    return value


@internal
def _kick(root_transposed: FloatArray, gradient: FloatArray, h: float, v: FloatArray) -> None:
    """Set v ← v + h B f', column by column, which the compiler can vectorise."""
    n = len(v)
    for j in range(n):
        scaled = h * gradient[j]
        for i in range(j, n):
            v[i] += scaled * root_transposed[j, i]


@internal
def _drift(root: FloatArray, v: FloatArray, h: float, path: FloatArray, theta: FloatArray) -> None:
    """Set θ ← θ + h B'v."""
    n = len(v)
    for i in range(n):
        path[i] = 0.0
    for j in range(n):
        for i in range(j + 1):
            path[i] += v[j] * root[j, i]
    for i in range(n):
        theta[i] += h * path[i]
