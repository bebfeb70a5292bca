"""A core that is a single set with weights: its scalar's density, envelope and integral.

`kernels.single_weighted_set` has the formulas: h(x) = m x - Σ_i c_i log(1 + a_i e^x), x = log u.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray

if TYPE_CHECKING:
    from luce.kernels.problem import Problem
    from luce.kernels.single_weighted_set import Tangents

# Fall of h from its mode to the points where the tangents of the envelope touch it.
_DEPTH = 1.0

# Fall of h from its mode beyond which its exponential adds nothing to the integral.
_NEGLIGIBLE = 60.0

# Relative error asked of the integral.
_PRECISION = 1e-12


def is_single_weighted_set(problem: Problem) -> bool:
    """Tell whether a problem has one set alone, with weights, that outcomes were recorded in."""
    weighted = problem.weights is not None and len(problem.waits) == 1
    return weighted and not problem.groups.any() and bool((problem.shape > 0).all())


class Scalar:
    """The log density h(x) of x = log u, and its slope."""

    def __init__(self, problem: Problem) -> None:
        assert problem.weights is not None
        self.wait = float(problem.waits[0])
        self.shape = problem.shape[problem.members]
        self.log_weight = np.log(problem.weights)
        self.fall = float(problem.total_shape)  # slope at the far right, where all a_i u >> 1
        outside = np.ones(len(problem.shape), np.bool_)
        outside[problem.members] = False
        self.fall -= float(problem.shape[outside].sum())

    def at(self, x: float) -> float:
        """Compute h(x)."""
        return float(self.wait * x - self.shape @ np.logaddexp(0.0, x + self.log_weight))

    def slope(self, x: float) -> float:
        """Compute h'(x), from the side on which it does not cancel."""
        from scipy.special import expit

        y = x + self.log_weight
        if (y > 0).all():
            return float(self.shape @ expit(-y) - self.fall)
        return float(self.wait - self.shape @ expit(y))

    def mode(self) -> float:
        """Find the x at which h is largest."""
        return self._crossing(self.slope)

    def depth_reached(self, mode: float, depth: float, side: float) -> float:
        """Find, to the left (-1) or right (1) of the mode, where h has fallen by `depth`."""
        from scipy.optimize import brentq

        def above(x: float) -> float:
            return self.at(x) - self.at(mode) + depth

        step = side
        while above(mode + step) > 0:
            step *= 2.0
        return float(brentq(above, mode, mode + step, xtol=1e-6 * abs(step)))

    @staticmethod
    def _crossing(slope: Callable[[float], float]) -> float:
        """Find where a falling slope is 0."""
        from scipy.optimize import brentq

        low, high, step = -1.0, 1.0, 1.0
        while slope(low) < 0:
            low, step = low - step, 2.0 * step
        step = 1.0
        while slope(high) > 0:
            high, step = high + step, 2.0 * step
        return float(brentq(slope, low, high, xtol=1e-12, rtol=1e-14))


def fit_tangents(problem: Problem) -> Tangents:
    """Fit three pieces above exp h, from its mode and two tangents."""
    from luce.kernels.single_weighted_set import Tangents

    h = Scalar(problem)
    mode = h.mode()
    top = h.at(mode)
    ends, slopes = [], []
    for side in (-1.0, 1.0):
        touch = h.depth_reached(mode, _DEPTH, side)
        slope = h.slope(touch)
        ends.append(touch + (top - h.at(touch)) / slope)  # the tangent reaches the top here
        slopes.append(abs(slope))
    return Tangents(top, ends[0], ends[1], slopes[0], slopes[1])


def log_integral(problem: Problem) -> tuple[float, float]:
    """Compute log Z of the core, Z = ∫ Π_i p_i^(c_i - 1) (Σ_i a_i p_i)^(-m) dp, and its error.

    Z = Π_i Γ(c_i) / (Γ(m) Γ(A)) · ∫ exp h(x) dx
    """
    from scipy.integrate import quad
    from scipy.special import gammaln

    h = Scalar(problem)
    mode = h.mode()
    top = h.at(mode)
    ends = [h.depth_reached(mode, _NEGLIGIBLE, side) for side in (-1.0, 1.0)]
    near = [h.depth_reached(mode, _DEPTH, side) for side in (-1.0, 1.0)]
    total = error = 0.0
    for low, high in pairwise([ends[0], near[0], mode, near[1], ends[1]]):
        value, own = quad(lambda x: np.exp(h.at(x) - top), low, high, epsabs=0, epsrel=_PRECISION)
        total, error = total + value, error + own
    gammas: FloatArray = gammaln(problem.shape)
    constant = gammas.sum() - gammaln(h.wait) - gammaln(problem.total_shape)
    return float(constant + top + np.log(total)), float(error / total)
