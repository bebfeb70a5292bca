"""Normal observations whose channels are independent within a state.

    y | state ~ N(mean, v),  mean | v ~ N(center, v / weight),  v ~ InvGamma(degrees / 2, scale / 2)

in each channel; n, s = Σ (y - center) and S = Σ (y - center)² over the entries that are there give

    weight + n,   center + s / (weight + n),   degrees + n,   scale + S - s² / (weight + n)

A row of statistics holds the number of rows, then n of every channel, s of every channel, and S of
every channel.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, WordArray
from luce.kernels.jit import compiled, internal
from luce.kernels.random import gamma, normal
from luce.kernels.semi_markov.covariances import LOG_PI, LOG_TWO_PI


class DiagonalGaussianPrior(NamedTuple):
    """Normal-inverse-gamma prior of each channel of a state.

    Attributes
    ----------
    center, weight
        Mean of a state's mean, and number of rows that the prior's center counts for.
    scale, degrees
        Parameters of the inverse-gamma law; E[v] = scale / (degrees - 2).
    log_normaliser
        Shape (channels,): terms of a marginal log density that depend on the prior alone.
    """

    center: FloatArray
    scale: FloatArray
    weight: float
    degrees: float
    log_normaliser: FloatArray


def make_prior(
    center: FloatArray, scale: FloatArray, weight: float, degrees: float
) -> DiagonalGaussianPrior:
    """Combine the parameters of a prior with its normaliser."""
    log_normaliser = 0.5 * degrees * np.log(scale) + 0.5 * math.log(weight)
    log_normaliser -= math.lgamma(0.5 * degrees)
    return DiagonalGaussianPrior(center.copy(), scale.copy(), weight, degrees, log_normaliser)


def statistics_length(n_channels: int) -> int:
    """Return the length of a row of statistics."""
    return 1 + 3 * n_channels


@compiled
def log_likelihood(
    values: FloatArray, mean: FloatArray, variance: FloatArray, out: FloatArray
) -> None:
    """Compute the log density of every row under every state.

    Parameters
    ----------
    values
        Shape (rows, channels); NaN is missing and adds 0.
    mean, variance
        Shape (states, channels).
    out
        Shape (rows, states): receives log densities.
    """
    n_states, n_channels = mean.shape
    means, roots = np.empty((n_channels, n_states)), np.empty((n_channels, n_states))
    log_constants = np.empty((n_channels, n_states))
    for i in range(n_channels):
        for s in range(n_states):
            means[i, s] = mean[s, i]
            roots[i, s] = math.sqrt(0.5 / variance[s, i])
            log_constants[i, s] = -0.5 * (LOG_TWO_PI + math.log(variance[s, i]))
    for t in range(len(values)):
        for s in range(n_states):
            out[t, s] = 0.0
        for i in range(n_channels):
            y = values[t, i]
            if np.isnan(y):
                continue
            for s in range(n_states):
                residual = (y - means[i, s]) * roots[i, s]
                out[t, s] += log_constants[i, s] - residual * residual


@compiled
def statistics(
    values: FloatArray, groups: IntArray, prior: DiagonalGaussianPrior, out: FloatArray
) -> None:
    """Add up the statistics of the rows of each group.

    Parameters
    ----------
    values
        Shape (rows, channels); NaN is missing.
    groups
        Shape (rows,): the group of each row; -1 leaves a row out.
    prior
        Prior, whose center is subtracted.
    out
        Shape (groups, length of a row of statistics): receives the sums.
    """
    n_channels, center = values.shape[1], prior.center
    out[:] = 0.0
    for t in range(len(values)):
        g = groups[t]
        if g < 0:
            continue
        some = False
        for i in range(n_channels):
            residual = values[t, i] - center[i]
            if not np.isnan(residual):
                some = True
                out[g, 1 + i] += 1.0
                out[g, 1 + n_channels + i] += residual
                out[g, 1 + 2 * n_channels + i] += residual * residual
        if some:
            out[g, 0] += 1.0


@internal
def _updated_scale(prior: DiagonalGaussianPrior, row: FloatArray, i: int) -> float:
    """Compute the posterior's scale of channel i; rounding does not take it below the prior's."""
    n_channels = len(prior.center)
    total = row[1 + n_channels + i]
    spread = row[1 + 2 * n_channels + i] - total * total / (prior.weight + row[1 + i])
    return float(prior.scale[i] + max(spread, 0.0))


@compiled
def draw(
    bits: WordArray,
    prior: DiagonalGaussianPrior,
    rows: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
) -> None:
    """Draw means and variances of all states given the statistics of their rows.

    Parameters
    ----------
    bits
        Generator.
    prior
        Prior of every state.
    rows
        Shape (states, length of a row of statistics); a row of zeros gives a draw of the prior.
    mean, variance
        Shape (states, channels): receive the draws.
    """
    n_channels = len(prior.center)
    for s in range(len(rows)):
        for i in range(n_channels):
            count = rows[s, 1 + i]
            weight = prior.weight + count
            scale = _updated_scale(prior, rows[s], i)
            variance[s, i] = 0.5 * scale / gamma(bits, 0.5 * (prior.degrees + count))
            shift = rows[s, 1 + n_channels + i] / weight
            shift += math.sqrt(variance[s, i] / weight) * normal(bits)
            mean[s, i] = prior.center[i] + shift


@internal
def log_marginal(prior: DiagonalGaussianPrior, row: FloatArray) -> float:
    """Compute the log density of rows of observations, means and variances integrated out."""
    value = 0.0
    for i in range(len(prior.center)):
        count = row[1 + i]
        if count > 0.0:
            degrees = prior.degrees + count
            value += prior.log_normaliser[i] - 0.5 * count * LOG_PI + math.lgamma(0.5 * degrees)
            value -= 0.5 * math.log(prior.weight + count)
            value -= 0.5 * degrees * math.log(_updated_scale(prior, row, i))
    return value


@compiled
def simulate(
    bits: WordArray, labels: IntArray, mean: FloatArray, variance: FloatArray, out: FloatArray
) -> None:
    """Draw one row of observations for each label into `out`, shape (rows, channels)."""
    for t in range(len(labels)):
        s = labels[t]
        for i in range(mean.shape[1]):
            out[t, i] = mean[s, i] + math.sqrt(variance[s, i]) * normal(bits)
