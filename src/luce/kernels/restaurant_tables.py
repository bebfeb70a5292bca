"""Tables of a Chinese restaurant: how many of n draws of a Dirichlet process were new.

    T = B_0 + ... + B_(n-1),     B_k ~ Bernoulli(a / (a + k)) independent

Customer k finds k others seated and sits down at a new table with probability a / (a + k).  There
are about a log(1 + n / a) tables, so one jumps from table to table and never looks at the rest.
"""

import math

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.jit import compiled, internal
from luce.kernels.random import exponential, normal, poisson, uniform

# From this customer on, for a <= 1, tables are the points of a Poisson process: two of them fall
# on one customer with a probability of 1e-12 in all.
_CUSTOMER = 1e12

# More customers and a larger a than these: more than 40,000 tables, and a sum of Bernoullis with a
# skewness below 0.005 is a rounded normal.  Jumping would take as many steps as there are tables.
_MANY, _LARGE = 1e6, 1e4


@internal
def draw_tables(bits: WordArray, n: float, log_n: float, a: float) -> float:
    """T of n >= 1 customers at concentration a >= 0.

    Lay out a Poisson process of intensity a / (x + s) over [k, k + 1) for customer k.  For
    s = min((a - 1) / 2, 0) it has a point there with a probability of at least a / (a + k), since
    1 / x is convex and decreasing; the first point is kept with the ratio of the two.  While k < a
    a customer is as likely as not to open a table, and is looked at.

    Parameters
    ----------
    bits
        Generator.
    n
        Whole number of customers; infinite where only its logarithm is a number.
    log_n
        Its logarithm; 0 where `n` is at hand.
    a
        Concentration.
    """
    if n > _MANY and a > _LARGE:
        return _many_tables(bits, n, log_n, a)
    tables, k, last = 1.0, 1.0, n
    limit = _CUSTOMER * max(a, 1.0)
    if n > limit:
        top = log_n if log_n > 0.0 else math.log(n)
        tables += poisson(bits, a * (top - math.log(limit)))
        last = limit
    while k < a and k < last:
        if uniform(bits) * (a + k) <= a:
            tables += 1.0
        k += 1.0
    shift = min(0.5 * (a - 1.0), 0.0)
    while k < last:
        step = np.exp(exponential(bits) / a)  # as Python, math.exp would refuse to overflow
        k = max(k, float(np.floor((k + shift) * step - shift)))
        if not k < last:
            break
        reached = -math.expm1(a * math.log1p(-1.0 / (k + 1.0 + shift)))
        if uniform(bits) * reached * (a + k) <= a:
            tables += 1.0
        k += 1.0
    return tables


@internal
def _many_tables(bits: WordArray, n: float, log_n: float, a: float) -> float:
    """Mean a (ψ(a + n) - ψ(a)), variance mean + a² (ψ'(a + n) - ψ'(a)), at large a and n."""
    top = log_n if log_n > 0.0 else math.log(n)
    log_a = math.log(a)
    spread = math.log1p(n / a) if n < a else top - log_a + math.log1p(math.exp(log_a - top))
    share = 1.0 / (1.0 + math.exp(log_a - top))  # n / (a + n)
    mean = a * spread + 0.5 * share
    variance = max(a * (spread - share), 0.0)
    return min(max(float(np.rint(mean + math.sqrt(variance) * normal(bits))), 1.0), n)


@compiled
def fill_tables(bits: WordArray, n: float, log_n: float, a: float, out: FloatArray) -> None:
    """Fill `out` with draws, for tests."""
    for i in range(len(out)):
        out[i] = draw_tables(bits, n, log_n, a)
