"""The posterior density in plain NumPy, by which every sampler is judged independently.

    log prior       = log Dirichlet(p; concentration)
    log likelihood  = sum_i n_i log p_i + sum_S e_S log p(S)
    log posterior   = log prior + log likelihood          (the evidence is not subtracted)

Where data has parameters beside p, such as that of ties, the likelihood depends on them, and the
prior has a gamma density for each of them that is not known.

No sampler imports this module, and it imports none of them.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray
from luce.counts.counts import ConditionalCounts, read_parameters
from luce.counts.labels import read_probabilities
from luce.counts.likelihood import log_powers
from luce.model.priors import Gamma, ParameterPrior


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
    parameters: Mapping[str, ArrayLike] | None = None,
    priors: Mapping[str, ParameterPrior] | None = None,
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
    parameters
        Values of the data's parameters, of shape (...) each.
    priors
        Their priors; those known count for nothing.
    """
    p = read_probabilities(probabilities, counts.n_categories)
    powers = (concentration - 1) + counts.category_counts
    value = _log_constant(concentration, remainder) + log_powers(p, powers, counts.sets)
    if counts.events is None:
        return value
    values = read_parameters(counts.parameters, parameters or {})
    value = value + counts.events.log_likelihood(p, values)
    for name, prior in (priors or {}).items():
        if isinstance(prior, Gamma):
            value = value + _log_gamma_density(values[name] - counts.events.least(name), prior)
    return value


def _log_gamma_density(x: FloatArray, prior: Gamma) -> FloatArray:
    """Compute the log density of a gamma distribution; minus infinity below 0."""
    from scipy.stats import gamma

    return np.asarray(gamma.logpdf(x, prior.shape, scale=1 / prior.rate))


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
