"""Random variates that numba's generator lacks, or gives only over part of the range."""

import math

import numpy as np
from numpy.random import Generator

from luce.kernels.jit import compiled, inlined, internal
from luce.kernels.problem import FloatArray
from luce.kernels.set_sums import plus

# Smallest probability kept outside wide problems: without it a category that once underflows
# to 0 would stay there.  Its inverse, times any count, is still a double.
_LEAST = 1e-290

# Beyond this mean a Poisson variate is a rounded normal one.  The exact rejection sampler
# compares k log(mean) - mean - log k!, which cancels, and its int64 overflows near 1e19; the
# skewness neglected is 1 / sqrt(1e9) = 3e-5.
_LARGE_MEAN = 1e9

# Up to this many expected successes a binomial variate is counted out one by one.
_FEW = 16.0


@inlined
def gamma_draw(rng: Generator, shape: float) -> float:
    """G ~ Gamma(shape, 1)."""
    if shape == 1.0:  # the common case, one outcome per set, at a quarter of the price
        return rng.standard_exponential()
    return rng.standard_gamma(shape)


@compiled
def log_gamma_draw(rng: Generator, shape: float) -> float:
    """Logarithm of a gamma variate, log G(a) = log G(a + 1) + log(U) / a: it cannot underflow."""
    if shape >= 1.0:
        return math.log(gamma_draw(rng, shape))
    return math.log(rng.standard_gamma(shape + 1.0)) + math.log(1.0 - rng.random()) / shape


@inlined
def scaled_gamma_draw(rng: Generator, shape: float, rate: float, wide: bool) -> float:
    """G / rate with G ~ Gamma(shape, 1), or the logarithm of it from the logarithm of the rate."""
    if wide:
        return log_gamma_draw(rng, shape) - rate
    return gamma_draw(rng, shape) / rate


@internal
def normalise(x: FloatArray, wide: bool) -> None:
    """x_i / Σ x, in place."""
    if wide:
        high, total = -np.inf, 0.0
        for i in range(len(x)):
            high = max(high, x[i])
        for i in range(len(x)):
            total += math.exp(x[i] - high)
        high += math.log(total)
        for i in range(len(x)):
            x[i] -= high
    else:
        total = 0.0
        for i in range(len(x)):
            total += x[i]
        for i in range(len(x)):
            x[i] = max(x[i] / total, _LEAST)


@inlined
def poisson_draw(rng: Generator, mean: float) -> float:
    """K ~ Poisson(mean), as a float; `mean` may be anything finite."""
    if mean <= _LARGE_MEAN:
        return float(rng.poisson(mean))
    return float(np.rint(mean + math.sqrt(mean) * rng.standard_normal()))


@compiled
def binomial_draw(rng: Generator, n: float, p: float) -> float:
    """K ~ Binomial(n, p) for whole n of any size (Devroye 1986, X.4.3).

    The middle one of n uniforms is Y ~ Beta(i, n + 1 - i), i = ⌊(n + 1) / 2⌋.  If Y <= p,
    i of them lie below p and n - i are uniform above Y; else i - 1 are uniform below Y.
    """
    successes = 0.0
    while n * min(p, 1.0 - p) > _FEW:
        middle = float(np.floor((n + 1.0) / 2.0))
        below = rng.standard_gamma(middle)
        above = rng.standard_gamma(n + 1.0 - middle)
        y = below / (below + above)
        if y <= p:
            successes += middle
            n -= middle
            p = min((p - y) * (below + above) / above, 1.0)
        else:
            n = middle - 1.0
            p /= y
    if p > 0.5:
        return successes + n - _count_successes(rng, n, 1.0 - p)
    return successes + _count_successes(rng, n, p)


@internal
def share_draw(rng: Generator, count: float, a: float, b: float, wide: bool) -> float:
    """Binomial(count, a / (a + b)), drawn for the smaller part: its share keeps all digits."""
    total = plus(a, b, wide)
    if a <= b:
        return binomial_draw(rng, count, math.exp(a - total) if wide else a / total)
    return count - binomial_draw(rng, count, math.exp(b - total) if wide else b / total)


@internal
def _count_successes(rng: Generator, n: float, p: float) -> float:
    """Binomial(n, p) by skipping the failures between successes, Geometric(p) many each time."""
    if not p > 0.0:
        return 0.0
    if n == 1.0:
        return 1.0 if rng.random() < p else 0.0
    rate = -math.log1p(-p)
    count, trial = 0.0, np.floor(rng.standard_exponential() / rate)
    while trial < n:
        count += 1.0
        trial += 1.0 + np.floor(rng.standard_exponential() / rate)
    return count
