"""The posterior density in plain NumPy, by which every sampler is judged independently.

    log prior       = log Dirichlet(p; concentration)
    log likelihood  = sum_i n_i log p_i + sum_S e_S log p(S)
    log posterior   = log prior + log likelihood          (the evidence is not subtracted)

No sampler imports this module, and it imports none of them.
"""

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray
from luce.counts.counts import ConditionalCounts
from luce.counts.family import SetFamily
from luce.counts.simplex import read_probabilities

# Mass of a complement below which 1 - (excluded mass) has lost four digits, so that the members of
# the complement are summed instead.
_CANCELLED = 1e-4


def log_prior(probabilities: ArrayLike, concentration: FloatArray) -> FloatArray:
    """Compute the log density of Dirichlet(concentration), normalised.

    Parameters
    ----------
    probabilities
        Shape (..., n), on the simplex.
    concentration
        Shape (n,).
    """
    p = read_probabilities(probabilities, len(concentration))
    return _log_constant(concentration) + _log_powers(p, concentration - 1)


def log_likelihood(probabilities: ArrayLike, counts: ConditionalCounts) -> FloatArray:
    """Compute the log likelihood, without multinomial coefficients.

    Parameters
    ----------
    probabilities
        Shape (..., n), on the simplex.
    counts
        The data.
    """
    p = read_probabilities(probabilities, counts.n_categories)
    return _log_powers(p, counts.category_counts, counts.sets)


def log_posterior(
    probabilities: ArrayLike,
    counts: ConditionalCounts,
    concentration: FloatArray,
    remainder: int | None = None,
) -> FloatArray:
    """Compute log prior plus log likelihood.

    Parameters
    ----------
    probabilities
        Shape (..., n), on the simplex.
    counts
        The data.
    concentration
        Shape (n,).
    remainder
        The number of the category that holds the remaining mass of a Dirichlet process.
    """
    p = read_probabilities(probabilities, counts.n_categories)
    powers = (concentration - 1) + counts.category_counts
    return _log_constant(concentration, remainder) + _log_powers(p, powers, counts.sets)


def _log_constant(concentration: FloatArray, remainder: int | None = None) -> float:
    """Compute log Γ(Σ a) / Π Γ(a_i), over the positive a_i.

    In a Dirichlet process each named category with a_i = 0 contributes a factor a_remainder.
    """
    from scipy.special import gammaln

    own = concentration[concentration > 0]
    constant = float(gammaln(own.sum()) - gammaln(own).sum())
    if remainder is None:
        return constant
    return constant + (len(concentration) - len(own)) * float(np.log(concentration[remainder]))


def _log_powers(p: FloatArray, powers: FloatArray, family: SetFamily | None = None) -> FloatArray:
    """Sum powers times logarithms; -inf where any factor is 0, even if another is infinite."""
    from scipy.special import xlogy

    terms = xlogy(powers, p)
    if family is not None and family.n_sets > 0:
        sets = xlogy(family.exponent, set_probabilities(p, family))
        terms = np.concatenate([terms, sets], axis=-1)
    impossible = np.isneginf(terms).any(axis=-1, keepdims=True)
    return np.asarray(np.where(impossible, -np.inf, terms).sum(axis=-1))


def set_probabilities(p: FloatArray, family: SetFamily) -> FloatArray:
    """Sum the probability of each set, shape (..., n_sets), for `p` of shape (..., n)."""
    nest = family.nest_of_set
    begin = np.r_[0, family.set_end[:-1]]  # canonical nests end with their last set
    out = np.add.reduceat(p[..., family.members], begin, axis=-1)
    place = np.arange(family.n_sets) - family.set_start[nest]
    by_level = np.argsort(place, kind="stable")
    for sets in np.split(by_level, np.flatnonzero(np.diff(place[by_level])) + 1)[1:]:
        out[..., sets] += out[..., sets - 1]
    excluded = np.flatnonzero(family.complement[nest])
    if len(excluded) == 0:
        return np.asarray(out)
    out[..., excluded] = p.sum(axis=-1, keepdims=True) - out[..., excluded]
    for t in excluded[(out[..., excluded] < _CANCELLED).reshape(-1, len(excluded)).any(axis=0)]:
        out[..., t] = p[..., family.set_members(int(t))].sum(axis=-1)
    return np.asarray(out)
