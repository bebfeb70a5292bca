"""Waiting times with a common concentration that is drawn too.

With p | a ~ Dirichlet(a, ..., a) and a ~ Gamma(r, rate b), a sweep of waiting times given a is
followed by a draw of x = log a from

    p(x | p)  ∝  exp(r x - b a) · Γ(n a) / Γ(a)^n · Π_i p_i^a,        a = exp x

by slice sampling (Neal 2003).  Given p, data say nothing more about a.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels import waiting_times
from luce.kernels.grouped import SplitSpace
from luce.kernels.jit import compiled, internal
from luce.kernels.problem import Problem
from luce.kernels.random import exponential, gamma_spread, uniform

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
    """

    counts: FloatArray
    net: float
    shape: float
    rate: float


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

    `state` holds logarithms, ``tuning[0]`` log a, and `stat` receives a.
    """
    hyper, n = problem.fit, len(state)
    shape, spread = np.empty(n), np.empty(n)
    for d in range(len(out)):
        a = math.exp(tuning[0])
        for i in range(n):
            shape[i] = a + hyper.counts[i]
            spread[i] = gamma_spread(shape[i])
        given = Problem(
            problem.members, problem.chain_start, problem.complement, problem.set_start,
            problem.set_end, problem.pairs, problem.singles, problem.lone, problem.waits,
            problem.groups, shape, problem.wait_spread, spread, n * a + hyper.net,
            problem.listed_start, problem.listed_chain, problem.listed_position, problem.wide, None,
        )  # fmt: skip
        waiting_times.advance(
            bits, given, state, tuning, False, out[d : d + 1], stat[d : d + 1], space
        )
        total = 0.0
        for i in range(n):
            total += state[i]
        tuning[0] = _slice(bits, tuning[0], n, total, hyper.shape, hyper.rate)
        stat[d] = math.exp(tuning[0])


@internal
def _slice(bits: WordArray, x: float, n: int, total: float, shape: float, rate: float) -> float:
    """Draw log a by stepping out and shrinking; total is Σ log p_i."""
    level = _log_density(x, n, total, shape, rate) - exponential(bits)
    low = x - uniform(bits)
    high = low + 1.0
    steps = 0
    while steps < _STEPS and low > -_LARGEST and _log_density(low, n, total, shape, rate) > level:
        low -= 1.0
        steps += 1
    steps = 0
    while steps < _STEPS and high < _LARGEST and _log_density(high, n, total, shape, rate) > level:
        high += 1.0
        steps += 1
    while True:
        new = low + uniform(bits) * (high - low)
        if _log_density(new, n, total, shape, rate) >= level:
            return new
        if new < x:
            low = new
        else:
            high = new


@internal
def _log_density(x: float, n: int, total: float, shape: float, rate: float) -> float:
    a = math.exp(x)
    # log Γ(a + 1) - log a stays a number for the smallest a.
    log_beta = n * (math.lgamma(a + 1.0) - x) - (math.lgamma(n * a + 1.0) - x - math.log(n))
    return shape * x - rate * a - log_beta + a * total


def first_tuning(problem: Problem) -> float:
    """Start at the prior's mean."""
    return math.log(problem.fit.shape / problem.fit.rate)
