"""Newton's method for the maximum of f(θ) by Cholesky factors, in up to a few thousand unknowns.

Atoms may share an unknown: θ_i = η[owner[i]], and an atom with owner -1 has probability 0.  The
step solves  B'HB step = B'f',  H = -f'', B the matrix of owners.  Where no Newton step increases f,
as grouped outcomes may cause, a minorisation step λ_i <- λ_i (c_i + given_i) / taken_i, which never
decreases f, replaces it (Hunter 2004; with groups it is an EM step).

`kernels.newton` solves the same steps by conjugate gradients, for many unknowns.
"""

from __future__ import annotations

import numpy as np

from luce._types import FloatArray, IntArray
from luce.kernels.nest_sums import sums_by
from luce.sampling.log_posterior import LogPosterior, Place

# Thresholds of Newton's decrement, twice the gain left in f.  Below _CLOSE (1 + |f|) the maximum
# is reached to double precision.  Below _NEAR whole steps are taken.  Near the mode a step about
# squares the decrement, so a step that starts below _LAST is the last one.
_CLOSE, _NEAR, _LAST = 1e-20, 1e-6, 1e-9

# Rounding error of f, relative to |f| and to the number of outcomes.
_ROUNDING, _ROUNDING_OF_COUNTS = 1e-13, 1e-15

# Share of the largest curvature below which that of the scale, A, is lost in Cholesky factors.
_LOST_SCALE = 1e-12

# Smallest pivot, as a fraction of its diagonal element.  Grouped outcomes may leave a ridge, where
# rounding error must not be mistaken for curvature.
_LEAST_PIVOT, _LEAST_PIVOT_GROUPED = 1e-14, 1e-10

# Limits of one minorisation step in θ, to stay in the range of doubles.
_LOWEST_STEP, _HIGHEST_STEP = np.log(1e-3), 7.0


def climb(
    f: LogPosterior, owner: IntArray, theta: FloatArray, first: int, looks: int
) -> tuple[FloatArray, bool]:
    """Maximise f; return θ and whether the maximum was reached.

    Parameters
    ----------
    f
        The log posterior.
    owner
        Number of the unknown of each atom, -1 for none.
    theta
        Initial point, -inf for an atom without an unknown.
    first, looks
        Number of minorisation steps, which are cheap, before the first Newton step, and largest
        number of evaluations of f.
    """
    shared = _Shared(owner)
    slack = _ROUNDING_OF_COUNTS * float(f.waits.sum() + f.groups.sum())
    here, at = None, f.at(theta)
    decrement, length, climbing, last = 0.0, 1.0, True, False
    gradient = scaling = step = np.empty(0)
    for turn in range(looks):
        if turn:
            at = f.at(theta + length * shared.spread(step))
        # Very near the mode rounding error hides the gain; take Newton's whole step anyway.
        if (
            here is None
            or decrement < _NEAR
            or not climbing
            or _gains(here.value, at.value, length * decrement, slack)
        ):
            here, theta, length = at, at.theta, 1.0
            if last:
                return theta, True
            gradient, scaling = shared.gather(f.slope(at)), shared.gather(at.taken)
            newton = _newton_step(f, at, shared, gradient, scaling) if turn >= first else None
            climbing = last = newton is not None
            before, decrement = decrement, 0.0
            if newton is not None:
                step, decrement = newton, float(gradient @ newton)
                if not decrement > _CLOSE * (1.0 + abs(at.value)):
                    return theta, True
                # If f is strictly concave, a decrement that stops shrinking is rounding error.
                if 0.0 < 0.5 * before < decrement < _NEAR and not f.grouped:
                    return theta, True
            last &= decrement < _LAST
        else:
            length /= 2.0
            climbing = length > 1e-6
        if not climbing:
            step, length = _minorisation_step(gradient, scaling), 1.0
    return theta, False


def _gains(before: float, after: float, expected: float, slack: float) -> bool:
    """Tell whether f grew by a share of what its slope promised, within rounding error."""
    return after >= before + 1e-4 * expected - _ROUNDING * abs(before) - slack


def _minorisation_step(gradient: FloatArray, scaling: FloatArray) -> FloatArray:
    """Compute log((c + given) / taken), limited."""
    with np.errstate(all="ignore"):
        return np.clip(np.log(1.0 + gradient / scaling), _LOWEST_STEP, _HIGHEST_STEP)


class _Shared:
    """The matrix B of owners."""

    def __init__(self, owner: IntArray) -> None:
        self.owner, self.active = owner, np.flatnonzero(owner >= 0)
        self.of_active, self.n_unknowns = owner[self.active], int(owner.max(initial=-1)) + 1
        self.is_identity = np.array_equal(owner, np.arange(self.n_unknowns))

    def gather(self, v: FloatArray) -> FloatArray:
        """Compute B'v."""
        if self.is_identity:
            return v
        return sums_by(self.of_active, v[self.active], self.n_unknowns)

    def spread(self, step: FloatArray) -> FloatArray:
        """Compute B step; 0 for atoms without an unknown."""
        if self.is_identity:
            return step
        return np.where(self.owner >= 0, step[self.owner], 0.0)

    def fold(self, matrix: FloatArray) -> FloatArray:
        """Compute B'HB."""
        if self.is_identity:
            return matrix
        inside = matrix[np.ix_(self.active, self.active)]
        if len(self.active) == self.n_unknowns and (np.diff(self.of_active) > 0).all():
            return inside
        table = np.zeros((len(self.active), self.n_unknowns))
        table[np.arange(len(self.active)), self.of_active] = 1.0
        return np.asarray(table.T @ inside @ table)


def _newton_step(
    f: LogPosterior, at: Place, shared: _Shared, gradient: FloatArray, scaling: FloatArray
) -> FloatArray | None:
    """Solve B'HB step = B'f'; None where B'HB is not positive definite.

    Where f does not change with the scale of λ, or hardly, one unknown is kept fixed.
    """
    from scipy.linalg.lapack import dpotrf, dpotrs

    matrix = shared.fold(f.precision(at))
    largest = int(np.argmax(scaling))
    if not f.total_shape > _LOST_SCALE * scaling[largest]:
        matrix[largest], matrix[:, largest] = 0.0, 0.0
        matrix[largest, largest] = 1.0
        gradient = gradient.copy()
        gradient[largest] = 0.0
    factor, failed = dpotrf(matrix, lower=True)
    least = _LEAST_PIVOT_GROUPED if f.grouped else _LEAST_PIVOT
    if failed or not (np.diag(factor) ** 2 > least * np.diag(matrix)).all():
        return None
    return np.asarray(dpotrs(factor, gradient, lower=True)[0])
