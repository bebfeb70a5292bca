"""Counts whose channels are independent within a state.

    y | state ~ Poisson(rate),    rate ~ Gamma(shape, prior rate)

in each channel; the number n of the entries that are there and their sum S give
Gamma(shape + S, prior rate + n).

A row of statistics holds the number of rows, then n of every channel, S of every channel, and
Σ log y! over all entries.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, WordArray
from luce.kernels.jit import compiled, internal
from luce.kernels.random import log_gamma, poisson

_LEAST_LOG_RATE = -690.0  # a smaller rate would not be a double


class CountsPrior(NamedTuple):
    """Gamma prior of the rates of a state.

    Attributes
    ----------
    shape, rate
        Shape (channels,): a channel's rate has mean shape / rate.
    """

    shape: FloatArray
    rate: FloatArray


def make_prior(shape: FloatArray, rate: FloatArray) -> CountsPrior:
    """Copy the parameters of a prior."""
    return CountsPrior(shape.copy(), rate.copy())


def statistics_length(n_channels: int) -> int:
    """Return the length of a row of statistics."""
    return 2 + 2 * n_channels


@compiled
def log_likelihood(values: FloatArray, rate: FloatArray, out: FloatArray) -> None:
    """Compute the log probability of every row under every state.

    Parameters
    ----------
    values
        Shape (rows, channels), whole; NaN is missing and adds 0.
    rate
        Shape (states, channels).
    out
        Shape (rows, states): receives log probabilities.
    """
    n_states, n_channels = rate.shape
    rates, log_rates = np.empty((n_channels, n_states)), np.empty((n_channels, n_states))
    for s in range(n_states):
        for i in range(n_channels):
            rates[i, s], log_rates[i, s] = rate[s, i], np.log(rate[s, i])
    for t in range(len(values)):
        for s in range(n_states):
            out[t, s] = 0.0
        for i in range(n_channels):
            y = values[t, i]
            if y > 0.0:
                log_factorial = math.lgamma(y + 1.0)
                for s in range(n_states):
                    out[t, s] += y * log_rates[i, s] - rates[i, s] - log_factorial
            elif y == 0.0:
                for s in range(n_states):
                    out[t, s] -= rates[i, s]


@compiled
def statistics(values: FloatArray, groups: IntArray, prior: CountsPrior, out: FloatArray) -> None:
    """Add up the statistics of the rows of each group.

    Parameters
    ----------
    values
        Shape (rows, channels); NaN is missing.
    groups
        Shape (rows,): the group of each row; -1 leaves a row out.
    prior
        Prior; not needed here, but an argument of all such functions.
    out
        Shape (groups, length of a row of statistics): receives the sums.
    """
    n_channels = values.shape[1]
    out[:] = 0.0
    for t in range(len(values)):
        g = groups[t]
        if g < 0:
            continue
        some = False
        for i in range(n_channels):
            y = values[t, i]
            if np.isnan(y):
                continue
            some = True
            out[g, 1 + i] += 1.0
            out[g, 1 + n_channels + i] += y
            out[g, 1 + 2 * n_channels] += math.lgamma(y + 1.0)
        if some:
            out[g, 0] += 1.0


@compiled
def draw(bits: WordArray, prior: CountsPrior, rows: FloatArray, rate: FloatArray) -> None:
    """Draw the rates of all states given the statistics of their rows.

    Parameters
    ----------
    bits
        Generator.
    prior
        Prior of every state.
    rows
        Shape (states, length of a row of statistics); a row of zeros gives a draw of the prior.
    rate
        Shape (states, channels): receives the draws.
    """
    n_channels = len(prior.shape)
    for s in range(len(rows)):
        for i in range(n_channels):
            shape = prior.shape[i] + rows[s, 1 + n_channels + i]
            log_rate = log_gamma(bits, shape) - math.log(prior.rate[i] + rows[s, 1 + i])
            rate[s, i] = math.exp(max(log_rate, _LEAST_LOG_RATE))


@internal
def log_marginal(prior: CountsPrior, row: FloatArray) -> float:
    """Compute the log probability of rows of observations, rates integrated out."""
    if not row[0] > 0.0:
        return 0.0
    n_channels = len(prior.shape)
    value = -row[1 + 2 * n_channels]
    for i in range(n_channels):
        count, total = row[1 + i], row[1 + n_channels + i]
        if count > 0.0:
            shape = prior.shape[i]
            value += math.lgamma(shape + total) - math.lgamma(shape)
            # (rate / (rate + n))^shape (rate + n)^-total, whose logarithms do not cancel
            value -= shape * math.log1p(count / prior.rate[i])
            value -= total * math.log(prior.rate[i] + count)
    return float(value)


@compiled
def simulate(bits: WordArray, labels: IntArray, rate: FloatArray, out: FloatArray) -> None:
    """Draw one row of observations for each label into `out`, shape (rows, channels)."""
    for t in range(len(labels)):
        for i in range(rate.shape[1]):
            out[t, i] = poisson(bits, rate[labels[t], i])
