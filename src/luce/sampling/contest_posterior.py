"""The log posterior of contests, with its slope and precision, by NumPy.

Every denominator of a contest is a sum of exponentials of linear forms of
y = (log A, log B, log h, τ), with τ = log ν or log θ:

    no ties       log A + log h,   log B
    Davidson      log A + log h,   log B,   τ + (log A + log h + log B) / 2
    Rao-Kupper    log A + log h,   τ + log B         and         τ + log A + log h,   log B

so that with the shares π_k of the terms in D and the forms' coefficients g_k, log D has the slope
ḡ = Σ π_k g_k and the second derivative Σ π_k g_k g_k' - ḡ ḡ', which is never negative: with single
winners the log posterior is concave in (log λ, log h, τ).  Numerators of contests are among the
powers of the problem.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import FloatArray
from luce.counts.contests import FIRST, SECOND, TIE, Contests
from luce.sampling.log_posterior import LogPosterior, Place

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from luce.kernels.problem import Problem

# Coefficients of the linear forms of each denominator, by (log A, log B, log h, τ).
_FORMS = {
    None: (((1, 0, 1, 0), (0, 1, 0, 0)),),
    "davidson": (((1, 0, 1, 0), (0, 1, 0, 0), (0.5, 0.5, 0.5, 1)),),
    "rao-kupper": (((1, 0, 1, 0), (0, 1, 0, 1)), ((1, 0, 1, 1), (0, 1, 0, 0))),
}

# Columns of the forms.
_HOME, _TIE = 2, 3


class Known(NamedTuple):
    """Power and rate of a parameter's own density, x^power exp(-rate x), x its excess."""

    power: float
    rate: float


class ContestPlace(NamedTuple):
    """A point z, and what the slope and precision there depend on.

    Attributes
    ----------
    z, base
        The point, and the part of f without denominators of contests.
    sides
        Each member's share of its side, a sparse matrix of meetings by categories for both sides.
    by_side, squares
        First derivatives, and minus the second ones, of each meeting by (log A, log B, log h, τ).
    own_slope, own_precision
        Those of the terms in each drawn parameter alone.
    """

    z: FloatArray
    base: Place
    sides: tuple[csr_array, csr_array]
    by_side: FloatArray
    squares: FloatArray
    own_slope: FloatArray
    own_precision: FloatArray


