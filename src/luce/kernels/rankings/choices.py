"""The likelihood of choices with ties, by Davidson and Luce, and its slope.

With θ = log λ, z_d = log δ_d, and numerators among the powers of the categories,

    g(θ, z) = -Σ_S m_S log Σ_{d <= D} δ_d e_d(S) + Σ_d ((a_d + n_d) z_d - b_d δ_d)

with δ_1 = 1, n_d the number of ties of d, and e_d(S) the elementary symmetric polynomial of the
roots λ_i^(1/d).  The slope of log e_d by θ_i is λ_i^(1/d) e_{d-1}(S without i) / (d e_d).  Sums
over the members before i, and over those after i, give e_{d-1}(S without i) without a subtraction.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from luce._types import FloatArray
from luce.kernels.jit import compiled


class TieChoices(NamedTuple):
    """Sets that were chosen from, in a model of ties of up to D.

    Attributes
    ----------
    members, start
        Set t is ``members[start[t]:start[t + 1]]``.
    waits
        m_S: number of choices from each set.
    tie_power
        Number of ties of 2, 3, ... D.
    most
        Number of members of the largest set.
    """

    members: npt.NDArray[np.uint32]
    start: npt.NDArray[np.int64]
    waits: FloatArray
    tie_power: FloatArray
    most: int


class TieWeights(NamedTuple):
    """The parameters δ_2, δ_3, ... δ_D: where each stands in the state, and its prior.

    Attributes
    ----------
    place
        Index of log δ_d in the state; -1 where it is known.
    known
        Logarithm of the known value, 0 where there is none.
    shape, rate
        Gamma prior of δ_d.
    """

    place: npt.NDArray[np.int64]
    known: FloatArray
    shape: FloatArray
    rate: FloatArray


def slope_of_choices(choices: Any, weights: Any, theta: Any, x: Any, out: Any) -> float:
    """Compute g, and write its slope by each of `theta`; arguments as in `contest_slope`."""
    value, largest = 0.0, len(weights.place) + 1
    before = np.empty((choices.most + 1, largest + 1))
    after = np.empty((choices.most + 1, largest + 1))
    roots, pull = np.empty(choices.most), np.empty(choices.most)
    shares = np.empty(largest + 1)
    for i in range(len(out)):
        out[i] = 0.0
    for t in range(len(choices.waits)):
        first, size = choices.start[t], choices.start[t + 1] - choices.start[t]
        top = -np.inf
        for k in range(size):
            top = max(top, theta[choices.members[first + k]])
            pull[k] = 0.0
        total = 0.0
        for d in range(1, min(largest, size) + 1):
            delta = 1.0
            if d > 1:
                at = weights.place[d - 2]
                delta = math.exp(theta[at] if at >= 0 else weights.known[d - 2])
            for k in range(size):
                roots[k] = math.exp((theta[choices.members[first + k]] - top) / d)
            before[0, 0] = after[size, 0] = 1.0
            for j in range(1, d + 1):
                before[0, j] = after[size, j] = 0.0
            for k in range(size):
                before[k + 1, 0] = 1.0
                for j in range(1, d + 1):
                    before[k + 1, j] = before[k, j] + roots[k] * before[k, j - 1]
            for k in range(size - 1, -1, -1):
                after[k, 0] = 1.0
                for j in range(1, d):
                    after[k, j] = after[k + 1, j] + roots[k] * after[k + 1, j - 1]
                others = 0.0
                for j in range(d):
                    others += before[k, j] * after[k + 1, d - 1 - j]
                pull[k] += delta * roots[k] * others / d
            shares[d] = delta * before[size, d]
            total += shares[d]
        u = choices.waits[t] / total
        value -= choices.waits[t] * (math.log(total) + top)
        for k in range(size):
            out[choices.members[first + k]] -= u * pull[k]
        for d in range(2, min(largest, size) + 1):
            if weights.place[d - 2] >= 0:
                out[weights.place[d - 2]] -= u * shares[d]
    for d in range(2, largest + 1):
        at = weights.place[d - 2]
        if at >= 0:
            power, rate = weights.shape[d - 2] + choices.tie_power[d - 2], weights.rate[d - 2]
            delta = math.exp(theta[at])
            out[at] += power - rate * delta
            value += power * theta[at] - rate * delta
        else:
            value += choices.tie_power[d - 2] * weights.known[d - 2]
    return value


choices_slope = compiled(slope_of_choices)
