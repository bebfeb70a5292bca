"""Independent draws where a single set has weights: through one scalar.

With λ_i independent gammas and p = λ / Σ λ_i, the set contributes (Σ_i a_i λ_i)^(-m).  Its waiting
time u, integrated over λ, has x = log u with the log density, up to a constant,

    h(x) = m x - Σ_i c_i log(1 + a_i e^x),       λ_i ~ Gamma(c_i) / (1 + a_i u)  given u.

h is concave.  x is drawn by rejection from three pieces that lie above exp h: a constant, its
height at the mode, and to both sides the exponentials of tangents to h (Devroye 1986, VII.2).
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.jit import borrowed, compiled, internal, on_stack
from luce.kernels.layouts import Weighted
from luce.kernels.random import exponential, scaled_gamma, uniform
from luce.kernels.set_sums import normalise, one, plus, times, zero

# Largest log u in problems that are not wide, whose draws exceed it once in 10^15 times.
_LARGEST_LOG = 690.0


class Tangents(NamedTuple):
    """Three pieces above exp h; the `fit` of the kernel.

    Attributes
    ----------
    top
        h at its mode.
    left, right
        Where the tangents to the left and to the right reach `top`: the ends of the middle piece.
    rise, fall
        Slopes of the tangents, rise > 0 on the left and fall > 0, downwards, on the right.
    """

    top: float
    left: float
    right: float
    rise: float
    fall: float


@compiled
def advance(
    bits: WordArray,
    problem: Weighted,
    fit: Tangents,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Draw u by rejection, then the λ_i given u; arguments as in `luce.kernels.Advance`.

    The problem is a `Weighted` with one set and no grouped outcomes; `fit` are its `Tangents`.
    `stat` receives the number of proposals.  `tuning`, `adapt` and `space` are unused.
    """
    problem, own = borrowed(problem), on_stack(bits)
    wide, members, weights = problem.wide, problem.members, problem.weights
    n, rates = len(state), np.empty(len(state))
    for d in range(len(out)):
        proposals = 1.0
        x, height = _propose(own, fit)
        while _log_density(problem, x) < height:
            x, height = _propose(own, fit)
            proposals += 1.0
        u = x if wide is not None else math.exp(min(x, _LARGEST_LOG))
        for i in range(n):
            rates[i] = zero(wide)
        for position in range(len(members)):
            rates[members[position]] = times(weights[position], u, wide)
        for i in range(n):
            rate = plus(one(wide), rates[i], wide)
            state[i] = scaled_gamma(own, problem.shape[i], problem.spread[i], rate, wide)
        normalise(state, wide)
        for i in range(n):
            out[d, i] = state[i]
        stat[d] = proposals
    for k in range(4):
        bits[k] = own[k]


@internal
def _propose(bits: WordArray, fit: Tangents) -> tuple[float, float]:
    """Draw a point under the three pieces: x, and the logarithm of a height."""
    before, middle, after = 1.0 / fit.rise, fit.right - fit.left, 1.0 / fit.fall
    place, x, height = uniform(bits) * (before + middle + after), fit.left, fit.top
    if place < middle:
        x += place
    elif place < middle + before:
        distance = exponential(bits)
        x -= distance / fit.rise
        height -= distance
    else:
        distance = exponential(bits)
        x = fit.right + distance / fit.fall
        height -= distance
    return x, height - exponential(bits)


@internal
def _log_density(problem: Weighted, x: float) -> float:
    """Compute h(x)."""
    members, weights, shape = problem.members, problem.weights, problem.shape
    value = float(problem.waits[0] * x)
    if problem.wide is None:
        u = math.exp(min(x, _LARGEST_LOG))
        for position in range(len(members)):
            value -= shape[members[position]] * math.log1p(weights[position] * u)
    else:
        for position in range(len(members)):
            y = x + weights[position]
            value -= shape[members[position]] * (max(y, 0.0) + math.log1p(math.exp(-abs(y))))
    return value
