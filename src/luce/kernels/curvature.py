"""The log posterior in θ = log λ, and products with its precision matrix.

    f(θ) = Σ_i c_i θ_i - s Σ_i λ_i - Σ_t k_t log λ(S_t),          λ = exp θ,  k_t = m_t - n_t

    ∂f/∂θ_i       = c_i + given_i - taken_i
    -∂²f/∂θ_i∂θ_j = [i = j] (taken_i - given_i) - λ_i λ_j g_ij,   g_ij = Σ_{t ∋ i, j} k_t / λ(S_t)²

    taken_i = λ_i (s + Σ_{t ∋ i} m_t / λ(S_t)),    given_i = λ_i Σ_{t ∋ i} n_t / λ(S_t)

The total Λ = Σ λ_i is a gamma variable of shape A (s = 1), and f is strictly concave if no outcome
is grouped.  If A = 0, as for maximum likelihood, s = 0: f does not change with the scale of λ.
"""

from typing import NamedTuple

import numpy as np

from luce._types import FloatArray
from luce.kernels.jit import compiled, internal
from luce.kernels.layouts import Weighted
from luce.kernels.problem import Problem
from luce.kernels.set_sums import member_sums, set_sums


class Place(NamedTuple):
    """A point θ, with the quantities that depend on it.

    Attributes
    ----------
    theta, x
        θ and λ = exp θ; θ = -inf for an atom of probability 0.
    sums
        λ(S_t).
    taken, given
        taken_i and given_i of the module's formulas.
    weights
        Scratch, one number a set.
    """

    theta: FloatArray
    x: FloatArray
    sums: FloatArray
    taken: FloatArray
    given: FloatArray
    weights: FloatArray


@internal
def new_place(problem: Problem | Weighted, theta: FloatArray) -> Place:
    """Allocate a point, with a copy of θ."""
    n, n_sets = len(theta), len(problem.waits)
    own, given = np.empty(n), np.empty(n)
    for i in range(n):
        own[i], given[i] = theta[i], 0.0
    return Place(own, np.empty(n), np.empty(n_sets), np.empty(n), given, np.empty(n_sets))


@internal
def over_sets(problem: Problem | Weighted, x: FloatArray, out: FloatArray) -> None:
    """Compute out_t = Σ_{i ∈ S_t} x_i; compiled once for all functions of this module."""
    set_sums(problem, x, out)


@internal
def over_members(problem: Problem | Weighted, w: FloatArray, out: FloatArray) -> None:
    """Compute out_i = Σ_{t ∋ i} w_t; compiled once for all functions of this module."""
    member_sums(problem, w, out)


@internal
def look(problem: Problem | Weighted, at: Place) -> float:
    """Update all quantities that depend on θ; returns f(θ)."""
    theta, x, sums, weights = at.theta, at.x, at.sums, at.weights
    n, n_sets, grouped, nothing = len(theta), len(sums), False, False
    for i in range(n):
        x[i] = np.exp(theta[i])  # math.exp raises at overflow when run as Python
    over_sets(problem, x, sums)
    value, scale = 0.0, 1.0 if problem.total_shape > 0.0 else 0.0
    for t in range(n_sets):
        value -= (problem.waits[t] - problem.groups[t]) * np.log(sums[t])
        weights[t] = problem.waits[t] / sums[t]
        grouped |= problem.groups[t] > 0.0
        nothing |= not sums[t] > 0.0
    over_members(problem, weights, at.taken)
    if grouped:
        for t in range(n_sets):
            weights[t] = problem.groups[t] / sums[t]
        over_members(problem, weights, at.given)
    for i in range(n):
        if theta[i] > -np.inf:  # x may underflow to 0
            value += problem.shape[i] * theta[i] - scale * x[i]
        at.taken[i] = x[i] * (scale + at.taken[i])
        if grouped:  # else given_i stays 0, even if x is infinite
            at.given[i] *= x[i]
    return -np.inf if nothing else value


@compiled
def times_precision(
    problem: Problem | Weighted, theta: FloatArray, v: FloatArray, out: FloatArray
) -> None:
    """Multiply v by the precision matrix at θ without forming the matrix."""
    at = new_place(problem, theta)
    look(problem, at)
    times_precision_at(problem, at, v, np.empty(len(v)), out)


@internal
def times_precision_at(
    problem: Problem | Weighted, at: Place, v: FloatArray, part: FloatArray, out: FloatArray
) -> None:
    """Multiply v by the precision matrix without forming the matrix; `part` is scratch."""
    n, x, weights = len(v), at.x, at.weights
    for i in range(n):
        out[i] = (at.taken[i] - at.given[i]) * v[i]
    # Sums over complements are differences, and lose no digits only if all terms have one sign.
    # Positive and negative parts of v, and of the weights, are then treated one after the other.
    apart = problem.complement.any()
    for sign in (1.0, -1.0):
        for i in range(n):
            part[i] = x[i] * (max(sign * v[i], 0.0) if apart else v[i])
        over_sets(problem, part, weights)
        for t in range(len(weights)):
            weights[t] *= (problem.waits[t] - problem.groups[t]) / at.sums[t] ** 2
        if apart:
            _subtract_by_signs(problem, at, sign, part, out)
        else:
            over_members(problem, weights, part)
            for i in range(n):
                out[i] -= x[i] * part[i]
            return


@internal
def _subtract_by_signs(
    problem: Problem | Weighted, at: Place, sign: float, part: FloatArray, out: FloatArray
) -> None:
    """Compute out_i -= sign λ_i Σ_{t ∋ i} w_t, first over positive, then over negative w_t."""
    weights = at.weights
    kept = weights.copy()
    for side in (1.0, -1.0):
        some = False
        for t in range(len(weights)):
            weights[t] = max(side * kept[t], 0.0)
            some |= weights[t] > 0.0
        if some:
            over_members(problem, weights, part)
            for i in range(len(out)):
                out[i] -= sign * side * at.x[i] * part[i]
