"""Hypotheses about three probabilities, by quadrature in log-odds.  Nothing here imports luce.

With x = log p_b - log p_a and y = log p_c - log p_b the density per unit of x and y is
Π p_i^(c_i) Π p(S)^(e_S), and orders of a, b and c are quadrants: no edge is cut.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Powers = dict[tuple[int, ...], float]

# Gauss-Legendre in so many pieces: integrands decay at least like exp(-|x| / 2) here.
_PIECES, _REACH = 24, 60.0
_NODE, _WEIGHT = np.polynomial.legendre.leggauss(16)


def nodes(low: float, high: float) -> tuple[Floats, Floats]:
    """Nodes and weights of a rule on an interval."""
    edges = np.linspace(low, high, _PIECES + 1)
    half = (high - low) / _PIECES / 2
    middle = (edges[1:] + edges[:-1]) / 2
    return (middle[:, None] + half * _NODE).ravel(), np.tile(half * _WEIGHT, _PIECES)


@dataclass(frozen=True)
class Three:
    """Exponents c_i of single categories, and those of pairs; without data, those of the prior."""

    shape: Sequence[float]
    powers: Powers

    def height(self, logs: Sequence[Floats]) -> Floats:
        """Density per unit of log-odds at log p, up to a constant."""
        total = np.logaddexp(np.logaddexp(logs[0], logs[1]), logs[2])
        value = sum(c * (x - total) for c, x in zip(self.shape, logs, strict=True))
        for (i, j), e in self.powers.items():
            value = value + e * (np.logaddexp(logs[i], logs[j]) - total)
        return np.exp(np.asarray(value))

    def mass(self, order: Sequence[int], x: tuple[float, float], y: tuple[float, float]) -> float:
        """Integral over log-odds x of the second to the first, and y of the third to the second."""
        (u, wu), (v, wv) = nodes(*x), nodes(*y)
        first, second, third = np.zeros_like(u[:, None]), u[:, None], u[:, None] + v
        logs = dict(zip(order, (first, second, third), strict=True))
        return float(wu @ self.height([logs[i] for i in range(3)]) @ wv)

    @cached_property
    def total(self) -> float:
        return sum(self.mass((0, 1, 2), x, y) for x in HALVES for y in HALVES)

    def in_order(self, *order: int) -> float:
        """Probability that p is largest for the first and smallest for the last of three."""
        return self.mass(order, BELOW, BELOW) / self.total

    def larger(self, i: int, j: int) -> float:
        (k,) = {0, 1, 2} - {i, j}
        return sum(self.in_order(*o) for o in ((i, j, k), (i, k, j), (k, i, j)))

    def best(self, i: int, k: int = 1) -> float:
        j, m = sorted({0, 1, 2} - {i})
        orders = [(i, j, m), (i, m, j)] if k == 1 else [(i, j, m), (i, m, j), (j, i, m), (m, i, j)]
        return sum(self.in_order(*o) for o in orders)

    def density_of_equal(self, i: int, j: int) -> float:
        """Density of log p_j - log p_i at 0."""
        (k,) = {0, 1, 2} - {i, j}
        value = 0.0
        for half in HALVES:
            v, w = nodes(*half)
            logs = {i: np.zeros_like(v), j: np.zeros_like(v), k: v}
            value += float(w @ self.height([logs[m] for m in range(3)]))
        return value / self.total

    def density_of_all_equal(self) -> float:
        zero = np.zeros(1)
        return float(self.height([zero, zero, zero])[0]) / self.total

    def density_of_share(self, i: int, p: float) -> float:
        """Density of the log-odds of p_i against the others."""
        j, k = sorted({0, 1, 2} - {i})
        value = 0.0
        for half in HALVES:
            v, w = nodes(*half)
            rest = math.log1p(-p)
            logs = {i: np.full_like(v, math.log(p)), j: rest - np.logaddexp(0, -v)}
            logs[k] = rest - np.logaddexp(0, v)
            value += float(w @ self.height([logs[m] for m in range(3)]))
        return value / self.total


BELOW = (-_REACH, 0.0)
HALVES = (BELOW, (0.0, _REACH))
