"""Newton's method for the density of events in (log λ, logarithms of the parameters)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from luce._types import FloatArray, IntArray
from luce.sampling.contests import Smooth

# Longest step of a climb in one logarithm.
_LONGEST = 6.0

# Newton steps of a climb, halvings of a step, and the decrement below which a step is the last one:
# near the maximum a step about squares it.
_MOST_STEPS, _MOST_HALVINGS, _LAST = 300, 60, 1e-9

# A last step that leaves more than this share of the decrement, or more than rounding error, did
# not converge quadratically: the climb may have no end.
_SHRUNK, _ROUNDING = 1e-3, 1e-14

# Range of log p and of the parameters' logarithms beyond which a climb may have no end.
FAR = 12.0


class Unnormalised(Smooth, Protocol):
    """A log density in z = (log λ of n categories, logarithms of the parameters `names`)."""

    n: int
    names: tuple[str, ...]
    size: int


class Normalised:
    """F as a function of z = (log λ, logarithms of parameters), with p = λ / Σ λ.

    Parameters
    ----------
    inner
        F as if Σ λ were 1.
    total
        The degree of F in λ.
    singular
        A pivot below this share of its diagonal entry may be an error of a singular precision.
    """

    def __init__(self, inner: Unnormalised, total: float, singular: float) -> None:
        self.inner, self.total, self.singular = inner, total, singular
        self.n, self.names, self.size = inner.n, inner.names, inner.size

    def value(self, z: FloatArray) -> float:
        """Compute F."""
        return self.inner.value(z) - self.total * float(np.logaddexp.reduce(z[: self.n]))

    def slope_and_precision(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute the slope of F and minus its second derivatives."""
        slope, precision = self.inner.slope_and_precision(z)
        p = shares(z[: self.n])
        slope[: self.n] -= self.total * p
        precision[: self.n, : self.n] += self.total * (np.diag(p) - np.outer(p, p))
        return slope, precision


def shares(theta: FloatArray) -> FloatArray:
    """Compute λ / Σ λ."""
    p = np.exp(theta - theta.max())
    return np.asarray(p / p.sum())


class End(NamedTuple):
    """The end of a climb: the place, F and the precision there, and how it ended.

    It is `firm` where the last step converged quadratically and the precision is far from singular.
    """

    z: FloatArray
    value: float
    precision: FloatArray
    reached: bool
    firm: bool

    @property
    def range(self) -> float:
        """Largest distance between logarithms, of probabilities or of a parameter from 0."""
        seen = self.z[np.isfinite(self.z)]
        return float(np.ptp(seen)) if len(seen) else 0.0

    @property
    def is_certain(self) -> bool:
        """Was a maximum reached beyond doubt?"""
        return self.reached and self.firm and self.range < FAR


def climb(f: Normalised, z: FloatArray, owner: IntArray) -> End:
    """Climb to a maximum; a climb without an end may leave the range of doubles."""
    with np.errstate(all="ignore"):
        return _newton(f, z, owner)


def _newton(f: Normalised, z: FloatArray, owner: IntArray) -> End:
    """Climb by Newton's method from z, with z_i = u[owner[i]], -1 for what does not move.

    A precision that is not definite, as with teams, is raised until it is; a step is halved until F
    does not fall.
    """
    from scipy.linalg import cho_factor, cho_solve

    held = np.flatnonzero(owner >= 0)
    unknowns = int(owner.max(initial=-1)) + 1
    fold = np.zeros((len(held), unknowns))
    fold[np.arange(len(held)), owner[held]] = 1.0
    by_scale = fold.T @ (held < f.n)
    value, decrement, last = f.value(z), np.inf, False
    slope, precision = f.slope_and_precision(z)
    for _ in range(_MOST_STEPS):
        inner = fold.T @ precision[np.ix_(held, held)] @ fold
        diagonal = np.diag(inner).clip(1e-10)
        # F does not change with the scale of λ: any curvature along it will do.
        inner += np.outer(by_scale, by_scale) * (diagonal.mean() / max(by_scale.sum(), 1.0))
        raised, factor = 0.0, None
        while factor is None and raised < 1e12:
            try:
                factor = cho_factor(inner + raised * np.diag(diagonal))
            except np.linalg.LinAlgError:
                raised = max(4 * raised, 1e-6)
            except ValueError:  # beyond doubles
                break
        if factor is None:
            break
        gradient = fold.T @ slope[held]
        step = cho_solve(factor, gradient)
        before, decrement = decrement, float(gradient @ step)
        if last:
            shrunk = decrement < max(_SHRUNK * before, _ROUNDING * (1 + abs(value)))
            firm = (np.diag(factor[0]) ** 2 > f.singular * diagonal).all()
            return End(z, value, precision, raised == 0.0, bool(shrunk and firm))
        last = decrement < _LAST
        if last and raised > 0.0:  # flat in some direction
            break
        move = np.zeros(len(z))
        move[held] = step[owner[held]] * min(1.0, _LONGEST / max(np.abs(step).max(), _LONGEST))
        for _halving in range(_MOST_HALVINGS):
            new = f.value(z + move)
            if new >= value - 1e-12 * (1 + abs(value)):
                break
            move = move / 2
        else:
            break
        z, value = z + move, new
        slope, precision = f.slope_and_precision(z)
    return End(z, value, precision, False, False)
