"""Value, gradient and precision matrix of the log posterior in θ = log λ.

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
from luce.kernels.problem import Problem
from luce.kernels.set_sums import member_sums, set_sums

# A difference smaller than this fraction of its terms has lost digits.
_CANCELLED = 1e-3


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
def new_place(problem: Problem, theta: FloatArray) -> Place:
    """Allocate a point, with a copy of θ."""
    n, n_sets = len(theta), len(problem.waits)
    own, given = np.empty(n), np.empty(n)
    for i in range(n):
        own[i], given[i] = theta[i], 0.0
    return Place(own, np.empty(n), np.empty(n_sets), np.empty(n), given, np.empty(n_sets))


@internal
def over_sets(problem: Problem, x: FloatArray, out: FloatArray) -> None:
    """Compute out_t = Σ_{i ∈ S_t} x_i; compiled once for all functions of this module."""
    set_sums(problem, x, out)


@internal
def over_members(problem: Problem, w: FloatArray, out: FloatArray) -> None:
    """Compute out_i = Σ_{t ∋ i} w_t; compiled once for all functions of this module."""
    member_sums(problem, w, out)


@internal
def look(problem: Problem, at: Place) -> float:
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
def slope(problem: Problem, theta: FloatArray, gradient: FloatArray) -> float:
    """Compute the gradient of f at θ; returns f(θ)."""
    at = new_place(problem, theta)
    value = look(problem, at)
    for i in range(len(theta)):
        gradient[i] = problem.shape[i] + at.given[i] - at.taken[i]
    return value


@compiled
def precision(problem: Problem, theta: FloatArray, out: FloatArray) -> None:
    """Compute the precision matrix -∂²f/∂θ∂θ' at θ, shape (n, n)."""
    at = new_place(problem, theta)
    look(problem, at)
    precision_at(problem, at, out)


@internal
def precision_at(problem: Problem, at: Place, out: FloatArray) -> None:
    """Compute the precision matrix -∂²f/∂θ∂θ', shape (n, n).

    A nest of direct sets contributes to g_ij if it lists both i and j: the weights of the prefixes
    that hold the later one.  A nest of complements contributes all its weights, less those of the
    sets that exclude i, less those that exclude j, plus those that exclude both; if this cancels,
    the weights are added anew.  The diagonal is the number that makes row i add up to λ_i s, since
    only s makes f depend on the scale of λ; taken_i - given_i - λ_i² g_ii would cancel where i wins
    nearly always.
    """
    n, members, complement = len(at.x), problem.members, problem.complement
    x, sums, lost, everybody, size = at.x, at.sums, np.zeros(len(at.x)), 0.0, 0.0
    scale = 1.0 if problem.total_shape > 0.0 else 0.0
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = 0.0
    for k in range(len(complement)):
        first, weight = problem.set_start[k], 0.0
        for t in range(problem.set_start[k + 1] - 1, first - 1, -1):
            weight += (problem.waits[t] - problem.groups[t]) / sums[t] ** 2
            if complement[k]:
                size += abs(problem.waits[t] - problem.groups[t]) / sums[t] ** 2
            start = problem.set_end[t - 1] if t > first else problem.nest_start[k]
            for later in range(start, problem.set_end[t]):
                j = members[later]
                for earlier in range(problem.nest_start[k], later + 1):
                    i = members[earlier]
                    out[max(i, j), min(i, j)] += weight
                if complement[k]:
                    lost[j] += weight
        if complement[k]:
            everybody += weight
    diagonal = lost.copy()
    for i in range(n):
        diagonal[i] = scale * x[i]
        least = np.inf
        for j in range(i):
            out[i, j] += everybody - lost[i] - lost[j]
            least = min(least, abs(out[i, j]))
        if least < _CANCELLED * size:
            for j in range(i):
                if abs(out[i, j]) < _CANCELLED * size:
                    out[i, j] = _weight_of_both(problem, sums, i, j)
        for j in range(i):
            out[i, j] *= -x[i] * x[j]
            diagonal[i] -= out[i, j]
            diagonal[j] -= out[i, j]
    for i in range(n):
        out[i, i] = diagonal[i]
        for j in range(i):
            out[j, i] = out[i, j]


@internal
def _weight_of_both(problem: Problem, sums: FloatArray, i: int, j: int) -> float:
    """Compute g_ij as a sum over all sets that hold both i and j."""
    a, last_a = problem.listed_start[i], problem.listed_start[i + 1]
    b, last_b = problem.listed_start[j], problem.listed_start[j + 1]
    nowhere, total = len(problem.members), 0.0
    for k in range(len(problem.complement)):
        at_i = at_j = nowhere
        if a < last_a and problem.listed_nest[a] == k:
            at_i, a = problem.listed_position[a], a + 1
        if b < last_b and problem.listed_nest[b] == k:
            at_j, b = problem.listed_position[b], b + 1
        for t in range(problem.set_start[k], problem.set_start[k + 1]):
            end = problem.set_end[t]
            if (min(at_i, at_j) >= end) if problem.complement[k] else (max(at_i, at_j) < end):
                total += (problem.waits[t] - problem.groups[t]) / sums[t] ** 2
    return total


@compiled
def times_precision(problem: Problem, theta: FloatArray, v: FloatArray, out: FloatArray) -> None:
    """Multiply v by the precision matrix at θ without forming the matrix."""
    at = new_place(problem, theta)
    look(problem, at)
    times_precision_at(problem, at, v, np.empty(len(v)), out)


@internal
def times_precision_at(
    problem: Problem, at: Place, v: FloatArray, part: FloatArray, out: FloatArray
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
    problem: Problem, at: Place, sign: float, part: FloatArray, out: FloatArray
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
