"""One category at each time.

    y | state ~ probabilities,    probabilities ~ Dir(concentration)

A row of statistics holds the number of rows, then the number of rows of each category.
"""

import math
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, WordArray
from luce.kernels.jit import compiled, internal
from luce.kernels.random import log_gamma, uniform

_LEAST_LOG_PROBABILITY = -690.0  # a smaller probability would not be a double


class CategoriesPrior(NamedTuple):
    """Dirichlet prior of the probabilities of a state.

    Attributes
    ----------
    concentration
        Shape (categories,).
    total
        Sum of the concentrations.
    """

    concentration: FloatArray
    total: float


def make_prior(concentration: FloatArray) -> CategoriesPrior:
    """Combine the concentrations with their sum."""
    return CategoriesPrior(concentration.copy(), float(concentration.sum()))


def statistics_length(n_categories: int) -> int:
    """Return the length of a row of statistics."""
    return 1 + n_categories


@compiled
def log_likelihood(values: FloatArray, probabilities: FloatArray, out: FloatArray) -> None:
    """Compute the log probability of every row under every state.

    Parameters
    ----------
    values
        Shape (rows, 1): codes of categories; NaN is missing and gives 0.
    probabilities
        Shape (states, categories).
    out
        Shape (rows, states): receives log probabilities.
    """
    n_states, n_categories = probabilities.shape
    log_probabilities = np.empty((n_categories, n_states))
    for s in range(n_states):
        for k in range(n_categories):
            log_probabilities[k, s] = np.log(probabilities[s, k])
    for t in range(len(values)):
        missing = np.isnan(values[t, 0])
        k = 0 if missing else int(values[t, 0])
        for s in range(n_states):
            out[t, s] = 0.0 if missing else log_probabilities[k, s]


@compiled
def statistics(
    values: FloatArray, groups: IntArray, prior: CategoriesPrior, out: FloatArray
) -> None:
    """Add up the statistics of the rows of each group.

    Parameters
    ----------
    values
        Shape (rows, 1): codes of categories; NaN is missing.
    groups
        Shape (rows,): the group of each row; -1 leaves a row out.
    prior
        Prior; not needed here, but an argument of all such functions.
    out
        Shape (groups, length of a row of statistics): receives the sums.
    """
    out[:] = 0.0
    for t in range(len(values)):
        g = groups[t]
        if g >= 0 and not np.isnan(values[t, 0]):
            out[g, 0] += 1.0
            out[g, 1 + int(values[t, 0])] += 1.0


@compiled
def draw(
    bits: WordArray, prior: CategoriesPrior, rows: FloatArray, probabilities: FloatArray
) -> None:
    """Draw the probabilities of all states given the statistics of their rows.

    Parameters
    ----------
    bits
        Generator.
    prior
        Prior of every state.
    rows
        Shape (states, length of a row of statistics); a row of zeros gives a draw of the prior.
    probabilities
        Shape (states, categories): receives the draws.
    """
    n_categories = len(prior.concentration)
    for s in range(len(rows)):
        top, total = -np.inf, 0.0
        for k in range(n_categories):
            shape = prior.concentration[k] + rows[s, 1 + k]
            probabilities[s, k] = log_gamma(bits, shape)
            top = max(top, probabilities[s, k])
        for k in range(n_categories):
            below = max(probabilities[s, k] - top, _LEAST_LOG_PROBABILITY)
            probabilities[s, k] = math.exp(below)
            total += probabilities[s, k]
        for k in range(n_categories):
            probabilities[s, k] /= total


@internal
def log_marginal(prior: CategoriesPrior, row: FloatArray) -> float:
    """Compute the log probability of rows of observations, probabilities integrated out."""
    if not row[0] > 0.0:
        return 0.0
    value = math.lgamma(prior.total) - math.lgamma(prior.total + row[0])
    for k in range(len(prior.concentration)):
        if row[1 + k] > 0.0:
            shape = prior.concentration[k]
            value += math.lgamma(shape + row[1 + k]) - math.lgamma(shape)
    return value


@compiled
def simulate(bits: WordArray, labels: IntArray, probabilities: FloatArray, out: FloatArray) -> None:
    """Draw one code of a category for each label into `out`, shape (rows, 1)."""
    n_categories = probabilities.shape[1]
    for t in range(len(labels)):
        s = labels[t]
        left = uniform(bits)
        chosen = -1
        for k in range(n_categories):
            if probabilities[s, k] > 0.0:
                chosen = k  # the last possible category is taken where rounding leaves a rest
                left -= probabilities[s, k]
                if left <= 0.0:
                    break
        out[t, 0] = chosen
