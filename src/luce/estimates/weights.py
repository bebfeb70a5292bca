"""Means of weights over draws (likelihoods, densities, ordinates), and how far to trust them.

A mean of weights w rests on the largest of them.  Two figures tell whether it can be trusted:

- the effective number of draws, (Σ w)² / Σ w² times the share of the draws that is independent;
- Pareto's k, the shape of a generalised Pareto distribution fitted to the largest weights (Zhang
  and Stephens 2009; Vehtari, Simpson, Gelman, Yao and Gabry 2024).  Weights with k > 1/2 have no
  variance, so that their mean has no standard error.

Of simulated means over 400 to 4,000 draws, those with k at most 1/2 and 200 effective draws were
off by 1.01 to 1.02 standard errors (root mean square), and by more than 3 in 2 to 4 of 1,000 cases;
over 100 draws, with 50 effective ones, by 1.05, and in 7 of 1,000.
"""

from __future__ import annotations

import numpy as np

from luce._types import FloatArray
from luce.estimates.estimate import Estimate
from luce.sampling.convergence import ess_of_mean

# Beyond this Pareto k the variance of the weights is infinite.
LARGEST_K = 0.5

# Effective draws from which on the error of a mean is trusted; half of the draws if that is less.
ENOUGH_DRAWS = 200.0

# Fewest weights in the tail that a Pareto distribution is fitted to.
_SHORTEST_TAIL = 5

# Log weights that differ by less are equal.
_ROUNDING = 1e-9


def log_mean(logs: FloatArray, method: str, independent: float | None = None) -> Estimate:
    """Estimate the log of the mean of exp(logs), shape (chain, draw), by the delta method.

    Parameters
    ----------
    logs
        Log weights, shape (chain, draw).
    method
        The method that the result names.
    independent
        The number of independent draws; estimated unless given.

    Returns
    -------
    Estimate
        With `effective_draws` and `pareto_k` in its details.  The standard error is nan for fewer
        than 4 draws a chain, and 0 where all weights are equal.
    """
    top = float(logs.max())
    if top == -np.inf:
        return _estimate(-np.inf, float("nan"), method, 0.0, float("nan"))
    weights = np.exp(logs - top)
    mean = weights.mean()
    independent = ess_of_mean(weights) if independent is None else independent
    error = float(weights.std() / mean / np.sqrt(independent))
    if logs.shape[1] < 4 and logs.size > 1:
        error = float("nan")
    share = min(1.0, independent / weights.size)
    draws = share * effective_number(weights)
    return _estimate(top + float(np.log(mean)), error, method, draws, pareto_k(logs))


def _estimate(value: float, error: float, method: str, draws: float, k: float) -> Estimate:
    return Estimate(value, error, method, {"effective_draws": draws, "pareto_k": k})


def is_trusted(mean: Estimate, draws: int) -> bool:
    """Tell whether the standard error of a mean of weights over so many draws holds."""
    enough = min(ENOUGH_DRAWS, draws / 2)
    details = mean.details
    if details["effective_draws"] >= enough and details["pareto_k"] <= LARGEST_K:
        return True
    return bool(mean.standard_error < _ROUNDING)


def basis(mean: Estimate) -> str:
    """Say in words on how many draws a mean rests, and its Pareto k where that is too large."""
    k = mean.details.get("pareto_k", -np.inf)
    heavy = f" (Pareto k {k:.2f}; at most {LARGEST_K} is wanted)" if not k <= LARGEST_K else ""
    return f"rests on {mean.details['effective_draws']:.0f} of the draws alone{heavy}"


def effective_number(weights: FloatArray) -> float:
    """Compute (Σ w)² / Σ w², the number of equally weighted draws with the same variance."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def pareto_k(logs: FloatArray) -> float:
    """Fit a generalised Pareto distribution to the largest of the weights exp(logs).

    The tail holds the min(S / 5, 3 √S) largest of S weights, less those that equal the largest
    weight outside of it.  The result is pulled towards 1/2 by as much as 10 weights would.  It is
    -inf where fewer than 5 are left, and nan for fewer than 25 weights.
    """
    rising = np.sort(logs, axis=None)
    size = int(min(rising.size / 5, 3 * np.sqrt(rising.size)))
    if size < _SHORTEST_TAIL:
        return float("nan")
    outside = rising[-size - 1]
    tail = rising[-size:][rising[-size:] > outside + _ROUNDING]
    if len(tail) < _SHORTEST_TAIL:
        return -np.inf
    k = _fitted_shape(np.exp(tail - rising[-1]) - np.exp(outside - rising[-1]))
    return float((len(tail) * k + 10 * 0.5) / (len(tail) + 10))


def _fitted_shape(rising: FloatArray) -> float:
    """Estimate the shape of a generalised Pareto distribution (Zhang and Stephens 2009)."""
    n, grid = len(rising), 30 + int(np.sqrt(len(rising)))
    quartile = max(rising[int(n / 4 + 0.5) - 1], 1e-300)
    b = 1 / rising[-1] + (1 - np.sqrt(grid / (np.arange(grid) + 0.5))) / (3 * quartile)
    k = np.log1p(-b[:, None] * rising).mean(axis=1)
    heights = n * (np.log(-b / k) - k - 1)
    weights = np.exp(heights - heights.max())
    centre = (b * weights).sum() / weights.sum()
    return float(np.log1p(-centre * rising).mean())
