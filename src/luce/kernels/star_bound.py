"""A certified maximum of Σ_i g_i(x_i) on the simplex, g_i(x) = d_i log x - m_i log(1 - x).

Each g_i is concave up to x̂_i = √d_i / (√d_i + √m_i) and convex beyond.  At a maximum at most one
x_i is on its convex side: of two, one could grow at the other's expense.  So there are two kinds of
maximum.

- All x_i on the concave side: g_i'(x_i) = ν for all i gives x_i(ν), and Σ x_i(ν) = 1 fixes ν.
- One x_k = s on the convex side, and the others the best that sum to 1 - s:
  F_k(s) = g_k(s) + V_k(1 - s).  On an interval of s, g_k lies below its chord and the concave V_k
  below its tangent of slope ν; the two lines bound F_k.  Intervals are halved until no bound
  exceeds the largest known value by more than a tolerance.  Intervals end at s = 1 - ε; beyond,
  with D = Σ_{i≠k} d_i >= m_k and r = 1 - s < ε,

      F_k <= (D - m_k) log ε + Σ_{i≠k} d_i log(d_i / D) - Σ_{i≠k} m_i log(1 - ε).
"""

import math

import numpy as np

from luce._types import FloatArray, IntArray
from luce.kernels.jit import compiled, internal

_TAIL = 1e-6  # ε

# Largest number of intervals.  Where more are needed, counts are so large that rejection from the
# envelope would accept almost no proposal.
_MOST_INTERVALS = 2_000


@compiled
def star_bound(
    d: FloatArray, m: FloatArray, kinds: IntArray, tolerance: float, x: FloatArray
) -> float:
    """Compute an upper bound of Σ g_i, and write the best point found to `x`.

    The bound is at most `tolerance` above the value at `x`, or above the limit at a corner of the
    simplex if that is larger.

    Parameters
    ----------
    d, m
        Powers, d > 0 and m >= 0.  The bound is inf unless Σ d - d_k >= m_k for all k, and where it
        would need too many intervals.
    kinds
        One index for each distinct pair (d_i, m_i).
    tolerance
        Of the bound.
    x
        Receives the best point.
    """
    n = len(d)
    others = np.empty(n)
    best = -np.inf
    nu = _share(d, m, -1, 1.0, others)
    if nu > 0.0:
        best = _sum(d, m, -1, others)
        for i in range(n):
            x[i] = others[i]
    bound = best
    low, high = np.empty(64), np.empty(64)
    tried = 0
    for k in kinds:
        if m[k] == 0.0:
            continue
        total, entropy, rest = 0.0, 0.0, 0.0
        most = 0.0  # largest sum of the others on their concave sides
        for i in range(n):
            if i != k:
                total += d[i]
                rest += m[i]
                most += math.sqrt(d[i]) / (math.sqrt(d[i]) + math.sqrt(m[i]))
        if total < m[k]:
            return np.inf
        for i in range(n):
            if i != k:
                entropy += d[i] * math.log(d[i] / total)
        tail = (total - m[k]) * math.log(_TAIL) + entropy - rest * math.log1p(-_TAIL)
        bound = max(bound, tail)
        first = max(math.sqrt(d[k]) / (math.sqrt(d[k]) + math.sqrt(m[k])), 1.0 - most)
        low[0], high[0], n_open = first, 1.0 - _TAIL, 1
        while n_open > 0:
            tried += 1
            if tried > _MOST_INTERVALS:
                return np.inf
            n_open -= 1
            a, b = low[n_open], high[n_open]
            middle = 0.5 * (a + b)
            nu = _share(d, m, k, 1.0 - middle, others)
            if nu == 0.0:  # rounding error at the largest sum of the others
                nu = _share(d, m, k, (1.0 - middle) * (1.0 - 1e-12), others)
            worth = _sum(d, m, k, others)
            at_a, at_b = _g(d[k], m[k], a), _g(d[k], m[k], b)
            here = worth + _g(d[k], m[k], middle)
            if here > best:
                best = here
                for i in range(n):
                    x[i] = others[i] if i != k else middle
            above = worth + 0.5 * (b - a) * nu
            below = worth - 0.5 * (b - a) * nu
            highest = max(at_a + above, at_b + below)
            if highest > best + tolerance and n_open < 62:
                low[n_open], high[n_open] = a, middle
                low[n_open + 1], high[n_open + 1] = middle, b
                n_open += 2
            else:
                bound = max(bound, highest)
    return max(bound, best) + 1e-9 * (1.0 + abs(best))


@internal
def _g(d: float, m: float, x: float) -> float:
    """Evaluate g at x."""
    return d * math.log(x) - (m * math.log1p(-x) if m > 0.0 else 0.0)


@internal
def _sum(d: FloatArray, m: FloatArray, k: int, x: FloatArray) -> float:
    """Compute Σ_{i≠k} g_i(x_i)."""
    total = 0.0
    for i in range(len(d)):
        if i != k:
            total += _g(d[i], m[i], x[i])
    return total


@internal
def _share(d: FloatArray, m: FloatArray, k: int, amount: float, x: FloatArray) -> float:
    """Find the best x_i, i ≠ k, on their concave sides with Σ x_i = amount; returns ν, 0 if none.

    d / x + m / (1 - x) = ν has the smaller root 2d / (e + √(e² - 4 ν d)), e = ν + d - m.
    """
    least, most = 0.0, 0.0
    for i in range(len(d)):
        if i != k:
            root = math.sqrt(d[i]) + math.sqrt(m[i])
            least = max(least, root * root)
            most += d[i]
    high = max(least, most / amount)
    while _taken(d, m, k, high, x) > amount:
        high *= 2.0
    low = least
    if _taken(d, m, k, low, x) < amount:
        return 0.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if _taken(d, m, k, middle, x) > amount:
            low = middle
        else:
            high = middle
    _taken(d, m, k, low, x)  # the sum is at least the amount, so that no bound is too low
    return low


@internal
def _taken(d: FloatArray, m: FloatArray, k: int, nu: float, x: FloatArray) -> float:
    """Write x_i(ν), i ≠ k; returns their sum."""
    total = 0.0
    for i in range(len(d)):
        if i != k:
            e = nu + d[i] - m[i]
            x[i] = 2.0 * d[i] / (e + math.sqrt(max(e * e - 4.0 * nu * d[i], 0.0)))
            total += x[i]
    return total
