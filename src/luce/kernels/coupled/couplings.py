"""Couplings: two random variables of given laws that are often equal.

A maximal coupling of densities p and q draws X from p and takes Y = X with probability
min(1, q(X) / p(X)); else it draws Y from q until a uniform U has U q(Y) > p(Y).  The two are equal
as often as any coupling allows, and Y has density q.  The loop may be very long where p and q are
nearly equal, which happens as seldom as it is long.  Both probabilities are therefore taken times
η = 1 - 2^-20 (Gerber and Lee 2020): Y still has density q, the two are equal η times as often, and
the loop makes 2^20 turns on average at the most.

Where the laws are far apart, both variables are made of common random numbers instead, which brings
chains closer.  Which coupling is used may depend on the two states, but on nothing else.
"""

import math

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.grouped_outcomes import SplitSpace, split_groups
from luce.kernels.jit import compiled, embedded, internal
from luce.kernels.layouts import AnyProblem
from luce.kernels.problem import Wide
from luce.kernels.random import (
    binomial,
    gamma_or_log,
    next_word,
    normal,
    uniform,
)
from luce.kernels.set_sums import as_log, set_sums

# log η.
_LOG_SHRINK = math.log1p(-(2.0**-20))

# Total variation distance of two normal laws that are one standard deviation apart, nearly, over
# that distance: 1 / √(2 π).
_DISTANCE = 0.4

# Number of variables of a step, as an expectation, that may fail to meet where maximal couplings
# are tried.
_MOST_APART = 2.0

# Total variation distance below which a single variable is coupled maximally.
_LIKELY = 0.5

# Shapes from which log Γ(b) - log Γ(a) is taken from Stirling's series, without cancellation.
_LARGE_SHAPE = 1e4


@embedded
def are_close(apart: float) -> bool:
    """Decide whether to try to meet, by the expected number of variables that would not."""
    return apart < _MOST_APART


@internal
def apart_by(shape: float, rate: float, other_shape: float, other: float, wide: Wide) -> float:
    """Bound the probability, roughly, that two gammas cannot be equal."""
    gap = abs(_log_ratio_of(rate, other, wide) - math.log(other_shape / shape))
    return _DISTANCE * math.sqrt(max(shape, 1.0)) * gap


@internal
def is_close(shape: float, rate: float, other_shape: float, other: float, wide: Wide) -> bool:
    """Decide whether to couple a single pair of gammas maximally."""
    return apart_by(shape, rate, other_shape, other, wide) < _LIKELY


@embedded
def _log_ratio_of(a: float, b: float, wide: Wide) -> float:
    """Return log(b / a) with all digits where a and b are close; logarithms in if `wide`."""
    if wide is None:
        return math.log1p((b - a) / a)
    return b - a


@internal
def branch(bits: WordArray, spare: WordArray) -> None:
    """Seed two equal generators, the rows of `spare`, from one word (splitmix64)."""
    seed = next_word(bits)
    for k in range(4):
        seed += np.uint64(0x9E3779B97F4A7C15)
        z = seed
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        spare[0, k] = spare[1, k] = z ^ (z >> np.uint64(31))


@internal
def draw_gamma(bits: WordArray, shape: float, wide: Wide) -> float:
    """Draw G ~ Gamma(shape, 1), or its logarithm if `wide`; compiled once for all calls."""
    return gamma_or_log(bits, shape, wide)


@internal
def is_taken(bits: WordArray, log_ratio: float) -> bool:
    """Draw an event of probability η min(1, exp(log_ratio))."""
    return math.log(uniform(bits)) <= _LOG_SHRINK + min(log_ratio, 0.0)


@embedded
def _over(g: float, rate: float, wide: Wide) -> float:
    if wide is None:
        return g / rate
    return g - rate


@internal
def couple_gamma(
    bits: WordArray,
    spare: WordArray,
    shape: float,
    rate: float,
    other_shape: float,
    other: float,
    close: bool,
    wide: Wide,
) -> tuple[float, float]:
    """Draw X ~ Gamma(shape, rate) and Y ~ Gamma(other_shape, other).

    Parameters
    ----------
    bits
        Generator.
    spare
        Scratch of `branch`, for common random numbers of unequal shapes.
    shape, rate, other_shape, other
        Parameters of X and of Y.
    close
        Whether to couple maximally; else by common random numbers.
    wide
        As in a `Problem`: if it is not None, rates and both results are logarithms.
    """
    if shape == other_shape and (rate == other or not close):
        g = draw_gamma(bits, shape, wide)
        return _over(g, rate, wide), _over(g, other, wide)
    if not close:
        branch(bits, spare)
        g = draw_gamma(spare[0], shape, wide)
        h = draw_gamma(spare[1], other_shape, wide)
        return _over(g, rate, wide), _over(h, other, wide)
    gap = _log_ratio_of(rate, other, wide)
    g = draw_gamma(bits, shape, wide)
    x = _over(g, rate, wide)
    if is_taken(bits, _log_ratio_of_gammas(shape, other_shape, gap, g, wide)):
        return x, x
    while True:
        h = draw_gamma(bits, other_shape, wide)
        if not is_taken(bits, _log_ratio_of_gammas(other_shape, shape, -gap, h, wide)):
            return x, _over(h, other, wide)


