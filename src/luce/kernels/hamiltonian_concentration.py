"""Hamiltonian moves with a random concentration, which is one more coordinate.

With p | a ~ Dirichlet(a w), a ~ Gamma(r, rate b), x = log a, and the total Λ ~ Gamma(A(a)) of
λ = Λ p, where A(a) = a W + net, W = Σ w_i and net is the sum of all counts and exponents, the
posterior of θ = log λ and x is

    f(θ, x) = Σ_i (a w_i + c_i) θ_i - Σ_t e_t log λ(S_t) - Σ_i λ_i
              + log Γ(a W) - Σ_i log Γ(a w_i) - log Γ(A(a)) + (r + K) x - b a,

    ∂f/∂θ_i = a w_i + c_i - λ_i - λ_i Σ_{t ∋ i} e_t / λ(S_t)
    ∂f/∂x   = a (Σ_i w_i θ_i + W ψ(a W) - Σ_i w_i ψ(a w_i) - W ψ(A(a))) + r + K - b a

with c_i the net counts, K as in `kernels.random_concentration`, and sums of Γ and ψ over w_i > 0.
Moves are those of `kernels.hamiltonian`, with a metric of n + 1 directions; Λ is redrawn before
each.  Some draws (every other one while tuning) are a sweep of `kernels.random_concentration`.

The state is log p, since a concentration near 0 makes probabilities smaller than any double.  Moves
from or to places where some λ_i is so small are never accepted; sweeps lead there and back.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels import random_concentration
from luce.kernels.digamma import digamma
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.hamiltonian import (
    FIRST_KICK,
    SWEEP_EVERY,
    Metric,
    adapt_step,
    drift,
    kick,
    set_pull,
)
from luce.kernels.jit import borrowed, compiled, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.log_powers import Powers, log_power_product
from luce.kernels.problem import Problem
from luce.kernels.random import log_gamma, normal, uniform
from luce.kernels.random_concentration import LARGEST, Hyperprior, log_density
from luce.kernels.random_concentration import advance as sweep

# Smallest log λ_i of a place that moves lead to; and the range in which λ is computed.
_LOWEST, _FLOOR, _HIGHEST = -500.0, -650.0, 700.0


class JointMetric(NamedTuple):
    """What moves and sweeps must know of a posterior; the `fit` of the kernel.

    Attributes
    ----------
    plain
        The problem in plain numbers, for the moves.
    metric
        The width of the posterior in each direction of (θ, x), dense.
    hyper
        The prior of the concentration.
    """

    plain: AnyProblem
    metric: Metric
    hyper: Hyperprior


def first_tuning(problem: Problem, fit: JointMetric) -> float:
    """Start at the logarithm of the fitted step."""
    return math.log(fit.metric.step)


def first_extra(fit: JointMetric) -> FloatArray:
    """Start log a at the logarithm of the prior mean."""
    return random_concentration.first_extra(fit.hyper)


@compiled
def advance(
    bits: WordArray,
    problem: AnyProblem,
    fit: JointMetric,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Make Hamiltonian moves of log p and log a, and a waiting-time sweep now and then.

    Arguments as in `luce.kernels.Advance`; the problem is wide.  `fit` is a `JointMetric`.  `state`
    holds log p and, last, log a; rows of `out` hold log p and, last, a.  `tuning`, `adapt` and
    `stat` are those of `kernels.hamiltonian`.
    """
    problem, fit, own, state = borrowed(problem), borrowed(fit), on_stack(bits), borrowed(state)
    plain, metric, hyper, n = fit.plain, fit.metric, fit.hyper, len(state) - 1
    n_sets, length = len(problem.waits), metric.length
    row, row_stat = np.empty((1, n + 1)), np.empty(1)
    theta, v, gradient, path = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1), np.empty(n + 1)
    x, pull, pull_new = np.empty(n), np.empty(n), np.empty(n)
    sums, times = np.empty(n_sets), np.empty(n_sets)
    whole = 0.0
    for k in range(len(hyper.values)):
        whole += hyper.values[k] * hyper.times[k]
    known, value = False, 0.0
    for d in range(len(out)):
        turn = tuning[3] % (2 if adapt else SWEEP_EVERY)
        tuning[3] += 1.0
        if turn == 0.0:
            for k in range(4):
                bits[k] = own[k]
            sweep(bits, problem, hyper, state, tuning, False, row, row_stat, space)
            for k in range(4):
                own[k] = bits[k]
            known = False
            stat[d] = 1.0
        else:
            if not known:
                for i in range(n):
                    x[i] = math.exp(max(state[i], _FLOOR))
                set_pull(plain, metric.exponent, space, x, sums, times, pull)
                value = _value_at(hyper, metric.powers, whole, state, sums)
                known = True
            log_h = tuning[0] if adapt else tuning[2]
            far = length * (1.0 + metric.jitter * (2.0 * uniform(own) - 1.0))
            steps = math.ceil(far / math.exp(log_h))
            h = far / steps
            total_shape = whole * math.exp(state[n]) + hyper.net
            log_total = log_gamma(own, total_shape)
            lowest, total = 0.0, 0.0
            for i in range(n):
                theta[i] = state[i] + log_total
                lowest = min(lowest, theta[i])
                x[i] = math.exp(max(theta[i], _FLOOR))
                total += x[i]
            theta[n] = state[n]
            energy = value + total_shape * log_total - total
            for i in range(n + 1):
                v[i] = normal(own)
                energy -= 0.5 * v[i] * v[i]
            _slope(hyper, whole, theta, x, pull, gradient)
            kick(metric.root_transposed, metric.scale, gradient, FIRST_KICK * h, v)
            for step in range(2 * steps):
                drift(metric.root, metric.scale, v, 0.5 * h, path, theta)
                for i in range(n):
                    x[i] = math.exp(min(max(theta[i], _FLOOR), _HIGHEST))
                set_pull(plain, metric.exponent, space, x, sums, times, pull_new)
                _slope(hyper, whole, theta, x, pull_new, gradient)
                last = FIRST_KICK if step == 2 * steps - 1 else 2.0 * FIRST_KICK
                weight = h * (last if step % 2 else 1 - 2 * FIRST_KICK)
                kick(metric.root_transposed, metric.scale, gradient, weight, v)
            total = 0.0
            for i in range(n):
                lowest = min(lowest, theta[i])
                total += x[i]
            probability = 0.0
            if lowest > _LOWEST and abs(theta[n]) < LARGEST:
                value_new = _value_at(hyper, metric.powers, whole, theta, sums)
                change = value_new - total - energy
                for i in range(n + 1):
                    change -= 0.5 * v[i] * v[i]
                probability = math.exp(min(change, 0.0)) if math.isfinite(change) else 0.0
            accepted = uniform(own) < probability
            if accepted:
                log_total = math.log(total)
                value = value_new - (whole * math.exp(theta[n]) + hyper.net) * log_total
                for i in range(n):
                    state[i] = theta[i] - log_total
                    pull[i] = pull_new[i]
                state[n] = theta[n]
            stat[d] = 1.0 if accepted else 0.0
            if adapt:
                adapt_step(tuning, probability, length)
        for i in range(n):
            out[d, i] = state[i]
        out[d, n] = math.exp(state[n])
    for k in range(4):
        bits[k] = own[k]


