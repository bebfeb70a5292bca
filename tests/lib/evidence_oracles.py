"""The evidence of stars and of full outcomes around them, by integrals in one dimension.

Nothing here imports luce.  With gammas λ_i of shapes a_i the probabilities λ / Σ λ are
Dirichlet(a), and what is recorded within sets does not see Σ λ.  A leaf that met the centre alone,
and won i times and lost j times, has, given the centre's λ = y, the probability

    E[λ^i y^j / (λ + y)^(i + j)] = y^a Γ(a + i) / Γ(a) U(a + i, a + 1 - j, y)

with Tricomi's U; what is left is an integral over y.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma

import mpmath
from mpmath import mpf


def star_log_evidence(
    centre: float, leaves: Sequence[float], wins: Sequence[tuple[int, int]]
) -> float:
    """Log evidence of pairs (leaf, centre); `wins` are those of leaf and of centre in each pair.

    By the trapezoidal rule in log y: the integrand is analytic in a strip of half-width π.  The
    centre won against each leaf, so that below exp(-45) it is a power of y to 19 digits, and the
    rest of the sum is a geometric series.
    """
    assert all(lost > 0 for _, lost in wins)
    h, low, high = mpf(3) / 8, -45, 4.5

    def height(u: mpf) -> mpf:
        y = mpmath.exp(u)
        value = mpmath.exp(centre * u - y)
        for a, (won, lost) in zip(leaves, wins, strict=True):
            value *= y**a * mpmath.rf(a, won) * mpmath.hyperu(a + won, a + 1 - lost, y)
        return value

    with mpmath.workdps(25):
        power = mpf(centre) + mpmath.fsum(leaves)
        total = height(mpf(low)) / (mpmath.exp(power * h) - 1)
        total += mpmath.fsum(height(low + k * h) for k in range(int((high - low) / h)))
        return float(mpmath.log(total * h) - mpmath.loggamma(centre))


def log_evidence_of_all(concentration: Sequence[float], seen: Sequence[float]) -> float:
    """Log evidence of outcomes that could be anything; the rest then has the prior a + seen."""
    after = [a + k for a, k in zip(concentration, seen, strict=True)]
    value = sum(lgamma(c) - lgamma(a) for c, a in zip(after, concentration, strict=True))
    return value + lgamma(sum(concentration)) - lgamma(sum(after))
