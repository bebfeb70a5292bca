"""Normal observations around a linear function of the rows before.

    y_t | state  ~  N(A_1 y_{t-1} + ... + A_lags y_{t-lags} + b, Σ)

Coefficients are (A_1, ..., A_lags, b).  The prior is put on the coefficients of the series minus
its center c, that is on A and b' = b - c + Σ_l A_l c: it does not depend on the series' origin.
With x_t = (y_{t-1} - c, ..., y_{t-lags} - c, 1),

    y_t - c | state ~ N(B' x_t, Σ),   B | Σ ~ MN(B0, K⁻¹, Σ),   Σ ~ IW(degrees, scale),

K diagonal.  With r_t = y_t - c - B0' x_t the sums X = Σ x x', Z = Σ x r', R = Σ r r' over n rows
give

    K + X,    B0 + (K + X)⁻¹ Z,    degrees + n,    scale + R - Z' (K + X)⁻¹ Z

Sums are taken around the prior's prediction, so that little cancels.  A row of statistics holds n,
the lower triangle of X, Z row by row, and the lower triangle of R.  The first `lags` rows of a
sequence are given: they have no density and no statistics.
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


class AutoregressivePrior(NamedTuple):
    """Matrix-normal inverse-Wishart prior of a state.

    Attributes
    ----------
    lags
        Number of rows before that a row depends on.
    center
        c, shape (channels,).
    coefficients
        B0', shape (channels, regressors): of the series minus its center.
    precision
        Diagonal of K, shape (regressors,).
    scale, degrees
        Parameters of the inverse-Wishart law; E[Σ] = scale / (degrees - channels - 1).
    log_normaliser
        Terms of a marginal log density that depend on the prior alone.
    """

    lags: int
    center: FloatArray
    coefficients: FloatArray
    precision: FloatArray
    scale: FloatArray
    degrees: float
    log_normaliser: float


def make_prior(
    lags: int,
    center: FloatArray,
    coefficients: FloatArray,
    precision: FloatArray,
    scale: FloatArray,
    degrees: float,
) -> AutoregressivePrior:
    """Combine the parameters of a prior with its normaliser."""
    n = len(center)
    log_determinant = float(np.linalg.slogdet(scale)[1])
    gammas = sum(math.lgamma(0.5 * (degrees - i)) for i in range(n))
    log_normaliser = 0.5 * degrees * log_determinant - gammas
    log_normaliser += 0.5 * n * float(np.log(precision).sum())
    arrays = center.copy(), coefficients.copy(), precision.copy(), scale.copy()
    return AutoregressivePrior(lags, *arrays, degrees, log_normaliser)


def statistics_length(n_channels: int, n_regressors: int) -> int:
    """Return the length of a row of statistics."""
    triangles = n_regressors * (n_regressors + 1) + n_channels * (n_channels + 1)
    return 1 + triangles // 2 + n_regressors * n_channels


@compiled
def log_likelihood(
    values: FloatArray,
    borders: IntArray,
    coefficients: FloatArray,
    covariance: FloatArray,
    out: FloatArray,
) -> None:
    """Compute the log density of every row, given the rows before, under every state.

    Parameters
    ----------
    values
        Shape (rows, channels), without missing entries.
    borders
        First row of each sequence, and the number of rows.
    coefficients, covariance
        Shapes (states, channels, regressors) and (states, channels, channels).
    out
        Shape (rows, states): receives log densities; 0 in the first `lags` rows of a sequence.
    """
    n_states, n_channels, n_regressors = coefficients.shape
    lags = (n_regressors - 1) // n_channels
    slopes = np.empty((n_channels, n_regressors, n_states))
    for s in range(n_states):
        for i in range(n_channels):
            for p in range(n_regressors):
                slopes[i, p, s] = coefficients[s, i, p]
    factors = np.empty((n_channels * (n_channels + 1) // 2, n_states))
    log_constants = np.empty(n_states)
    whiten(covariance, np.arange(n_channels), n_channels, factors, log_constants)
    residual, total = np.empty((n_channels, n_states)), np.empty(n_states)
    x = np.empty(n_regressors - 1)
    for q in range(len(borders) - 1):
        for t in range(borders[q], min(borders[q] + lags, borders[q + 1])):
            for s in range(n_states):
                out[t, s] = 0.0
        for t in range(borders[q] + lags, borders[q + 1]):
            for lag in range(lags):
                for i in range(n_channels):
                    x[lag * n_channels + i] = values[t - 1 - lag, i]
            for s in range(n_states):
                out[t, s] = log_constants[s]
            k = 0
            for i in range(n_channels):
                y = values[t, i]
                for s in range(n_states):
                    residual[i, s] = y - slopes[i, n_regressors - 1, s]
                for p in range(n_regressors - 1):
                    for s in range(n_states):
                        residual[i, s] -= slopes[i, p, s] * x[p]
                for s in range(n_states):
                    total[s] = factors[k + i, s] * residual[i, s]
                for j in range(i):
                    for s in range(n_states):
                        total[s] += factors[k + j, s] * residual[j, s]
                for s in range(n_states):
                    out[t, s] -= 0.5 * total[s] * total[s]
                k += i + 1


@compiled
def statistics(
    values: FloatArray,
    borders: IntArray,
    groups: IntArray,
    prior: AutoregressivePrior,
    out: FloatArray,
) -> None:
    """Add up the statistics of the rows of each group.

    Parameters
    ----------
    values
        Shape (rows, channels), without missing entries.
    borders
        First row of each sequence, and the number of rows.
    groups
        Shape (rows,): the group of each row; -1 leaves a row out.
    prior
        Prior, whose center and prediction are subtracted.
    out
        Shape (groups, length of a row of statistics): receives the sums.
    """
    n_channels, n_regressors = prior.coefficients.shape
    lags, center = prior.lags, prior.center
    x, r = np.ones(n_regressors), np.empty(n_channels)
    out[:] = 0.0
    for q in range(len(borders) - 1):
        for t in range(borders[q] + lags, borders[q + 1]):
            g = groups[t]
            if g < 0:
                continue
            for lag in range(lags):
                for i in range(n_channels):
                    x[lag * n_channels + i] = values[t - 1 - lag, i] - center[i]
            for i in range(n_channels):
                r[i] = values[t, i] - center[i]
                for p in range(n_regressors):
                    r[i] -= prior.coefficients[i, p] * x[p]
            out[g, 0] += 1.0
            k = 1
            for p in range(n_regressors):
                for other in range(p + 1):
                    out[g, k] += x[p] * x[other]
                    k += 1
            for p in range(n_regressors):
                for i in range(n_channels):
                    out[g, k] += x[p] * r[i]
                    k += 1
            for i in range(n_channels):
                for j in range(i + 1):
                    out[g, k] += r[i] * r[j]
                    k += 1


@internal
def _update(
    prior: AutoregressivePrior,
    row: FloatArray,
    precision: FloatArray,
    moved: FloatArray,
    scale: FloatArray,
) -> float:
    """Compute the posterior: factor F of K + X, F⁻¹ Z, and the lower triangle of the scale.

    Returns
    -------
    float
        Logarithm of |K + X|.
    """
    n_channels, n_regressors = prior.coefficients.shape
    k = 1
    for p in range(n_regressors):
        for other in range(p + 1):
            precision[p, other] = row[k]
            k += 1
        precision[p, p] += prior.precision[p]
    log_determinant = cholesky(precision, n_regressors, precision)
    for p in range(n_regressors):
        for i in range(n_channels):
            total = row[k]
            for other in range(p):
                total -= precision[p, other] * moved[other, i]
            moved[p, i] = total / precision[p, p]
            k += 1
    for i in range(n_channels):
        for j in range(i + 1):
            total = row[k]
            for p in range(n_regressors):
                total -= moved[p, i] * moved[p, j]
            if i == j:
                total = max(total, 0.0)  # negative only by rounding
            scale[i, j] = prior.scale[i, j] + total
            k += 1
    return log_determinant


@compiled
def draw(
    bits: WordArray,
    prior: AutoregressivePrior,
    rows: FloatArray,
    coefficients: FloatArray,
    covariance: FloatArray,
) -> None:
    """Draw coefficients and covariances of all states given the statistics of their rows.

    Parameters
    ----------
    bits
        Generator.
    prior
        Prior of every state.
    rows
        Shape (states, length of a row of statistics); a row of zeros gives a draw of the prior.
    coefficients, covariance
        Shapes (states, channels, regressors) and (states, channels, channels): receive the draws.
    """
    n_channels, n_regressors = prior.coefficients.shape
    precision, moved = np.empty((n_regressors, n_regressors)), np.empty((n_regressors, n_channels))
    scale, factor = np.empty((n_channels, n_channels)), np.empty((n_channels, n_channels))
    noise = np.empty(n_channels)
    for s in range(len(rows)):
        _update(prior, rows[s], precision, moved, scale)
        cholesky(scale, n_channels, scale)
        draw_inverse_wishart(bits, scale, prior.degrees + rows[s, 0], factor)
        square(factor, covariance[s])
        for p in range(n_regressors):
            for i in range(n_channels):
                noise[i] = normal(bits)
            for i in range(n_channels):
                for j in range(i + 1):
                    moved[p, i] += factor[i, j] * noise[j]
        for p in range(n_regressors - 1, -1, -1):
            for i in range(n_channels):
                total = moved[p, i]
                for other in range(p + 1, n_regressors):
                    total -= precision[other, p] * moved[other, i]
                moved[p, i] = total / precision[p, p]
        for i in range(n_channels):
            for p in range(n_regressors):
                coefficients[s, i, p] = prior.coefficients[i, p] + moved[p, i]
            constant = coefficients[s, i, n_regressors - 1] + prior.center[i]
            for p in range(n_regressors - 1):
                constant -= coefficients[s, i, p] * prior.center[p % n_channels]
            coefficients[s, i, n_regressors - 1] = constant


@internal
def log_marginal(prior: AutoregressivePrior, row: FloatArray) -> float:
    """Compute the log density of rows of observations, coefficients and Σ integrated out."""
    count = row[0]
    if not count > 0.0:
        return 0.0
    n_channels, n_regressors = prior.coefficients.shape
    precision, moved = np.empty((n_regressors, n_regressors)), np.empty((n_regressors, n_channels))
    scale = np.empty((n_channels, n_channels))
    log_precision = _update(prior, row, precision, moved, scale)
    degrees = prior.degrees + count
    value = prior.log_normaliser - 0.5 * count * n_channels * LOG_PI
    value += log_gamma_product(degrees, n_channels) - 0.5 * n_channels * log_precision
    return float(value - 0.5 * degrees * cholesky(scale, n_channels, scale))


@compiled
def simulate(
    bits: WordArray,
    labels: IntArray,
    borders: IntArray,
    coefficients: FloatArray,
    covariance: FloatArray,
    out: FloatArray,
) -> None:
    """Draw rows of observations one after the other.

    Parameters
    ----------
    bits
        Generator.
    labels, borders
        State of each row; first row of each sequence, and the number of rows.
    coefficients, covariance
        Shapes (states, channels, regressors) and (states, channels, channels).
    out
        Shape (rows, channels): holds the first `lags` rows of each sequence, receives the others.
    """
    n_states, n_channels, n_regressors = coefficients.shape
    lags = (n_regressors - 1) // n_channels
    factor = np.empty((n_states, n_channels, n_channels))
    for s in range(n_states):
        cholesky(covariance[s], n_channels, factor[s])
    noise = np.empty(n_channels)
    for q in range(len(borders) - 1):
        for t in range(borders[q] + lags, borders[q + 1]):
            s = labels[t]
            for i in range(n_channels):
                noise[i] = normal(bits)
            for i in range(n_channels):
                total = coefficients[s, i, n_regressors - 1]
                for lag in range(lags):
                    for j in range(n_channels):
                        slope = coefficients[s, i, lag * n_channels + j]
                        total += slope * out[t - 1 - lag, j]
                for j in range(i + 1):
                    total += factor[s, i, j] * noise[j]
                out[t, i] = total
