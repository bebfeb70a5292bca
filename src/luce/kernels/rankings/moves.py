"""Hamiltonian moves of strengths, and of the weights of ties, of rankings with ties.

Davidson and Luce's model has no Gibbs sweep.  Some draws (every other one while tuning) are
proposals from a multivariate t distribution around the mode instead, accepted by Metropolis and
Hastings' rule: they lead back from where f is too steep to follow.  f is concave (docs/model.md),
so there is one mode.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.contests.moves import contest_slope, move, move_space
from luce.kernels.contests.sweep import LARGEST
from luce.kernels.grouped_outcomes import SplitSpace
from luce.kernels.hamiltonian import SWEEP_EVERY, Metric, drift, set_pull, value_at
from luce.kernels.jit import borrowed, compiled, internal, on_stack
from luce.kernels.layouts import AnyProblem
from luce.kernels.problem import Problem
from luce.kernels.random import gamma, normal, uniform
from luce.kernels.rankings.block_slopes import OpenBlocks
from luce.kernels.rankings.choices import TieChoices, TieWeights
from luce.kernels.set_sums import LEAST

# Degrees of freedom of the proposals around the mode.
_FREEDOM = 5.0


class RankingFit(NamedTuple):
    """What moves must know of a posterior; the `fit` of the kernel.

    Attributes
    ----------
    events, weights
        Sets that were chosen from, or tied blocks of unknown order; and the parameters of ties.
    metric
        The width of the posterior in each direction of (log λ, log δ), dense.
    mode, factor
        The mode, and the Cholesky factor of the precision there.
    start
        First logarithms of the parameters that are drawn.
    """

    events: TieChoices | OpenBlocks
    weights: TieWeights
    metric: Metric
    mode: FloatArray
    factor: FloatArray
    start: FloatArray


def first_tuning(problem: Problem, fit: RankingFit) -> float:
    """Start at the logarithm of the fitted step."""
    return math.log(fit.metric.step)


def first_extra(fit: RankingFit) -> FloatArray:
    """Start the parameters at their prior means."""
    return fit.start.copy()


@compiled
def advance(
    bits: WordArray,
    problem: AnyProblem,
    fit: RankingFit,
    state: FloatArray,
    tuning: FloatArray,
    adapt: bool,
    out: FloatArray,
    stat: FloatArray,
    space: SplitSpace | None,
) -> None:
    """Make Hamiltonian moves of p and the weights of ties, and a proposal from afar now and then.

    Arguments as in `luce.kernels.Advance`; the problem may not be wide.  `state` holds p, then
    logarithms of the parameters that are drawn; rows of `out` hold the parameters themselves.
    `tuning`, `adapt` and `stat` are those of `kernels.hamiltonian`.
    """
    problem, fit, own, state = borrowed(problem), borrowed(fit), on_stack(bits), borrowed(state)
    events, weights, metric = fit.events, fit.weights, fit.metric
    n, size = len(problem.shape), len(state)
    scratch = move_space(size, n, len(problem.waits))
    for d in range(len(out)):
        turn = tuning[3] % (2 if adapt else SWEEP_EVERY)
        tuning[3] += 1.0
        if turn == 0.0:
            accepted = propose(own, problem, fit, space, state)
        else:
            accepted = move(
                own, problem, metric, events, weights, space, state, tuning, adapt, scratch
            )
        stat[d] = 1.0 if accepted else 0.0
        for i in range(n):
            out[d, i] = state[i]
        for i in range(n, size):
            out[d, i] = math.exp(state[i])
    for k in range(4):
        bits[k] = own[k]


@internal
def propose(
    own: WordArray,
    problem: AnyProblem,
    fit: RankingFit,
    space: SplitSpace | None,
    state: FloatArray,
) -> bool:
    """Propose a draw of the t distribution around the mode; return whether it was accepted."""
    n, size = len(problem.shape), len(state)
    theta, new, v, slope = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    log_total = math.log(gamma(own, problem.total_shape))
    for i in range(n):
        theta[i] = math.log(state[i]) + log_total
    for i in range(n, size):
        theta[i] = state[i]
    scale = math.sqrt(0.5 * _FREEDOM / gamma(own, 0.5 * _FREEDOM))
    length, far = 0.0, 0.0
    for i in range(size):
        v[i] = scale * normal(own)
        length += v[i] * v[i]
        new[i] = fit.mode[i]
    drift(fit.metric.root, None, v, 1.0, slope, new)
    change = log_posterior(problem, fit, space, new, slope)
    change -= log_posterior(problem, fit, space, theta, slope)
    power = 0.5 * (_FREEDOM + size)
    change += power * math.log1p(length / _FREEDOM)
    change -= power * math.log1p(squared_distance(fit, theta) / _FREEDOM)
    for i in range(n, size):
        far = max(far, abs(new[i]))
    accepted = far < LARGEST and math.log(uniform(own)) < change
    if accepted:
        total = 0.0
        for i in range(n):
            total += math.exp(new[i])
        for i in range(n):
            state[i] = max(math.exp(new[i]) / total, LEAST)
        for i in range(n, size):
            state[i] = new[i]
    return accepted


@internal
def squared_distance(fit: RankingFit, theta: FloatArray) -> float:
    """Compute the squared distance from the mode, in standard deviations: |L'(θ - μ)|²."""
    total = 0.0
    for j in range(len(theta)):
        part = 0.0
        for i in range(j, len(theta)):
            part += fit.factor[i, j] * (theta[i] - fit.mode[i])
        total += part * part
    return total


@internal
def log_posterior(
    problem: AnyProblem,
    fit: RankingFit,
    space: SplitSpace | None,
    theta: FloatArray,
    slope: FloatArray,
) -> float:
    """Compute f; `slope` is scratch."""
    n, n_sets = len(problem.shape), len(problem.waits)
    x, pull, sums, times = np.empty(n), np.empty(n), np.empty(n_sets), np.empty(n_sets)
    total = 0.0
    for i in range(n):
        x[i] = math.exp(min(theta[i], 700.0))
        total += x[i]
    set_pull(problem, fit.metric.exponent, space, x, sums, times, pull)
    value = value_at(problem.shape, fit.metric.powers, theta[:n], sums)
    return value - total + contest_slope(fit.events, fit.weights, theta, x, slope)
