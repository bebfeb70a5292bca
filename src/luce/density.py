"""The posterior density, in plain NumPy: the independent judge of every sampler.

    log prior       = log Dirichlet(p; concentration)
    log likelihood  = sum_i n_i log p_i + sum_S e_S log p(S)
    log posterior   = log prior + log likelihood          (the evidence is not subtracted)

No sampler imports this module, and it imports none of them.
"""

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray
from luce.conditional_counts import ConditionalCounts
from luce.set_family import SetFamily
from luce.simplex import read_probabilities

# 1 - (excluded mass) has lost four digits when it is this small; then the rest is summed.
_CANCELLED = 1e-4


def log_prior(probabilities: ArrayLike, concentration: FloatArray) -> FloatArray:
    """Log density of Dirichlet(concentration), normalised.

    Parameters
    ----------
    probabilities
        Shape (..., n), on the simplex.
    concentration
        Shape (n,).
    """
    from scipy.special import gammaln, xlogy

    p = read_probabilities(probabilities, len(concentration))
    constant = gammaln(concentration.sum()) - gammaln(concentration).sum()
    return np.asarray(constant + xlogy(concentration - 1, p).sum(axis=-1))


def log_likelihood(probabilities: ArrayLike, counts: ConditionalCounts) -> FloatArray:
    """Log likelihood, without multinomial coefficients.

    Parameters
    ----------
    probabilities
        Shape (..., n), on the simplex.
    counts
        The data.
    """
    from scipy.special import xlogy

    p = read_probabilities(probabilities, counts.n_categories)
    total = xlogy(counts.category_counts, p).sum(axis=-1)
    family = counts.sets
    if family.n_sets > 0:
        sets = xlogy(family.exponent, set_probabilities(p, family)).sum(axis=-1)
        # Where an outcome and the set it was seen in are both impossible, so is the data.
        total = np.add(total, sets, where=~np.isneginf(total), out=np.asarray(total))
    return np.asarray(total)


def log_posterior(
    probabilities: ArrayLike, counts: ConditionalCounts, concentration: FloatArray
) -> FloatArray:
    """Log prior plus log likelihood."""
    return log_prior(probabilities, concentration) + log_likelihood(probabilities, counts)


def set_probabilities(p: FloatArray, family: SetFamily) -> FloatArray:
    """Total probability of each set, shape (..., n_sets), for `p` of shape (..., n)."""
    chain = family.chain_of_set
    begin = np.r_[0, family.set_end[:-1]]  # canonical chains end with their last set
    out = np.add.reduceat(p[..., family.members], begin, axis=-1)
    place = np.arange(family.n_sets) - family.set_start[chain]
    for level in range(1, int(place.max()) + 1):
        sets = np.flatnonzero(place == level)
        out[..., sets] += out[..., sets - 1]
    excluded = np.flatnonzero(family.complement[chain])
    if len(excluded) == 0:
        return np.asarray(out)
    out[..., excluded] = p.sum(axis=-1, keepdims=True) - out[..., excluded]
    for t in excluded[(out[..., excluded] < _CANCELLED).reshape(-1, len(excluded)).any(axis=0)]:
        out[..., t] = p[..., family.set_members(int(t))].sum(axis=-1)
    return np.asarray(out)
