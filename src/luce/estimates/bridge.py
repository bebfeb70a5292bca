"""Bridge sampling: the ratio of two integrals from draws of both densities.

Meng and Wong (1996) compare draws of a density with draws of another one whose integral is known, a
Student t that has the same mode and curvature.  With y measured from the mode, exp h is replaced by
(exp h(y) + exp h(-y)) / 2, which has the same integral without the skewness (Meng and Schilling
2002).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from luce._types import FloatArray
from luce.estimates.estimate import Estimate
from luce.estimates.weights import log_mean
from luce.sampling.convergence import ess_of_mean

# Degrees of freedom of the Student t: its tails are a little longer than a normal's.
_FREEDOM = 30.0


def bridge_to_student(
    heights: Callable[[FloatArray], FloatArray],
    peak: FloatArray,
    covariance: FloatArray,
    draws: FloatArray,
    rng: np.random.Generator,
) -> Estimate:
    """Estimate log ∫ exp h(y) dy by a bridge to a Student t.

    Parameters
    ----------
    heights
        Computes h of rows of y, shape (rows, dimensions).
    peak, covariance
        Where h is largest, and the covariance of its normal approximation.
    draws
        Draws from exp h, shape (chain, draw, dimension).
    rng
        The source of the Student t's draws.
    """
    from scipy.linalg import solve_triangular
    from scipy.special import gammaln

    root = np.linalg.cholesky(covariance)
    size = np.log(np.diag(root)).sum()
    freedom, d = _FREEDOM, len(peak)
    constant = gammaln((freedom + d) / 2) - gammaln(freedom / 2) - d / 2 * np.log(freedom * np.pi)

    def log_ratio(y: FloatArray) -> FloatArray:
        """Compute the log of the symmetrised density over the Student t."""
        both = [heights(peak + (sign * y) @ root.T) for sign in (1.0, -1.0)]
        student = constant - (freedom + d) / 2 * np.log1p((y**2).sum(axis=1) / freedom)
        return np.asarray(np.logaddexp(*both) - np.log(2) + size - student)

    chains, length, _ = draws.shape
    flat = draws.reshape(-1, d) - peak
    ours = log_ratio(np.ascontiguousarray(solve_triangular(root, flat.T, lower=True).T))
    number = chains * length
    proposed = rng.standard_normal((number, d))
    proposed /= np.sqrt(rng.chisquare(freedom, (number, 1)) / freedom)
    return bridge_ratio(ours.reshape(chains, length), log_ratio(proposed))


def bridge_ratio(ours: FloatArray, theirs: FloatArray) -> Estimate:
    """Solve for r = Z: mean of f/(s f + (1 - s) r g) over g's draws = mean of r g/(...) over f's.

    With x = log r - log(s / (1 - s)), the difference of the two logarithms falls as x grows, so
    there is one root, and it is bracketed.

    Parameters
    ----------
    ours
        Log f - log g at the posterior's draws, shape (chain, draw).
    theirs
        Log f - log g at g's draws: shape (draw,) where they are independent, else (chain, draw).
    """
    from scipy.optimize import brentq
    from scipy.special import log_expit

    alone = theirs.ndim == 1
    number = theirs.size if alone else ess_of_mean(theirs)
    tilt = float(np.log(ess_of_mean(ours) / number))

    def gap(x: float) -> float:
        return _log_mean(log_expit(theirs - x)) - _log_mean(log_expit(x - ours)) - tilt

    reach = abs(tilt) + np.log(ours.size + theirs.size) + 1
    seen = np.r_[ours.ravel(), theirs[np.isfinite(theirs)]]
    x = brentq(gap, seen.min() - reach, seen.max() + reach, xtol=1e-12, rtol=1e-14)
    weights = log_expit(theirs - x)
    above = log_mean(weights[None], "bridge", len(theirs)) if alone else log_mean(weights, "bridge")
    below = log_mean(log_expit(x - ours), "bridge")
    error = float(np.hypot(above.standard_error, below.standard_error))
    # Both means are of numbers between 0 and 1, whose variance exists: no Pareto k is needed.
    return Estimate(x + tilt, error, "bridge", fewest_draws(above, below))


def fewest_draws(*estimates: Estimate) -> dict[str, float]:
    """Return the smallest number of draws that carry one of the estimates, as details."""
    return {"effective_draws": min(effective_draws(estimate) for estimate in estimates)}


def effective_draws(estimate: Estimate) -> float:
    """Return the number of draws that carry an estimate."""
    return float(estimate.details["effective_draws"])


def _log_mean(x: FloatArray) -> float:
    top = float(x.max())
    return top + float(np.log(np.exp(x - top).mean()))