@internal
def _log_ratio_of_gammas(
    shape: float, other_shape: float, gap: float, g: float, wide: Wide
) -> float:
    """Return log(q / p) where p's variable times its rate is g, `gap` being log of q's rate by p's.

    p and q are the densities of Gamma(shape) and Gamma(other_shape).
    """
    plain = g if wide is None else math.exp(g)
    found = other_shape * gap - math.expm1(gap) * plain
    if shape != other_shape:
        found += (other_shape - shape) * as_log(g, wide) - _log_gamma_change(shape, other_shape)
    return found


@internal
def _log_gamma_change(a: float, b: float) -> float:
    """Compute log Γ(b) - log Γ(a)."""
    if min(a, b) < _LARGE_SHAPE:
        return math.lgamma(b) - math.lgamma(a)
    k = b - a
    return (b - 0.5) * math.log1p(k / a) + k * math.log(a) - k - k / (12.0 * a * b)


@internal
def couple_times(
    bits: WordArray,
    spare: WordArray,
    waits: FloatArray,
    one: FloatArray,
    other: FloatArray,
    close: bool,
    wide: Wide,
) -> None:
    """Draw u_t ~ Gamma(m_t) by the rates in `one` and in `other`, which they replace."""
    for t in range(len(waits)):
        if waits[t] > 0.0:
            one[t], other[t] = couple_gamma(
                bits, spare, waits[t], one[t], waits[t], other[t], close, wide
            )
        else:
            one[t] = other[t] = 0.0 if wide is None else -np.inf


@internal
def times_apart(waits: FloatArray, one: FloatArray, other: FloatArray, wide: Wide) -> float:
    """Add up `apart_by` over waiting times of these rates."""
    total = 0.0
    for t in range(len(waits)):
        if waits[t] > 0.0:
            total += apart_by(waits[t], one[t], waits[t], other[t], wide)
    return total


@internal
def couple_splits(
    bits: WordArray,
    spare: WordArray,
    problem: AnyProblem,
    space: SplitSpace,
    one: FloatArray,
    other: FloatArray,
    shape: FloatArray,
    other_shape: FloatArray,
) -> None:
    """Draw the categories of all grouped outcomes by two vectors of probabilities.

    `shape` and `other_shape` receive c_i + k_i of each.

    The assignments K of all outcomes, sets one by one, are coupled as a whole, since the ratio of
    their probabilities needs only the numbers k_i of each category:

        log q(K) / p(K) = Σ_i k_i log(y_i / x_i) - Σ_t n_t log(y(S_t) / x(S_t))
    """
    n, wide = len(one), problem.wide
    counts, other_counts = np.empty(n), np.empty(n)
    constant, apart = _compare_splits(problem, one, other)
    if not apart < _LIKELY:
        branch(bits, spare)
        _split(spare[0], problem, one, space, counts)
        _split(spare[1], problem, other, space, other_counts)
    else:
        _split(bits, problem, one, space, counts)
        change = _log_ratio_of_splits(counts, one, other, wide) + constant
        same = is_taken(bits, change)
        if same:
            for i in range(n):
                other_counts[i] = counts[i]
        while not same:
            _split(bits, problem, other, space, other_counts)
            change = _log_ratio_of_splits(other_counts, other, one, wide) - constant
            if not is_taken(bits, change):
                break
    for i in range(n):
        shape[i] = problem.shape[i] + counts[i]
        other_shape[i] = problem.shape[i] + other_counts[i]


