"""Gibbs sweeps of a hierarchical Dirichlet process over truncated transitions.

    β ~ Dir(γ s),   π_i ~ Dir(α β),   row i of the counts given that no transition went to F_i

Rows are integrated out until the last step.  With G_a a gamma variate of shape a, and A_i the
complement of F_i, a sweep is, in this order,

    Z_i ~ G_{n_i} / G_{αβ(A_i)},   h_ij ~ Poisson(Z_i G_{αβ_j})                 j in F_i
    t_ij ~ tables of n_ij + h_ij customers at concentration αβ_j
    x_i ~ Beta(α, n_i + h_i),      α ~ Gamma(r + Σ t_ij, rate b - Σ log x_i)
    k_j ~ tables of T_j = Σ_i t_ij customers at γ s_j,   x ~ Beta(γ, Σ T_j),
    γ ~ Gamma(r' + Σ k_j, rate b' - log x)
    β ~ Dir(γ s + T)
    π_i on A_i ~ Dir(αβ + n_i),    0 on F_i

G_{αβ_j} / Σ G is the row on F_i, with A_i as one category; counts carry no information about it.
The hidden counts h need not have a finite mean; where they exceed the range of doubles, they are
kept as logarithms.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, WordArray
from luce.kernels.jit import compiled, internal
from luce.kernels.random import gamma, log_gamma, poisson
from luce.kernels.restaurant_tables import draw_tables

_LARGEST_LOG = 680.0  # logarithm of the largest mean of a Poisson variate; a larger one is its mean
_LEAST_SHAPE = 1e-300  # smallest shape of a gamma; its logarithm is still a double
_LARGEST_SCALE = 600.0  # largest |log α| and |log γ|


class Transitions(NamedTuple):
    """Counts and priors of a sweep.

    Attributes
    ----------
    counts
        n_ij, shape (rows, columns), whole.
    totals
        n_i = Σ_j n_ij.
    forbidden
        Shape (rows, columns): whether j is in F_i.
    share
        s_j: 1 / L in a weak limit of L states; in the nonparametric form 0 for a state and 1 for
        the remainder.
    starts
        Shape (columns,): number of draws directly from β, each a table of its own.
    prior
        r, b, r', b'; r = 0 where α is fixed, r' = 0 where γ is fixed.
    """

    counts: FloatArray
    totals: FloatArray
    forbidden: BoolArray
    share: FloatArray
    starts: FloatArray
    prior: FloatArray


@compiled
def advance(
    bits: WordArray,
    data: Transitions,
    log_base: FloatArray,
    scales: FloatArray,
    tables: FloatArray,
    log_hidden: FloatArray,
    bases: FloatArray,
    concentrations: FloatArray,
    rows: FloatArray,
) -> None:
    """Make ``len(bases)`` sweeps.

    Parameters
    ----------
    bits
        Generator.
    data
        Counts, mask and priors.
    log_base, scales
        log β and (log α, log γ); replaced by the last sweep's.
    tables, log_hidden
        Receive T_j and log h_i of the last sweep.
    bases, concentrations
        Shape (sweeps, columns) and (sweeps, 2): receive log β, and α and γ.
    rows
        Shape (sweeps, rows, columns): receives π; its first length is 0 if π is not wanted.
    """
    for d in range(len(bases)):
        _sweep(bits, data, log_base, scales, tables, log_hidden)
        for j in range(len(log_base)):
            bases[d, j] = log_base[j]
        concentrations[d, 0], concentrations[d, 1] = math.exp(scales[0]), math.exp(scales[1])
        if len(rows) > 0:
            _draw_rows(bits, data, log_base, scales[0], rows[d])


@internal
def _sweep(
    bits: WordArray,
    data: Transitions,
    log_base: FloatArray,
    scales: FloatArray,
    tables: FloatArray,
    log_hidden: FloatArray,
) -> None:
    """Draw hidden counts, tables, α, γ and β."""
    n_rows, n_columns = data.counts.shape
    alpha, gamma_now, base = math.exp(scales[0]), math.exp(scales[1]), np.empty(n_columns)
    for j in range(n_columns):
        base[j], tables[j] = math.exp(log_base[j]), 0.0
    rate = data.prior[1]
    for i in range(n_rows):
        log_hidden[i] = -np.inf
        if data.totals[i] > 0.0:
            log_hidden[i] = _seat_row(bits, data, i, alpha, base, log_base, tables)
            if data.prior[0] > 0.0:
                log_total = _log_sum(math.log(data.totals[i]), log_hidden[i])
                rate -= _log_beta_draw(bits, alpha, log_total)
    total, dishes = 0.0, 0.0
    for j in range(n_columns):
        total += tables[j]
    if data.prior[0] > 0.0:
        scales[0] = _scale_draw(bits, data.prior[0] + total, rate)
    total = 0.0
    for j in range(n_columns):
        tables[j] += data.starts[j]
        total += tables[j]
    if data.prior[2] > 0.0:
        rate = data.prior[3]
        if total > 0.0:
            for j in range(n_columns):
                if tables[j] > 0.0:
                    dishes += draw_tables(bits, tables[j], 0.0, gamma_now * data.share[j])
            rate -= _log_beta_draw(bits, gamma_now, math.log(total))
        scales[1] = _scale_draw(bits, data.prior[2] + dishes, rate)
        gamma_now = math.exp(scales[1])
    top = -np.inf
    for j in range(n_columns):
        shape = max(gamma_now * data.share[j] + tables[j], _LEAST_SHAPE)
        log_base[j] = _log_gamma(bits, shape)
        top = max(top, log_base[j])
    total = 0.0
    for j in range(n_columns):
        log_base[j] -= top
        total += math.exp(log_base[j])
    for j in range(n_columns):
        log_base[j] -= math.log(total)


@internal
def _seat_row(
    bits: WordArray,
    data: Transitions,
    i: int,
    alpha: float,
    base: FloatArray,
    log_base: FloatArray,
    tables: FloatArray,
) -> float:
    """Draw the hidden counts of row i, and add its tables to `tables`; returns log h_i."""
    n_columns, allowed, any_forbidden = len(base), 0.0, False
    for j in range(n_columns):
        if data.forbidden[i, j]:
            any_forbidden = True
        else:
            allowed += base[j]
    log_scale, hidden = 0.0, -np.inf
    if any_forbidden:
        shape = max(alpha * allowed, _LEAST_SHAPE)
        log_scale = _log_gamma(bits, data.totals[i]) - _log_gamma(bits, shape)
    for j in range(n_columns):
        a = alpha * base[j]
        if not data.forbidden[i, j]:
            if data.counts[i, j] > 0.0:
                tables[j] += draw_tables(bits, data.counts[i, j], 0.0, a)
            continue
        log_mean = log_scale + _log_gamma(bits, max(a, _LEAST_SHAPE))
        count, log_count = np.inf, log_mean
        if log_mean < _LARGEST_LOG:
            count = poisson(bits, math.exp(log_mean))
            log_count = math.log(count) if count > 0.0 else -np.inf
        if count > 0.0:
            tables[j] += draw_tables(bits, count, log_count, a)
            hidden = _log_sum(hidden, log_count)
    return hidden


@internal
def _draw_rows(
    bits: WordArray, data: Transitions, log_base: FloatArray, log_alpha: float, rows: FloatArray
) -> None:
    """Draw π given α and β."""
    n_rows, n_columns = data.counts.shape
    shape = np.empty(n_columns)
    for j in range(n_columns):
        shape[j] = math.exp(log_alpha + log_base[j])
    for i in range(n_rows):
        # In a row with counts some shape exceeds 1, and a gamma that underflows may be 0.  In a row
        # without, all gammas may underflow, so logarithms are drawn.
        seen = data.totals[i] > 0.0
        total, top = 0.0, -np.inf
        for j in range(n_columns):
            rows[i, j] = 0.0
            if data.forbidden[i, j]:
                continue
            if seen:
                own = shape[j] + data.counts[i, j]
                rows[i, j] = gamma(bits, own) if own > 0.0 else 0.0
                total += rows[i, j]
            else:
                rows[i, j] = _log_gamma(bits, max(shape[j], _LEAST_SHAPE))
                top = max(top, rows[i, j])
        if not seen:
            for j in range(n_columns):
                if not data.forbidden[i, j]:
                    rows[i, j] = math.exp(rows[i, j] - top)
                    total += rows[i, j]
        for j in range(n_columns):
            rows[i, j] /= total


@internal
def _log_beta_draw(bits: WordArray, a: float, log_n: float) -> float:
    """Draw log X, X ~ Beta(a, n), as -log(1 + G_n / G_a)."""
    other = _log_gamma(bits, math.exp(log_n)) if log_n < _LARGEST_LOG else log_n
    return -_log_sum(0.0, other - _log_gamma(bits, a))


@internal
def _scale_draw(bits: WordArray, shape: float, rate: float) -> float:
    """Draw the logarithm of Gamma(shape, rate)."""
    new = _log_gamma(bits, shape) - math.log(rate)
    return min(max(new, -_LARGEST_SCALE), _LARGEST_SCALE)


@internal
def _log_gamma(bits: WordArray, shape: float) -> float:
    """Draw the logarithm of a gamma variate; compiled once, not at each call."""
    return log_gamma(bits, shape)


@internal
def _log_sum(a: float, b: float) -> float:
    """Compute log(exp a + exp b)."""
    top, least = max(a, b), min(a, b)
    return top + math.log1p(math.exp(least - top)) if top > -np.inf else top
