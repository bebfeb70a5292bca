"""Test whether ranks are uniform: an exact test of their distribution function, and its band.

Of N ranks, each uniform on 0..L under the hypothesis, C_k are at most k: a binomial number with
probability (k + 1) / (L + 1).  The statistic is the smallest of their tail probabilities,

    g  =  min over k < L of  min(P(C <= C_k), P(C >= C_k)).

Its p-value is the probability that a uniform sample has a g as small, which means that the path
C_0, C_1, ..., C_(L-1) leaves the band in which all tails are above g.  The numbers of ranks 0, 1,
..., L are independent Poisson variables with mean N / (L + 1), given that they add up to N.  The
probability of staying in the band is therefore a sequence of convolutions, cut off at the band's
edges, and exact.  The statistic and its band are those of Säilynoja, Bürkner and Vehtari (2022).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from luce._types import FloatArray, IntArray

# Smallest p-value that 1 minus the probability of staying inside has digits for.  Below it the sum
# of the tails at all places is used, which is never below the p-value.
_NO_DIGITS = 1e-11

# Relative rounding error of tails: those at two sides of the middle are equal but for rounding.
_ROUNDING = 1e-9


def ranks_of(truth: FloatArray, draws: FloatArray, rng: np.random.Generator) -> IntArray:
    """Rank each truth among its draws, equal values in random order.

    Parameters
    ----------
    truth
        Shape (quantity,).
    draws
        Shape (draw, quantity).
    rng
        Generator that breaks ties, so that ranks are uniform in spite of them.

    Examples
    --------
    >>> ranks_of(np.array([0.5]), np.array([[0.1], [0.9], [0.2]]), np.random.default_rng(1))
    array([2])
    """
    below, equal = (draws < truth).sum(axis=0), (draws == truth).sum(axis=0)
    return np.asarray(below + rng.integers(equal + 1), np.int64)


def p_value_of(ranks: IntArray, draws: int) -> float:
    """Compute the p-value: the probability that uniform ranks stray as far as these.

    Parameters
    ----------
    ranks
        Shape (replication,), from 0 to `draws`.
    draws
        L, the number of draws that each truth was ranked among.

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
    """Compute the band that cumulative numbers of ranks leave with probability `level` at most.

    Returns
    -------
    least, most
        Bounds of the numbers of ranks at most 0, 1, ..., draws - 1, shape (draws,).  The band is
        the narrowest that the jumps of a discrete distribution allow.
    """
    low, high = np.log(level / (2 * draws + 2)), np.log(min(level, 0.5))
    for _ in range(25):  # the logarithm of g to seven digits
        middle = (low + high) / 2
        if _leaving(replications, draws, np.exp(middle)) <= level:
            low = middle
        else:
            high = middle
    return _band(replications, draws, float(np.exp(low)))


@lru_cache(maxsize=16)
def _tails(replications: int, draws: int) -> tuple[FloatArray, FloatArray]:
    """Compute P(C <= c) and P(C >= c), each of shape (draws, replications + 1)."""
    from scipy.stats import binom

    share = (np.arange(1, draws + 1) / (draws + 1))[:, None]
    c = np.arange(replications + 1)
    return (
        np.asarray(binom.cdf(c, replications, share)),
        np.asarray(binom.sf(c - 1, replications, share)),
    )


def _band(replications: int, draws: int, tail: float) -> tuple[IntArray, IntArray]:
    """Find the smallest and largest numbers whose tails are both above `tail`."""
    at_most, at_least = _tails(replications, draws)
    tail *= 1 + _ROUNDING
    return (at_most <= tail).sum(axis=1), (at_least > tail).sum(axis=1) - 1


def _leaving(replications: int, draws: int, tail: float) -> float:
    """Compute the probability that some tail of uniform ranks is at most `tail`."""
    from scipy.stats import poisson

    least, most = _band(replications, draws, tail)
    if (least > most).any():
        return 1.0
    number = poisson.pmf(np.arange(replications + 1), replications / (draws + 1))
    start, mass = 0, np.ones(1)
    for low, high in zip(least.tolist(), most.tolist(), strict=True):
        # Of the sums from `start` on, those from `low` to `high` stay.
        mass = np.convolve(mass, number[: high - start + 1])[max(low - start, 0) : high - start + 1]
        start = max(low, start)
    left = number[replications - start - np.arange(len(mass))]
    p = 1.0 - float(mass @ left / poisson.pmf(replications, replications))
    if p > _NO_DIGITS:
        return p
    at_most, at_least = _tails(replications, draws)
    places = np.arange(draws)
    below = np.where(least > 0, at_most[places, least - 1], 0.0)
    above = np.where(most < replications, at_least[places, np.minimum(most + 1, replications)], 0.0)
    return float(min(1.0, below.sum() + above.sum()))