@internal
def _compare_splits(problem: AnyProblem, one: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Compute -Σ_t n_t log(y(S_t) / x(S_t)), and bound, roughly, the distance of the two laws."""
    wide, groups = problem.wide, problem.groups
    sums, other_sums = np.empty(len(groups)), np.empty(len(groups))
    set_sums(problem, one, sums)
    set_sums(problem, other, other_sums)
    constant, number, low, high = 0.0, 0.0, np.inf, -np.inf
    for t in range(len(groups)):
        if groups[t] > 0.0:
            number += groups[t]
            constant -= groups[t] * _log_ratio_of(sums[t], other_sums[t], wide)
    for i in range(len(one)):
        gap = _log_ratio_of(one[i], other[i], wide)
        low, high = min(low, gap), max(high, gap)
    return constant, _DISTANCE * math.sqrt(number) * 0.5 * (high - low)


@internal
def _split(
    bits: WordArray, problem: AnyProblem, x: FloatArray, space: SplitSpace, counts: FloatArray
) -> None:
    for i in range(len(counts)):
        counts[i] = 0.0
    split_groups(bits, problem, x, space, counts)


@internal
def _log_ratio_of_splits(
    counts: FloatArray, one: FloatArray, other: FloatArray, wide: Wide
) -> float:
    total = 0.0
    for i in range(len(counts)):
        if counts[i] > 0.0:
            total += counts[i] * _log_ratio_of(one[i], other[i], wide)
    return total


@internal
def couple_successes(
    bits: WordArray, spare: WordArray, number: float, log_odds: float, other: float
) -> tuple[float, float]:
    """Draw K, K' ~ Binomial(number, s / (s + 1)), log s being `log_odds` and `other`."""
    share, other_share = _share(log_odds), _share(other)
    if not _DISTANCE * math.sqrt(number) * 0.5 * abs(other - log_odds) < _LIKELY:
        branch(bits, spare)
        return binomial(spare[0], number, share), binomial(spare[1], number, other_share)
    k = binomial(bits, number, share)
    constant = -number * (_log_of_one_plus(other) - _log_of_one_plus(log_odds))
    if is_taken(bits, k * (other - log_odds) + constant):
        return k, k
    while True:
        h = binomial(bits, number, other_share)
        if not is_taken(bits, h * (log_odds - other) - constant):
            return k, h


@embedded
def _share(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-log_odds))


@embedded
def _log_of_one_plus(x: float) -> float:
    """Compute log(1 + exp x)."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@internal
def couple_inverse_gaussian(
    bits: WordArray, log_mean: float, shape: float, log_other_mean: float, other_shape: float
) -> tuple[float, float]:
    """Draw log W and log W': inverse Gaussians of these means, `shape` being theirs over the mean.

    W / mean is the larger root of a quadratic or its inverse, as the smaller root would cancel
    (Michael, Schucany and Haas 1976).
    """
    z, u = normal(bits), uniform(bits)
    log_w = log_mean + _log_root(z, u, shape)
    gap = abs(log_other_mean - log_mean)
    apart = _DISTANCE * (math.sqrt(shape) * gap + abs(math.log(other_shape / shape)))
    if not apart < _LIKELY:
        return log_w, log_other_mean + _log_root(z, u, other_shape)
    given = log_mean, shape, log_other_mean, other_shape
    if is_taken(bits, _log_ratio_of_inverse_gaussians(log_w, *given)):
        return log_w, log_w
    given = log_other_mean, other_shape, log_mean, shape
    while True:
        log_v = log_other_mean + _log_root(normal(bits), uniform(bits), other_shape)
        if not is_taken(bits, _log_ratio_of_inverse_gaussians(log_v, *given)):
            return log_w, log_v


@embedded
def _log_root(z: float, u: float, shape: float) -> float:
    half = 0.5 * z * z / shape
    large = math.log1p(half + math.sqrt(half * (2.0 + half)))
    return large if u * (1.0 + math.exp(-large)) > 1.0 else -large


@embedded
def _log_ratio_of_inverse_gaussians(
    log_w: float, log_mean: float, shape: float, log_other_mean: float, other_shape: float
) -> float:
    """Compute log q(w) / p(w) from log density ½ log(shape mean) - shape (r - 1)² / 2 r, r = w / m.

    (r - 1)² / 2 r = cosh(log r) - 1 = 2 sinh²(½ log r).
    """
    a, b = math.sinh(0.5 * (log_w - log_mean)), math.sinh(0.5 * (log_w - log_other_mean))
    scale = math.log(other_shape / shape) + log_other_mean - log_mean
    return 0.5 * scale - 2.0 * (other_shape * b * b - shape * a * a)


@compiled
def fill_pairs(
    bits: WordArray, which: int, given: FloatArray, close: bool, out: FloatArray
) -> None:
    """Fill the two columns of `out` with coupled variables of one kind, for tests.

    `which`: 0 gammas, 1 gammas as logarithms, 2 numbers of successes, 3 logarithms of inverse
    Gaussians.  `given` are the parameters of the one, then of the other; of numbers of successes
    the number and both logarithms of odds.
    """
    spare = np.empty((2, 4), np.uint64)
    for d in range(len(out)):
        if which == 0:
            one, other = couple_gamma(
                bits, spare, given[0], given[1], given[2], given[3], close, None
            )
        elif which == 1:
            one, other = couple_gamma(
                bits, spare, given[0], given[1], given[2], given[3], close, True
            )
        elif which == 2:
            one, other = couple_successes(bits, spare, given[0], given[1], given[2])
        else:
            one, other = couple_inverse_gaussian(bits, given[0], given[1], given[2], given[3])
        out[d, 0], out[d, 1] = one, other
