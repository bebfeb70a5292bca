"""Waiting times with a random concentration.

With p | a ~ Dirichlet(a w) and a ~ Gamma(r, rate b), a sweep of waiting times given a is followed
by a draw of x = log a from

    p(x | p)  ∝  exp((r + K) x - b a) · Γ(a Σ w_i) / Π_i Γ(a w_i) · Π_i p_i^(a w_i),     a = exp x

products over w_i > 0, by slice sampling (Neal 2003).  With all w_i = 1, a is a common concentration
and K = 0.  In a Dirichlet process w is the base measure, and K counts the named atoms without base
mass: each contributes a factor a.  If only one w_i > 0, as for the remainder of a process with a
diffuse base, Γ cancels and a is Gamma(r + K, rate b - w_i log p_i).  Given p, a is independent of
the data.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace, split_groups
from luce.kernels.half_sweep import draw_probabilities, draw_times
from luce.kernels.jit import borrowed, compiled, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.random import exponential, gamma_or_log, gamma_spread, log_gamma, uniform
from luce.kernels.set_sums import as_log, member_sums, set_sums

_STEPS = 60  # largest number of unit steps by which a slice is widened on each side
_LARGEST = 100.0  # largest |log a|; Γ(a) is not a double beyond


class Hyperprior(NamedTuple):
    """The prior of the concentration and the data it needs; the `fit` of the kernel.

    Attributes
    ----------
    counts
        Net counts of the categories, without the prior's.
    net
        Sum of the counts and of the exponents of all sets.
    shape, rate
        r and b.
    weights
        w_i.
    values, times
        The distinct positive weights, and the number of categories that have each.
    named
        K: the number of categories with weight 0.
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
    """Derive distinct weights and their multiplicities from the weights."""
    values, times = np.unique(weights[weights > 0], return_counts=True)
    named = float((weights == 0).sum())
    return Hyperprior(counts, net, shape, rate, weights, values, times.astype(np.float64), named)


def first_extra(fit: Hyperprior) -> FloatArray:
    """Start log a at the logarithm of the prior mean."""
    return np.array([math.log(fit.shape / fit.rate)])


@compiled
def advance(
    bits: WordArray,
    problem: AnyProblem,
    fit: Hyperprior,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Draw p given a by a waiting-time sweep, then a given p; arguments as in `kernels.Advance`.

    The problem is wide, and `fit` is a `Hyperprior`.  `state` holds log p and, last, log a;
    rows of `out` hold log p and, last, a.  `stat` receives the logarithm of the total waiting time;
    `tuning` and `adapt` are unused.
    """
    problem, hyper, own = borrowed(problem), borrowed(fit), on_stack(bits)
    state = borrowed(state)
    wide, n = problem.wide, len(state) - 1
    log_p = state[:n]
    times, rates, grouped = np.empty(len(problem.waits)), np.empty(n), np.zeros(n)
    shape, spread = np.empty(n), np.empty(n)
    whole = 0.0
    for k in range(len(hyper.values)):
        whole += hyper.values[k] * hyper.times[k]
    for d in range(len(out)):
        set_sums(problem, log_p, times)
        waited = draw_times(own, problem.waits, problem.wait_spread, times, True, wide)
        if space is not None:
            for i in range(n):
                grouped[i] = 0.0
            split_groups(own, problem, log_p, space, grouped)
        member_sums(problem, times, rates)
        a = math.exp(state[n])
        total = gamma_or_log(own, whole * a + hyper.net, wide)
        for i in range(n):
            shape[i] = a * hyper.weights[i] + hyper.counts[i] + grouped[i]
            spread[i] = gamma_spread(shape[i])
        draw_probabilities(own, shape, spread, total, rates, wide, log_p)
        weighted = 0.0
        for i in range(n):
            out[d, i] = log_p[i]
            weighted += hyper.weights[i] * log_p[i]
        state[n] = _draw_scale(own, state[n], hyper, whole, weighted)
        out[d, n] = math.exp(state[n])
        stat[d] = as_log(waited, wide)
    for k in range(4):
        bits[k] = own[k]


@internal
def _draw_scale(bits: WordArray, x: float, hyper: Hyperprior, whole: float, total: float) -> float:
    """Draw log a, exactly where Γ cancels; `whole` is Σ w_i and `total` is Σ w_i log p_i."""
    if len(hyper.values) == 1 and hyper.times[0] == 1.0:
        new = log_gamma(bits, hyper.shape + hyper.named) - math.log(hyper.rate - total)
        return min(max(new, -_LARGEST), _LARGEST)
    return _slice(bits, x, hyper, whole, total)


@internal
def _slice(bits: WordArray, x: float, hyper: Hyperprior, whole: float, total: float) -> float:
    """Draw log a by slice sampling: step out, then shrink."""
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
    """Evaluate log p(x | p) up to a constant."""
    a = math.exp(x)
    # log Γ(a + 1) - log a stays finite for the smallest a.
    log_beta = -(math.lgamma(whole * a + 1.0) - x - math.log(whole))
    for k in range(len(hyper.values)):
        w = hyper.values[k]
        log_beta += hyper.times[k] * (math.lgamma(w * a + 1.0) - x - math.log(w))
    return (hyper.shape + hyper.named) * x - hyper.rate * a - log_beta + a * total
