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
from luce.counts.labels import read_probabilities
from luce.counts.likelihood import log_powers


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
    return _log_constant(concentration) + log_powers(p, concentration - 1)


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
    return _log_constant(concentration, remainder) + log_powers(p, powers, counts.sets)


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
