"""Normal observations with a covariance matrix for each state.

    y_t | state  ~  N(mean, Σ),    mean | Σ ~ N(center, Σ / weight),    Σ ~ IW(degrees, scale)

Sums of n rows around the prior's center give the posterior: with s = Σ_t (y_t - center) and
S = Σ_t (y_t - center)(y_t - center)',

    weight + n,   center + s / (weight + n),   degrees + n,   scale + S - s s' / (weight + n)

A row of statistics holds n, s, and the lower triangle of S row by row.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, WordArray
from luce.kernels.jit import compiled, internal
from luce.kernels.random import normal
from luce.kernels.semi_markov.covariances import (
    LOG_PI,
    cholesky,
    draw_inverse_wishart,
    log_gamma_product,
    square,
    whiten,
)


class GaussianPrior(NamedTuple):
    """Normal-inverse-Wishart prior of a state.

    Attributes
    ----------
    center, weight
        Mean of a state's mean, and number of rows that the prior's center counts for.
    scale, degrees
        Parameters of the inverse-Wishart law; E[Σ] = scale / (degrees - channels - 1).
    log_normaliser
        Terms of a marginal log density that depend on the prior alone.
    """

    center: FloatArray
    scale: FloatArray
    weight: float
    degrees: float
    log_normaliser: float


def make_prior(
    center: FloatArray, scale: FloatArray, weight: float, degrees: float
) -> GaussianPrior:
    """Combine the parameters of a prior with its normaliser."""
    n = len(center)
    log_determinant = float(np.linalg.slogdet(scale)[1])
    gammas = sum(math.lgamma(0.5 * (degrees - i)) for i in range(n))
    log_normaliser = 0.5 * degrees * log_determinant + 0.5 * n * math.log(weight) - gammas
    return GaussianPrior(center.copy(), scale.copy(), weight, degrees, log_normaliser)


def statistics_length(n_channels: int) -> int:
    """Return the length of a row of statistics."""
    return 1 + n_channels + n_channels * (n_channels + 1) // 2


@compiled
def log_likelihood(
    values: FloatArray, mean: FloatArray, covariance: FloatArray, out: FloatArray
) -> None:
    """Compute the log density of every row under every state.

    Parameters
    ----------
    values
        Shape (rows, channels); NaN is missing.  The density is that of the entries that are there.
    mean, covariance
        Shapes (states, channels) and (states, channels, channels).
    out
        Shape (rows, states): receives log densities.
    """
    n_channels, n_states = values.shape[1], len(mean)
    length = n_channels * (n_channels + 1) // 2
    means = np.empty((n_channels, n_states))
    for s in range(n_states):
        for i in range(n_channels):
            means[i, s] = mean[s, i]
    factors, log_constants = np.empty((length, n_states)), np.empty(n_states)
    space = np.empty((n_channels + 1, n_states))
    seen, other = np.arange(n_channels), np.empty(n_channels, np.int64)
    partial, keys, n_partial = np.empty(len(values), np.int64), np.empty(len(values), np.int64), 0
    whiten(covariance, seen, n_channels, factors, log_constants)
    for t in range(len(values)):
        n = _find_entries(values, t, other)
        if n == n_channels:
            _fill_row(values, t, seen, n, means, factors, log_constants, space, out)
        elif n > 0:
            partial[n_partial], keys[n_partial] = t, _key(other, n)
            n_partial += 1
        else:
            for s in range(n_states):
                out[t, s] = 0.0
    for a in range(n_partial):
        if partial[a] < 0:
            continue
        n = _find_entries(values, partial[a], seen)
        whiten(covariance, seen, n, factors, log_constants)
        for b in range(a, n_partial):  # rows with the same gaps share the factors
            t = partial[b]
            if t < 0 or keys[b] != keys[a] or _find_entries(values, t, other) != n:
                continue
            same = True
            for i in range(n):
                same = same and seen[i] == other[i]
            if same:
                _fill_row(values, t, seen, n, means, factors, log_constants, space, out)
                partial[b] = -1


@internal
def _find_entries(values: FloatArray, t: int, seen: IntArray) -> int:
    """List the channels of row t that are there; returns their number."""
    n = 0
    for i in range(len(seen)):
        if not np.isnan(values[t, i]):
            seen[n] = i
            n += 1
    return n


@internal
def _key(seen: IntArray, n: int) -> int:
    """Hash a list of channels."""
    key = 0
    for i in range(n):
        key = (key * 31 + seen[i] + 1) % 1_000_003
    return key


@internal
def _fill_row(
    values: FloatArray,
    t: int,
    seen: IntArray,
    n: int,
    means: FloatArray,
    factors: FloatArray,
    log_constants: FloatArray,
    space: FloatArray,
    out: FloatArray,
) -> None:
    """Compute the log densities of n channels of row t; states innermost, so that it vectorises."""
    n_states = len(log_constants)
    total = len(space) - 1  # the last row of `space` holds a whitened residual
    for s in range(n_states):
        out[t, s] = log_constants[s]
    k = 0
    for i in range(n):
        channel = seen[i]
        y = values[t, channel]
        diagonal = k + i
        for s in range(n_states):
            residual = y - means[channel, s]
            space[i, s] = residual
            space[total, s] = factors[diagonal, s] * residual
        for j in range(i):
            for s in range(n_states):
                space[total, s] += factors[k + j, s] * space[j, s]
        for s in range(n_states):
            out[t, s] -= 0.5 * space[total, s] * space[total, s]
        k += i + 1


@compiled
def statistics(values: FloatArray, groups: IntArray, prior: GaussianPrior, out: FloatArray) -> int:
    """Add up the statistics of the rows of each group.

    Parameters
    ----------
    values
        Shape (rows, channels).
    groups
        Shape (rows,): the group of each row; -1 leaves a row out.
    prior
        Prior, whose center is subtracted.
    out
        Shape (groups, length of a row of statistics): receives the sums.

    Returns
    -------
    int
        Number of rows that are missing in part.  These and rows that are missing as a whole are
        left out.
    """
    n_channels, partly_missing = values.shape[1], 0
    center, residual = prior.center, np.empty(n_channels)
    for g in range(len(out)):
        for k in range(out.shape[1]):
            out[g, k] = 0.0
    for t in range(len(values)):
        g = groups[t]
        if g < 0:
            continue
        n = 0
        for i in range(n_channels):
            residual[i] = values[t, i] - center[i]
            if not np.isnan(residual[i]):
                n += 1
        if n < n_channels:
            if n > 0:
                partly_missing += 1
            continue
        out[g, 0] += 1.0
        k = 1 + n_channels
        for i in range(n_channels):
            out[g, 1 + i] += residual[i]
            for j in range(i + 1):
                out[g, k] += residual[i] * residual[j]
                k += 1
    return partly_missing


@internal
def _update(prior: GaussianPrior, row: FloatArray, scale: FloatArray) -> float:
    """Fill the lower triangle of the posterior's scale; returns the posterior's weight."""
    n_channels = len(prior.center)
    weight = prior.weight + row[0]
    k = 1 + n_channels
    for i in range(n_channels):
        for j in range(i + 1):
            moved = row[k] - row[1 + i] * row[1 + j] / weight
            if i == j:
                moved = max(moved, 0.0)  # negative only by rounding
            scale[i, j] = prior.scale[i, j] + moved
            k += 1
    return float(weight)


@compiled
def draw(
    bits: WordArray,
    prior: GaussianPrior,
    rows: FloatArray,
    mean: FloatArray,
    covariance: FloatArray,
) -> None:
    """Draw means and covariances of all states given the statistics of their rows.

    Parameters
    ----------
    bits
        Generator.
    prior
        Prior of every state.
    rows
        Shape (states, length of a row of statistics); a row of zeros gives a draw of the prior.
    mean, covariance
        Shapes (states, channels) and (states, channels, channels): receive the draws.
    """
    n_channels = len(prior.center)
    scale, factor = np.empty((n_channels, n_channels)), np.empty((n_channels, n_channels))
    noise = np.empty(n_channels)
    for s in range(len(rows)):
        weight = _update(prior, rows[s], scale)
        cholesky(scale, n_channels, scale)
        draw_inverse_wishart(bits, scale, prior.degrees + rows[s, 0], factor)
        square(factor, covariance[s])
        root = math.sqrt(weight)
        for i in range(n_channels):
            noise[i] = normal(bits) / root
        for i in range(n_channels):
            shift = rows[s, 1 + i] / weight
            for j in range(i + 1):
                shift += factor[i, j] * noise[j]
            mean[s, i] = prior.center[i] + shift


@internal
def log_marginal(prior: GaussianPrior, row: FloatArray) -> float:
    """Compute the log density of rows of observations, mean and covariance integrated out."""
    n_channels, count = len(prior.center), row[0]
    if not count > 0.0:
        return 0.0
    scale = np.empty((n_channels, n_channels))
    weight, degrees = _update(prior, row, scale), prior.degrees + count
    log_determinant = cholesky(scale, n_channels, scale)
    value = prior.log_normaliser - 0.5 * count * n_channels * LOG_PI
    value += log_gamma_product(degrees, n_channels) - 0.5 * n_channels * math.log(weight)
    return float(value - 0.5 * degrees * log_determinant)


@compiled
def impute(
    bits: WordArray,
    values: FloatArray,
    labels: IntArray,
    mean: FloatArray,
    covariance: FloatArray,
) -> None:
    """Draw the missing entries of partly missing rows given the rest of the row and its state.

    `values`, shape (rows, channels), is changed in place; rows without any entry stay missing.
    """
    n_channels = values.shape[1]
    order = np.empty(n_channels, np.int64)
    block, noise = np.empty((n_channels, n_channels)), np.empty(n_channels)
    for t in range(len(values)):
        n = 0
        for i in range(n_channels):
            if not np.isnan(values[t, i]):
                order[n] = i
                n += 1
        if n == 0 or n == n_channels:
            continue
        rest = n
        for i in range(n_channels):
            if np.isnan(values[t, i]):
                order[rest] = i
                rest += 1
        s = labels[t]
        for i in range(n_channels):
            for j in range(i + 1):
                block[i, j] = covariance[s, order[i], order[j]]
        cholesky(block, n_channels, block)
        for i in range(n_channels):
            channel = order[i]
            total = 0.0
            for j in range(i):
                total += block[i, j] * noise[j]
            if i < n:
                noise[i] = (values[t, channel] - mean[s, channel] - total) / block[i, i]
            else:
                noise[i] = normal(bits)
                values[t, channel] = mean[s, channel] + total + block[i, i] * noise[i]


@compiled
def simulate(
    bits: WordArray,
    labels: IntArray,
    mean: FloatArray,
    covariance: FloatArray,
    out: FloatArray,
) -> None:
    """Draw one row of observations for each label into `out`, shape (rows, channels)."""
    n_states, n_channels = mean.shape
    factor = np.empty((n_states, n_channels, n_channels))
    for s in range(n_states):
        cholesky(covariance[s], n_channels, factor[s])
    noise = np.empty(n_channels)
    for t in range(len(labels)):
        s = labels[t]
        for i in range(n_channels):
            noise[i] = normal(bits)
        for i in range(n_channels):
            total = mean[s, i]
            for j in range(i + 1):
                total += factor[s, i, j] * noise[j]
            out[t, i] = total