@internal
def _value_at(
    hyper: Hyperprior, powers: Powers, whole: float, theta: FloatArray, sums: FloatArray
) -> float:
    """Compute f + Σ λ_i; log a is the last element of `theta`, and `sums` holds λ(S_t)."""
    value, weighted, n = -log_power_product(powers, sums), 0.0, len(theta) - 1
    for i in range(n):
        value += hyper.counts[i] * theta[i]
        weighted += hyper.weights[i] * theta[i]
    total_shape = whole * math.exp(theta[n]) + hyper.net
    value += log_density(theta[n], hyper, whole, weighted)
    return value - (math.lgamma(total_shape + 1.0) - math.log(total_shape))


@internal
def _slope(
    hyper: Hyperprior,
    whole: float,
    theta: FloatArray,
    x: FloatArray,
    pull: FloatArray,
    out: FloatArray,
) -> None:
    """Compute ∂f/∂θ and, last, ∂f/∂x, with a ψ(a) = a ψ(a + 1) - 1, which is right near 0 too."""
    n, weighted = len(theta) - 1, 0.0
    a = math.exp(min(max(theta[n], -LARGEST), LARGEST))
    for i in range(n):
        prior = a * hyper.weights[i]
        out[i] = prior + hyper.counts[i] - x[i] - pull[i]
        weighted += prior * theta[i]
    mass = a * whole
    total_shape = mass + hyper.net
    slope = weighted + mass * digamma(mass + 1.0) - 1.0 - hyper.rate * a
    slope -= mass * (digamma(total_shape + 1.0) - 1.0 / total_shape)
    for k in range(len(hyper.values)):
        mass = a * hyper.values[k]
        slope -= hyper.times[k] * (mass * digamma(mass + 1.0) - 1.0)
    out[n] = slope + hyper.shape + hyper.named