class ContestPosterior:
    """Log posterior f of z = (log λ, the logarithms of the drawn parameters).

    Parameters
    ----------
    problem
        Powers of the categories and sets, numerators of the contests included.
    contests
        The contests, whose denominators are powers too.
    own
        The density of each drawn parameter, by its logarithm for home and Davidson's tie: the prior
        Gamma(a, b) is ``Known(a, b)``.  The last coordinate is log θ for Rao and Kupper's.
    known
        Logarithms of parameters that are not drawn; log θ for Rao and Kupper's.
    """

    def __init__(
        self,
        problem: Problem,
        contests: Contests,
        own: dict[str, Known],
        known: dict[str, float],
    ) -> None:
        self.base, self.contests, self.own, self.known = LogPosterior(problem), contests, own, known
        self.problem, self.n = problem, len(problem.shape)
        self.names = tuple(own)
        self.size = self.n + len(own)
        forms = _FORMS[contests.ties]
        self._forms = [np.array(each, np.float64) for each in forms]
        self._powers = denominator_powers(contests)
        self.home_power = home_power(contests)
        self.tie_power = float(contests.results[:, TIE].sum())

    @cached_property
    def _spread_over(self) -> csr_array:
        """Matrix of sides by categories: the weight of each member."""
        from scipy.sparse import csr_array

        c = self.contests
        weights = np.ones(len(c.members)) if c.weights is None else np.array(c.weights)
        return csr_array((weights, c.members, c.start), (2 * len(c), self.n))

    def value(self, z: FloatArray) -> float:
        """Compute f(z)."""
        value = self.base.at(z[: self.n]).value + self._own_value(z)
        logs, _ = self._sides(z)
        for forms, power in zip(self._forms, self._powers, strict=True):
            whole, _ = self._shares(logs, forms, z)
            value -= float(power @ whole)
        return value if np.isfinite(value) else -np.inf

    def at(self, z: FloatArray) -> ContestPlace:
        """Evaluate everything that slope and precision depend on."""
        logs, shares = self._sides(z)
        by_side = np.zeros((len(logs), 4))
        squares = np.zeros((len(logs), 4, 4))
        for forms, power in zip(self._forms, self._powers, strict=True):
            _, parts = self._shares(logs, forms, z)
            seen = np.broadcast_to(forms, (len(logs), *forms.shape)).copy()
            seen[:, :, _HOME] *= self.contests.at_home[:, None]
            mean = np.einsum("tk,tki->ti", parts, seen)
            centred = seen - mean[:, None, :]
            by_side -= power[:, None] * mean
            squares += np.einsum("t,tk,tki,tkj->tij", power, parts, centred, centred)
        own_slope, own_precision = self._own_derivatives(z)
        base = self.base.at(z[: self.n])
        return ContestPlace(
            z, base, (shares[::2], shares[1::2]), by_side, squares, own_slope, own_precision
        )

    def slope_and_precision(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute the slope of f and minus its second derivatives."""
        at = self.at(z)
        return self.slope(at), self.precision(at)

    def slope(self, at: ContestPlace) -> FloatArray:
        """Compute the slope of f."""
        slope = np.zeros(self.size)
        slope[: self.n] = self.base.slope(at.base)
        for i, side in enumerate(at.sides):
            slope[: self.n] += side.T @ at.by_side[:, i]
        for place, k in self._columns():
            slope[place] = at.by_side[:, k].sum()
        slope[self.n :] += at.own_slope
        return slope

    def precision(self, at: ContestPlace) -> FloatArray:
        """Compute minus the second derivatives of f."""
        from scipy.sparse import diags_array

        precision = np.zeros((self.size, self.size))
        block = precision[: self.n, : self.n]
        block += self.base.precision(at.base)
        for i, left in enumerate(at.sides):
            for j, right in enumerate(at.sides):
                block += (left.T @ diags_array(at.squares[:, i, j]) @ right).toarray()
            if not self.contests.are_pairs:
                # log A = log Σ a_i λ_i has the second derivative diag(q) - q q'.
                block += (left.T @ diags_array(at.by_side[:, i]) @ left).toarray()
                block -= np.diag(left.T @ at.by_side[:, i])
        for place, k in self._columns():
            for i, side in enumerate(at.sides):
                cross = side.T @ at.squares[:, i, k]
                precision[: self.n, place] += cross
                precision[place, : self.n] += cross
            for other, k_other in self._columns():
                precision[place, other] = at.squares[:, k, k_other].sum()
            precision[place, place] += at.own_precision[place - self.n]
        return precision

    def precision_diagonal(self, at: ContestPlace) -> FloatArray:
        """Compute the diagonal of the precision without the matrix."""
        diagonal = np.zeros(self.size)
        diagonal[: self.n] = self.base.precision_diagonal(at.base)
        for i, side in enumerate(at.sides):
            squared = side.multiply(side)
            diagonal[: self.n] += squared.T @ at.squares[:, i, i]
            if not self.contests.are_pairs:
                diagonal[: self.n] += squared.T @ at.by_side[:, i] - side.T @ at.by_side[:, i]
        if not self.contests.are_pairs:  # categories on both sides of a meeting do not exist
            diagonal[: self.n] = np.maximum(diagonal[: self.n], self.base.scale * at.base.x)
        for place, k in self._columns():
            diagonal[place] = at.squares[:, k, k].sum() + at.own_precision[place - self.n]
        return diagonal

    def times_precision(self, at: ContestPlace, v: FloatArray) -> FloatArray:
        """Multiply the precision by a vector without the matrix."""
        out = np.zeros(self.size)
        out[: self.n] = self.base_times_precision(at, v[: self.n])
        y = np.zeros((len(at.by_side), 4))
        for i, side in enumerate(at.sides):
            y[:, i] = side @ v[: self.n]
        for place, k in self._columns():
            y[:, k] = v[place]
        back = np.einsum("tij,tj->ti", at.squares, y)
        for i, side in enumerate(at.sides):
            out[: self.n] += side.T @ back[:, i]
            if not self.contests.are_pairs:
                out[: self.n] += side.T @ (at.by_side[:, i] * y[:, i])
                out[: self.n] -= (side.T @ at.by_side[:, i]) * v[: self.n]
        for place, k in self._columns():
            out[place] = back[:, k].sum() + at.own_precision[place - self.n] * v[place]
        return out

    def base_times_precision(self, at: ContestPlace, v: FloatArray) -> FloatArray:
        """Multiply the precision of the sets' part by a vector."""
        if len(self.problem.waits) == 0:
            return np.asarray(self.base.scale * at.base.x * v)
        from luce.kernels.curvature import times_precision

        image = np.empty(self.n)
        times_precision(self.problem._replace(wide=None), at.base.theta, v, image)
        return image

    def _columns(self) -> list[tuple[int, int]]:
        """List the place of each drawn parameter, and its column among those of the forms."""
        columns = {"home": _HOME, "tie": _TIE}
        return [(self.n + k, columns[name]) for k, name in enumerate(self.names)]

    def _sides(self, z: FloatArray) -> tuple[FloatArray, csr_array]:
        """Return log A and log B of each meeting, and each member's share of its side."""
        from scipy.sparse import csr_array, diags_array

        theta = z[: self.n]
        top = float(theta.max())
        x = np.exp(theta - top)
        spread = self._spread_over
        with np.errstate(divide="ignore"):
            sums = spread @ x
            logs = np.log(sums) + top
            shares = csr_array(diags_array(1.0 / sums) @ spread @ diags_array(x))
        return logs.reshape(-1, 2), shares

    def _shares(
        self, logs: FloatArray, forms: FloatArray, z: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Compute log D of each meeting, and the shares of its terms."""
        home, tie = (self._coordinate(name, z) for name in ("home", "tie"))
        terms = logs @ forms[:, :_HOME].T + tie * forms[:, _TIE]
        terms = terms + home * np.outer(self.contests.at_home, forms[:, _HOME])
        whole = np.logaddexp.reduce(terms, axis=1)
        return whole, np.exp(terms - whole[:, None])

    def _coordinate(self, name: str, z: FloatArray) -> float:
        if name in self.names:
            return float(z[self.n + self.names.index(name)])
        return self.known.get(name, 0.0)

    def _own_value(self, z: FloatArray) -> float:
        """Compute the terms of f in the parameters alone."""
        value = 0.0
        if self.contests.home:
            value += self.home_power * self._coordinate("home", z)
        if self.contests.ties is not None:
            tau = self._coordinate("tie", z)
            if self.contests.ties == "davidson":
                value += self.tie_power * tau
            elif self.tie_power > 0:
                value += self.tie_power * float(np.log(np.expm1(2 * tau))) if tau > 0 else -np.inf
        for name, own in self.own.items():
            x = np.exp(self._coordinate(name, z))
            if name == "tie" and self.contests.ties == "rao-kupper":
                x = np.expm1(self._coordinate(name, z))
                if x <= 0:
                    return -np.inf
            value += own.power * float(np.log(x)) - own.rate * float(x)
        return value

    def _own_derivatives(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute slope and precision of the terms in the parameters alone."""
        slope, precision = np.zeros(len(self.own)), np.zeros(len(self.own))
        for k, (name, own) in enumerate(self.own.items()):
            x = float(np.exp(z[self.n + k]))
            if name == "tie" and self.contests.ties == "rao-kupper":
                s, t = x - 1.0, self.tie_power
                slope[k] = (own.power + t) * x / s + t * x / (s + 2.0) - own.rate * x
                precision[k] = (own.power + t) * x / s**2 - t * x / (s + 2.0) ** 2 + own.rate * x
                continue
            power = self.home_power if name == "home" else self.tie_power
            slope[k] = own.power + power - own.rate * x
            precision[k] = own.rate * x
        return slope, precision


def denominator_powers(contests: Contests) -> list[FloatArray]:
    """Return the number of outcomes that each denominator of the meetings is a power of."""
    r = contests.results
    if contests.ties == "rao-kupper":
        return [r[:, FIRST] + r[:, TIE], r[:, SECOND] + r[:, TIE]]
    return [r.sum(axis=1)]


def numerator_powers(contests: Contests) -> FloatArray:
    """Return the power of each side's strength in the numerators, shape (meetings, 2)."""
    share = {None: 0.0, "davidson": 0.5, "rao-kupper": 1.0}[contests.ties]
    return np.asarray(contests.results[:, :TIE] + share * contests.results[:, TIE:])


def home_power(contests: Contests) -> float:
    """Return the power of h in the numerators."""
    return float(numerator_powers(contests)[contests.at_home, 0].sum())
