"""Items that dominate their sets, and when it pays to move them one by one.

Near the mode a waiting-time sweep takes log p_i a fraction e_i of the way back to where the other
items draw it,

    e_i = H_ii / c_i = Σ_{t ∋ i} m_t q_t (1 - q_t) / Σ_{t ∋ i} m_t q_t,      q_t = p_i / p(S_t)

the set of all with A outcomes included: H is the curvature in log p, and c_i the curvature given
the waiting times.  A sweep is then worth e_i / (2 - e_i) independent draws of item i.  Items that
are moved by themselves (`kernels.single_items`) are no longer the slowest; each costs its sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, IntArray
from luce.sampling.laplace import family_of

if TYPE_CHECKING:
    from luce.kernels.problem import Problem
    from luce.kernels.single_items import SingleItems

# Measured nanoseconds: a member of a set and a gamma in a sweep; a set of an item and an item in
# its own move.
_MEMBER, _GAMMA, _VISIT, _ITEM = 0.6, 4.0, 3.0, 60.0

# Predicted gain in effective draws a second below which sweeps are left as they are.
_LEAST_GAIN = 1.3

# Largest share of the items that is moved.
_MOST = 0.5


def choose_items(problem: Problem, theta: FloatArray) -> tuple[SingleItems, float] | None:
    """Choose the items to move, and predict the gain in effective draws a second.

    None where it does not pay, or the problem has no such moves.

    Parameters
    ----------
    problem
        The posterior.
    theta
        log λ at the mode, or near it.
    """
    plain = problem.wide is None and not problem.groups.any() and not problem.complement.any()
    plain &= problem.weights is None
    if not plain or not len(problem.waits):
        return None
    p = np.exp(theta - np.logaddexp.reduce(theta))
    first, stop = _holding(problem)
    share = _worth_of_sweeps(problem, p, first, stop)
    visits = np.bincount(problem.members, stop - first, len(p))
    order = np.argsort(share, kind="stable")
    most = int(_MOST * len(p))
    cost = _cost_of_sweep(problem) + np.r_[0.0, np.cumsum(_VISIT * visits[order] + _ITEM)][:most]
    rate = share[order][:most] / cost
    number = int(np.argmax(rate)) if most else 0
    if number == 0 or rate[number] < _LEAST_GAIN * rate[0]:
        return None
    return _gather(problem, p, order[:number], first, stop), float(rate[number] / rate[0])


def _worth_of_sweeps(
    problem: Problem, p: FloatArray, first: IntArray, stop: IntArray
) -> FloatArray:
    """Predict e_i / (2 - e_i), the effective draws of each item in a waiting-time sweep."""
    sums = np.maximum(family_of(problem).set_sums(p), 1e-300)

    def over_sets(w: FloatArray) -> FloatArray:
        before = np.r_[0.0, np.cumsum(w)]
        listed = before[stop] - before[first]
        return np.asarray(problem.total_shape + np.bincount(problem.members, listed, len(p)))

    taken = p * over_sets(problem.waits / sums)
    squared = p * p * over_sets(problem.waits / sums**2)
    e = np.clip(1.0 - squared / taken, 1e-12, 1.0)
    return np.asarray(e / (2.0 - e))


def _cost_of_sweep(problem: Problem) -> float:
    return _MEMBER * len(problem.members) + _GAMMA * (len(problem.waits) + len(problem.shape))


def _holding(problem: Problem) -> tuple[IntArray, IntArray]:
    """Find, for each stored member, the range of the sets of its nest that hold it."""
    nest = np.repeat(np.arange(len(problem.complement)), np.diff(problem.nest_start))
    stop = problem.set_start[1:][nest]
    if len(problem.waits) == len(problem.complement):  # one set a nest, most often all of it
        inside = np.arange(len(problem.members)) < problem.set_end[nest]
        return np.where(inside, nest, stop), stop
    places = np.arange(len(problem.members))
    first = np.searchsorted(problem.set_end, places, side="right")
    return np.minimum(first, stop), stop


def _gather(
    problem: Problem, p: FloatArray, chosen: IntArray, first: IntArray, stop: IntArray
) -> SingleItems:
    """List the sets of each chosen item."""
    from luce.kernels.single_items import SingleItems

    held = []
    for i in chosen:
        places = problem.listed_position[problem.listed_start[i] : problem.listed_start[i + 1]]
        low, length = first[places], (stop - first)[places]
        ends = np.cumsum(length)
        held.append(np.repeat(low - ends + length, length) + np.arange(length.sum()))
    sets = np.concatenate(held).astype(np.uint32)
    start = np.cumsum([0, *(len(own) for own in held)]).astype(np.uint32)
    odds = np.log(p[chosen]) - np.log1p(-p[chosen])
    return SingleItems(chosen.astype(np.uint32), odds, start, sets, problem.waits[sets])
