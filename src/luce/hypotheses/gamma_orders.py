"""Probabilities of orders of independent gammas, and thus of Dirichlet probabilities a priori.

The variable of integration is the logit of a gamma's distribution function, which resolves both
tails.  Gammas are kept as logarithms, since those of small shapes leave the range of doubles.
"""

from __future__ import annotations

import numpy as np

from luce._types import FloatArray

# Logits beyond this have no weight in double precision.
_REACH = 40.0

# Log x below which the distribution function is x^a / Γ(a + 1) in double precision.
_TINY_LOG = -40.0

# Log x below which the distribution function of a Beta is x^a / (a B(a, b)), for any b at work.
_TINY_SHARE = -600.0


def chance_of_order(shape: FloatArray) -> float:
    """Compute P(G_1 > G_2 > ... > G_k) to about 8 digits, by Richardson extrapolation."""
    coarse, fine = (_chance_of_order(shape, step) for step in (0.04, 0.02))
    return (4 * fine - coarse) / 3  # the error of the trapezoidal rule goes with step²


def chance_of_best(shape: FloatArray, i: int, k: int) -> float:
    """Compute P(G_i is among the k largest)."""
    logits = np.arange(-_REACH, _REACH, 0.05)
    log_x = _log_quantiles(shape[i], logits)
    # The probabilities that 0, ..., k - 1 of the others are above x, at each x.
    number = np.zeros((k, len(log_x)))
    number[0] = 1.0
    for j in range(len(shape)):
        if j != i:
            below = _distribution(shape[j], log_x)
            number[1:] = number[1:] * below + number[:-1] * (1 - below)
            number[0] *= below
    weight = 0.05 / (2 + 2 * np.cosh(logits))
    return float(number.sum(axis=0) @ weight)


def beta_tails(a: FloatArray, b: FloatArray, log_odds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute P(X < x) and P(X > x) of Betas X of shapes a and b, each with all its digits.

    Small shapes have mass at shares x and 1 - x that are too small for doubles: x is given by the
    logarithm of x / (1 - x).
    """
    below = log_odds < 0
    small, large = _tails_at_small(np.where(below, a, b), np.where(below, b, a), -np.abs(log_odds))
    return np.where(below, small, large), np.where(below, large, small)


def _tails_at_small(
    a: FloatArray, b: FloatArray, log_odds: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute P(X < x) and P(X > x) where x is at most 1/2."""
    from scipy.special import betainc, betaincc, betaln, expit

    x, tiny = expit(log_odds), log_odds < _TINY_SHARE
    lower: FloatArray = np.asarray(betainc(a, b, x), np.float64)
    upper: FloatArray = np.asarray(betaincc(a, b, x), np.float64)
    log_lower = a[tiny] * log_odds[tiny] - np.log(a[tiny]) - betaln(a[tiny], b[tiny])
    lower[tiny], upper[tiny] = np.exp(log_lower), -np.expm1(log_lower)
    return lower, upper


def _chance_of_order(shape: FloatArray, step: float) -> float:
    """Integrate by the trapezoidal rule with this step in logits."""
    logits = np.arange(-_REACH, _REACH, step)
    log_x = np.unique(np.concatenate([_log_quantiles(a, logits) for a in shape]))
    # P(x > G_j > ... > G_k) for j from k down.
    chance = _distribution(shape[-1], log_x)
    for a in shape[-2::-1]:
        middle = (chance[1:] + chance[:-1]) / 2
        chance = np.r_[0.0, np.cumsum(np.diff(_distribution(a, log_x)) * middle)]
    return float(chance[-1])


def _log_quantiles(a: float, logits: FloatArray) -> FloatArray:
    """Compute log quantiles of a gamma of shape a, at logits of its distribution function."""
    from scipy.special import gammainccinv, gammaincinv, gammaln, log_expit

    low, high = np.exp(log_expit(logits)), np.exp(log_expit(-logits))
    tiny = (log_expit(logits) + gammaln(a + 1)) / a
    with np.errstate(divide="ignore"):
        log_x = np.log(np.where(logits < 0, gammaincinv(a, low), gammainccinv(a, high)))
    return np.asarray(np.where(tiny < _TINY_LOG, tiny, log_x))


def _distribution(a: float, log_x: FloatArray) -> FloatArray:
    """Compute the distribution function of a gamma of shape a at exp(log_x)."""
    from scipy.special import gammainc, gammaln

    near_0 = np.exp(np.minimum(a * log_x - gammaln(a + 1), 0.0))
    return np.asarray(np.where(log_x < _TINY_LOG, near_0, gammainc(a, np.exp(log_x))))
