"""The posterior in θ = log λ to second order: value, slope and curvature.

    f(θ) = Σ_i c_i θ_i - Σ_i λ_i - Σ_t k_t log λ(S_t),       λ = exp θ,  k_t = m_t - n_t

    ∂f/∂θ_i       = c_i - λ_i (1 + r_i),                     r_i  = Σ_{t ∋ i} k_t / λ(S_t)
    -∂²f/∂θ_i∂θ_j = [i = j] λ_i (1 + r_i) - λ_i λ_j g_ij,    g_ij = Σ_{t ∋ i, j} k_t / λ(S_t)²

Λ = Σ λ_i is a gamma variable of its own, so f is strictly concave where no outcome is grouped.
Where its shape A is 0, as for maximum likelihood, -Σ λ_i is left out (and with it each 1 +): then f
does not change with the scale of λ.
"""

import math

import numpy as np

from luce._types import FloatArray
from luce.kernels.jit import compiled, internal
from luce.kernels.problem import Problem
from luce.kernels.set_sums import member_sums, set_sums


@compiled
def slope(problem: Problem, theta: FloatArray, gradient: FloatArray) -> float:
    """Return f(θ) and write its gradient."""
    x = _exp(theta)
    sums, rates = np.empty(len(problem.waits)), np.empty(len(theta))
    set_sums(problem, x, sums)
    value, scale = 0.0, 1.0 if problem.total_shape > 0.0 else 0.0
    for t in range(len(sums)):
        value -= (problem.waits[t] - problem.groups[t]) * math.log(sums[t])
    _rates(problem, sums, rates)
    for i in range(len(theta)):
        if problem.shape[i] > 0.0:  # an atom at 0 adds nothing, though its θ is infinite
            value += problem.shape[i] * theta[i] - scale * x[i]
        gradient[i] = problem.shape[i] - x[i] * (scale + rates[i])
    return value


@compiled
def precision(problem: Problem, theta: FloatArray, out: FloatArray) -> None:
    """Write -∂²f/∂θ∂θ', shape (n, n).

    Sets of one chain share members: g_ij counts, for each chain that lists both, the sets whose
    prefix holds the later one.  A chain of complements counts for everybody, less the sets that
    exclude i, less those that exclude j, plus those that exclude both.
    """
    n, members, complement = len(theta), problem.members, problem.complement
    x = _exp(theta)
    sums, rates, lost = np.empty(len(problem.waits)), np.empty(n), np.zeros(n)
    set_sums(problem, x, sums)
    _rates(problem, sums, rates)
    everybody, scale = 0.0, 1.0 if problem.total_shape > 0.0 else 0.0
    for i in range(n):
        for j in range(n):
            out[i, j] = 0.0
    for k in range(len(complement)):
        first, weight = problem.set_start[k], 0.0
        for t in range(problem.set_start[k + 1] - 1, first - 1, -1):
            weight += (problem.waits[t] - problem.groups[t]) / sums[t] ** 2
            start = problem.set_end[t - 1] if t > first else problem.chain_start[k]
            for later in range(start, problem.set_end[t]):
                j = members[later]
                for earlier in range(problem.chain_start[k], later + 1):
                    i = members[earlier]
                    out[max(i, j), min(i, j)] += weight
                if complement[k]:
                    lost[j] += weight
        if complement[k]:
            everybody += weight
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = -x[i] * x[j] * (out[i, j] + everybody - lost[i] - lost[j])
            out[j, i] = out[i, j]
        out[i, i] += x[i] * (scale + rates[i])


@compiled
def times_precision(problem: Problem, theta: FloatArray, v: FloatArray, out: FloatArray) -> None:
    """Write (-∂²f/∂θ∂θ') v without the matrix."""
    n, n_sets = len(theta), len(problem.waits)
    x = _exp(theta)
    sums, rates = np.empty(n_sets), np.empty(n)
    set_sums(problem, x, sums)
    _rates(problem, sums, rates)
    along, part, back = np.empty(n_sets), np.empty(n), np.empty(n)
    scale = 1.0 if problem.total_shape > 0.0 else 0.0
    for i in range(n):
        out[i] = x[i] * (scale + rates[i]) * v[i]
    # Sums are taken of positive numbers only, so the two signs of v go one after the other.
    for sign in (1.0, -1.0):
        for i in range(n):
            part[i] = x[i] * max(sign * v[i], 0.0)
        set_sums(problem, part, along)
        for t in range(n_sets):
            along[t] = problem.waits[t] * along[t] / sums[t] ** 2
        member_sums(problem, along, False, back)
        for i in range(n):
            out[i] -= sign * x[i] * back[i]


@internal
def _exp(theta: FloatArray) -> FloatArray:
    """λ = exp θ; by a loop, which compiles in a tenth of the time."""
    x = np.empty(len(theta))
    for i in range(len(theta)):
        x[i] = math.exp(theta[i])
    return x


@internal
def _rates(problem: Problem, sums: FloatArray, rates: FloatArray) -> None:
    """r_i = Σ_{t ∋ i} (m_t - n_t) / λ(S_t)."""
    weights, grouped = np.empty(len(sums)), False
    for t in range(len(sums)):
        weights[t] = problem.waits[t] / sums[t]
        grouped |= problem.groups[t] > 0.0
    member_sums(problem, weights, False, rates)
    if grouped:
        given = np.empty(len(rates))
        for t in range(len(sums)):
            weights[t] = problem.groups[t] / sums[t]
        member_sums(problem, weights, False, given)
        for i in range(len(rates)):
            rates[i] -= given[i]
