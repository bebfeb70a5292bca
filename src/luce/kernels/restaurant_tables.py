"""Numbers of tables in a Chinese restaurant: of new values among n draws of a Dirichlet process.

    T = B_0 + ... + B_(n-1),     B_k ~ Bernoulli(a / (a + k)) independent

Customer k finds k others seated and opens a new table with probability a / (a + k).  There are some
a log(1 + n / a) tables; the sampler jumps from one table to the next and skips the other customers.
"""

import math

import numpy as np

from luce._types import FloatArray, WordArray
from luce.kernels.jit import compiled, internal
from luce.kernels.random import exponential, normal, poisson, uniform

# From this customer on (times max(a, 1)), tables are the points of a Poisson process: the
# probability that two points ever fall on one customer is 1e-12.
_CUSTOMER = 1e12

# Above both this number of customers and this a there are more than 40,000 tables, and their number
# is a rounded normal (skewness below 0.005): jumping would take one step a table.
_MANY, _LARGE = 1e6, 1e4


@internal
def draw_tables(bits: WordArray, n: float, log_n: float, a: float) -> float:
    """Draw the number of tables of n >= 1 customers at concentration a >= 0.

    Points of a Poisson process of intensity a / (x + s) propose tables: a point in [k, k + 1)
    proposes customer k.  For s = min((a - 1) / 2, 0) that has a probability of at least
    a / (a + k), since 1 / x is convex and decreasing; the proposal is accepted with the ratio of
    the two probabilities.  Customers k < a, of whom at least half open a table, are drawn one by
    one.

    Parameters
    ----------
    bits
        Generator.
    n
        Whole number of customers; infinite where only its logarithm is a double.
    log_n
        Logarithm of the number of customers; may be 0 if `n` is finite.
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
        step = np.exp(exponential(bits) / a)  # math.exp raises at overflow when run as Python
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
    """Draw a rounded normal for large a and n.

    Mean a (ψ(a + n) - ψ(a)), variance mean + a² (ψ'(a + n) - ψ'(a)), both by expansion.
    """
    top = log_n if log_n > 0.0 else math.log(n)
    log_a = math.log(a)
    spread = math.log1p(n / a) if n < a else top - log_a + math.log1p(math.exp(log_a - top))
    share = 1.0 / (1.0 + math.exp(log_a - top))  # n / (a + n)
    mean = a * spread + 0.5 * share
    variance = max(a * (spread - share), 0.0)
    return min(max(float(np.rint(mean + math.sqrt(variance) * normal(bits))), 1.0), n)


@compiled
def fill_tables(bits: WordArray, n: float, log_n: float, a: float, out: FloatArray) -> None:
    """Fill `out` with numbers of tables, for tests."""
    for i in range(len(out)):
        out[i] = draw_tables(bits, n, log_n, a)
