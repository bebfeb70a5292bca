"""Are ranks uniform?  An exact test of their distribution function, and its band.

Of N ranks, each uniform on 0..L if all is well, C_k are at most k: a binomial number with
probability (k + 1) / (L + 1).  The statistic is the smallest of their tail probabilities,

    g  =  min over k < L of  min(P(C <= C_k), P(C >= C_k)),

and its p-value the probability that a uniform sample has a g as small: that the path C_0, C_1, ...,
C_(L-1) leaves the band in which all tails are above g.  The path is a Markov chain,

    C_k - C_(k-1)  ~  Binomial(N - C_(k-1), 1 / (L + 1 - k)),

so that probability is a sum, found exactly (Säilynoja, Bürkner and Vehtari 2022).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from luce._types import FloatArray, IntArray

# Below this, 1 minus the probability of staying inside has no digits left, and the sum of the
# tails at all places, which is never below the p-value, takes its place.
_NO_DIGITS = 1e-11

# Tails that are equal, as those at two sides of the middle are, may differ by rounding.
_ROUNDING = 1e-9


def ranks_of(truth: FloatArray, draws: FloatArray, rng: np.random.Generator) -> IntArray:
    """Rank of each truth among its draws, equal values in random order.

    Parameters
    ----------
    truth
        Shape (quantity,).
    draws
        Shape (draw, quantity).
    rng
        Breaks ties: with them the rank is still uniform.

    Examples
    --------
    >>> ranks_of(np.array([0.5]), np.array([[0.1], [0.9], [0.2]]), np.random.default_rng(1))
    array([2])
    """
    below, equal = (draws < truth).sum(axis=0), (draws == truth).sum(axis=0)
    return np.asarray(below + rng.integers(equal + 1), np.int64)


def p_value_of(ranks: IntArray, draws: int) -> float:
    """Probability that uniform ranks stray as far as these.

    Parameters
    ----------
    ranks
        Shape (replication,), from 0 to `draws`.
    draws
        L, that each truth was ranked among.

    Examples
    --------
    >>> p_value_of(np.arange(64), 63)
    1.0
    >>> p_value_of(np.full(10, 3), 63) < 1e-9
    True
    """
    below = np.cumsum(np.bincount(ranks, minlength=draws + 1))[:-1]
    at_most, at_least = _tails(len(ranks), draws)
    places = np.arange(draws)
    smallest = np.minimum(at_most[places, below], at_least[places, below]).min()
    return _leaving(len(ranks), draws, float(smallest))


@lru_cache(maxsize=16)
def band_of(replications: int, draws: int, level: float) -> tuple[IntArray, IntArray]:
    """Numbers of ranks at most 0, 1, ..., draws - 1 that are left with probability `level`.

    Returns
    -------
    least, most
        Shape (draws,): the widest such band but for the jumps of a discrete distribution.
    """
    low, high = np.log(level / (2 * draws + 2)), np.log(min(level, 0.5))
    for _ in range(25):  # the logarithm of g to seven digits
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _leaving(replications, draws, np.exp(middle)) <= level
            else (low, middle)
        )  # fmt: skip
    return _band(replications, draws, float(np.exp(low)))


@lru_cache(maxsize=16)
def _tails(replications: int, draws: int) -> tuple[FloatArray, FloatArray]:
    """P(C <= c) and P(C >= c), shape (draws, replications + 1)."""
    from scipy.stats import binom

    share = (np.arange(1, draws + 1) / (draws + 1))[:, None]
    c = np.arange(replications + 1)
    return (
        np.asarray(binom.cdf(c, replications, share)),
        np.asarray(binom.sf(c - 1, replications, share)),
    )


def _band(replications: int, draws: int, tail: float) -> tuple[IntArray, IntArray]:
    """Smallest and largest numbers whose tails are both above `tail`."""
    at_most, at_least = _tails(replications, draws)
    tail *= 1 + _ROUNDING
    return (at_most <= tail).sum(axis=1), (at_least > tail).sum(axis=1) - 1


def _leaving(replications: int, draws: int, tail: float) -> float:
    """Probability that some tail of uniform ranks is at most `tail`."""
    from scipy.special import gammaln

    least, most = _band(replications, draws, tail)
    if (least > most).any():
        return 1.0
    log_factorial = gammaln(np.arange(replications + 2) + 1.0)
    at_most, at_least = _tails(replications, draws)
    seen, mass = np.zeros(1, np.int64), np.ones(1)
    for k in range(draws):
        left, new = replications - seen[:, None], np.arange(least[k], most[k] + 1)
        more = new - seen[:, None]
        here = (more >= 0) & (more <= left)
        more = np.where(here, more, 0)
        share = 1 / (draws + 1 - k)
        logs = log_factorial[left] - log_factorial[more] - log_factorial[left - more]
        logs += more * np.log(share) + (left - more) * np.log1p(-share)
        mass = mass @ np.where(here, np.exp(logs), 0.0)
        seen = new
    p = 1.0 - float(mass.sum())
    if p > _NO_DIGITS:
        return p
    places = np.arange(draws)
    below = np.where(least > 0, at_most[places, least - 1], 0.0)
    above = np.where(most < replications, at_least[places, np.minimum(most + 1, replications)], 0.0)
    return float(min(1.0, below.sum() + above.sum()))
