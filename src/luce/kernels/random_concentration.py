"""Waiting times with a concentration that is drawn too.

With p | a ~ Dirichlet(a w) and a ~ Gamma(r, rate b), a sweep of waiting times given a is followed
by a draw of x = log a from

    p(x | p)  ∝  exp((r + K) x - b a) · Γ(a Σ w_i) / Π_i Γ(a w_i) · Π_i p_i^(a w_i),     a = exp x

products over w_i > 0, by slice sampling (Neal 2003).  All w_i = 1: a common concentration, K = 0.
In a Dirichlet process w is the base measure, and K counts the named atoms that it gives no mass:
each brings a factor a.  If but one w_i > 0, the rest of a process with a diffuse base, Γ cancels
and a is Gamma(r + K, rate b - w_i log p_i).  Given p, data say nothing more about a.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels import waiting_times
from luce.kernels.grouped import SplitSpace
from luce.kernels.jit import compiled, internal
from luce.kernels.problem import Problem
from luce.kernels.random import exponential, gamma_spread, log_gamma, uniform

_STEPS = 60  # of the slice's width to each side, at most
_LARGEST = 100.0  # |log a|: beyond, Γ(a) is not a double's business


class Hyperprior(NamedTuple):
    """What the draw of the concentration needs to know; the `fit` of a problem.

    Attributes
    ----------
    counts
        Net counts of the categories, without the prior's.
    net
        Their sum, with the exponents of all sets.
    shape, rate
        r and b.
    weights
        w_i.
    values, times
        The positive weights, each once, and how many categories have it.
    named
        K: how many have none.
    """

    counts: FloatArray
    net: float
    shape: float
    rate: float
    weights: FloatArray
    values: FloatArray
    times: FloatArray
    named: float


def make_hyperprior(
    counts: FloatArray, net: float, shape: float, rate: float, weights: FloatArray
) -> Hyperprior:
    """Add what follows from the weights."""
    values, times = np.unique(weights[weights > 0], return_counts=True)
    named = float((weights == 0).sum())
    return Hyperprior(counts, net, shape, rate, weights, values, times.astype(np.float64), named)


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
    """Sweep given a, then draw a given p.

    `state` holds log p and, last, log a; rows of `out` hold log p and a.
    """
    hyper, n = problem.fit, len(state) - 1
    whole = (hyper.values * hyper.times).sum()
    shape, spread, log_p = np.empty(n), np.empty(n), np.empty((1, n))
    for d in range(len(out)):
        a = math.exp(state[n])
        for i in range(n):
            shape[i] = a * hyper.weights[i] + hyper.counts[i]
            spread[i] = gamma_spread(shape[i])
        given = Problem(
            problem.members, problem.nest_start, problem.complement, problem.set_start,
            problem.set_end, problem.pairs, problem.singles, problem.lone, problem.waits,
            problem.groups, shape, problem.wait_spread, spread, whole * a + hyper.net,
            problem.listed_start, problem.listed_nest, problem.listed_position, problem.wide, None,
        )  # fmt: skip
        waiting_times.advance(bits, given, state[:n], tuning, False, log_p, stat[d : d + 1], space)
        total = 0.0
        for i in range(n):
            total += hyper.weights[i] * state[i]
        state[n] = _draw_scale(bits, state[n], hyper, whole, total)
        out[d, :n] = state[:n]
        out[d, n] = math.exp(state[n])


@internal
def _draw_scale(bits: WordArray, x: float, hyper: Hyperprior, whole: float, total: float) -> float:
    """Draw log a, exactly where Γ cancels; total is Σ w_i log p_i."""
    if len(hyper.values) == 1 and hyper.times[0] == 1.0:
        new = log_gamma(bits, hyper.shape + hyper.named) - math.log(hyper.rate - total)
        return min(max(new, -_LARGEST), _LARGEST)
    return _slice(bits, x, hyper, whole, total)


@internal
def _slice(bits: WordArray, x: float, hyper: Hyperprior, whole: float, total: float) -> float:
    """Draw log a by stepping out and shrinking."""
    level = _log_density(x, hyper, whole, total) - exponential(bits)
    low = x - uniform(bits)
    high = low + 1.0
    steps = 0
    while steps < _STEPS and low > -_LARGEST and _log_density(low, hyper, whole, total) > level:
        low -= 1.0
        steps += 1
    steps = 0
    while steps < _STEPS and high < _LARGEST and _log_density(high, hyper, whole, total) > level:
        high += 1.0
        steps += 1
    while True:
        new = low + uniform(bits) * (high - low)
        if _log_density(new, hyper, whole, total) >= level:
            return new
        if new < x:
            low = new
        else:
            high = new


@internal
def _log_density(x: float, hyper: Hyperprior, whole: float, total: float) -> float:
    a = math.exp(x)
    # log Γ(a + 1) - log a stays a number for the smallest a.
    log_beta = -(math.lgamma(whole * a + 1.0) - x - math.log(whole))
    for k in range(len(hyper.values)):
        w = hyper.values[k]
        log_beta += hyper.times[k] * (math.lgamma(w * a + 1.0) - x - math.log(w))
    return (hyper.shape + hyper.named) * x - hyper.rate * a - log_beta + a * total


def first_extra(problem: Problem) -> FloatArray:
    """Start log a at the prior's mean."""
    return np.array([math.log(problem.fit.shape / problem.fit.rate)])
