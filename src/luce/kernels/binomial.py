"""Binomial variates for counts of any size, and what falls on one side of a split."""

import math

import numpy as np

from luce._types import WordArray
from luce.kernels.jit import internal
from luce.kernels.problem import Wide
from luce.kernels.random import exponential, gamma, uniform
from luce.kernels.set_sums import plus, ratio

# Up to this many expected successes a binomial variate is counted out one by one.
_FEW = 16.0


@internal
def binomial_draw(bits: WordArray, n: float, p: float) -> float:
    """K ~ Binomial(n, p) for whole n of any size (Devroye 1986, X.4.3).

    The middle one of n uniforms is Y ~ Beta(i, n + 1 - i), i = ⌊(n + 1) / 2⌋.  If Y <= p,
    i of them lie below p and n - i are uniform above Y; else i - 1 are uniform below Y.
    """
    successes = 0.0
    while n * min(p, 1.0 - p) > _FEW:
        middle = float(np.floor((n + 1.0) / 2.0))
        below = gamma(bits, middle)
        above = gamma(bits, n + 1.0 - middle)
        y = below / (below + above)
        if y <= p:
            successes += middle
            n -= middle
            p = min((p - y) * (below + above) / above, 1.0)
        else:
            n = middle - 1.0
            p /= y
    if p > 0.5:
        return successes + n - _count_successes(bits, n, 1.0 - p)
    return successes + _count_successes(bits, n, p)


@internal
def share_draw(bits: WordArray, count: float, a: float, b: float, wide: Wide) -> float:
    """Binomial(count, a / (a + b)), drawn for the smaller part: its share keeps all digits."""
    total = plus(a, b, wide)
    if a <= b:
        return binomial_draw(bits, count, ratio(a, total, wide))
    return count - binomial_draw(bits, count, ratio(b, total, wide))


@internal
def _count_successes(bits: WordArray, n: float, p: float) -> float:
    """Binomial(n, p) by skipping the failures between successes, Geometric(p) many each time."""
    if not p > 0.0:
        return 0.0
    if n == 1.0:
        return 1.0 if uniform(bits) < p else 0.0
    rate = -math.log1p(-p)
    count, trial = 0.0, np.floor(exponential(bits) / rate)
    while trial < n:
        count += 1.0
        trial += 1.0 + np.floor(exponential(bits) / rate)
    return count
